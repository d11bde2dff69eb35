"""Stiefel manifold: tangent directions and retractions of orthonormal matrices.

Matrices are stacked, one per member. A wide matrix has orthonormal rows instead of columns.
"""

from __future__ import annotations

from typing import Any

from upto.engines.device import float32_products
from upto.engines.device_rows import load_torch


def orthonormal(matrices: Any) -> Any:
    """Return an orthonormal basis of each matrix, uniform if its entries are normal."""
    torch = load_torch()
    if _is_wide(matrices):
        return orthonormal(matrices.mT).mT
    basis, triangle = torch.linalg.qr(matrices)
    # Without the signs the basis depends on LAPACK's reflections and is not uniform.
    signs = torch.sign(torch.diagonal(triangle, dim1=-2, dim2=-1))
    return basis * torch.where(signs == 0, 1.0, signs).to(basis.dtype)[..., None, :]


def tangent_part(matrices: Any, directions: Any) -> Any:
    """Project directions onto the tangent space at each matrix."""
    inner = _inner(matrices, directions)
    return _less_half(directions, matrices, inner + inner.mT)


def retraction_steps(length: float, dtype: Any) -> int:
    """Return the number of Newton–Schulz steps that retract a tangent step to rounding error.

    A tangent step of norm t raises the squared singular values from 1 to at most 1 + t², and each
    Newton–Schulz step reduces a defect δ of them to at most (3 + δ) δ² / 4.
    """
    close = 8 * load_torch().finfo(dtype).eps
    steps, defect = 1, (3 + length**2) * length**4 / 4
    while defect > close:
        defect = (3 + defect) * defect**2 / 4
        steps += 1
    return steps


LONGEST_STEP = 0.6
"""Norm of a tangent step above which Newton–Schulz is slow and no longer trusted."""


def nearest_orthonormal(matrices: Any, steps: int) -> Any:
    """Return the nearest matrices with orthonormal columns (rows), by Newton–Schulz steps.

    The matrices must already be close: squared singular values within 1 of 1.
    """
    for _ in range(steps - 1):
        matrices = _newton_schulz(matrices)
    # Newton–Schulz squares any error, so only the last step must be exact.
    with float32_products(allow_tf32=False):
        return _newton_schulz(matrices)


def polished(matrices: Any) -> Any:
    """Return nearly orthonormal matrices, orthonormalised to the precision of their dtype."""
    torch = load_torch()
    return nearest_orthonormal(matrices.to(torch.float64), 3).to(matrices.dtype)


def orthonormality_defect(matrices: Any) -> Any:
    """Return the Frobenius norm of WᵀW - 1 (of WWᵀ - 1 for wide ones), in float64."""
    torch = load_torch()
    return torch.linalg.matrix_norm(_excess(matrices.to(torch.float64)))


def _newton_schulz(matrices: Any) -> Any:
    return _less_half(matrices, matrices, _excess(matrices))


def _excess(matrices: Any) -> Any:
    excess = _inner(matrices, matrices)
    excess.diagonal(dim1=-2, dim2=-1).sub_(1.0)
    return excess


def _inner(first: Any, second: Any) -> Any:
    """Return the inner products of columns, or of rows for wide matrices."""
    return first @ second.mT if _is_wide(first) else first.mT @ second


def _less_half(values: Any, matrices: Any, small: Any) -> Any:
    """Subtract half the product of matrices with a small square one, on the matching side."""
    factors = (small, matrices) if _is_wide(matrices) else (matrices, small)
    return load_torch().baddbmm(values, *factors, alpha=-0.5)


def _is_wide(matrices: Any) -> bool:
    return bool(matrices.shape[-2] < matrices.shape[-1])
