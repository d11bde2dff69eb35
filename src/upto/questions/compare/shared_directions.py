"""Which directions two runs share: canonical pairs of directions, judged on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

from upto.core.arrays import Float
from upto.engines.directions import COVARIANCE, centred_rows

if TYPE_CHECKING:
    from upto.engines import CrossMoments, Moments
    from upto.evidence.memory import Memory
    from upto.questions.compare.pair import Pair


AGREEING = 0.5
"""Held-out R² between two directions from which on the runs agree on them."""
CLOSELY = 0.8
"""Held-out R² from which on they agree closely: the same runs do on every direction."""
UNRELATED = 0.1
"""Held-out R² below which directions are called unrelated."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sharing:
    """Directions two runs share: how many of each, and what of the variance these hold.

    `n_first` and `n_second` count the directions in which the runs vary by more than rounding.
    `rest` is the largest held-out R² of a canonical pair that does not agree. Where fewer rows than
    directions were fitted, what does not agree is not judged.
    """

    n_shared: int
    n_closely: int
    n_first: int
    n_second: int
    variance_first: float
    variance_second: float
    rest: float
    is_judged: bool

    @property
    def second_is_image(self) -> bool:
        """Whether the second run holds directions of the first only, and fewer."""
        return self.n_shared == self.n_second < self.n_first

    @property
    def first_is_image(self) -> bool:
        """Whether the first run holds directions of the second only, and fewer."""
        return self.n_shared == self.n_first < self.n_second


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Canonical:
    """Directions of two runs matched on the fitted rows, and held-out rows along them.

    `first` and `second` are rows along the directions of unit variance, each times the correlation
    of the fitted rows, so that directions that do not agree count little. `agreement` is the
    held-out R² of each pair, and `loadings` are the directions of each run.
    """

    first: Float
    second: Float
    agreement: Float
    loadings: tuple[Float, Float]

    def flipped(self) -> Canonical:
        """Exchange the runs."""
        return Canonical(
            first=self.second,
            second=self.first,
            agreement=self.agreement,
            loadings=self.loadings[::-1],
        )


def find_canonical(pair: Pair, moments: CrossMoments) -> Canonical:
    """Match directions on the fitted rows, and see how they agree on held-out ones."""
    runs, parts = (pair.source, pair.target), (moments.source, moments.target)
    bases = [run.span.whitening for run in runs]
    products = [
        basis.T @ (part.scatter / part.weight) @ basis
        for basis, part in zip(bases, parts, strict=True)
    ]
    cross = bases[0].T @ (moments.cross / moments.weight) @ bases[1]
    if any(run.is_thin for run in runs):
        # Squares do not show narrow directions; rows along them do.
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


def find_shared(pair: Pair, canonical: Canonical) -> Sharing:
    """Count the directions that agree on held-out rows."""
    agreement = canonical.agreement
    agreeing = agreement >= AGREEING
    first, second = (each[:, agreeing] for each in canonical.loadings)
    n_fitted = len(pair.split.parts) - pair.split.n_held_out
    n_first, n_second = pair.source.summary.rank, pair.target.summary.rank
    return Sharing(
        n_shared=int(agreeing.sum()),
        n_closely=int(np.count_nonzero(agreement >= CLOSELY)),
        n_first=n_first,
        n_second=n_second,
        variance_first=_variance(pair.source.fitted, first),
        variance_second=_variance(pair.target.fitted, second),
        rest=float(agreement[~agreeing].max(initial=0.0)),
        is_judged=n_fitted > max(n_first, n_second),
    )


def _whitening(covariance: Float) -> Float:
    values, vectors = np.linalg.eigh(covariance)
    kept = values > COVARIANCE * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _new(rows: Float, memory: Memory | None) -> Float:
    """Return what is new in rows that depend on the ones before them: trends agree by chance."""
    return rows if memory is None else memory.what_is_new(rows)


def _squared_correlations(x: Float, y: Float) -> Float:
    if len(x) < 2:
        return np.zeros(x.shape[1])
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    both = np.einsum("ij,ij->j", x, y)
    spread = np.einsum("ij,ij->j", x, x) * np.einsum("ij,ij->j", y, y)
    # Directions that turned round on held-out rows do not agree.
    found: Float = np.divide(
        np.maximum(both, 0.0) ** 2, spread, out=np.zeros_like(both), where=spread > 0
    )
    return found


def _variance(part: Moments, directions: Float) -> float:
    """Return the share of the variance that some directions of unit variance explain."""
    total = float(np.trace(part.scatter)) / part.weight
    explained = float(np.sum((part.scatter @ directions / part.weight) ** 2))
    return min(explained / total, 1.0) if total > 0 else 0.0
