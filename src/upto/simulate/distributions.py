"""Distributions of mean zero and variance one, with closed-form properties."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma, gammaln

from upto.core import InputError
from upto.core.array_types import Float

Draw = Callable[[np.random.Generator, int], Float]

_GAUSSIAN_ENTROPY = 0.5 * math.log(2 * math.pi * math.e)
_ROOT_3 = math.sqrt(3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A distribution with population mean zero and variance one.

    Parameters
    ----------
    name
        Name, with the parameter if there is one.
    skewness, excess_kurtosis
        Third and fourth standardised cumulants; None if infinite.
    negentropy
        Negentropy in nats; None if infinite or without a closed form.
    low, high
        Ends of the support; None if unbounded.
    draw
        Function of a generator and a number of values that draws them.

    See Also
    --------
    draw_sources : Draws columns of sources.
    student_t : A source with a parameter, as are `generalised_normal`, `bimodal` and `sparse`.
    """

    name: str
    skewness: float | None = 0.0
    excess_kurtosis: float | None
    negentropy: float | None
    low: float | None = None
    high: float | None = None
    draw: Draw

    @property
    def is_bounded(self) -> bool:
        """Whether the support is bounded, as the theorems require."""
        return self.low is not None and self.high is not None

    @property
    def is_gaussian(self) -> bool:
        """Whether it is Gaussian, so that ICA cannot separate two of them."""
        return self.negentropy == 0.0


def number_above(number: float, least: float, what: str) -> float:
    """Return a finite number above a limit, or refuse it."""
    if not (math.isfinite(number) and number > least):
        message = f"{what} of {number:g} cannot be used: take a number above {least:g}."
        raise InputError(message)
    return number


def student_t(degrees_of_freedom: float = 5.0) -> Source:
    """Return Student's t; its fourth moment is infinite up to four degrees of freedom.

    Parameters
    ----------
    degrees_of_freedom
        ν, above 2.

    Returns
    -------
    Source
        The distribution, scaled to variance one.

    See Also
    --------
    draw_sources : Draws from it.
    generalised_normal : Heavy or light tails with all moments finite.

    Notes
    -----
    The excess kurtosis is 6/(ν - 4) for ν above 4.

    Examples
    --------
    >>> from upto.simulate import student_t
    >>> student_t(10.0).excess_kurtosis
    1.0
    """
    nu = number_above(degrees_of_freedom, 2.0, "degrees of freedom")
    scale = math.sqrt((nu - 2) / nu)
    entropy = (nu + 1) / 2 * (digamma((nu + 1) / 2) - digamma(nu / 2))
    entropy += 0.5 * math.log(nu) + betaln(nu / 2, 0.5) + math.log(scale)
    return Source(
        name=f"student-t({nu:g})",
        skewness=0.0 if nu > 3 else None,
        excess_kurtosis=6 / (nu - 4) if nu > 4 else None,
        negentropy=_GAUSSIAN_ENTROPY - float(entropy),
        draw=lambda rng, n: scale * rng.standard_t(nu, size=n),
    )


def generalised_normal(shape: float = 4.0) -> Source:
    r"""Return the density ``exp(-|x/a| ** shape)`` up to a factor: 1 is Laplace, 2 is Gaussian.

    Parameters
    ----------
    shape
        Exponent, above 0; the larger, the lighter are the tails.

    Returns
    -------
    Source
        The distribution, scaled to variance one.

    See Also
    --------
    draw_sources : Draws from it.
    student_t : Tails that fall as a power.

    Notes
    -----
    With exponent β and the gamma function Γ, the excess kurtosis is

    .. math::

        \frac{\Gamma(5 / \beta) \, \Gamma(1 / \beta)}{\Gamma(3 / \beta)^2} - 3

    Examples
    --------
    >>> from upto.simulate import generalised_normal
    >>> round(generalised_normal(1.0).excess_kurtosis, 6), generalised_normal(2.0).is_gaussian
    (3.0, True)
    """
    beta = number_above(shape, 0.0, "a shape")
    scale = math.exp(0.5 * (gammaln(1 / beta) - gammaln(3 / beta)))
    kurtosis = math.exp(gammaln(5 / beta) + gammaln(1 / beta) - 2 * gammaln(3 / beta)) - 3
    entropy = 1 / beta + math.log(2 * scale / beta) + gammaln(1 / beta)

    def draw(rng: np.random.Generator, n: int) -> Float:
        sizes = scale * rng.gamma(1 / beta, size=n) ** (1 / beta)
        return np.asarray(sizes * rng.choice([-1.0, 1.0], size=n))

    gaussian = beta == 2.0
    return Source(
        name=f"generalised-normal({beta:g})",
        excess_kurtosis=0.0 if gaussian else kurtosis,
        negentropy=0.0 if gaussian else _GAUSSIAN_ENTROPY - float(entropy),
        draw=draw,
    )


