"""Ranks, and smooth functions of ranks, for nonlinear dependence measures."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from upto.core import random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto.measures.moments import PairMoments, RunMoments


RDC_FEATURES = 20
"""Number of random features of each coordinate, as in icebeem."""
MOST_FEATURES = 200
"""More features would add no further direction."""

_SCALE = 0.5
# Features of smaller weight are rounding: R's `cancor`, used by the authors of RDC, drops them too.
_DIRECTION_TOLERANCE = 1e-7
_GRID = 512
# Feature directions have unit variance, so a smaller variance than this is rounding.
_VARIANCE_TOLERANCE = 1e-10


def ranks(rows: Float) -> Float:
    """Return the rank of each value within its column; ties share their mean rank."""
    # The import takes longer than most rankings.
    import scipy.stats

    found: Float = scipy.stats.rankdata(rows, axis=0)
    return found


def rdc_weights(count: int) -> Float:
    """Return the weights and phases, 2×k, of the random features."""
    return random_stream(0, "rdc").normal(scale=_SCALE, size=(2, count))


def rdc_features(rows: Float, count: int = RDC_FEATURES) -> Float:
    """Return functions of ranks that span the random features of each coordinate.

    A feature is ``sin(w p + b)``, where `p` is the fraction of rows up to a row and `w` and `b` are
    normal with standard deviation 0.5, the same for all coordinates and runs. On the unit interval
    twenty such waves span only a few directions above rounding; these are returned, with unit
    variance for ranks without ties, coordinate by coordinate.
    """
    n_samples, width = rows.shape
    # Mean ranks are multiples of one half, so one table contains the features of all ranks.
    shares = np.arange(2, 2 * n_samples + 1) / (2 * n_samples)
    centre, directions = _directions(count)
    table = (_waves(shares, count) - centre) @ directions
    positions = (2 * ranks(rows)).astype(np.intp) - 2
    return table[positions].reshape(n_samples, width * directions.shape[1])


def coefficients(moments: PairMoments, count: int) -> Float:
    """Return the randomised dependence coefficient between all coordinates of two runs.

    This is the largest canonical correlation between the features of two coordinates; `moments`
    are the moments of the features.
    """
    size = _size(count)
    left, right = _whitenings(moments.x, size), _whitenings(moments.y, size)
    # Products of whole strips are faster than one small product per block.
    half = left.transpose(0, 2, 1) @ moments.cross.reshape(len(left), size, -1)
    whole = half.reshape(-1, len(right), size).transpose(1, 0, 2) @ right
    blocks = whole.reshape(len(right), len(left), size, size)
    largest = np.linalg.eigvalsh(blocks.transpose(0, 1, 3, 2) @ blocks)[..., -1]
    found: Float = np.sqrt(np.maximum(largest, 0.0)).T
    return found


def held_coefficients(
    fit: PairMoments,
    held: PairMoments,
    count: int,
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> Float:
    """Return the held-out correlations of the best fitted functions of paired coordinates."""
    size = _size(count)
    sources, targets = pairs
    left, right = _whitenings(fit.x, size)[sources], _whitenings(fit.y, size)[targets]
    turns, _, turns_back = np.linalg.svd(
        left.transpose(0, 2, 1) @ _blocks(fit.cross, size)[pairs] @ right
    )
    first, second = left @ turns[:, :, :1], right @ turns_back.transpose(0, 2, 1)[:, :, :1]
    shared = _form(first, _blocks(held.cross, size)[pairs], second)
    own = _form(first, _blocks(held.x.scatter, size)[sources, sources], first)
    own *= _form(second, _blocks(held.y.scatter, size)[targets, targets], second)
    present = own > np.square(_VARIANCE_TOLERANCE * held.n_samples / fit.n_samples)
    return np.divide(shared, np.sqrt(np.maximum(own, 0.0)), np.zeros_like(shared), where=present)


def _waves(shares: Float, count: int) -> Float:
    slopes, phases = rdc_weights(count)
    waves: Float = np.sin(shares[:, None] * slopes + phases)
    return waves


@lru_cache(maxsize=8)
def _directions(count: int) -> tuple[Float, Float]:
    """Return the mean of the features on the unit interval and a map to their directions."""
    waves = _waves((np.arange(_GRID) + 0.5) / _GRID, count)
    centre: Float = waves.mean(axis=0)
    _, lengths, axes = np.linalg.svd(waves - centre, full_matrices=False)
    kept = lengths > _DIRECTION_TOLERANCE * lengths[0]
    return centre, axes[kept].T * (np.sqrt(_GRID) / lengths[kept])


def _size(count: int) -> int:
    return int(_directions(count)[1].shape[1])


def _blocks(cross: Float, size: int) -> Float:
    rows, columns = cross.shape
    return cross.reshape(rows // size, size, columns // size, size).transpose(0, 2, 1, 3)


def _whitenings(run: RunMoments, size: int) -> Float:
    """Return maps of each coordinate's features to orthonormal columns; absent ones map to 0."""
    which = np.arange(len(run.scatter) // size)
    values, vectors = np.linalg.eigh(_blocks(run.scatter, size)[which, which])
    kept = values > _VARIANCE_TOLERANCE * run.n_samples
    scale = np.sqrt(np.divide(1.0, values, out=np.zeros_like(values), where=kept))
    whitenings: Float = vectors * scale[:, None, :]
    return whitenings


def _form(first: Float, matrices: Float, second: Float) -> Float:
    return (first.transpose(0, 2, 1) @ matrices @ second)[:, 0, 0]
