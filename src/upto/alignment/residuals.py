"""Errors of rows under several maps in one pass, in one direction or in both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment.maps import AffineMap, image_of_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.alignment.row_lengths import FittedMap
    from upto.core.array_types import Float
    from upto.engines.base import Arrays, Engine, Statistic


def row_errors(
    engine: Engine,
    source: Any,
    target: Any,
    maps: Sequence[AffineMap],
    keep: NDArray[np.bool_] | None = None,
) -> Float:
    """Return the L2 error of every row (or every kept row) under each map, in one pass."""
    params = [param for affine_map in maps for param in affine_map.params]
    dense = tuple(affine_map.index is None for affine_map in maps)
    # A group and its scaled version share one product.
    shared = tuple(
        next(j for j, other in enumerate(maps) if _same_product(other, affine_map))
        for affine_map in maps
    )
    function = partial(_errors_of_block, dense=dense, shared=shared, selecting=keep is not None)
    vectors = () if keep is None else (keep,)
    errors: Float = engine.map_blocks(function, source, target, *vectors, params=params)
    return errors


def errors_of_map(engine: Engine, source: Any, target: Any, fitted: FittedMap) -> Float:
    """Return the L2 error of every row under a map of any kind, in one pass."""
    function, params = fitted.block_function()
    errors: Float = engine.map_blocks(
        partial(_errors_through, function=function), source, target, params=params
    )
    return errors


def row_errors_both_ways(
    engine: Engine,
    source: Any,
    target: Any,
    forward: Sequence[AffineMap],
    backward: Sequence[AffineMap],
    keep: NDArray[np.bool_] | None = None,
    *,
    turns: Sequence[bool],
) -> tuple[Float, Float]:
    """Return the errors of maps of the source onto the target, and of their reverse, in one pass.

    Where `turns` is true, a map and its reverse are an orthogonal matrix and its transpose, each
    times a factor: distances are the same on both sides, so one product serves both.
    """
    steps: list[_Step] = []
    for number, (onto, back) in enumerate(zip(forward, backward, strict=True)):
        if turns[number]:
            signs = np.where(onto.scale < 0, -1.0, 1.0)
            factors = tuple(float(np.abs(each.scale).max(initial=0.0)) for each in (onto, back))
            same = [step for step in steps if step.is_turn and _same_product(step.map, onto)]
            if not same:
                same = [_Step(map=replace(onto, scale=signs), is_turn=True)]
                steps += same
            same[0].factors += [(2 * number, factors[0], 1.0), (2 * number + 1, 1.0, factors[1])]
        else:
            steps.append(_Step(map=onto, factors=[(2 * number, 1.0, 1.0)]))
            steps.append(_Step(map=back, factors=[(2 * number + 1, 1.0, 1.0)], is_back=True))
    params = [param for step in steps for param in step.map.params]
    plan = tuple(
        (step.map.index is None, bool(step.map.scale.any()), step.is_back, tuple(step.factors))
        for step in steps
    )
    function = partial(_errors_both_ways, plan=plan, selecting=keep is not None)
    vectors = () if keep is None else (keep,)
    errors: Float = engine.map_blocks(function, source, target, *vectors, params=params)
    return errors[:, ::2], errors[:, 1::2]


@dataclass(slots=True, kw_only=True)
class _Step:
    """A product, and the columns of errors it gives: number, factor of it, factor of the target."""

    map: AffineMap
    factors: list[tuple[int, float, float]] = field(default_factory=list)
    is_turn: bool = False
    is_back: bool = False


def _errors_both_ways(
    xp: Any, x: Any, y: Any, *rest: Any, plan: tuple[Any, ...], selecting: bool
) -> Arrays:
    params = rest
    if selecting:
        keep, *params = rest  # type: ignore[assignment]
        x, y = x[keep], y[keep]
    found = {}
    for number, (is_dense, varies, is_back, factors) in enumerate(plan):
        own, other = (y, x) if is_back else (x, y)
        source_mean, target_mean, scale, operand = params[4 * number : 4 * number + 4]
        centred = other - target_mean
        image = None
        if varies:
            image = image_of_block(xp, own - source_mean, operand, dense=is_dense) * scale
        for column, of_image, of_target in factors:
            residual = centred if of_target == 1.0 else centred * of_target
            if image is not None:
                residual = residual - (image if of_image == 1.0 else image * of_image)
            found[column] = xp.sqrt(xp.linalg.vecdot(residual, residual))
    return (xp.stack([found[column] for column in range(len(found))], axis=1),)


def _errors_through(xp: Any, x: Any, y: Any, *params: Any, function: Statistic) -> Arrays:
    residual = y - function(xp, x, *params)[0]
    return (xp.sqrt(xp.linalg.vecdot(residual, residual)),)


def _same_product(first: AffineMap, second: AffineMap) -> bool:
    if first.source_mean is not second.source_mean:
        return False
    if first.matrix is not None:
        return first.matrix is second.matrix
    return first.index is second.index


def _errors_of_block(
    xp: Any,
    x: Any,
    y: Any,
    *rest: Any,
    dense: tuple[bool, ...],
    shared: tuple[int, ...],
    selecting: bool,
) -> Arrays:
    params = rest
    if selecting:
        keep, *params = rest  # type: ignore[assignment]
        x, y = x[keep], y[keep]
    products: dict[int, Any] = {}
    columns = []
    for number, is_dense in enumerate(dense):
        source_mean, target_mean, scale, operand = params[4 * number : 4 * number + 4]
        first = shared[number]
        if first not in products:
            products[first] = image_of_block(xp, x - source_mean, operand, dense=is_dense)
        residual = y - target_mean - products[first] * scale
        columns.append(xp.sqrt(xp.linalg.vecdot(residual, residual)))
    return (xp.stack(columns, axis=1),)
