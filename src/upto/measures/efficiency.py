"""Efficiency of ICA at removing the rotation between two runs."""

from __future__ import annotations


def ica_efficiency(permutation: float, rigid: float, ica: float) -> float | None:
    """Return the share of the gap between permutation and rigid error that ICA closes.

    At 1, ICA, which is fitted on each run alone, does as well as the best rotation fitted on both;
    at 0, it does no better than matching coordinates. Values outside this range are possible.
    Without a gap the share is undefined and `None` is returned.

    Examples
    --------
    >>> round(ica_efficiency(0.197, 0.109, 0.145), 4)
    0.5909
    """
    if permutation <= rigid:
        return None
    return (permutation - ica) / (permutation - rigid)
