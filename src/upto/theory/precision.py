"""Precision with which numbers were stored, from their type and their values.

Widened numbers keep the gaps of their original type: bfloat16 read as float32 uses 8 of 24 bits.
And numbers of few bits that were multiplied by one scale have few significands, as the product of
s·2ᵉ with c is (s·c)·2ᵉ for any e: two numbers then share a significand far more often than numbers
with all bits do. This is tested in the whole matrix, within rows (class vectors scaled to length
one) and within columns (a gain that was multiplied in). Rows of length one that are too few for
the test count as coarse as they may be; other matrices need some hundreds of numbers. Quantised
weights and decimals are multiples of a step instead (`upto.theory.quantised`); the coarser counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float
from upto.theory.quantised import find_steps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


_NAMES = {
    53: "float64",
    24: "float32",
    11: "float16",
    8: "bfloat16",
    4: "float8 (e4m3)",
    3: "float8 (e5m2)",
}
_SHORT = {3: 2.0**3, 4: 2.0**4, 8: 2.0**8, 11: 2.0**11}
"""Bits, and the largest number of significands that indicates them: twice as many as exist."""
_SINGLE = 24
_EIGHTS = 4
"""Largest number of bits that small whole numbers have by design."""
_FEWEST_PAIRS = 64
_SAMPLE = 2**16
_LINES = 512
_TELLING = 64.0
"""Pairs per significand above which the absence of coincidences is not an accident."""
_ONE_LENGTH = 1e-5
_HALF_STEP = 2.0**-24
"""Numbers in float16 are multiples of this."""
_ROWS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Precision with which numbers were stored.

    Parameters
    ----------
    name
        The type, e.g. ``"bfloat16"``.
    bits
        Bits of the significand, including the leading one; zero for whole numbers.
    step
        Smallest distance between two numbers of any size.
    squares
        For numbers that are multiples of several steps, the mean square over rows of the step in
        each column.
    """

    name: str
    bits: int
    step: float
    squares: Float | None = None

    def gaps(self, values: Float) -> Float:
        """Return the distance from each number to the next one of this precision."""
        if self.bits == 0:
            return np.full(values.shape, self.step)
        _, exponents = np.frexp(values)
        found: Float = np.where(values == 0.0, 0.0, np.ldexp(1.0, exponents - self.bits))
        return np.maximum(found, self.step)


def stored_precision(values: NDArray[Any]) -> Precision:
    """Find the precision with which the numbers of a matrix were stored.

    Parameters
    ----------
    values
        Finite numbers, one row per class.
    """
    relative = significand_precision(values)
    if relative.bits == 0:
        return relative
    own = type_precision(values).bits
    coarsest, most = relative, rounding_norm(values, relative)
    # Multiples of a step may have been computed in the type they have, or rounded to fewer bits:
    # multiples of a coarse step are multiples of a fine one too, so the coarsest counts.
    for bits in sorted({own, min(own, _SINGLE), relative.bits}, reverse=True):
        found = find_steps(values, bits)
        if found is None:
            continue
        step = float(np.sqrt(found.squares.max()))
        stepped = Precision(name=found.name, bits=0, step=step, squares=found.squares)
        norm = rounding_norm(values, stepped)
        if norm > most:
            coarsest, most = stepped, norm
    return coarsest


def significand_precision(values: NDArray[Any]) -> Precision:
    """Find the number of significand bits the numbers of a matrix use, whatever their steps.

    Parameters
    ----------
    values
        Finite numbers, one row per class.
    """
    known = type_precision(values)
    if known.bits == 0:
        return known
    bits, step = known.bits, known.step
    for fewer in sorted(_NAMES, reverse=True):
        fits = fewer < bits and all(_fits(block, fewer) for block in _blocks(values))
        if fits and (fewer > _EIGHTS or _n_sizes(values) >= 2 ** (fewer + 1)):
            bits = fewer
    scaled = _scaled_bits(values) if bits > min(_SHORT) else None
    if scaled is not None and scaled < bits:
        return Precision(name=f"{_NAMES[scaled]}, scaled", bits=scaled, step=step)
    if bits <= max(_SHORT) and all(_are_halves(block) for block in _blocks(values)):
        step = _HALF_STEP
    return Precision(name=_NAMES[bits], bits=bits, step=step)


