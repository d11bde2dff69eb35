"""Likelihood of deep latent mixture models with piecewise affine decoders.

The model is x = f(z) + noise, with z a Gaussian mixture of one or two coordinates. A component is
μ + √λ₁ e₁ t + √λ₂ e₂ w with independent standard normal t and w along the axes of its covariance,
λ₁ ≥ λ₂. Along t the density is a sum over the pieces of f in closed form: where f = a t + b for t
from l to u, the piece has the density

    N(x; b, σ² + a aᵀ) [Φ((u - m)/v) - Φ((l - m)/v)]

with v² = σ²/(σ² + |a|²) and m = a·(x - b)/(σ² + |a|²). Along w, for two coordinates, it is
integrated by the trapezoidal rule. No density of x given w is above (2πσ²)^(-d/2), so what lies
beyond |w| = R is at most exp(-R²/2) of that: nodes are added until this is negligible beside the
sum. On a piece the integrand is nowhere narrower in w than σ/√(σ² + s²), with s the largest slope
of f along w, but it can have a sharper peak where pieces meet. So the sums over every fourth node
are compared, and the distance of nodes is halved until all four agree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.theory.likelihood_inputs import (
    as_rows,
    refuse_extremes,
    refuse_misfits,
    warn_of_ends,
    warn_of_gaps,
)
from upto.theory.mixture_lines import (
    Axes,
    Lines,
    axes_of,
    line_sums,
    lines_through,
    slopes_across,
)
from upto.theory.valid_numbers import check_count, check_finite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from upto.core.array_types import Float, Index
    from upto.theory.piecewise import PiecewiseNetwork


_REACH = 6.5
"""Standard deviations to which a given number of nodes reaches; 1e-10 of the law is beyond."""
_FIRST_REACH, _WIDER = 8.0, 1.5
_SURE = 25.0
"""What is left out is below exp(-25) of the density."""
_LONGEST_STEP, _FINE = 0.05, 0.25
"""Longest distance of nodes, in standard deviations of w and in widths of the integrand."""
_CLASSES = 4
_AGREED = 1e-3
"""Difference of log densities by every fourth node up to which that by all is trusted."""
_MOST_NODES = 1 << 20


def mixture_likelihood(
    network: PiecewiseNetwork,
    mixture: Any,
    rows: ArrayLike,
    *,
    noise: float,
    n_nodes: int | None = None,
) -> Float:
    r"""Return the logarithm of the density of x = f(z) + noise at each row.

    It is exact for one latent coordinate, whatever the number of layers; for two, one coordinate is
    integrated exactly and the other by quadrature.

    Parameters
    ----------
    network
        The decoder f, of one or two inputs.
    mixture
        The law of z, as for `check_prior`; components may be degenerate.
    rows
        Values of x, one per row.
    noise
        Standard deviation of the noise in every coordinate of x; above zero.
    n_nodes
        Number of quadrature points, for two latent coordinates. If left out, as many as each row
        needs for an error of about 1e-4. A fixed number is faster, for many models and rows that
        are typical of them; it reaches 6.5 standard deviations, and a warning says if that is not
        far or not close enough.

    Returns
    -------
    ndarray of shape (n_rows,)
        Natural logarithms of the densities.

    Raises
    ------
    InputError
        If decoder, mixture and rows do not fit each other, there is no noise, numbers are too large
        or too small to be squared, or rows are so far out that they need too many points.

    Warns
    -----
    UserWarning
        If a given number of points does not resolve the density of all rows.

    See Also
    --------
    mixture_likelihoods : The same for many models at once.
    PiecewiseNetwork : The decoder.
    what_is_identified : Which of two models with one likelihood are equivalent.

    Notes
    -----
    For a scalar latent the density is a sum over the components and over the pieces of f. On the
    piece f = a t + b for l ≤ t ≤ u, with t standard normal along the component,

    .. math::

        p(x) = N(x; b, \sigma^2 I + a a^\top) \, \left[ \Phi\left( \frac{u - m}{v} \right)
        - \Phi\left( \frac{l - m}{v} \right) \right]

    where :math:`v^2 = \sigma^2 / (\sigma^2 + |a|^2)`,
    :math:`m = a \cdot (x - b) / (\sigma^2 + |a|^2)`, and Φ is the standard normal distribution.

    References
    ----------
    Kivva et al. (2022). Identifiability of deep generative models without auxiliary information.
    Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.theory import PiecewiseNetwork, mixture_likelihood
    >>> relu = PiecewiseNetwork(weights=[[[1.0]]], activated_output=True)
    >>> prior = ([0.4, 0.6], [[-1.0], [2.0]], [[0.25], [0.64]])
    >>> np.exp(mixture_likelihood(relu, prior, [[0.0], [0.5], [2.0]], noise=0.3)).round(6).tolist()
    [0.548975, 0.196964, 0.280156]
    """
    found: Float = mixture_likelihoods([(network, mixture)], rows, noise=noise, n_nodes=n_nodes)[0]
    return found


def mixture_likelihoods(
    models: Sequence[tuple[PiecewiseNetwork, Any]],
    rows: ArrayLike,
    *,
    noise: float,
    n_nodes: int | None = None,
) -> Float:
    """Return the logarithms of the densities of many models at each row, models × rows.

    All at once is much faster than one by one: a likelihood surface has thousands of models.

    Parameters
    ----------
    models
        Decoders of one shape, each with the law of its z.
    rows, noise, n_nodes
        As for `mixture_likelihood`.

    Returns
    -------
    ndarray of shape (n_models, n_rows)
        Natural logarithms of the densities.

    Raises
    ------
    InputError
        If decoders differ in shape, and as for `mixture_likelihood`.

    See Also
    --------
    mixture_likelihood : The same for one model, with the formula.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.theory import PiecewiseNetwork, mixture_likelihoods
    >>> prior = ([0.5, 0.5], [[-1.0], [2.0]], [[1.0], [0.5]])
    >>> slopes = [PiecewiseNetwork(weights=[[[slope]]]) for slope in (0.5, 1.0, 2.0)]
    >>> mixture_likelihoods([(each, prior) for each in slopes], np.zeros((4, 1)), noise=0.1).shape
    (3, 4)
    """
    width = check_finite(noise, "noise")
    if width == 0.0:
        message = "noise is 0, but x has no density without it: give a number above zero."
        raise InputError(message)
    refuse_misfits(models)
    networks = [network for network, _ in models]
    points = as_rows(rows, networks[0].n_outputs)
    count = None if n_nodes is None else check_count(n_nodes, "n_nodes")
    inputs = networks[0].n_inputs
    axes = [axes_of(mixture, inputs) for _, mixture in models]
    for network, own in zip(networks, axes, strict=True):
        latents = float(np.abs(own.means).max() + np.abs(own.scaled).max())
        refuse_extremes(network, latents, points, width)
    if inputs > 1 and count is None:
        each_model = zip(networks, axes, strict=True)
        return np.stack([_resolved(one, own, points, width) for one, own in each_model])
    places, shares = np.zeros(1), np.zeros(1)
    if inputs > 1 and count is not None:
        places = np.linspace(-_REACH, _REACH, count) if count > 1 else np.zeros(1)
        shares = -0.5 * places**2
        shares -= np.logaddexp.reduce(shares)
    found = line_sums(networks, lines_through(axes, places, shares), points, width)
    if inputs > 1:
        slopes = [slopes_across(*each).max() for each in zip(networks, axes, strict=True)]
        warn_of_gaps(places, float(max(slopes)), width)
        ends = lines_through(axes, places[[0, -1]], shares[[0, -1]])
        warn_of_ends(found, line_sums(networks, ends, points, width), len(places))
    return found


def _resolved(network: PiecewiseNetwork, axes: Axes, points: Float, noise: float) -> Float:
    """Return the log densities of rows by as many nodes along w as each of them needs."""
    slopes = slopes_across(network, axes)
    # Where w has no effect, one node is exact.
    flat = slopes == 0.0
    steps = np.minimum(_LONGEST_STEP, _FINE * noise / np.hypot(noise, slopes))
    found = np.full(len(points), -np.inf)
    left = np.arange(len(points))
    while left.size:
        sums = _far_enough(network, axes, points[left], noise, np.where(flat, np.inf, steps), left)
        found[left] = np.logaddexp.reduce(sums, axis=0)
        left = left[~(np.ptp(sums, axis=0) <= _AGREED)]
        steps = 0.5 * steps
    return found


def _far_enough(
    network: PiecewiseNetwork,
    axes: Axes,
    points: Float,
    noise: float,
    steps: Float,
    names: Index,
) -> Float:
    """Return log sums over every fourth node, 4 × rows, as far out as each row needs.

    `steps` are the distances of nodes of each component, infinite where one node is enough, and
    `names` the numbers of the rows.
    """
    peak = -0.5 * points.shape[1] * np.log(2.0 * np.pi * noise**2)
    found = np.full((_CLASSES, len(points)), -np.inf)
    left = np.arange(len(points))
    inner, outer = -1.0, _FIRST_REACH
    while left.size:
        if 2.0 * outer / steps.min() > _MOST_NODES:
            message = (
                f"row {names[left[0]]} needs more than {_MOST_NODES} quadrature points: it is too "
                "far out for this noise and the slopes of the decoder; leave such rows out."
            )
            raise InputError(message)
        for number, step in enumerate(steps):
            own = slice(number, number + 1)
            one = Axes(logs=axes.logs[own], means=axes.means[own], scaled=axes.scaled[own])
            lines = _ring(one, step, inner, outer)
            sums = line_sums([network] * _CLASSES, lines, points[left], noise)
            found[:, left] = np.logaddexp(found[:, left], sums)
        if np.isinf(steps).all():
            break
        densities = np.logaddexp.reduce(found[:, left], axis=0)
        left = left[0.5 * outer**2 < _SURE + peak - densities]
        inner, outer = outer, _WIDER * outer
    return found


def _ring(axes: Axes, step: float, inner: float, outer: float) -> Lines:
    """Return the lines of a component from one distance to another, every fourth together."""
    if np.isinf(step):
        numbers = np.arange(_CLASSES if inner < 0.0 else 0)
        places: Float = np.zeros(len(numbers))
        shares: Float = places - np.log(_CLASSES)
    else:
        first = 0 if inner < 0.0 else int(inner / step) + 1
        ahead = np.arange(first, int(outer / step) + 1)
        numbers = np.concatenate([-ahead[ahead > 0], ahead])
        numbers = numbers[np.argsort(numbers % _CLASSES, kind="stable")]
        places = float(step) * numbers.astype(np.float64)
        shares = np.log(float(step)) - 0.5 * np.log(2.0 * np.pi) - 0.5 * places**2
    return replace(lines_through([axes], places, shares), owners=numbers % _CLASSES)
