"""Directions shared by two runs: canonical pairs evaluated on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.linalg

from upto.core import Shared
from upto.core.array_types import Float
from upto.engines.directions import COVARIANCE, centred_rows

if TYPE_CHECKING:
    from upto.engines import CrossMoments, Moments
    from upto.evidence.memory import Memory
    from upto.questions.compare.pair import Pair


AGREEING = 0.5
"""Smallest held-out R² of a direction on which the runs agree."""
CLOSELY = 0.8
"""Smallest held-out R² of close agreement, required on every direction of the same runs."""
UNRELATED = 0.1
"""Held-out R² below which directions are unrelated."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Canonical:
    """Canonical directions of two runs from the fitted rows, and held-out rows along them.

    `first` and `second` are rows along the directions at unit variance, weighted by the correlation
    on the fitted rows, so that directions that do not agree count little. `agreement` is the
    held-out R² of each pair, and `loadings` are the directions of each run.
    """

    first: Float
    second: Float
    agreement: Float
    loadings: tuple[Float, Float]

    def flipped(self) -> Canonical:
        """Swap the runs."""
        return replace(self, first=self.second, second=self.first, loadings=self.loadings[::-1])


def find_canonical(pair: Pair, moments: CrossMoments) -> Canonical:
    """Match directions on the fitted rows and measure their agreement on held-out rows."""
    runs, parts = (pair.source, pair.target), (moments.source, moments.target)
    bases = [run.span.whitening for run in runs]
    products = [
        basis.T @ (part.scatter / part.weight) @ basis
        for basis, part in zip(bases, parts, strict=True)
    ]
    cross = bases[0].T @ (moments.cross / moments.weight) @ bases[1]
    if any(run.is_thin for run in runs):
        # Narrow directions are lost in squared sums, but not in the rows themselves.
        rows = pair.sample_rows(fitted=pair.split.n_held_out > 0)
        x, y = (
            centred_rows(own, part.mean) @ basis
            for own, part, basis in zip(rows, parts, bases, strict=True)
        )
        products, cross = [x.T @ x / len(x), y.T @ y / len(y)], x.T @ y / len(x)
    turns = [_whitening(each) for each in products]
    source, target = (basis @ turn for basis, turn in zip(bases, turns, strict=True))
    cross = turns[0].T @ cross @ turns[1]
    left, strength, right = scipy.linalg.svd(cross, full_matrices=False)
    first, second = source @ left, target @ right.T
    x = (pair.source.paired - moments.source.mean) @ first
    y = (pair.target.paired - moments.target.mean) @ second
    return Canonical(
        first=x * strength,
        second=y * strength,
        agreement=_squared_correlations(*(_new(rows, pair.split.memory) for rows in (x, y))),
        loadings=(first, second),
    )


def find_shared(pair: Pair, canonical: Canonical) -> Shared:
    """Count the directions that agree on held-out rows.

    The others are not tested if fewer rows than directions were fitted.
    """
    agreement = canonical.agreement
    agreeing = agreement >= AGREEING
    first, second = (each[:, agreeing] for each in canonical.loadings)
    n_fitted = len(pair.split.parts) - pair.split.n_held_out
    n_first, n_second = pair.source.summary.rank, pair.target.summary.rank
    rest: Literal["unrelated", "less alike", "not judged"] = "less alike"
    if n_fitted <= max(n_first, n_second):
        rest = "not judged"
    elif float(agreement[~agreeing].max(initial=0.0)) < UNRELATED:
        rest = "unrelated"
    return Shared(
        n_shared=int(agreeing.sum()),
        n_closely=int(np.count_nonzero(agreement >= CLOSELY)),
        n_first=n_first,
        n_second=n_second,
        variance_first=_variance(pair.source.fitted, first),
        variance_second=_variance(pair.target.fitted, second),
        rest=rest,
    )


def _whitening(covariance: Float) -> Float:
    values, vectors = np.linalg.eigh(covariance)
    kept = values > COVARIANCE * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _new(rows: Float, memory: Memory | None) -> Float:
    """Return the innovations of serially dependent rows, because trends agree by chance."""
    return rows if memory is None else memory.what_is_new(rows)


def _squared_correlations(x: Float, y: Float) -> Float:
    if len(x) < 2:
        return np.zeros(x.shape[1])
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    both = np.einsum("ij,ij->j", x, y)
    spread = np.einsum("ij,ij->j", x, x) * np.einsum("ij,ij->j", y, y)
    # Directions with a negative correlation on held-out rows do not agree.
    found: Float = np.divide(
        np.maximum(both, 0.0) ** 2, spread, out=np.zeros_like(both), where=spread > 0
    )
    return found


def _variance(part: Moments, directions: Float) -> float:
    """Return the share of the variance explained by directions of unit variance."""
    total = float(np.trace(part.scatter)) / part.weight
    explained = float(np.sum((part.scatter @ directions / part.weight) ** 2))
    return min(explained / total, 1.0) if total > 0 else 0.0