def type_precision(values: NDArray[Any]) -> Precision:
    """Return the precision of the type of a matrix, whatever its values."""
    kind = values.dtype
    if kind.kind == "f":
        bits = min(max(_NAMES), np.finfo(kind).nmant + 1)
        step = float(np.finfo(kind).smallest_subnormal)
        return Precision(name=_NAMES[bits], bits=bits, step=step)
    # Ones and zeros are not rounded weights; larger whole numbers may be quantised ones.
    largest = max(abs(int(values.max(initial=0))), abs(int(values.min(initial=0))))
    return Precision(name=str(kind), bits=0, step=float(largest > 1))


def rounding_norm(values: NDArray[Any], precision: Precision) -> float:
    """Return the largest effect of rounding on the smallest singular value.

    If the rows of a matrix have no component along a unit vector u, rounding gives them one of at
    most half a gap per number, typically 1/√12 of a gap since errors have either sign. The bound
    used is one gap per number, in the coordinate with the largest gaps: about three times the
    typical effect, and more than any rounding can cause for up to four coordinates.
    """
    if precision.squares is not None:
        return float(np.sqrt(len(values) * precision.squares.max()))
    squares = np.zeros(values.shape[1])
    for block in _blocks(values):
        squares += np.square(precision.gaps(np.asarray(block, dtype=np.float64))).sum(axis=0)
    return float(np.sqrt(squares.max()))


def _fits(block: NDArray[Any], bits: int) -> bool:
    significands, _ = np.frexp(block)
    scaled = np.ldexp(significands.astype(np.float64), bits)
    return bool((scaled == np.rint(scaled)).all())


def _are_halves(block: NDArray[Any]) -> bool:
    with np.errstate(over="ignore"):
        return bool((block.astype(np.float16).astype(block.dtype) == block).all())


def _scaled_bits(values: NDArray[Any]) -> int | None:
    """Return the bits of numbers that were rescaled after rounding."""
    most = max(2, _SAMPLE // values.shape[1])
    rows = np.abs(values[:: max(1, len(values) // most)][:most])
    found = []
    for lines in (rows.reshape(1, -1), rows, rows.T):
        pairs, coincidences = _coincidences(lines)
        telling = 0.0
        if lines is rows and _have_one_length(rows):
            telling = _TELLING
        for bits, distinct in _SHORT.items():
            is_long = bits > _EIGHTS
            enough = coincidences and (is_long or pairs >= _FEWEST_PAIRS)
            if (enough and pairs <= distinct * coincidences) or (
                is_long and pairs < telling * distinct
            ):
                found.append(bits)
    return min(found, default=None)


def _n_sizes(values: NDArray[Any]) -> int:
    """Count distinct absolute values, in some rows."""
    most = max(2, _SAMPLE // values.shape[1])
    sizes = np.unique(np.abs(values[:: max(1, len(values) // most)][:most]))
    return int(np.count_nonzero(sizes))


def _coincidences(lines: NDArray[Any]) -> tuple[float, float]:
    """Count pairs of numbers within lines, and those that share a significand."""
    pairs = coincidences = 0.0
    for line in lines[:: max(1, len(lines) // _LINES)]:
        # Equal numbers may be equal by design: only different exponents are evidence.
        sizes = np.unique(line[line > 0])
        significands = np.frexp(sizes)[0].astype(np.float32)
        counts = np.unique(significands, return_counts=True)[1].astype(np.float64)
        pairs += len(sizes) * (len(sizes) - 1.0) / 2.0
        coincidences += float(np.sum(counts * (counts - 1.0))) / 2.0
    return pairs, coincidences


def _have_one_length(rows: NDArray[Any]) -> bool:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    return bool(lengths.min() > 0 and lengths.max() <= (1.0 + _ONE_LENGTH) * lengths.min())


def _blocks(values: NDArray[Any]) -> Iterable[NDArray[Any]]:
    return (values[start : start + _ROWS] for start in range(0, len(values), _ROWS))
