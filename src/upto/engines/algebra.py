"""Algebra on d×d matrices after a pass, in float64 and where the rows are.

Functions of matrices are written once against the array API. Within ``algebra_on(engine, width)``
they run on the engine's device if it has one, else on the host; matrices go in and come out as host
arrays.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
import scipy.linalg

from upto.engines.cores import blas_threads_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto.engines.base import Arrays, Engine

    Compute = Callable[..., tuple[NDArray[Any], ...]]

RANK_TOLERANCE = 1e-12
"""Directions whose variance is below this fraction of the largest count as absent."""


COLLIDING = 512
"""Widths that are multiples of this are decomposed with one more column, a fifth faster."""
WELL_CONDITIONED = 1e6
"""Condition number, in the Frobenius norm, up to which a matrix is inverted as it is."""


def on_host(function: Callable[..., Arrays], *arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Call ``function(xp, *arrays)`` with NumPy's namespace."""
    return function(_NUMPY, *arrays)


_NUMPY = array_api_compat.array_namespace(np.empty(0))


_compute: ContextVar[Compute] = ContextVar("_compute", default=on_host)


@contextmanager
def algebra_on(engine: Engine, width: int) -> Iterator[None]:
    """Run the algebra of this context where the engine keeps rows of this width."""
    token = _compute.set(getattr(engine, "compute", on_host))
    try:
        with blas_threads_for(width):
            yield
    finally:
        _compute.reset(token)


