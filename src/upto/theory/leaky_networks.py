"""Certified bi-Lipschitz constants of linear layers with LeakyReLU between them.

An activation stretches by a factor between its leak and one, a layer by one between its extreme
singular values, so their products bound the whole network, including kinks, for any biases.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Constant, InputError, Promise, finite_or_none
from upto.theory.isometry import scaled_stretch, stretch_constants
from upto.theory.valid_numbers import check_count, check_size, infinite_says_nothing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core.array_types import Float


_CLAIM = "No distance is stretched or shrunk by more than this, between any two points"
_ROUNDING = float(np.finfo(np.float64).eps)
_LEAST = float(np.finfo(np.float64).tiny)
_LEAST_ROOT = math.sqrt(_LEAST)


def leaky_bound(leak: float, n_activations: int) -> Promise:
    r"""Return leak^-k, for layers with orthonormal columns and k activations between them.

    The paper counts layers, one more than activations.

    Parameters
    ----------
    leak
        Slope of LeakyReLU below zero, between 0 and 1.
    n_activations
        Number of activations.

    Returns
    -------
    Promise
        Λ between any two points, near or far.

    See Also
    --------
    certify_network : The same from the weights, which need not be orthogonal.
    upto.simulate.leaky_mixing : Draws such a network.
    rigid_promise : Takes L.

    Notes
    -----
    Layers with orthonormal columns preserve distances, and a LeakyReLU of slope α shrinks them by
    at most α, so that

    .. math::

        \Lambda = \alpha^{-k}

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import leaky_bound
    >>> float(leaky_bound(0.5, 2))
    4.0
    """
    slope = check_size(leak, "the leak")
    count = check_count(n_activations, "n_activations", least=0)
    if slope > 1.0:
        message = f"the leak is {slope:g}, but it must be between 0 and 1."
        raise InputError(message)
    low = slope**count
    stretch = 1.0 / low if low > 0.0 else math.inf
    paper = 1.0 / (low * slope) if low * slope > 0.0 else math.inf
    promise = Promise(
        statement="Section 4.1",
        claim=_CLAIM,
        value=finite_or_none(stretch),
        constants=(
            *stretch_constants(stretch, scaled_stretch(low, 1.0)),
            Constant(
                symbol="Λ of the paper",
                value=finite_or_none(paper),
                meaning="leak to the minus number of layers, one more than activations",
            ),
            Constant(symbol="leak", value=slope, meaning="slope of the activation below zero"),
            Constant(symbol="k", value=float(count), meaning="activations between layers"),
        ),
        condition=f"all layers have orthonormal columns, so none is narrower than the one before, "
        f"and the leak, {slope:.4g}, is more than 0; the weights are not checked here",
        holds=False if slope == 0.0 < count else None,
    )
    return infinite_says_nothing(promise)


def certify_network(weights: Sequence[Any], leaks: Sequence[float]) -> Promise:
    r"""Return a certified upper bound on the bi-Lipschitz constant of a chain of layers.

    Singular values are verified from the residual of their decomposition, so that rounding here
    cannot make the constant too small. Rounding when the network runs is not covered.

    Parameters
    ----------
    weights
        Weight of each layer, outputs by inputs, from the latent space outwards.
    leaks
        Slope below zero of each activation between layers, one fewer than layers.

    Returns
    -------
    Promise
        Λ between any two points, near or far.

    See Also
    --------
    leaky_bound : The same for orthogonal layers.
    upto.lipschitz : Measures Λ at rows instead; it is never above this bound.
    certify_injective : Whether the network is injective at all.

    Notes
    -----
    With extreme singular values σ of every weight and slopes α of the activations,

    .. math::

        \sigma_+ = \prod_i \sigma_{\max}(W_i) \prod_j \max(1, \alpha_j), \qquad
        \sigma_- = \prod_i \sigma_{\min}(W_i) \prod_j \min(1, \alpha_j)

    bound the factor by which any distance changes, and Λ = max(σ₊, 1/σ₋). It is often far above the
    constant attained, because the worst directions of consecutive layers rarely meet.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.theory import certify_network
    >>> promise = certify_network([np.eye(3, 2), np.eye(4, 3)], [0.5])
    >>> round(float(promise), 9), round(promise.constant("Λ scaled"), 9)
    (2.0, 1.414213562)
    """
    matrices = _checked(weights)
    slopes = [check_size(leak, f"leak {number}") for number, leak in enumerate(leaks, 1)]
    if len(slopes) != len(matrices) - 1:
        message = (
            f"there are {len(matrices)} layers and {len(slopes)} leaks: "
            "give one leak for each activation between two layers."
        )
        raise InputError(message)
    low = high = 1.0
    failed, open_ = [], []
    for number, matrix in enumerate(matrices, 1):
        rows, columns = matrix.shape
        smallest, largest = verified_extremes(matrix)
        if rows < columns:
            failed.append(f"layer {number} shrinks from {columns} to {rows}")
        elif smallest == 0.0:
            open_.append(f"layer {number} is not proved to be injective")
        low, high = _product(low, smallest), high * largest
    for number, slope in enumerate(slopes, 1):
        if slope == 0.0:
            failed.append(f"the leak of activation {number} is 0")
        low, high = _product(low, min(1.0, slope)), high * max(1.0, slope)
    reasons = failed + open_
    # Every factor is rounded once, and the quotients below once more.
    slack = 1.0 + 2.0 * (len(matrices) + len(slopes) + 2) * _ROUNDING
    stretch = scaled = math.inf
    if low > 0.0 and not reasons:
        low, high = low / slack, high * slack
        stretch, scaled = max(high, slack / low), slack * scaled_stretch(low, high)
    promise = Promise(
        statement="Certified network",
        claim=_CLAIM,
        value=finite_or_none(stretch),
        constants=(
            *stretch_constants(stretch, scaled),
            Constant(
                symbol="σ₋",
                value=0.0 if reasons else low,
                meaning="smallest factor by which a distance changes",
            ),
            Constant(
                symbol="σ₊",
                value=finite_or_none(high),
                meaning="largest factor by which a distance changes",
            ),
        ),
        condition="no layer is narrower than the one before, every layer is injective and every "
        "leak is more than 0" + (f"; but {', and '.join(reasons)}" if reasons else ""),
        holds=False if failed else (None if open_ else True),
    )
    return promise if reasons else infinite_says_nothing(promise)


def _product(first: float, second: float) -> float:
    """Multiply stretches; subnormal products lose digits and count as zero."""
    product = first * second
    return product if min(first, second, product) >= _LEAST else 0.0


def verified_extremes(matrix: Float) -> tuple[float, float]:
    """Return certified bounds on the smallest and largest singular value of a matrix.

    The computed factors U, s and V need not be accurate: with the norms of A - U diag(s) Vᵀ,
    UᵀU - I and VᵀV - I bounded from above, singular values of A are proved to be near s. The
    smallest is 0 if columns outnumber rows.

    Parameters
    ----------
    matrix
        A matrix of finite numbers.
    """
    rows, columns = matrix.shape
    # Scaling by a power of two is exact, and squares of the scaled entries cannot overflow.
    _, exponent = math.frexp(float(np.abs(matrix).max()))
    scale = math.ldexp(1.0, min(max(exponent, -1000), 1000))
    matrix = matrix / scale
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    # The rounding of a product, in any order, is at most this fraction of the product of norms.
    product = (max(rows, columns) + 4) * _ROUNDING
    residual = _norm((left * values) @ right - matrix)
    # Norms of U and V are at most twice √min(n, m); diag(s) is applied to U first.
    residual += 8.0 * product * math.sqrt(min(rows, columns)) * _norm(values)
    skew = [
        _norm(each - np.eye(len(each))) + 8.0 * product * len(each)
        for each in (left.T @ left, right @ right.T)
    ]
    if max(skew) >= 0.5:
        return 0.0, _norm(matrix) * scale
    # Stretches of U and V are within √(1 ± skew).
    grow = math.sqrt((1.0 + skew[0]) * (1.0 + skew[1])) * (1.0 + 8.0 * _ROUNDING)
    fall = math.sqrt((1.0 - skew[0]) * (1.0 - skew[1])) * (1.0 - 8.0 * _ROUNDING)
    largest = (float(values[0]) * grow + residual) * (1.0 + 8.0 * _ROUNDING)
    smallest = (float(values[-1]) * fall - residual) * (1.0 - 8.0 * _ROUNDING)
    return (max(0.0, smallest) * scale if columns <= rows else 0.0), largest * scale


def _norm(matrix: Float) -> float:
    """Return the Frobenius norm, rounded up; squares that underflow count as the least number."""
    size = float(np.linalg.norm(matrix)) * (1.0 + (matrix.size + 4) * _ROUNDING)
    return size + matrix.size * _LEAST_ROOT


def _checked(weights: Sequence[Any]) -> list[Float]:
    matrices = [np.asarray(weight, dtype=np.float64) for weight in weights]
    if not matrices:
        message = "there are no layers: give at least one weight."
        raise InputError(message)
    for number, matrix in enumerate(matrices, 1):
        if matrix.ndim != 2 or 0 in matrix.shape:
            message = (
                f"the weight of layer {number} has shape {matrix.shape}, "
                "but it must be outputs by inputs."
            )
            raise InputError(message)
        if not np.isfinite(matrix).all():
            message = f"the weight of layer {number} has entries that are not finite."
            raise InputError(message)
    for number, (before, after) in enumerate(pairwise(matrices), 1):
        if before.shape[0] != after.shape[1]:
            message = (
                f"layer {number} has {before.shape[0]} outputs, but layer {number + 1} takes "
                f"{after.shape[1]} inputs: give weights as outputs by inputs, in order."
            )
            raise InputError(message)
    return matrices