def bimodal(separation: float = 0.9) -> Source:
    """Return two Gaussians of equal weight with means ±`separation`, below 1.

    Parameters
    ----------
    separation
        Distance s of either mean from zero, between 0 and 1.

    Returns
    -------
    Source
        The distribution, of variance one.

    See Also
    --------
    draw_sources : Draws from it.
    draw_clusters : Several such modes in several dimensions.

    Notes
    -----
    The variance of either Gaussian is 1 - s², and the excess kurtosis -2s⁴.

    Examples
    --------
    >>> from upto.simulate import bimodal
    >>> bimodal(0.5).excess_kurtosis
    -0.125
    """
    if not 0 < separation < 1:
        message = (
            f"a separation of {separation:g} is impossible at variance one: take one in (0, 1)."
        )
        raise InputError(message)
    spread = math.sqrt(1 - separation**2)
    return Source(
        name=f"bimodal({separation:g})",
        excess_kurtosis=-2 * separation**4,
        negentropy=None,
        draw=lambda rng, n: (
            separation * rng.choice([-1.0, 1.0], size=n) + spread * rng.normal(size=n)
        ),
    )


def sparse(density: float = 0.1) -> Source:
    """Return a Gaussian that is zero except in a fraction `density` of the rows.

    Parameters
    ----------
    density
        Fraction q of rows that are not zero, above 0 and at most 1.

    Returns
    -------
    Source
        The distribution, of variance one.

    See Also
    --------
    draw_sources : Draws from it.
    generalised_normal : Heavy tails without zeros.

    Notes
    -----
    The excess kurtosis is 3/q - 3.

    Examples
    --------
    >>> from upto.simulate import sparse
    >>> sparse(0.25).excess_kurtosis
    9.0
    """
    if not 0 < density <= 1:
        message = f"a density of {density:g} is not a fraction: use one above 0 and at most 1."
        raise InputError(message)
    scale = 1 / math.sqrt(density)
    return Source(
        name=f"sparse({density:g})",
        excess_kurtosis=3 / density - 3,
        negentropy=0.0 if density == 1 else None,
        draw=lambda rng, n: scale * (rng.uniform(size=n) < density) * rng.normal(size=n),
    )


SOURCES: dict[str, Source] = {
    "gaussian": Source(
        name="gaussian",
        excess_kurtosis=0.0,
        negentropy=0.0,
        draw=lambda rng, n: rng.normal(size=n),
    ),
    "laplace": Source(
        name="laplace",
        excess_kurtosis=3.0,
        negentropy=_GAUSSIAN_ENTROPY - 1 - 0.5 * math.log(2),
        draw=lambda rng, n: rng.laplace(scale=math.sqrt(0.5), size=n),
    ),
    "logistic": Source(
        name="logistic",
        excess_kurtosis=1.2,
        negentropy=_GAUSSIAN_ENTROPY - 2 - math.log(_ROOT_3 / math.pi),
        draw=lambda rng, n: rng.logistic(scale=_ROOT_3 / math.pi, size=n),
    ),
    "uniform": Source(
        name="uniform",
        excess_kurtosis=-1.2,
        negentropy=_GAUSSIAN_ENTROPY - math.log(2 * _ROOT_3),
        low=-_ROOT_3,
        high=_ROOT_3,
        draw=lambda rng, n: rng.uniform(-_ROOT_3, _ROOT_3, size=n),
    ),
    "exponential": Source(
        name="exponential",
        skewness=2.0,
        excess_kurtosis=6.0,
        negentropy=_GAUSSIAN_ENTROPY - 1,
        low=-1.0,
        draw=lambda rng, n: rng.exponential(size=n) - 1,
    ),
    "two-valued": Source(
        name="two-valued",
        excess_kurtosis=-2.0,
        negentropy=None,
        low=-1.0,
        high=1.0,
        draw=lambda rng, n: rng.choice([-1.0, 1.0], size=n),
    ),
    "student-t": student_t(),
    "generalised-normal": generalised_normal(),
    "bimodal": bimodal(),
    "sparse": sparse(),
}
"""Sources by name, with default parameters."""


def as_source(kind: str | Source) -> Source:
    """Return a source by name, or as it is."""
    if isinstance(kind, Source):
        return kind
    if kind not in SOURCES:
        message = f"there is no source {kind!r}: choose one of {', '.join(SOURCES)}."
        raise InputError(message)
    return SOURCES[kind]
