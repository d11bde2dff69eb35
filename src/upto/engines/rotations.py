"""The rotation nearest to a cross-covariance, found by squares where these keep enough digits."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
import scipy.linalg

from upto.engines.algebra import (
    RANK_TOLERANCE,
    compute,
    eigh_of,
    product,
    reciprocal_condition_of,
)
from upto.engines.device_rows import load_torch

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.engines.base import Arrays


def nearest_rotation(
    cross: Float, *, rank_tolerance: float = RANK_TOLERANCE, rough: bool = False
) -> Float:
    """Return the (semi-)orthogonal matrix Q that maximises ``trace(Qᵀ cross)``.

    On the null space of the cross-covariance every rotation is equally good; the one closest to
    the identity is chosen, so that the result is unique and does not depend on rounding. If
    `rough`, directions with hardly any covariance may be turned by a millionth.
    """
    if min(cross.shape) >= _NARROW:
        is_wide = cross.shape[0] < cross.shape[1]
        least = _ROUGH_CONDITION if rough else _CONDITION
        rotation, away = compute(partial(_polar_factor, least=least), cross.T if is_wide else cross)
        if float(away) <= _ORTHOGONAL:
            return rotation.T if is_wide else rotation
    return _rotation_by_svd(cross, rank_tolerance)


_NARROW = 128
"""Width below which a singular value decomposition takes no longer."""
_CONDITION, _ROUGH_CONDITION = 1e-7, 1e-11
"""Smallest over largest squared singular value above which squares are accurate enough: the error
is that of rounding over this ratio, in the narrowest directions."""
_ORTHOGONAL = 1e-6
"""Largest deviation from orthogonality, which one Newton-Schulz step reduces to its square."""
_ROUNDING = 1e-11
"""Deviation from orthogonality that needs no such step."""


def rotation_slack(cross: Float, rounding: float, *, below: float = math.inf) -> float:
    """Bound how far rounding keeps ``trace(Qᵀ cross)`` of the nearest rotation from the largest.

    Parameters
    ----------
    cross
        The cross-covariance, as it was computed.
    rounding
        Its error in the Frobenius norm.
    below
        A bound that is this small is good enough; a smaller one takes the singular values.
    """
    # Squares of products may overflow where those of the rows do not.
    size = float(np.abs(cross).max(initial=0.0)) or 1.0
    size *= float(np.linalg.norm(cross / size))
    found: float = 2.0 * min(cross.shape) * (RANK_TOLERANCE * size + rounding)
    if found <= below:
        return found
    values = _svd(cross)[1]
    rank = _rank(values, RANK_TOLERANCE)
    lost = 2.0 * float(values[rank:].sum() + (len(values) - rank) * rounding)
    if rank == 0:
        return min(found, lost)
    least = float(values[rank - 1])
    # Squares, where they are used, cost as many digits as the singular values span.
    rounding *= min(float(values[0]) / least, 1 / math.sqrt(_CONDITION))
    return min(found, 2.0 * rounding * (rounding / least) + lost)


def rotation_of_rows(source: Float, target: Float) -> Float:
    """Return the nearest rotation of the cross product of centred rows, which is not computed.

    It would lose directions narrower than a millionth of the widest; the rows keep them.
    """
    parts = []
    for rows in (source, target):
        left, widths, axes = _svd(rows)
        kept = widths > _OF_ROWS * widths[0]
        parts.append((left[:, kept], widths[kept] / widths[0], axes[kept]))
    (left, widths, axes), (other, other_widths, other_axes) = parts
    inner = widths[:, None] * product(left.T, other) * other_widths
    is_wide = inner.shape[0] < inner.shape[1]
    # One-sided Jacobi rotations: every direction keeps its digits, however narrow it is.
    _, first, second, *_ = scipy.linalg.lapack.dgejsv(inner.T if is_wide else inner, joba=2)
    if is_wide:
        first, second = second, first
    return nearest_rotation(product(product(axes.T, product(first, second.T)), other_axes))


_OF_ROWS = 1e-14
"""Width over the largest below which rows have no direction but that of their rounding."""


def _polar_factor(xp: Any, matrix: Any, *, least: float) -> Arrays:
    """Return M (MᵀM)^(-1/2), and how far it was from orthogonal before the last step.

    The matrix is no wider than high. The deviation is infinite if the matrix is so ill-conditioned
    that its square is inaccurate: `least` is the smallest ratio of eigenvalues of the square.
    """
    largest = xp.max(xp.abs(matrix))
    if array_api_compat.is_torch_namespace(xp):
        found = polar_factor_by_products(matrix)
        if found is not None:
            return found, xp.zeros_like(largest)
    scaled = matrix / xp.where(largest > 0, largest, xp.ones_like(largest))
    gram = xp.matmul(scaled.T, scaled)
    unknown = matrix, xp.full_like(largest, float("inf"))
    if array_api_compat.is_numpy_namespace(xp) and reciprocal_condition_of(gram) < least:
        return unknown
    # Handed over, because the decomposition of wide matrices needs the room.
    grams = [gram]
    del gram
    values, vectors = eigh_of(xp, grams.pop())
    if not bool(values[0] > least * values[-1]):
        return unknown
    # A matrix times its own transpose takes half the work of another product.
    vectors = vectors / values**0.25
    rotation = xp.matmul(scaled, xp.matmul(vectors, vectors.T))
    away = xp.eye(matrix.shape[1], dtype=matrix.dtype) - xp.matmul(rotation.T, rotation)
    farthest = xp.max(xp.abs(away))
    if bool(farthest <= _ROUNDING):
        return rotation, farthest
    return rotation + xp.matmul(rotation, away) / 2, farthest


def polar_factor_by_products(matrix: Any) -> Any | None:
    """Return the polar factor of a tensor by Newton-Schulz steps; None if many would be needed.

    On a device, products take far less time than a decomposition. Every step multiplies the small
    singular values by 1.5, so it ends only if the matrix is well-conditioned.
    """
    torch = load_torch()
    is_wide = matrix.shape[0] < matrix.shape[1]
    found = matrix if is_wide else matrix.mT
    found = found / found.abs().amax().clamp_min(_TINY)
    gram = found @ found.mT
    # The eighth root of the sum of eighth powers: just above the largest singular value.
    found = found / torch.linalg.matrix_norm(gram @ gram).clamp_min(_TINY) ** 0.25
    identity = torch.eye(found.shape[0], dtype=found.dtype, device=found.device)
    for _ in range(_ROUNDS):
        for _ in range(_STEPS_A_ROUND):
            away = torch.addmm(identity, found, found.mT, alpha=-1)
            found = torch.addmm(found, away, found, alpha=0.5)
        # Steps square the deviation, so one after this is exact to rounding.
        if bool(away.abs().amax() <= _NEARLY_ORTHOGONAL):
            return found if is_wide else found.mT
    return None


_TINY = float(np.finfo(np.float64).tiny)
_ROUNDS, _STEPS_A_ROUND = 7, 5
"""Checks, each of which waits for the device, and the steps before each."""
_NEARLY_ORTHOGONAL = 1e-8
"""Deviation from orthogonality before a step that leaves none."""


def _rotation_by_svd(cross: Float, rank_tolerance: float) -> Float:
    rows, columns = cross.shape
    left, values, right = _svd(cross)
    rank = _rank(values, rank_tolerance)
    if rank == min(rows, columns):
        return np.asarray(left @ right)
    size = max(rows, columns)
    if rows != columns:
        padded = np.zeros((size, size))
        padded[:rows, :columns] = cross
        left, values, right = _svd(padded)
        rank = _rank(values, rank_tolerance)
    rest_left, rest_right = left[:, rank:], right[rank:]
    inner_left, _, inner_right = _svd(rest_left.T @ rest_right.T)
    rotation = left[:, :rank] @ right[:rank]
    rotation += (rest_left @ (inner_left @ inner_right)) @ rest_right
    return np.ascontiguousarray(rotation[:rows, :columns])


def _rank(values: Float, rank_tolerance: float) -> int:
    return int(np.count_nonzero(values > rank_tolerance * max(values[0], np.finfo(float).tiny)))


def _svd(matrix: Float) -> tuple[Float, Float, Float]:
    try:
        return np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        # Divide and conquer fails on rare matrices; QR iteration does not.
        return scipy.linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")  # type: ignore[no-any-return]
