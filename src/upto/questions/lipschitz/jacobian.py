"""Extreme singular values of a decoder's Jacobian at each point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from upto.core import random_stream
from upto.core.array_types import Float
from upto.engines import host_array
from upto.geometry.jacobians import (
    Extremes,
    batch_of_points,
    dense_extremes,
    form_jacobians,
    jacobian_method,
    lanczos_extremes,
    row_lengths,
)
from upto.questions.lipschitz.decoder_checks import (
    check_decoder,
    host_numbers,
    refuse_chance,
    refuse_not_finite,
)
from upto.questions.lipschitz.result import Method

if TYPE_CHECKING:
    from typing import Literal

    from upto.core import Progress
    from upto.decoders.decoder import Decoder, Linearisation


_ROUNDINGS = 4.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stretches:
    """Largest and smallest factors by which a map stretches directions at each point.

    `values` are all singular values and `columns` the column lengths of the Jacobian, if it was
    formed; `lengths` are those of random directions, one row per direction. `direction_at` returns
    the direction of an extreme, empty if not known.
    """

    method: Method
    largest: Float
    smallest: Float
    settled: NDArray[np.bool_]
    values: Float | None
    columns: Float | None
    lengths: Float | None
    outputs: Float | None
    n_outputs: int
    is_single: bool
    n_clashes: int
    direction_at: Callable[..., tuple[float, ...]]


def jacobian_stretches(
    decoder: Decoder,
    points: Float,
    *,
    directions: int,
    method: Literal["auto", "dense", "lanczos"],
    steps: int,
    seed: int,
    progress: Progress,
) -> Stretches:
    """Compute the extreme stretches of a decoder's Jacobian at every point."""
    tried = check_decoder(decoder, points, random_stream(seed, "differences"))
    n_points, n_latents = points.shape
    pushed = tried.push(0.0 * tried.points)
    n_outputs, is_single = int(pushed.shape[1]), _is_single(tried.points, tried.outputs, pushed)
    can_pull = tried.pull is not None
    chosen = (
        jacobian_method(n_latents, n_outputs, can_pull=can_pull) if method == "auto" else method
    )
    if not can_pull:
        chosen = "dense"
    steps = min(steps, n_latents)
    block = batch_of_points(n_latents, n_outputs, steps if chosen == "lanczos" else None)
    drawn = random_stream(seed, "directions")
    started = random_stream(seed, "lanczos")
    parts: list[tuple[Extremes, Float | None, Float | None]] = []
    with progress.task("Jacobians", n_points) as advance:
        for start in range(0, n_points, block):
            linear = decoder.linearise(points[start : start + block])
            unit = _unit_vectors(drawn, len(linear.points), directions, n_latents)
            if chosen == "dense":
                formed = form_jacobians(linear)
                found = dense_extremes(formed)
                lengths = _lengths_of(formed, unit)
            else:
                found = lanczos_extremes(linear, steps=steps, rng=started)
                lengths = _lengths_by_products(linear, unit)
            outputs = None if linear.outputs is None else host_numbers(linear.outputs)
            if outputs is not None:
                refuse_not_finite(decoder.name, "outputs", outputs)
                refuse_chance(decoder, points[start : start + block], outputs)
            parts.append((found, lengths, outputs))
            advance(len(linear.points))
    largest, smallest, settled = (
        np.concatenate([getattr(found, name) for found, _, _ in parts])
        for name in ("largest", "smallest", "settled")
    )
    outputs = _joined([part[2] for part in parts], axis=0)
    refuse_not_finite(decoder.name, "derivatives", np.stack([largest, smallest], axis=1))
    lengths = _joined([part[1] for part in parts], axis=1)
    if lengths is not None:
        # A random direction beyond the extremes found is a tighter bound on them.
        largest = np.maximum(largest, lengths.max(axis=0))
        smallest = np.minimum(smallest, lengths.min(axis=0))
    # Rounding the entries of a Jacobian moves its singular values by at most about this fraction.
    rounding = float(np.finfo(np.float32 if is_single else np.float64).eps)
    is_null = smallest <= _ROUNDINGS * rounding * np.sqrt(max(n_latents, n_outputs)) * largest
    smallest = np.where(is_null | (n_outputs < n_latents), 0.0, smallest)

    def direction_at(place: int, *, shrinks: bool) -> tuple[float, ...]:
        if chosen != "dense":
            return ()
        formed = host_array(form_jacobians(decoder.linearise(points[place : place + 1])))[0]
        basis, _, _ = np.linalg.svd(np.asarray(formed, dtype=np.float64), full_matrices=False)
        found = basis[:, -1 if shrinks else 0]
        # The sign of a singular vector is arbitrary: make its largest entry positive.
        sign = np.sign(found[np.argmax(np.abs(found))])
        return tuple(float(each) for each in sign * found)

    return Stretches(
        method=chosen,
        largest=largest,
        smallest=smallest,
        settled=settled,
        values=_joined([found.values for found, _, _ in parts], axis=0),
        columns=_joined([found.columns for found, _, _ in parts], axis=0),
        lengths=lengths,
        outputs=outputs,
        n_outputs=n_outputs,
        is_single=is_single,
        n_clashes=0,
        direction_at=direction_at,
    )


def _unit_vectors(rng: np.random.Generator, n_points: int, count: int, width: int) -> Float | None:
    if not count:
        return None
    drawn = rng.standard_normal((n_points, count, width))
    unit: Float = drawn / np.linalg.norm(drawn, axis=2, keepdims=True)
    return unit


def _lengths_of(jacobians: Any, unit: Float | None) -> Float | None:
    if unit is None:
        return None
    return row_lengths(_like(jacobians, unit) @ jacobians).T


def _lengths_by_products(linear: Linearisation, unit: Float | None) -> Float | None:
    if unit is None:
        return None
    found = []
    for place in range(unit.shape[1]):
        found.append(row_lengths(linear.push(_like(linear.points, unit[:, place, :]))))
    return np.stack(found)


def _like(array: Any, numbers: Float) -> Any:
    xp = array_api_compat.array_namespace(array)
    return xp.asarray(numbers, dtype=array.dtype, device=array_api_compat.device(array))


def _is_single(*arrays: Any | None) -> bool:
    found = [each for each in arrays if each is not None]
    return any(each.dtype != array_api_compat.array_namespace(each).float64 for each in found)


def _joined(parts: list[Any], *, axis: int) -> Float | None:
    if any(part is None for part in parts):
        return None
    joined: Float = np.concatenate(parts, axis=axis, dtype=np.float64)
    return joined
