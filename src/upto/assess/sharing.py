"""Which directions two runs share: canonical pairs of directions, judged on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

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
    source, target = _whitening(moments.source), _whitening(moments.target)
    cross = source.T @ (moments.cross / moments.weight) @ target
    if pair.source.is_thin or pair.target.is_thin:
        x, y = pair.sample_rows(fitted=pair.split.n_held_out > 0)
        source, target = _whitening_of_rows(x), _whitening_of_rows(y)
        cross = _crossed(x, y, source, target)
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


def _whitening(part: Moments) -> Float:
    """Return directions of unit variance, coordinates brought to one scale first."""
    deviation = np.sqrt(np.diag(part.scatter) / part.weight)
    inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    values, vectors = np.linalg.eigh(part.scatter / part.weight * np.outer(inverse, inverse))
    kept = values > _RANK_TOLERANCE * max(values[-1], np.finfo(float).tiny)
    whitening: Float = vectors[:, kept] * inverse[:, None] / np.sqrt(values[kept])
    return whitening


_RANK_TOLERANCE = 1e-10


def _whitening_of_rows(rows: Float) -> Float:
    """Return directions of unit variance without squaring the rows."""
    centred = rows - rows.mean(axis=0)
    deviation = centred.std(axis=0)
    inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    _, values, right = np.linalg.svd(centred * inverse, full_matrices=False)
    kept = values > 1e-13 * values[0]
    whitening: Float = (inverse[:, None] * right[kept].T) * (np.sqrt(len(rows)) / values[kept])
    return whitening


def _crossed(x: Float, y: Float, source: Float, target: Float) -> Float:
    found: Float = ((x - x.mean(axis=0)) @ source).T @ ((y - y.mean(axis=0)) @ target) / len(x)
    return found


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
