"""Evaluate all scores of mixing and conservation, with distances computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.batch_metrics.mixing.catalogue import MIXING, MixingKind, Side, find_mixing
from upto.batch_metrics.mixing.points import UndefinedScoreError
from upto.batch_metrics.mixing.view import MixingView

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from upto.batch_metrics.mixing.catalogue import Compute
    from upto.core.array_types import Float

BIOLOGY_WEIGHT = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingScore:
    """One score of an embedding.

    Parameters
    ----------
    name
        Its name in `MIXING`.
    side
        Side it measures: ``batch``, ``biology`` or ``total``.
    value
        The score; None if it is undefined for these rows.
    says
        Why it is undefined, or what it hides; otherwise empty.

    See Also
    --------
    evaluate_mixing : Returns one for each score.
    MixingKind : What a score measures, and how it is gamed.
    """

    name: str
    side: Side
    value: float | None
    says: str = ""


def evaluate_mixing(
    rows: Float,
    batches: Sequence[Any] | NDArray[Any],
    labels: Sequence[Any] | NDArray[Any],
    *,
    before: Float | None = None,
    scores: str | Iterable[str] | None = None,
    seed: int = 0,
) -> tuple[MixingScore, ...]:
    """Score batch mixing and label conservation.

    Parameters
    ----------
    rows
        Array of shape (n_samples, n_features).
    batches, labels
        Batch and label of each row.
    before
        The rows before a correction, for ``pcr``.
    scores
        Names of `MIXING`; all by default.
    seed
        Seed of k-means.

    Returns
    -------
    tuple of MixingScore
        One for each name; the value is None where a score is undefined, with the reason.

    Raises
    ------
    InputError
        If there is no such score, or batches, labels and rows do not fit each other.

    See Also
    --------
    find_mixing : The scores by name.
    scib_total : The formula of the totals.
    upto.batch_metrics.retrieval.mean_average_precision : Retrieval of rows with the same label.
    upto.batches : Whether labels can be predicted in unseen batches, which no mixing score says.

    Notes
    -----
    Distances are computed once for all scores. The functions of single scores, such as `bras`, give
    the same values.

    References
    ----------
    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.batch_metrics.mixing import evaluate_mixing
    >>> rows = np.random.default_rng(0).normal(size=(200, 4))
    >>> found, = evaluate_mixing(rows, ["a", "b"] * 100, ["x"] * 200, scores="kbet")
    >>> bool(found.value > 0.8)
    True
    """
    kinds = find_mixing(scores)
    every = kinds
    if any(kind.side == "total" for kind in kinds):
        every += tuple(kind for kind in MIXING.values() if kind.counts and kind not in kinds)
    view = MixingView(rows, batches, labels, before, {kind.needs for kind in every}, seed)
    parts = {kind.name: _scored(kind, kind.compute, view) for kind in every if kind.compute}
    return tuple(parts.get(kind.name) or _total(kind, parts) for kind in kinds)


def scib_total(
    biology: Mapping[str, float | None], batch: Mapping[str, float | None]
) -> tuple[float | None, float | None, float | None]:
    """Return the biology mean, the batch mean and 0.6 × biology + 0.4 × batch.

    Scores that are None are left out of their mean; a side without scores is None, and so is the
    total.

    Parameters
    ----------
    biology, batch
        Scores of each side by name.

    Returns
    -------
    tuple of three float or None
        The mean of the biology side, that of the batch side, and the total.

    See Also
    --------
    evaluate_mixing : Computes the scores and these totals.

    References
    ----------
    Luecken et al. (2022). Benchmarking atlas-level data integration in single-cell genomics. Nature
    Methods 19, 41-50.

    Examples
    --------
    >>> from upto.batch_metrics.mixing import scib_total
    >>> biology, batch, total = scib_total({"clisi": 1.0}, {"bras": 0.5, "kbet": None})
    >>> print(f"{biology:.2f} {batch:.2f} {total:.2f}")
    1.00 0.50 0.80
    """
    kept, mixed = _mean(biology.values()), _mean(batch.values())
    if kept is None or mixed is None:
        return kept, mixed, None
    return kept, mixed, BIOLOGY_WEIGHT * kept + (1.0 - BIOLOGY_WEIGHT) * mixed


def _scored(kind: MixingKind, compute: Compute, view: MixingView) -> MixingScore:
    """Return one score, or the reason why it is undefined."""
    value, says = None, ""
    try:
        value = compute(view)
    except UndefinedScoreError as reason:
        says = str(reason)
    return MixingScore(name=kind.name, side=kind.side, value=value, says=says)


def _total(total: MixingKind, parts: Mapping[str, MixingScore]) -> MixingScore:
    sides: dict[str, dict[str, float | None]] = {"biology": {}, "batch": {}}
    for kind in MIXING.values():
        if kind.counts:
            sides[kind.side][kind.name] = parts[kind.name].value
    asked = list(sides) if total.name == "total" else [total.name]
    missing = [each for side in asked for each, value in sides[side].items() if value is None]
    left_out = f"Without {', '.join(missing)}, undefined here. " if missing else ""
    hides = total.gamed if total.name == "total" else ""
    kept, mixed, both = scib_total(sides["biology"], sides["batch"])
    values = {"biology": kept, "batch": mixed, "total": both}
    return MixingScore(
        name=total.name, side=total.side, value=values[total.name], says=(left_out + hides).strip()
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
