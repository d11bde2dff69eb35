"""How much of the rotation between two runs ICA removes."""

from __future__ import annotations


def ica_efficiency(permutation: float, rigid: float, ica: float) -> float | None:
    """Return the share of the gap between permutation and rigid error that ICA closes.

    One means that ICA, which sees one run at a time, does as well as the best rotation fitted on
    both; zero that it does no better than matching coordinates. It may leave that range. Without
    a gap it is undefined and `None` is returned.

    Examples
    --------
    >>> round(ica_efficiency(0.197, 0.109, 0.145), 4)
    0.5909
    """
    if permutation <= rigid:
        return None
    return (permutation - ica) / (permutation - rigid)
