"""Algebra on small matrices after a pass, on the host and in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float

RANK_TOLERANCE = 1e-12
"""Directions whose variance is below this fraction of the largest count as absent."""


def varying(deviation: Float) -> NDArray[np.bool_]:
    """Return which coordinates vary by more than rounding relative to the widest one."""
    # Removing the lost directions would amplify rounding by the ratio of the scales.
    alive: NDArray[np.bool_] = deviation > 1e-13 * deviation.max(initial=0.0)
    return alive


def pseudo_inverse(scatter: Float, rank_tolerance: float = RANK_TOLERANCE) -> Float:
    """Return the Moore-Penrose inverse of a scatter matrix.

    The rank is determined after scaling every coordinate to unit variance, so that one large
    coordinate does not hide the small ones.
    """
    deviation = np.sqrt(np.diag(scatter))
    alive = varying(deviation)
    inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=alive)
    values, vectors = np.linalg.eigh(scatter * np.outer(inverse, inverse))
    kept = values > rank_tolerance * max(values[-1], np.finfo(float).tiny)
    scaled = vectors[:, kept] * inverse[:, None]
    result: Float = (scaled / values[kept]) @ scaled.T
    if kept.all():
        return result
    lost = vectors[:, ~kept] * np.where(alive, inverse, inverse.max() or 1.0)[:, None]
    basis, _ = np.linalg.qr(lost)
    result -= basis @ (basis.T @ result)
    result -= (result @ basis) @ basis.T
    return result


def nearest_rotation(cross: Float, *, rank_tolerance: float = RANK_TOLERANCE) -> Float:
    """Return the (semi-)orthogonal matrix Q that maximises ``trace(Qᵀ cross)``.

    On the null space of the cross-covariance every rotation is equally good; the one closest to
    the identity is chosen, so that the result is unique and does not depend on rounding.
    """
    rows, columns = cross.shape
    size = max(rows, columns)
    padded = np.zeros((size, size))
    padded[:rows, :columns] = cross
    left, values, right = _svd(padded)
    reached = values > rank_tolerance * max(values[0], np.finfo(float).tiny)
    rank = int(reached.sum())
    if rank == size:
        return (left @ right)[:rows, :columns]
    rest_left, rest_right = left[:, rank:], right[rank:]
    inner_left, _, inner_right = _svd(rest_left.T @ rest_right.T)
    rotation = left[:, :rank] @ right[:rank]
    rotation += (rest_left @ (inner_left @ inner_right)) @ rest_right
    return np.ascontiguousarray(rotation[:rows, :columns])


def _svd(matrix: Float) -> tuple[Float, Float, Float]:
    try:
        return scipy.linalg.svd(matrix, check_finite=False)  # type: ignore[no-any-return]
    except np.linalg.LinAlgError:
        # Divide and conquer fails on rare matrices; QR iteration does not.
        return scipy.linalg.svd(matrix, lapack_driver="gesvd")  # type: ignore[no-any-return]
