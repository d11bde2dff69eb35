"""Singular value decompositions of d×d matrices by way of the smaller product with themselves.

Eigenvectors of MᵀM cost a third of the singular vectors of M. Squares lose the small singular
values, so the directions of these are decomposed again, among themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.engines.algebra import eigh

if TYPE_CHECKING:
    from upto.core.array_types import Float

_KNOWN = 1e-6
"""Squared singular values, as a fraction of the largest, whose directions are known to rounding."""
_EQUAL = 1e-9
"""Squared singular values that differ by less than this fraction count as equal."""
_SMALL = 16
"""Size below which a product with itself saves nothing."""


def singular_vectors(matrix: Float) -> tuple[Float, Float, Float]:
    """Return U, s and Vᵀ with ``matrix = U @ diag(s) @ Vᵀ``, the largest s first."""
    if matrix.shape[0] < matrix.shape[1]:
        left, values, right = singular_vectors(matrix.T)
        return right.T, values, left.T
    if matrix.shape[1] < _SMALL:
        return np.linalg.svd(matrix, full_matrices=False)
    product = matrix.T @ matrix
    typical = float(np.trace(product)) / len(product)
    if np.linalg.norm(product - typical * np.eye(len(product))) < _EQUAL * typical:
        # Every basis serves; one step of Newton and Schulz leaves only rounding in the other.
        left = matrix @ (1.5 * np.eye(len(product)) - product / (2.0 * typical))
        values = np.full(len(product), np.sqrt(typical))
        return left / values, values, np.eye(len(product))
    squares, axes = eigh(product)
    squares, axes = squares[::-1], np.ascontiguousarray(axes[:, ::-1])
    count = int(np.count_nonzero(squares > _KNOWN * squares[0]))
    if count == 0:
        return np.linalg.svd(matrix, full_matrices=False)
    values = np.sqrt(squares[:count])
    left = (matrix @ axes[:, :count]) / values
    if count == len(squares):
        return left, values, axes.T
    rest = matrix @ axes[:, count:]
    rest -= left @ (left.T @ rest)
    others, small, turns = singular_vectors(rest)
    right = np.vstack([axes[:, :count].T, turns @ axes[:, count:].T])
    return np.hstack([left, others]), np.concatenate([values, small]), right


def nearest_orthogonal(matrix: Float, rank_tolerance: float) -> Float:
    """Return U Vᵀ over the singular values above a fraction of the largest, zero elsewhere."""
    rows, columns = (np.flatnonzero(matrix.any(axis=axis)) for axis in (1, 0))
    left, values, right = singular_vectors(matrix[np.ix_(rows, columns)])
    rank = int(np.count_nonzero(values > rank_tolerance * values.max(initial=0.0)))
    found = np.zeros_like(matrix)
    found[np.ix_(rows, columns)] = left[:, :rank] @ right[:rank]
    return found
