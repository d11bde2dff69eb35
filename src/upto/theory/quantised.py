"""Detect numbers that are multiples of a step, as quantised weights and decimals are.

Floating-point numbers that were small integers times a scale keep that scale as their step, up to
the rounding of the product. There may be one for the whole matrix, for each column, for each row,
or for each block along a row; and integers may count from an offset. Other numbers are near
multiples of a step only by chance, which becomes less likely the more numbers there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


_SAMPLE = 2**16
_FEWEST_ROWS = 64
_FEWEST_NUMBERS = 32
"""With fewer non-zero numbers, small integers may be exact values."""
_MOST_LEVELS = 2.0**18
_LARGEST_CODE = 1
"""Ones, zeros and minus ones are not rounded weights."""
_DIVISORS = 16
_FAR = 0.125
"""Multiples known less precisely than this fraction of a step are not informative."""
_EVIDENCE = 20.0
"""Bits by which multiples must be closer to integers than by chance."""
_MARGIN = 1.5
_TINY = 2.0**-50
_COARSER = 2.0
_FEW_LINES = 8
_FEW_HEIGHTS = 64
_BLOCKS = (256, 128, 64, 32, 16)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """Steps of a matrix.

    Parameters
    ----------
    name
        Rounding of the numbers, e.g. ``"multiples of 0.001"``.
    squares
        Mean square over rows of the step in each column.
    """

    name: str
    squares: Float


def find_steps(values: NDArray[Any], bits: int) -> Steps | None:
    """Find the steps of which the numbers of a matrix are multiples; None if there are none.

    Parameters
    ----------
    values
        Finite numbers, one row per class.
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
        # A few integers share a divisor by chance, so smaller groups must have much larger steps.
        if best is None or squares.max() > _COARSER**2 * best.squares.max():
            best = Steps(name=name.format(float(found[0])), squares=squares)
    return best


def _groups(rows: Float) -> Iterator[tuple[str, Float, int]]:
    """Yield groups of numbers that may share a step, one per line, and the columns they span."""
    count, width = rows.shape
    yield "multiples of {:.3g}", rows.reshape(1, -1), 0
    if count > 1:
        yield "multiples of a step for each column", np.ascontiguousarray(rows.T), 1
    if width > 1:
        yield "multiples of a step for each row", rows, width
    for block in _BLOCKS:
        if block < width:
            missing = -width % block
            # The last block is padded with its own last number.
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
    """Return the step of each line, zero if it may be a code; None if a line has no step."""
    # Most matrices have no step, which a few lines suffice to show.
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
    """Return sorted heights above zero, or above the smallest number, and their errors."""
    sizes = np.sort(np.abs(lines), axis=1)
    if not from_least:
        return sizes, 2.0**-bits * sizes
    heights = np.sort(lines - lines.min(axis=1, keepdims=True), axis=1)
    return heights, np.broadcast_to(2.0 ** (1 - bits) * sizes[:, -1:], lines.shape)


def _steps_of(heights: Float, errors: Float, code: int) -> tuple[Float, float] | None:
    """Search for steps of sorted heights that are known up to errors.

    A line of multiples up to `code` is not evidence either way.
    """
    rises = np.diff(heights, axis=1, prepend=0.0)
    steps, evidence = np.zeros(len(heights)), np.zeros(len(heights))
    # If differences of large numbers were lost to rounding, the smallest number is left.
    starts = [_least(each, errors) for each in (rises, heights)]
    waiting = np.isfinite(starts[1][0])
    # Steps are chosen among rises and divisors: that many comparisons may succeed by chance.
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
    """Return the smallest rise of each line beyond rounding, and its relative error."""
    found = np.where(rises > 8.0 * errors, rises, np.inf)
    where = found.argmin(axis=1)[:, None]
    least = np.take_along_axis(found, where, axis=1)[:, 0]
    return least, 2.0 * np.take_along_axis(errors, where, axis=1)[:, 0] / least


def _refined(heights: Float, errors: Float, step: Float, relative: Float) -> tuple[Float, Float]:
    """Refine steps by all heights whose multiples are certain, from small to large."""
    for _ in range(3):
        reach = step * np.minimum(_FAR / np.maximum(relative, _TINY), _MOST_LEVELS)
        whole = np.rint(heights / step[:, None])
        sure = (heights <= reach[:, None]) & (whole > 0)
        whole = np.where(sure, whole, 1.0)
        # Each height allows an interval of steps; the step is in all of them.
        low = np.where(sure, (heights - errors) / whole, 0.0).max(axis=1)
        high = np.where(sure, (heights + errors) / whole, np.inf).min(axis=1)
        better = (low <= high) & (high - low < 2.0 * relative * step)
        middle = np.where(better, 0.5 * (low + high), step)
        relative = np.where(better, np.maximum(0.5 * (high - low) / middle, _TINY), relative)
        step = middle
    return step, relative


def _fit(heights: Float, errors: Float, step: Float, relative: Float) -> tuple[Float, Float]:
    """Return the largest multiple of each line, and the evidence against chance in bits.

    The largest is zero if a height is not a multiple.
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
    # One height determines the step.
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
