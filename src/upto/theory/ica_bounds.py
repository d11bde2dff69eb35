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
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import Constant, Group, InputError, Promise, finite_or_none
from upto.ica.contrasts import Exp, LogCosh, choose_contrast
from upto.theory.valid_numbers import (
    check_count,
    check_finite,
    check_number,
    check_size,
    infinite_says_nothing,
)
from upto.theory.whitening_bounds import given_constants, rotation_promise

if TYPE_CHECKING:
    from upto.ica.contrasts import Contrast


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastBounds:
    """Bounds on the derivatives of a contrast Σ G(sₖ) at the components.

    Parameters
    ----------
    name
        Name of the contrast.
    first
        G₁, a bound on the norm of the gradient: √d times the largest magnitude of g.
    second
        G₂, a bound on the norm of the Hessian: the largest magnitude of g′.
    third
        Bound on the magnitude of g″, needed to prove that the curvature is kept; None if unknown.
    """

    name: str
    first: float
    second: float
    third: float | None = None


def contrast_bounds(
    contrast: str | Contrast, *, n_dimensions: int, radius: float, alpha: float = 1.0
) -> ContrastBounds:
    """Return the bounds of a contrast on rows of norm at most `radius`.

    Parameters
    ----------
    contrast
        ``logcosh``, ``exp``, ``cube`` or a contrast of `upto.ica`.
    n_dimensions
        Number d of components.
    radius
        Largest norm of a row; only the bounds of ``cube`` depend on it.
    alpha
        Parameter of ``logcosh``.
    """
    d = check_count(n_dimensions, "n_dimensions")
    r = check_finite(radius, "the radius")
    chosen = choose_contrast(contrast, alpha)
    if isinstance(chosen, LogCosh):
        a = chosen.alpha
        score, slope, bend = 1.0, a, a * a * 4.0 / (3.0 * math.sqrt(3.0))
    elif isinstance(chosen, Exp):
        # |u³ - 3u| exp(-u²/2) is largest at u² = 3 - √6.
        square = 3.0 - math.sqrt(6.0)
        bend = math.sqrt(square) * (3.0 - square) * math.exp(-square / 2.0)
        score, slope = math.exp(-0.5), 1.0
    elif chosen.name == "cube":
        score, slope, bend = r * r * r, 3.0 * r * r, 6.0 * r
    else:
        message = (
            f"the bounds of the contrast {chosen.name} are not known: "
            "give them as ContrastBounds(name=…, first=…, second=…)."
        )
        raise InputError(message)
    return ContrastBounds(name=chosen.name, first=math.sqrt(d) * score, second=slope, third=bend)


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
    """Return the bound of Lemma A.8: close white runs have close components.

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

    Examples
    --------
    >>> promise = ica_promise(0.001, radius=2.0, curvature=0.1, n_dimensions=2)
    >>> round(promise.constant("K"), 2)
    69.28
    """
    eps, b = check_size(error, "the error"), check_finite(radius, "the radius")
    d = check_count(n_dimensions, "n_dimensions")
    # Rows between the two runs have at most this norm.
    ball = b + eps if math.isfinite(b + eps) else b
    bounds = _bounds(contrast, alpha, d, ball)
    inner = _perturbed(eps, b, ball, curvature, d, bounds, curvature_at_optimum)
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
    """Return the bound of Theorem 2: close runs, unmixed separately, have close components.

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

    Examples
    --------
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
        inner = _perturbed(
            moved, b, b, curvature, d, _bounds(contrast, alpha, d, b), curvature_at_optimum
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Perturbed:
    """Perturbation of a stationary point: the constants shared by Lemma A.8 and Theorem 2."""

    linear: float
    quadratic: float
    curvature: float
    bounds: ContrastBounds
    condition: str
    holds: bool | None
    lost: float | None = None

    def value(self, error: float) -> float | None:
        """Return the bound; without curvature there is none, however small the error."""
        if math.isinf(self.linear):
            return None
        return finite_or_none(self.linear * error + self.quadratic * error * error)

    def constants(self) -> tuple[Constant, ...]:
        """List the contrast's bounds and the curvature."""
        lost = Constant(
            symbol="μ lost",
            value=None if self.lost is None else finite_or_none(self.lost),
            meaning="largest loss of curvature between the runs",
        )
        return (
            Constant(
                symbol="G₁",
                value=finite_or_none(self.bounds.first),
                meaning="bound on the contrast's gradient",
            ),
            Constant(
                symbol="G₂",
                value=finite_or_none(self.bounds.second),
                meaning="bound on the contrast's Hessian",
            ),
            Constant(
                symbol="μ",
                value=finite_or_none(self.curvature),
                meaning="curvature of the contrast kept between the runs",
            ),
            *(() if self.lost is None else (lost,)),
        )


def _bounds(
    contrast: str | Contrast | ContrastBounds, alpha: float, n_dimensions: int, ball: float
) -> ContrastBounds:
    if isinstance(contrast, ContrastBounds):
        check_finite(contrast.first, "the bound on the contrast's gradient")
        check_finite(contrast.second, "the bound on the contrast's Hessian")
        return contrast
    return contrast_bounds(contrast, n_dimensions=n_dimensions, radius=ball, alpha=alpha)


def _perturbed(
    error: float,
    b: float,
    ball: float,
    curvature: float,
    n_dimensions: int,
    bounds: ContrastBounds,
    at_optimum: float | None,
) -> _Perturbed:
    mu = check_number(curvature, "the curvature")
    kept = None if at_optimum is None else check_number(at_optimum, "the curvature at the optimum")
    if n_dimensions == 1:
        mu = math.inf
    elif mu == math.inf:
        message = (
            f"the curvature of {n_dimensions} components is infinite, but only a single one cannot "
            "rotate: measure it with upto.ica.smallest_curvature."
        )
        raise InputError(message)
    if mu <= 0.0:
        linear = quadratic = math.inf
    elif math.isinf(mu) or b == 0.0:
        # Without a rotation, or rows that it moves, bounds of the contrast do not matter.
        linear, quadratic = 1.0, 0.0
    else:
        linear = 1.0 + b * (bounds.first + bounds.second * b) / mu
        quadratic = b * bounds.second / mu
    words = f"the contrast {bounds.name} keeps a curvature of {mu:.4g}, which must be more than 0"
    if mu <= 0.0:
        return _Perturbed(
            linear=linear,
            quadratic=quadratic,
            curvature=mu,
            bounds=bounds,
            condition=f"{words}: at zero some components can rotate into each other, below zero "
            "they are not an optimum",
            holds=False,
        )
    holds: bool | None = None
    lost = None
    if math.isinf(mu):
        words, holds = "a single component cannot rotate", True
    elif kept is None or bounds.third is None or not math.isfinite(error):
        words += " while one run is moved into the other, which is not checked here"
    else:
        # Both terms of the Hessian, E[g′(s)(Ωs)²] and E[g(s)ᵀΩ²s] with |Ω| = 1, for components
        # that move by no more than the bound itself.
        rate = bounds.third * ball * ball / 2.0 + 1.5 * bounds.second * ball + bounds.first / 2.0
        moved = linear * error + quadratic * error * error
        lost = rate * moved if moved > 0.0 else 0.0
        left = kept - lost
        holds = True if left >= mu else None
        words += (
            f" while one run is moved into the other; from {kept:.4g} at the optimum it is "
            f"proved to stay above {left:.4g}"
        )
        if holds is None:
            words += ", which does not decide it"
    return _Perturbed(
        linear=linear,
        quadratic=quadratic,
        curvature=mu,
        bounds=bounds,
        condition=words,
        holds=holds,
        lost=lost,
    )
