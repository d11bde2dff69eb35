"""Lemma A.8 and Theorem 2: close runs have close independent components.

The curvature μ is that of the mean contrast of the rows over rotations: the smallest absolute
eigenvalue of its Riemannian Hessian on skew matrices that are orthonormal in the Frobenius norm,
whose entries are ±1/√2. This is what `upto.ica.smallest_curvature` and `upto.ica.pair_curvature`
measure and `upto unmix` reports, so it is used unchanged. They flip the contrast of sub-Gaussian
components, which changes no bound on derivatives, and at an optimum their smallest eigenvalue is
the smallest absolute one. A negative eigenvalue means that it is not an optimum.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from upto.core import Constant, Group, Promise, finite_or_none
from upto.theory.contrast_derivatives import known_bounds
from upto.theory.moved_optimum import moved_optimum
from upto.theory.valid_numbers import (
    check_count,
    check_finite,
    check_size,
    infinite_says_nothing,
)
from upto.theory.whitening_bounds import given_constants, rotation_promise

if TYPE_CHECKING:
    from upto.ica.contrasts import Contrast
    from upto.theory.contrast_derivatives import ContrastBounds


def ica_promise(
    error: float,
    *,
    radius: float,
    curvature: float,
    n_dimensions: int,
    contrast: str | Contrast | ContrastBounds = "logcosh",
    alpha: float = 1.0,
    curvature_at_optimum: float | None = None,
) -> Promise:
    r"""Return the bound of Lemma A.8: close white runs have close components.

    Parameters
    ----------
    error
        ε, the largest distance between corresponding rows of the two white runs.
    radius
        B, the largest norm of a row of the first white run.
    curvature
        μ, a lower bound on the curvature of the contrast while one run is moved into the other;
        infinite for a single component, which cannot rotate. At zero or below there is no bound.
    n_dimensions
        Number of components.
    contrast, alpha
        The contrast, or bounds on its derivatives.
    curvature_at_optimum
        Curvature measured at the components of the first run. If given, the condition states
        whether `curvature` is proved to be kept; half of it is a good choice for `curvature`.

    Returns
    -------
    Promise
        The bound, up to a signed permutation.

    See Also
    --------
    unmixing_promise : The same from runs that are not white yet.
    contrast_bounds : The constants G₁ and G₂ of a contrast.
    upto.ICA : The estimator.

    Notes
    -----
    Let W be the optimum of the first run. The second run has a stationary point W′ such that
    corresponding white rows x and y, at most ε apart, have

    .. math::

        \lVert W x - W' y \rVert \le K \varepsilon + K' \varepsilon^2,
        \qquad K = 1 + \frac{B (G_1 + G_2 B)}{\mu}, \quad K' = \frac{B \, G_2}{\mu}

    by the implicit function theorem: the gradient at W changes by at most (G₁ + G₂(B + ε))ε, and
    the curvature μ turns this into a rotation of that size over μ.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import ica_promise
    >>> promise = ica_promise(0.001, radius=2.0, curvature=0.1, n_dimensions=2)
    >>> round(promise.constant("K"), 2)
    69.28
    """
    eps, b = check_size(error, "the error"), check_finite(radius, "the radius")
    d = check_count(n_dimensions, "n_dimensions")
    # Rows between the two runs have at most this norm.
    ball = b + eps if math.isfinite(b + eps) else b
    bounds = known_bounds(contrast, alpha, d, ball)
    inner = moved_optimum(eps, b, ball, curvature, d, bounds, curvature_at_optimum)
    promise = Promise(
        statement="Lemma A.8",
        claim="Some stationary point of the second run's contrast has every component row within "
        "this distance of the first run's",
        up_to=Group.SIGNED_PERMUTATION,
        value=inner.value(eps),
        ceiling=finite_or_none(2.0 * b + eps),
        constants=(
            Constant(
                symbol="K",
                value=finite_or_none(inner.linear),
                meaning="1 + B(G₁ + G₂B)/μ, the factor of ε",
            ),
            Constant(
                symbol="K′",
                value=finite_or_none(inner.quadratic),
                meaning="B G₂/μ, the factor of ε²",
            ),
            Constant(
                symbol="ε", value=finite_or_none(eps), meaning="largest error between white rows"
            ),
            Constant(symbol="B", value=b, meaning="largest norm of a white row"),
            *inner.constants(),
        ),
        condition=f"both runs are white and no row of the first is longer than {b:.4g}; "
        f"{inner.condition}",
        holds=inner.holds,
    )
    return infinite_says_nothing(promise)


def unmixing_promise(
    error: float,
    *,
    radius: float,
    smallest_eigenvalue: float,
    curvature: float,
    n_dimensions: int,
    smallest_singular: float = 1.0,
    largest_singular: float = 1.0,
    contrast: str | Contrast | ContrastBounds = "logcosh",
    alpha: float = 1.0,
    curvature_at_optimum: float | None = None,
    translated: bool = False,
) -> Promise:
    r"""Return the bound of Theorem 2: close runs, unmixed separately, have close components.

    Rows can have several optima that no signed permutation maps to each other, e.g. a star with
    eight points. The bound is for corresponding optima; these numbers do not determine whether two
    searches end in such.

    Parameters
    ----------
    error
        ε, the worst error of the best linear map from one run to the other.
    radius, smallest_eigenvalue
        R, the largest norm of a row of either centred run, and λ, a lower bound on the eigenvalues
        of both covariances.
    curvature, n_dimensions
        Same as in `ica_promise`.
    smallest_singular, largest_singular
        Bounds on the singular values of the linear map; both are one for a rotation.
    contrast, alpha, curvature_at_optimum
        Same as in `ica_promise`.
    translated
        Whether `error` is that of a map with a translation, as after Theorem 1, not of centred
        runs: centring moves every row by up to another ε.

    Returns
    -------
    Promise
        The bound, up to a signed permutation.

    See Also
    --------
    ica_promise : The second step, for white runs.
    rotation_promise : The first step.
    structure_promises : The same against the sources that generated the data.

    Notes
    -----
    Whitening turns ε into at most K₆ε, with K₆ of `rotation_promise`, and rows of norm R into rows
    of norm at most B = R/√λ. Then `ica_promise` gives

    .. math::

        \varepsilon' = K_6 \left( 1 + \frac{B (G_1 + G_2 B)}{\mu} \right) \varepsilon
        + K_6^2 \, \frac{B \, G_2}{\mu} \, \varepsilon^2

    with 2ε instead of ε if `translated`.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import ContrastBounds, unmixing_promise
    >>> bounds = ContrastBounds(name="any", first=1.0, second=1.0)
    >>> promise = unmixing_promise(
    ...     1e-4,
    ...     radius=2.0,
    ...     smallest_eigenvalue=0.5,
    ...     curvature=0.1,
    ...     n_dimensions=8,
    ...     contrast=bounds,
    ... )
    >>> round(promise.constant("K"), 4)
    1390.9617
    """
    eps = check_size(error, "the error")
    d = check_count(n_dimensions, "n_dimensions")
    white = rotation_promise(
        2.0 * eps if translated else eps,
        radius=radius,
        smallest_eigenvalue=smallest_eigenvalue,
        smallest_singular=smallest_singular,
        largest_singular=largest_singular,
    )
    shift = 2.0 if translated else 1.0
    factor = white.constant("K")
    b = float(radius) / math.sqrt(smallest_eigenvalue) if smallest_eigenvalue > 0.0 else math.inf
    moved = float(white)
    condition, holds = white.condition, white.holds
    inner = None
    linear = quadratic = math.inf
    if math.isfinite(factor):
        inner = moved_optimum(
            moved, b, b, curvature, d, known_bounds(contrast, alpha, d, b), curvature_at_optimum
        )
        linear = shift * factor * inner.linear
        quadratic = inner.quadratic * (shift * factor) * (shift * factor)
        condition = f"{condition}; {inner.condition}"
        holds = inner.holds
        if d > 1:
            condition += "; both searches end in corresponding optima, which is not checked here"
            holds = False if holds is False else None
    promise = Promise(
        statement="Theorem 2",
        claim="With each run whitened and unmixed separately, at corresponding optima a signed "
        "permutation maps every row to within this distance of its row in the other",
        up_to=Group.SIGNED_PERMUTATION,
        value=None if inner is None else inner.value(moved),
        ceiling=finite_or_none(2.0 * b),
        constants=(
            Constant(symbol="K", value=finite_or_none(linear), meaning="factor of ε"),
            Constant(symbol="K′", value=finite_or_none(quadratic), meaning="factor of ε²"),
            Constant(
                symbol="K whitening",
                value=finite_or_none(factor),
                meaning="factor of an error under whitening, Lemma A.6",
            ),
            Constant(
                symbol="shift",
                value=shift,
                meaning="2 if the error is up to a translation that centring removes, else 1",
            ),
            *given_constants(eps, float(radius), float(smallest_eigenvalue)),
            Constant(
                symbol="B", value=finite_or_none(b), meaning="R/√λ, largest norm of a white row"
            ),
            *(() if inner is None else inner.constants()),
        ),
        condition=condition,
        holds=holds,
    )
    return infinite_says_nothing(promise)
