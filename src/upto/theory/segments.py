"""Affine pieces of a network with one input, and the exact overlaps of their images."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float

if TYPE_CHECKING:
    from upto.theory.piecewise import PiecewiseNetwork


_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Segment:
    """A piece: ``f(z) = slope z + offset`` for z from `low` to `high`, which may be infinite.

    `slope_error` and `offset_error` bound the accumulated rounding of each number.
    """

    low: float
    high: float
    slope: Float
    offset: Float
    slope_error: Float
    offset_error: Float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarPreimages:
    """Overlaps of the images of the pieces.

    Parameters
    ----------
    n_pieces
        Number of pieces.
    n_flat
        Number of constant pieces.
    n_overlapping
        Number of pairs of pieces whose images share an interval.
    n_crossing
        Number of pairs whose images meet in one point that is not a common end.
    n_single
        Number of pieces with an interval whose images have one preimage.
    is_exact
        Whether rounding is too small to change any of these numbers.
    """

    n_pieces: int
    n_flat: int
    n_overlapping: int
    n_crossing: int
    n_single: int
    is_exact: bool


def segments(network: PiecewiseNetwork) -> tuple[Segment, ...]:
    """Return all pieces of a network with one input, from left to right.

    Parameters
    ----------
    network
        A network with one input.

    Raises
    ------
    InputError
        If it has more inputs.
    """
    if network.n_inputs != 1:
        message = (
            f"a network of {network.n_inputs} inputs has no ordered pieces: it must have one input."
        )
        raise InputError(message)
    none = np.zeros(1)
    found = [
        Segment(
            low=-np.inf,
            high=np.inf,
            slope=np.ones(1),
            offset=none,
            slope_error=none,
            offset_error=none,
        )
    ]
    for number, (matrix, offset) in enumerate(network.layers):
        found = [_mapped(each, matrix, offset) for each in found]
        if network.is_activated(number):
            found = [part for each in found for part in _bent(each, network.leak)]
    return tuple(found)


def scalar_preimages(network: PiecewiseNetwork) -> ScalarPreimages:
    """Find the overlaps of the images of the pieces of a network with one input.

    Parameters
    ----------
    network
        A network with one input.
    """
    pieces = segments(network)
    size = max(float(np.linalg.norm(each.slope)) for each in pieces)
    flat = [float(np.linalg.norm(each.slope)) <= _ROUNDING * size for each in pieces]
    covered: list[list[tuple[float, float]]] = [[] for _ in pieces]
    overlapping = crossing = 0
    for first, second in combinations(range(len(pieces)), 2):
        if flat[first] or flat[second]:
            continue
        shared = _shared(pieces[first], pieces[second])
        if shared is None:
            continue
        slack = _ROUNDING * _reach(*shared)
        if shared[1] - shared[0] > slack:
            overlapping += 1
            covered[first].append(shared)
            back = _shared(pieces[second], pieces[first])
            if back is not None:
                covered[second].append(back)
        elif second != first + 1 or abs(shared[0] - pieces[first].high) > slack:
            crossing += 1
    single = sum(
        not is_flat and not _covers(spans, piece.low, piece.high)
        for piece, spans, is_flat in zip(pieces, covered, flat, strict=True)
    )
    return ScalarPreimages(
        n_pieces=len(pieces),
        n_flat=sum(flat),
        n_overlapping=overlapping,
        n_crossing=crossing,
        n_single=single,
        is_exact=all(_is_exact(each, size) for each in pieces),
    )


def _is_exact(piece: Segment, size: float) -> bool:
    """Return whether rounding is far below the tolerance for comparing images."""
    reach = 1.0 + float(np.linalg.norm(piece.offset))
    slope, offset = (float(np.linalg.norm(e)) for e in (piece.slope_error, piece.offset_error))
    return slope <= _ROUNDING / 4.0 * size and offset <= _ROUNDING / 4.0 * reach


def _mapped(piece: Segment, matrix: Float, offset: Float) -> Segment:
    size = np.abs(matrix)
    # A sum of n products is rounded by at most n + 1 units of their sizes.
    unit = (matrix.shape[1] + 1) * float(np.finfo(np.float64).eps)
    return Segment(
        low=piece.low,
        high=piece.high,
        slope=matrix @ piece.slope,
        offset=matrix @ piece.offset + offset,
        slope_error=size @ (piece.slope_error + unit * np.abs(piece.slope)),
        offset_error=size @ (piece.offset_error + unit * np.abs(piece.offset))
        + unit * np.abs(offset),
    )


def _bent(segment: Segment, leak: float) -> list[Segment]:
    """Split a piece where a unit changes sign, and apply the activation."""
    sloped = segment.slope != 0
    roots = np.unique(-segment.offset[sloped] / segment.slope[sloped])
    inside = roots[(roots > segment.low) & (roots < segment.high)]
    ends = [segment.low, *inside.tolist(), segment.high]
    parts = []
    for low, high in pairwise(ends):
        active = segment.slope * _between(low, high) + segment.offset > 0
        factor = np.where(active, 1.0, leak)
        parts.append(
            Segment(
                low=low,
                high=high,
                slope=factor * segment.slope,
                offset=factor * segment.offset,
                slope_error=factor * segment.slope_error,
                offset_error=factor * segment.offset_error,
            )
        )
    return parts


def _between(low: float, high: float) -> float:
    if np.isinf(low):
        return 0.0 if np.isinf(high) else high - 1.0
    return low + 1.0 if np.isinf(high) else (low + high) / 2


def _shared(piece: Segment, other: Segment) -> tuple[float, float] | None:
    """Return the interval of a piece whose images another piece has too."""
    length, other_length = np.linalg.norm(piece.slope), np.linalg.norm(other.slope)
    along, toward = piece.slope / length, other.slope / other_length
    apart = other.offset - piece.offset
    size = 1.0 + float(np.linalg.norm(piece.offset)) + float(np.linalg.norm(other.offset))
    cosine = float(np.clip(along @ toward, -1.0, 1.0))
    sine = float(np.linalg.norm(toward - cosine * along))
    if sine <= _ROUNDING:
        # On one line: z' = ratio z + shift.
        if np.linalg.norm(apart - (apart @ along) * along) > _ROUNDING * size:
            return None
        ratio = np.sign(cosine) * length / other_length
        shift = -(apart @ toward) / other_length
        ends = sorted([(other.low - shift) / ratio, (other.high - shift) / ratio])
        low, high = max(piece.low, ends[0]), min(piece.high, ends[1])
        return (float(low), float(high)) if low <= high + _ROUNDING * _reach(low, high) else None
    system = np.stack([piece.slope, -other.slope], axis=1)
    (here, there), *_ = np.linalg.lstsq(system, apart)
    if np.linalg.norm(system @ [here, there] - apart) > _ROUNDING * size:
        return None
    return (float(here), float(here)) if _within(here, piece) and _within(there, other) else None


def _within(point: float, piece: Segment) -> bool:
    slack = _ROUNDING * _reach(point)
    return bool(piece.low - slack <= point <= piece.high + slack)


def _covers(spans: list[tuple[float, float]], low: float, high: float) -> bool:
    """Return whether intervals cover a whole piece."""
    reached = low
    for start, stop in sorted(spans):
        if start > reached + _ROUNDING * _reach(reached):
            return False
        reached = max(reached, stop)
    return reached >= high - _ROUNDING * _reach(reached)


def _reach(*points: float) -> float:
    return 1.0 + sum(abs(point) for point in points if np.isfinite(point))
