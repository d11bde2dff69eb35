"""Whether numbers are whole multiples of one step, as quantised weights and rounded decimals are.

Floating-point numbers that once were small whole numbers times a scale keep that scale as their
step, up to the rounding of the product. There may be one for the whole matrix, for each column, for
each row, or for each block along a row; and whole numbers may count from an offset. Numbers that
were not rounded so are near multiples of a step by chance only, and the more there are, the less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.arrays import Float

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


_SAMPLE = 2**16
_FEWEST_ROWS = 64
_FEWEST_NUMBERS = 32
"""Of fewer numbers that are not zero, small whole ones may be meant as they are."""
_MOST_LEVELS = 2.0**18
_LARGEST_CODE = 1
"""Ones, zeros and minus ones are no rounded weights."""
_DIVISORS = 16
_FAR = 0.125
"""Multiples known to no more than this part of a step tell nothing."""
_EVIDENCE = 20.0
"""Bits by which multiples must be nearer to whole ones than by chance."""
_MARGIN = 1.5
_TINY = 2.0**-50
_COARSER = 2.0
_FEW_LINES = 8
_FEW_HEIGHTS = 64
_BLOCKS = (256, 128, 64, 32, 16)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """Steps of a matrix, and what they belong to.

    Parameters
    ----------
    name
        What numbers were rounded to, as ``"multiples of 0.001"``.
    squares
        Mean square over rows of the step in each column.
    """

    name: str
    squares: Float


def find_steps(values: NDArray[Any], bits: int) -> Steps | None:
    """Find the steps of which the numbers of a matrix are multiples; None where there are none.

    Parameters
    ----------
    values
        Finite numbers, one row a class.
    bits
        Bits of the significand with which multiples of a step were stored.
    """
    most = max(_FEWEST_ROWS, _SAMPLE // values.shape[1])
    rows = np.asarray(values[:: max(1, len(values) // most)][:most], dtype=np.float64)
    if np.count_nonzero(rows) < _FEWEST_NUMBERS:
        return None
    best: Steps | None = None
    for name, lines, block in _groups(rows):
        found = _line_steps(lines, bits)
        if found is None:
            continue
        squares = _by_column(np.square(found), rows.shape, block)
        # A few whole numbers have a common divisor by chance, so a finer choice must say much more.
        if best is None or squares.max() > _COARSER**2 * best.squares.max():
            best = Steps(name=name.format(float(found[0])), squares=squares)
    return best


def _groups(rows: Float) -> Iterator[tuple[str, Float, int]]:
    """Yield numbers that may share a step, one line each, and how many columns a line spans."""
    count, width = rows.shape
    yield "multiples of {:.3g}", rows.reshape(1, -1), 0
    if count > 1:
        yield "multiples of a step for each column", np.ascontiguousarray(rows.T), 1
    if width > 1:
        yield "multiples of a step for each row", rows, width
    for block in _BLOCKS:
        if block < width:
            missing = -width % block
            # The last block is filled up with a number of its own.
            filled = np.pad(rows, ((0, 0), (0, missing)), mode="edge")
            yield f"multiples of a step for each {block} numbers", filled.reshape(-1, block), block


def _by_column(squares: Float, shape: tuple[int, int], block: int) -> Float:
    count, width = shape
    if block == 0:
        return np.full(width, squares[0])
    if block == 1:
        return squares
    return np.repeat(squares.reshape(count, -1).mean(axis=0), block)[:width]


def _line_steps(lines: Float, bits: int) -> Float | None:
    """Return the step of each line, zero where it may be a code; None where one has none."""
    # Most matrices have no step, and a few lines show it.
    few = lines[:_FEW_LINES]
    for from_least in (False, True):
        if (
            _steps_of(*_heights(few, bits, from_least=from_least), _LARGEST_CODE * (1 + from_least))
            is None
        ):
            continue
        found = _steps_of(
            *_heights(lines, bits, from_least=from_least), _LARGEST_CODE * (1 + from_least)
        )
        if found is not None and found[1] >= _EVIDENCE:
            return found[0]
    return None


def _heights(lines: Float, bits: int, *, from_least: bool) -> tuple[Float, Float]:
    """Return sorted heights above zero, or above the least number, and how far each may be off."""
    sizes = np.sort(np.abs(lines), axis=1)
    if not from_least:
        return sizes, 2.0**-bits * sizes
    heights = np.sort(lines - lines.min(axis=1, keepdims=True), axis=1)
    return heights, np.broadcast_to(2.0 ** (1 - bits) * sizes[:, -1:], lines.shape)


def _steps_of(heights: Float, errors: Float, code: int) -> tuple[Float, float] | None:
    """Search for steps of sorted heights that are known up to errors.

    A line of multiples up to `code` is no evidence either way.
    """
    rises = np.diff(heights, axis=1, prepend=0.0)
    steps, evidence = np.zeros(len(heights)), np.zeros(len(heights))
    # Where rises between large numbers were rounded away, the least number itself is left.
    starts = [_least(each, errors) for each in (rises, heights)]
    waiting = np.isfinite(starts[1][0])
    # Steps are chosen among rises and divisors, so chance has as many tries.
    distinct = np.maximum(1, np.count_nonzero(rises > 8.0 * errors, axis=1))
    costs = 2.0 * np.log2(distinct) + math.log2(2 * _DIVISORS)
    for begun, error in starts:
        for divisor in range(1, _DIVISORS + 1):
            tried = waiting & np.isfinite(begun)
            tried &= heights[:, -1] * divisor <= 2.0 * _MOST_LEVELS * begun
            chosen = np.flatnonzero(tried)
            if not len(chosen):
                break
            refined, relative = _refined(
                heights[chosen], errors[chosen], begun[chosen] / divisor, error[chosen]
            )
            largest, bits = _fit(heights[chosen], errors[chosen], refined, relative)
            bits -= costs[chosen]
            may_be_code = (largest > 0) & (largest <= code)
            clear = (largest > code) & (bits > 0)
            steps[chosen[clear]] = refined[clear]
            evidence[chosen[clear]] = bits[clear]
            waiting[chosen[may_be_code | clear]] = False
        if not waiting.any():
            return steps, float(evidence.sum())
    return None


def _least(rises: Float, errors: Float) -> tuple[Float, Float]:
    """Return the least rise of each line that is no rounding, and its relative error."""
    found = np.where(rises > 8.0 * errors, rises, np.inf)
    where = found.argmin(axis=1)[:, None]
    least = np.take_along_axis(found, where, axis=1)[:, 0]
    return least, 2.0 * np.take_along_axis(errors, where, axis=1)[:, 0] / least


def _refined(heights: Float, errors: Float, step: Float, relative: Float) -> tuple[Float, Float]:
    """Narrow steps down by all heights whose multiples are sure, from small ones to large ones."""
    for _ in range(3):
        reach = step * np.minimum(_FAR / np.maximum(relative, _TINY), _MOST_LEVELS)
        whole = np.rint(heights / step[:, None])
        sure = (heights <= reach[:, None]) & (whole > 0)
        whole = np.where(sure, whole, 1.0)
        # Each height allows an interval of steps, and the step lies in all of them.
        low = np.where(sure, (heights - errors) / whole, 0.0).max(axis=1)
        high = np.where(sure, (heights + errors) / whole, np.inf).min(axis=1)
        better = (low <= high) & (high - low < 2.0 * relative * step)
        middle = np.where(better, 0.5 * (low + high), step)
        relative = np.where(better, np.maximum(0.5 * (high - low) / middle, _TINY), relative)
        step = middle
    return step, relative


def _fit(heights: Float, errors: Float, step: Float, relative: Float) -> tuple[Float, Float]:
    """Return the largest multiple of each line, and by how many bits multiples beat chance.

    The largest is zero where a height is no multiple.
    """
    some = slice(None, None, max(1, heights.shape[1] // _FEW_HEIGHTS))
    largest, bits = np.zeros(len(heights)), np.zeros(len(heights))
    fits = np.flatnonzero(_away(heights[:, some], errors[:, some], step, relative)[0])
    if not len(fits):
        return largest, bits
    fine, whole, slack = _away(heights[fits], errors[fits], step[fits], relative[fits])
    largest[fits] = np.where(fine & (whole[:, -1] <= _MOST_LEVELS), whole[:, -1], 0.0)
    fresh = (np.diff(whole, axis=1, prepend=0.0) > 0) & (slack <= _FAR)
    known = np.where(fresh, -np.log2(np.maximum(2.0 * slack, _TINY)), 0.0)
    # One height is the measure of the step.
    bits[fits] = known.sum(axis=1) - known.max(axis=1)
    return largest, bits


def _away(
    heights: Float, errors: Float, step: Float, relative: Float
) -> tuple[NDArray[np.bool_], Float, Float]:
    multiples = heights / step[:, None]
    slack = _MARGIN * (errors / step[:, None] + relative[:, None] * multiples)
    whole = np.rint(multiples)
    fits: NDArray[np.bool_] = (np.abs(multiples - whole) <= slack) | (slack > _FAR)
    return np.asarray(fits.all(axis=1)), whole, slack
