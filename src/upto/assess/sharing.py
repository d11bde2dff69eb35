"""Which directions two runs share: canonical pairs of directions, judged on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from upto.assess.spanning import COVARIANCE, centred_rows

if TYPE_CHECKING:
    from upto.assess.pair import Pair
    from upto.engines import CrossMoments, Moments

Float = NDArray[np.float64]

AGREEING = 0.5
"""Held-out R² between two directions from which on the runs agree on them."""
UNRELATED = 0.1
"""Held-out R² below which directions are called unrelated."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sharing:
    """Directions two runs share: how many of each, and what of the variance these hold.

    `n_first` and `n_second` count the directions in which the runs vary by more than rounding.
    `rest` is the largest held-out R² of a canonical pair that does not agree.
    """

    n_shared: int
    n_first: int
    n_second: int
    variance_first: float
    variance_second: float
    rest: float

    @property
    def is_bijective(self) -> bool:
        """Whether the runs agree on every direction of both."""
        return self.n_shared == self.n_first == self.n_second

    @property
    def second_is_image(self) -> bool:
        """Whether the second run holds directions of the first only, and fewer."""
        return self.n_shared == self.n_second < self.n_first

    @property
    def first_is_image(self) -> bool:
        """Whether the first run holds directions of the second only, and fewer."""
        return self.n_shared == self.n_first < self.n_second


def find_shared(pair: Pair, moments: CrossMoments) -> Sharing:
    """Match directions on the fitted rows and count those that agree on held-out ones."""
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
    left, _, right = scipy.linalg.svd(cross, full_matrices=False)
    first, second = source @ left, target @ right.T
    x = (pair.source.paired - moments.source.mean) @ first
    y = (pair.target.paired - moments.target.mean) @ second
    agreement = _squared_correlations(x, y)
    agreeing = agreement >= AGREEING
    return Sharing(
        n_shared=int(agreeing.sum()),
        n_first=pair.source.summary.rank,
        n_second=pair.target.summary.rank,
        variance_first=_variance(moments.source, first[:, agreeing]),
        variance_second=_variance(moments.target, second[:, agreeing]),
        rest=float(agreement[~agreeing].max(initial=0.0)),
    )


def _whitening(covariance: Float) -> Float:
    values, vectors = np.linalg.eigh(covariance)
    kept = values > COVARIANCE * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


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