def compute(function: Callable[..., Arrays], *arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Call ``function(xp, *arrays)`` on matrices, which it must not modify."""
    return _compute.get()(function, *arrays)


def eigh(matrix: Float) -> tuple[Float, Float]:
    """Return the eigenvalues of a symmetric matrix in ascending order, and the eigenvectors."""
    values, vectors = compute(eigh_of, matrix)
    return values, vectors


def product(first: Float, second: Float) -> Float:
    """Return a matrix product."""
    (found,) = compute(_product, first, second)
    return found


def eigh_of(xp: Any, matrix: Any) -> Arrays:
    """Return the eigenvalues of a symmetric matrix of a namespace, and the eigenvectors."""
    width = matrix.shape[0]
    if width < COLLIDING or width % COLLIDING or not array_api_compat.is_numpy_namespace(xp):
        values, vectors = xp.linalg.eigh(matrix)
        return values, vectors
    # Rows this far apart share lines of the cache. A coordinate of its own, with the largest
    # eigenvalue, moves them.
    wider = np.zeros((width + 1, width + 1), dtype=matrix.dtype)
    wider[:width, :width] = matrix
    wider[width, width] = 2.0 * np.abs(matrix).sum(axis=0).max() or 1.0
    del matrix
    values, vectors = np.linalg.eigh(wider)
    return values[:width], vectors[:width, :width]


def column_medians(rows: Float) -> Float:
    """Return the median of every column."""
    return compute(_column_medians, rows)[0]


def _column_medians(xp: Any, rows: Any) -> Arrays:
    if array_api_compat.is_numpy_namespace(xp):
        return (np.median(rows, axis=0),)
    # Arrays on a device have no partition, and sorting there takes no time.
    ordered, n_rows = xp.sort(rows, axis=0), rows.shape[0]
    return ((ordered[(n_rows - 1) // 2, :] + ordered[n_rows // 2, :]) / 2,)


def leading_eigenvectors(matrix: Float, count: int) -> tuple[Float, Float]:
    """Return the largest eigenvalues of a symmetric matrix in ascending order, and eigenvectors."""
    values, vectors = compute(partial(_leading_eigenvectors, count=count), matrix)
    return values, vectors


def _leading_eigenvectors(xp: Any, matrix: Any, *, count: int) -> Arrays:
    count = min(count, matrix.shape[0])
    if array_api_compat.is_numpy_namespace(xp):
        chosen = [matrix.shape[0] - count, matrix.shape[0] - 1]
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=chosen, check_finite=False)
        return values, vectors
    values, vectors = xp.linalg.eigh(matrix)
    return values[-count:], vectors[:, -count:]


def whitening_of(covariance: Float, rank_tolerance: float) -> Float:
    """Return W with WᵀCW = 1, of the directions whose variance is above a share of the largest."""
    by_factor = whitening_by_factor(covariance)
    if by_factor is not None:
        return by_factor
    values, vectors = eigh(covariance)
    kept = values > rank_tolerance * values[-1]
    found: Float = vectors[:, kept] / np.sqrt(values[kept])
    return found


def whitening_by_factor(covariance: Float) -> Float | None:
    """Return W with WᵀCW = 1 from a triangular factor; None if C is ill-conditioned.

    None too where products take no time beside a factor, on a device.
    """
    if _compute.get() is not on_host:
        return None
    factor = _cholesky(covariance)
    if factor is None or _reciprocal_condition(covariance, factor) <= _EASY:
        return None
    inverse: Float = scipy.linalg.lapack.dtrtri(factor.T, lower=0)[0]
    return inverse


_EASY = 1e-6
"""Reciprocal condition number above which a Cholesky factor whitens as well as eigenvectors."""


def _product(xp: Any, first: Any, second: Any) -> Arrays:
    return (xp.matmul(first, second),)


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
    scaled = scatter * np.outer(inverse, inverse)
    if alive.all() and rank_tolerance < 1 / WELL_CONDITIONED:
        found = _well_conditioned_inverse(scaled)
        if found is not None:
            found *= np.outer(inverse, inverse)
            return found
    values, vectors = eigh(scaled)
    kept = values > rank_tolerance * max(values[-1], np.finfo(float).tiny)
    scaled = vectors[:, kept] * inverse[:, None]
    result = product(scaled / values[kept], scaled.T)
    if kept.all():
        return result
    lost = vectors[:, ~kept] * np.where(alive, inverse, inverse.max() or 1.0)[:, None]
    basis, _ = np.linalg.qr(lost)
    result -= basis @ (basis.T @ result)
    result -= (result @ basis) @ basis.T
    return result


def _well_conditioned_inverse(matrix: Float) -> Float | None:
    """Return the inverse of a symmetric matrix; None unless its condition number is small."""
    try:
        with np.errstate(all="ignore"):
            (inverse,) = compute(_inverse, matrix)
            condition = float(np.linalg.norm(matrix) * np.linalg.norm(inverse))
    except np.linalg.LinAlgError:
        return None
    return inverse if condition <= WELL_CONDITIONED else None


def _inverse(xp: Any, matrix: Any) -> Arrays:
    if array_api_compat.is_numpy_namespace(xp):
        # From a Cholesky factor: a third of the work of the general inverse.
        factor = scipy.linalg.cholesky(matrix, check_finite=False)
        inverse, _ = scipy.linalg.lapack.dpotri(factor)
        # The other triangle is that of the factor: zero.
        inverse += inverse.T
        inverse[np.diag_indices_from(inverse)] /= 2
        return (inverse,)
    inverse = xp.linalg.inv(matrix)
    return ((inverse + inverse.T) / 2,)


def _cholesky(matrix: Float) -> Float | None:
    """Return the lower factor of a positive matrix, None if it is not positive."""
    # NumPy's factorisations leave the interpreter to other threads; SciPy's do not.
    try:
        found = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(found, dtype=np.float64)


def reciprocal_condition_of(matrix: Float) -> float:
    """Estimate the reciprocal condition number of a matrix, zero if it is not positive."""
    factor = _cholesky(matrix)
    return 0.0 if factor is None else _reciprocal_condition(matrix, factor)


def _reciprocal_condition(matrix: Float, factor: Float) -> float:
    """Estimate the reciprocal condition number of a positive matrix, which takes little work."""
    found, _ = scipy.linalg.lapack.dpocon(factor.T, np.linalg.norm(matrix, 1))
    # By sums of columns, it is typically smaller by the root of the width than by eigenvalues.
    return float(found) * math.sqrt(len(matrix))
