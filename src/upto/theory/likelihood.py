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

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr

from upto.core import InputError
from upto.core.array_types import Float, Index
from upto.theory.likelihood_inputs import (
    as_rows,
    refuse_extremes,
    refuse_misfits,
    warn_of_ends,
    warn_of_gaps,
)
from upto.theory.line_pieces import LinePieces, StackedLayers
from upto.theory.mixtures import mixture_parameters
from upto.theory.valid_numbers import check_count, check_finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

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
_CELLS = 1 << 17
"""Numbers in one block of lines × pieces × rows × outputs, which fit a cache."""
_NARROW = 1e-5


def mixture_likelihood(
    network: PiecewiseNetwork,
    mixture: Any,
    rows: ArrayLike,
    *,
    noise: float,
    n_nodes: int | None = None,
) -> Float:
    """Return the logarithm of the density of x = f(z) + noise at each row.

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

    Raises
    ------
    InputError
        If decoder, mixture and rows do not fit each other, there is no noise, numbers are too large
        or too small to be squared, or rows are so far out that they need too many points.

    Warns
    -----
    UserWarning
        If a given number of points does not resolve the density of all rows.

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

    Raises
    ------
    InputError
        If decoders differ in shape, and as for `mixture_likelihood`.

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
    axes = [_axes(mixture, inputs) for _, mixture in models]
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
    found = _sums(networks, _lines(axes, places, shares), points, width)
    if inputs > 1:
        slopes = [_slopes(*each).max() for each in zip(networks, axes, strict=True)]
        warn_of_gaps(places, float(max(slopes)), width)
        ends = _lines(axes, places[[0, -1]], shares[[0, -1]])
        warn_of_ends(found, _sums(networks, ends, points, width), len(places))
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Lines:
    """Lines along which components are integrated exactly: z = start + t·direction, t normal.

    `owners` are the models, in order, and `logs` the logarithms of the weights of the lines.
    """

    owners: Index
    starts: Float
    directions: Float
    logs: Float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Axes:
    """Components of a mixture: logarithms of weights, means, and axes as columns, the last widest.

    Axes are as long as the standard deviation along them.
    """

    logs: Float
    means: Float
    scaled: Float


def _axes(mixture: Any, width: int) -> _Axes:
    weights, means, covariances = _parameters(mixture, width)
    values, axes = np.linalg.eigh(covariances)
    scaled = axes * np.sqrt(np.maximum(values, 0.0))[:, None]
    return _Axes(logs=np.log(weights), means=means, scaled=scaled)


def _lines(axes: Sequence[_Axes], places: Float, shares: Float) -> _Lines:
    """Return the lines of all components of all models through the same places of w."""
    counts = [len(each.logs) for each in axes]
    logs = np.concatenate([each.logs for each in axes])
    scaled = np.concatenate([each.scaled for each in axes])
    starts = np.concatenate([each.means for each in axes])[:, None].repeat(len(places), axis=1)
    width = starts.shape[2]
    if width > 1:
        starts = starts + places[:, None] * scaled[:, None, :, 0]
    return _Lines(
        owners=np.repeat(np.arange(len(axes)), counts).repeat(len(places)),
        starts=starts.reshape(-1, width),
        directions=scaled[:, :, -1].repeat(len(places), axis=0),
        logs=(logs[:, None] + shares).ravel(),
    )


def _sums(
    networks: Sequence[PiecewiseNetwork], lines: _Lines, points: Float, noise: float
) -> Float:
    """Return the logarithms of the sums over the lines of each model, models × rows."""
    weights = [np.stack(each) for each in zip(*(each.weights for each in networks), strict=True)]
    biases = [np.stack(each) for each in zip(*(each.biases for each in networks), strict=True)]
    found = np.full((len(networks), len(points)), -np.inf)
    n_pieces = 1 + sum(len(each) for each in networks[0].weights[:-1])
    for some in _blocks(lines.owners, points.size * n_pieces):
        owners = lines.owners[some]
        pieces = StackedLayers(
            weights=[each[owners] for each in weights],
            biases=[each[owners] for each in biases],
            leak=networks[0].leak,
            activated_output=networks[0].activated_output,
        ).pieces(lines.starts[some], lines.directions[some])
        logs = lines.logs[some, None] + _line_logs(pieces, points, noise)
        distinct, firsts = np.unique(owners, return_index=True)
        sums = np.logaddexp.reduceat(logs, firsts, axis=0)
        found[distinct] = np.logaddexp(found[distinct], sums)
    return found


def _resolved(network: PiecewiseNetwork, axes: _Axes, points: Float, noise: float) -> Float:
    """Return the log densities of rows by as many nodes along w as each of them needs."""
    slopes = _slopes(network, axes)
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
    axes: _Axes,
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
            one = _Axes(logs=axes.logs[own], means=axes.means[own], scaled=axes.scaled[own])
            lines = _ring(one, step, inner, outer)
            sums = _sums([network] * _CLASSES, lines, points[left], noise)
            found[:, left] = np.logaddexp(found[:, left], sums)
        if np.isinf(steps).all():
            break
        densities = np.logaddexp.reduce(found[:, left], axis=0)
        left = left[0.5 * outer**2 < _SURE + peak - densities]
        inner, outer = outer, _WIDER * outer
    return found


def _ring(axes: _Axes, step: float, inner: float, outer: float) -> _Lines:
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
    return replace(_lines([axes], places, shares), owners=numbers % _CLASSES)


def _slopes(network: PiecewiseNetwork, axes: _Axes) -> Float:
    """Return how far x moves at most per standard deviation of w, for each component."""
    moved = np.linalg.norm(axes.scaled[:, :, 0] @ network.weights[0].T, axis=1)
    later = [float(np.linalg.norm(each, 2)) for each in network.weights[1:]]
    bends = len(network.weights) if network.activated_output else len(later)
    found: Float = moved * np.prod(later) * max(1.0, abs(network.leak)) ** bends
    return found


def _line_logs(pieces: LinePieces, points: Float, noise: float) -> Float:
    """Return the log density of each row for a standard normal t, lines × rows."""
    squares = (pieces.slopes**2).sum(axis=2)[:, :, None]
    sizes = np.sqrt(squares)
    units = np.divide(pieces.slopes, sizes, out=np.zeros_like(pieces.slopes), where=sizes > 0)
    away = points - pieces.offsets[:, :, None]
    along = np.einsum("bkrn,bkn->bkr", away, units)
    # The square of a difference, since a difference of squares loses digits at little noise.
    away -= along[..., None] * units[:, :, None]
    across = np.einsum("bkrn,bkrn->bkr", away, away)
    totals = noise**2 + squares
    logs = -0.5 * (across / noise**2 + along**2 / totals + np.log(totals / noise**2))
    logs -= points.shape[1] * (np.log(noise) + 0.5 * np.log(2.0 * np.pi))
    centres, scales = sizes * along / totals, noise / np.sqrt(totals)
    lows, highs = (
        (each[:, :, None] - centres) / scales for each in (pieces.ends[:, :-1], pieces.ends[:, 1:])
    )
    logs += log_normal_interval(lows, highs)
    peaks = logs.max(axis=1)
    safe = np.where(np.isfinite(peaks), peaks, 0.0)
    with np.errstate(divide="ignore"):
        total: Float = safe + np.log(np.exp(logs - safe[:, None]).sum(axis=1))
    return total


def log_normal_interval(low: ArrayLike, high: ArrayLike) -> Float:
    """Return the logarithm of the standard normal mass between two ends, accurate in both tails.

    Examples
    --------
    >>> log_normal_interval([-1.0, 40.0, 2.0], [1.0, 41.0, 2.0]).round(3).tolist()
    [-0.382, -804.608, -inf]
    """
    lows, highs = np.broadcast_arrays(*(np.asarray(each, dtype=float) for each in (low, high)))
    # The upper tail is the lower one mirrored, where logarithms of the normal law are accurate.
    above = lows > 0
    left, right = np.where(above, -highs, lows), np.where(above, -lows, highs)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = np.atleast_1d(log_ndtr(right))
        ratios = log_ndtr(left) - found
        found += np.log1p(-np.exp(np.minimum(ratios, 0.0)))
        # A difference of nearly equal numbers loses digits; the interval is narrow or empty then.
        narrow = np.nonzero(~(ratios < -_NARROW))
        starts, stops = (np.atleast_1d(each)[narrow] for each in (left, right))
        middles, widths = 0.5 * (starts + stops), np.fmax(stops - starts, 0.0)
        found[narrow] = np.log(widths) - 0.5 * middles**2 - 0.5 * np.log(2.0 * np.pi)
    found[np.isnan(found)] = -np.inf
    return found.reshape(lows.shape)


def _blocks(owners: Index, cells: int) -> Iterator[slice]:
    """Yield blocks of lines of limited size, each of at least one line."""
    size = max(1, _CELLS // cells)
    for start in range(0, len(owners), size):
        yield slice(start, start + size)


def _parameters(mixture: Any, width: int) -> tuple[Float, Float, Float]:
    weights, means, covariances = mixture_parameters(mixture)
    if means.shape[1] != width:
        message = (
            f"a mixture in {means.shape[1]} dimensions does not fit a decoder of {width} inputs: "
            "give the law of its inputs."
        )
        raise InputError(message)
    return weights, means, covariances
