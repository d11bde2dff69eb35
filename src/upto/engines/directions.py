"""Find the directions in which a run varies by more than the rounding of its numbers.

The rounding is inferred from the numbers: doubles whose last bits are zero were once of a shorter
type, and short decimals were once written as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core.array_types import Float
from upto.engines.algebra import eigh

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines import Moments


COVARIANCE = 1e-10
"""Below this fraction of the largest, variances are computed from rows: covariances are rounded."""
_EPS = float(np.finfo(np.float64).eps)
_SINGLE = float(np.finfo(np.float32).eps)
_NARROWEST = 1e-13
_MARGIN = 4.0
"""Factor by which a direction must be wider than rounding."""
_LOOKED_AT = 256
_LEVELS = 32
"""Distinct values among these rows below which a coordinate is discrete, not rounded."""
_MOST_DIGITS = 12
_DIGITS_OF_SINGLE = 9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Span:
    """The directions of a run.

    `axes` are the principal directions, widest first, and `widths` the standard deviations along
    them. `is_thin` marks runs with directions too narrow to be visible in a covariance matrix.
    """

    axes: Float
    widths: Float
    is_thin: bool

    @property
    def rank(self) -> int:
        """Number of directions."""
        return len(self.widths)

    @property
    def whitening(self) -> Float:
        """Matrix whose columns project the rows to unit variance."""
        return self.axes / self.widths


def find_span(part: Moments, sample: Float, rounding: Float) -> Span:
    """Find the directions in which rows vary by more than rounding.

    Coordinates are first scaled to unit variance, so that one large coordinate does not hide the
    small ones.

    Parameters
    ----------
    part
        Moments of the rows.
    sample
        Some of the rows: their singular values reveal directions that a covariance does not.
    rounding
        Standard deviation of the rounding of each coordinate, e.g. from `stored_rounding`.
    """
    deviation = np.sqrt(np.diag(part.scatter) / part.weight)
    alive = np.flatnonzero(deviation)
    if not len(alive):
        return Span(axes=np.empty((len(deviation), 0)), widths=np.empty(0), is_thin=False)
    own = deviation[alive]
    noise = np.square(_MARGIN * rounding[alive] / own)
    variances, axes = eigh(part.scatter / part.weight)
    # The least variance at unit variance of coordinates is not below this one.
    least_at_unit = variances[0] / float(deviation.max()) ** 2
    if least_at_unit > max(COVARIANCE * len(deviation), float(noise.max())):
        return Span(axes=axes[:, ::-1], widths=np.sqrt(variances[::-1]), is_thin=False)
    scale = np.outer(own, own) * part.weight
    values, vectors = eigh(part.scatter[np.ix_(alive, alive)] / scale)
    least = noise @ np.square(vectors)
    kept = values > np.maximum(COVARIANCE * values[-1], least)
    kept[-1] = True
    is_thin = False
    if bool((least[~kept] < COVARIANCE * values[-1]).any()):
        centred = centred_rows(sample, part.mean)[:, alive] / own
        singular, turned = np.linalg.svd(centred, full_matrices=False)[1:]
        found = np.square(singular) / len(sample)
        least = np.maximum(noise @ np.square(turned.T), _NARROWEST**2 * found[0])
        if np.count_nonzero(found > least) > np.count_nonzero(kept):
            is_thin = True
            values, vectors, kept = found, turned.T, found > least
    everything = len(kept) == len(deviation) and kept.all() and not is_thin
    # Coordinates of very different scales need the detour through unit variance.
    if everything and variances[0] > COVARIANCE * variances[-1]:
        return Span(axes=axes[:, ::-1], widths=np.sqrt(variances[::-1]), is_thin=False)
    out = np.zeros((len(deviation), np.count_nonzero(kept)))
    out[alive] = own[:, None] * vectors[:, kept] * np.sqrt(values[kept])
    axes, widths, _ = np.linalg.svd(out, full_matrices=False)
    return Span(axes=axes, widths=widths, is_thin=is_thin)


def centred_rows(rows: Float, near: Float) -> Float:
    """Centre rows after subtracting `near`, so that rows far from the origin lose no precision."""
    rows = rows - near
    return np.asarray(rows - rows.mean(axis=0), dtype=np.float64)


def stored_rounding(sample: Float) -> Float:
    """Return the standard deviation that rounding alone causes in each coordinate."""
    seen = np.asarray(sample[:_LOOKED_AT], dtype=np.float64)
    size = np.sqrt(np.mean(np.square(seen), axis=0))
    found: Float = _EPS * size
    n_levels = 1 + np.count_nonzero(np.diff(np.sort(seen, axis=0), axis=0), axis=0)
    # Integers, and the few values of a discrete coordinate, are not rounded.
    rounded = (n_levels >= _LEVELS) & (np.rint(seen) != seen).any(axis=0)
    found[rounded] = (_binary(seen) * size)[rounded]
    short = rounded & _ends(seen, _MOST_DIGITS).all(axis=0)
    found[short] = np.maximum(found[short], _decimal(seen[:, short]))
    return found


def _binary(values: Float) -> Float:
    """Return for each column the relative rounding of the shortest type that fits its numbers."""
    whole = np.ldexp(np.abs(np.frexp(values)[0]), 53).astype(np.int64)
    # The lowest bit that is set.
    lowest = np.min(whole & -whole, axis=0, where=whole > 0, initial=2**52)
    return np.asarray(_EPS * lowest, dtype=np.float64)


def _decimal(values: Float) -> Float:
    """Return the standard deviation of rounding to few decimals or few digits, per column."""
    before, decimals = _before(values), np.empty_like(values)
    for digits in range(_MOST_DIGITS, 0, -1):
        decimals = np.where(_ends(values, digits), digits - before, decimals)
    decimals[values == 0] = -np.inf
    digits_of_column = (decimals + before).max(axis=0, initial=1.0)
    by_decimals = 10.0 ** -decimals.max(axis=0, initial=-_MOST_DIGITS)
    steps = np.maximum(by_decimals, np.where(values == 0, 0.0, 10.0 ** (before - digits_of_column)))
    # Single-precision numbers are written with up to nine digits.
    is_single = (digits_of_column >= _DIGITS_OF_SINGLE - 1) & (
        digits_of_column <= _DIGITS_OF_SINGLE
    )
    deviation = np.maximum(steps / np.sqrt(12), np.where(is_single, _SINGLE * np.abs(values), 0.0))
    return np.asarray(np.sqrt(np.mean(np.square(deviation), axis=0)))


def _before(values: Float) -> Float:
    """Return the number of digits before the decimal point; negative for small numbers."""
    size = np.abs(values)
    return np.asarray(np.floor(np.log10(np.where(size > 0, size, 1.0))) + 1, dtype=np.float64)


def _ends(values: Float, digits: int) -> NDArray[np.bool_]:
    """Return which numbers have at most this many digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        unit = 10.0 ** (digits - _before(values))
        away = np.abs(np.rint(values * unit) / unit - values)
        return np.asarray(away <= 4 * _EPS * np.abs(values))
