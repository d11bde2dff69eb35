"""Lemmas A.5 and A.6: whitening preserves closeness and reduces linear maps to rotations.

Whitening is by the symmetric root W = Cov^-½ of the covariance. Rows are centred.
"""

from __future__ import annotations

import math

from upto.core import Constant, Group, InputError, Promise, finite_or_none
from upto.theory.valid_numbers import (
    check_finite,
    check_size,
    check_spectrum,
    infinite_says_nothing,
)


def whitening_promise(error: float, *, radius: float, smallest_eigenvalue: float) -> Promise:
    r"""Return the bound of Lemma A.5: close runs are close after each is whitened.

    Parameters
    ----------
    error
        ε, the largest distance between corresponding rows of the two centred runs.
    radius
        R, a bound on the norm of every row of both centred runs, such as their diameter.
    smallest_eigenvalue
        λ, a lower bound on the eigenvalues of both covariances.

    Returns
    -------
    Promise
        The bound; its constant ``K`` is the factor of the error.

    See Also
    --------
    rotation_promise : The same after a linear map.
    unmixing_promise : What ICA keeps of it.
    upto.Whitener : The transform.

    Notes
    -----
    With W the symmetric inverse root of each covariance, corresponding centred rows x and y have

    .. math::

        \lVert W_X x - W_Y y \rVert \le K \varepsilon,
        \qquad K = \lambda^{-1/2} + R^2 \lambda^{-3/2}

    It is vacuous above 2R/√λ, the largest distance between two white rows.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import whitening_promise
    >>> promise = whitening_promise(0.01, radius=2.0, smallest_eigenvalue=0.5)
    >>> round(promise.constant("K"), 5)
    12.72792
    """
    eps = check_size(error, "the error")
    eigenvalue, norm = check_spectrum(smallest_eigenvalue, radius)
    factor = math.inf
    if eigenvalue > 0.0:
        deviation, white = _white(norm, eigenvalue)
        factor = (1.0 + white * white) / deviation
    promise = Promise(
        statement="Lemma A.5",
        claim="With each run whitened separately, every row is within this distance of its row in "
        "the other",
        value=_times(factor, eps),
        ceiling=_trivial(norm, eigenvalue),
        constants=(
            Constant(symbol="K", value=finite_or_none(factor), meaning="λ^-½ + R² λ^-³⁄₂"),
            *given_constants(eps, norm, eigenvalue),
        ),
        condition=_condition(norm, eigenvalue),
        holds=eigenvalue > 0.0,
    )
    return infinite_says_nothing(promise)


def rotation_promise(
    error: float,
    *,
    radius: float,
    smallest_eigenvalue: float,
    smallest_singular: float = 1.0,
    largest_singular: float = 1.0,
) -> Promise:
    r"""Return the bound of Lemma A.6: whitening reduces a linear map to a rotation.

    Parameters
    ----------
    error
        ε, the worst error of the best linear map from one centred run to the other.
    radius, smallest_eigenvalue
        Same as in `whitening_promise`.
    smallest_singular, largest_singular
        Bounds on the singular values of that map; both are one for a rotation.

    Returns
    -------
    Promise
        The bound, up to a rotation or reflection.

    See Also
    --------
    whitening_promise : The same for runs that are close without a map.
    unmixing_promise : The same after ICA.
    rigid_promise : The error of a rigid motion, where both singular values are one.

    Notes
    -----
    If the best linear map has singular values from s₋ to s₊, an orthogonal matrix maps every white
    row to within K ε of its counterpart, with

    .. math::

        K = \lambda^{-1/2} + R^2 \lambda^{-3/2} \, \frac{s_+ (1 + s_+)}{s_- (1 + s_-)}

    For a rotation this is the constant of `whitening_promise`.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import rotation_promise
    >>> promise = rotation_promise(
    ...     0.01,
    ...     radius=2.0,
    ...     smallest_eigenvalue=0.5,
    ...     smallest_singular=0.5,
    ...     largest_singular=2.0,
    ... )
    >>> round(promise.constant("K"), 5)
    91.92388
    """
    eps = check_size(error, "the error")
    eigenvalue, norm = check_spectrum(smallest_eigenvalue, radius)
    low = check_finite(smallest_singular, "the smallest singular value")
    high = check_finite(largest_singular, "the largest singular value")
    if low > high:
        message = (
            f"the smallest singular value, {low:g}, exceeds the largest, {high:g}: exchange them."
        )
        raise InputError(message)
    tight = simple = math.inf
    if eigenvalue > 0.0 and low > 0.0:
        deviation, white = _white(norm, eigenvalue)
        stretch = (high / low) * ((1.0 + high) / (1.0 + low))
        tight = (1.0 + white * white * stretch) / deviation
        least = min(1.0, low)
        ratio = max(1.0, high) / least
        simple = (1.0 + white * white * ratio * ratio) / deviation / least
    promise = Promise(
        statement="Lemma A.6",
        claim="With each run whitened separately, a rotation maps every row to within this "
        "distance of its row in the other",
        up_to=Group.RIGID,
        value=_times(tight, eps),
        ceiling=_trivial(norm, eigenvalue),
        constants=(
            Constant(
                symbol="K",
                value=finite_or_none(tight),
                meaning="λ^-½ + R² λ^-³⁄₂ s₊(1 + s₊) / (s₋(1 + s₋))",
            ),
            Constant(
                symbol="K simple",
                value=finite_or_none(simple),
                meaning="a larger, simpler constant, with s₋ at most 1 and s₊ at least 1",
            ),
            *given_constants(eps, norm, eigenvalue),
            Constant(symbol="s₋", value=low, meaning="smallest singular value of the linear map"),
            Constant(symbol="s₊", value=high, meaning="largest singular value of the linear map"),
        ),
        condition=f"{_condition(norm, eigenvalue)}; the linear map stretches by between {low:.4g} "
        f"and {high:.4g}, the smaller of which must be more than 0",
        holds=eigenvalue > 0.0 and low > 0.0,
    )
    return infinite_says_nothing(promise)


def given_constants(error: float, radius: float, eigenvalue: float) -> tuple[Constant, ...]:
    """List the three inputs common to all bounds on whitened runs."""
    return (
        Constant(symbol="ε", value=finite_or_none(error), meaning="largest error before whitening"),
        Constant(symbol="R", value=radius, meaning="largest norm of a centred row"),
        Constant(symbol="λ", value=eigenvalue, meaning="lower bound on eigenvalues of both runs"),
    )


def _times(factor: float, error: float) -> float | None:
    """Multiply; an infinite factor stays infinite, as whitening is then undefined."""
    return None if math.isinf(factor) else finite_or_none(factor * error)


def _white(radius: float, eigenvalue: float) -> tuple[float, float]:
    """Return √λ and R/√λ, as powers of λ itself overflow long before the bounds do."""
    deviation = math.sqrt(eigenvalue)
    return deviation, radius / deviation


def _trivial(radius: float, eigenvalue: float) -> float | None:
    """Return the largest distance between two white rows, each of norm at most R/√λ."""
    return finite_or_none(2.0 * _white(radius, eigenvalue)[1]) if eigenvalue > 0.0 else None


def _condition(radius: float, eigenvalue: float) -> str:
    return (
        f"both runs are centred, no row is longer than {radius:.4g} and no eigenvalue of either "
        f"covariance is below {eigenvalue:.4g}, which must be more than 0"
    )
