"""Likelihood of deep latent mixture models with piecewise affine decoders.

The model is x = f(z) + noise, with z a Gaussian mixture of one or two coordinates. A component is
μ + √λ₁ e₁ t + √λ₂ e₂ w with independent standard normal t and w along the axes of its covariance,
λ₁ ≥ λ₂. Along t the density is a sum over the pieces of f in closed form: where f = a t + b for t
from l to u, the piece has the density

    N(x; b, σ² + a aᵀ) [Φ((u - m)/v) - Φ((l - m)/v)]

with v² = σ²/(σ² + |a|²) and m = a·(x - b)/(σ² + |a|²). Along w, for two coordinates, it is
integrated by the trapezoidal rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr

from upto.core import InputError
from upto.core.array_types import Float, Index
from upto.theory.line_pieces import LinePieces, StackedLayers
from upto.theory.mixtures import mixture_parameters
from upto.theory.piecewise import PiecewiseNetwork
from upto.theory.valid_numbers import check_count, check_finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike


_REACH = 6.5
"""Standard deviations to which the second coordinate is integrated; 1e-10 of the law is beyond."""
_CELLS = 1 << 17
"""Numbers in one block of lines × pieces × rows × outputs, which fit a cache."""
_NARROW = 1e-5


def mixture_likelihood(
    network: PiecewiseNetwork,
    mixture: Any,
    rows: ArrayLike,
    *,
    noise: float,
    n_nodes: int = 257,
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
        Number of quadrature points, for two latent coordinates. Points must be closer to each other
        in x than the noise is wide; twice as many show how exact the result is.

    Raises
    ------
    InputError
        If decoder, mixture and rows do not fit each other, or there is no noise.

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
    n_nodes: int = 257,
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
    _refuse_misfits(models)
    networks = [network for network, _ in models]
    points = _as_rows(rows, networks[0].n_outputs)
    lines = _lines(models, check_count(n_nodes, "n_nodes"))
    weights = [np.stack(each) for each in zip(*(each.weights for each in networks), strict=True)]
    biases = [np.stack(each) for each in zip(*(each.biases for each in networks), strict=True)]
    found = np.full((len(models), len(points)), -np.inf)
    n_pieces = 1 + sum(len(each) for each in networks[0].weights[:-1])
    for some in _blocks(lines.owners, points.size * n_pieces):
        owners = lines.owners[some]
        pieces = StackedLayers(
            weights=[each[owners] for each in weights],
            biases=[each[owners] for each in biases],
            leak=networks[0].leak,
            activated_output=networks[0].activated_output,
        ).pieces(lines.starts[some], lines.directions[some])
        logs = lines.logs[some, None] + _line_logs(pieces, points, width)
        distinct, firsts = np.unique(owners, return_index=True)
        sums = np.logaddexp.reduceat(logs, firsts, axis=0)
        found[distinct] = np.logaddexp(found[distinct], sums)
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


def _lines(models: Sequence[tuple[PiecewiseNetwork, Any]], n_nodes: int) -> _Lines:
    width = models[0][0].n_inputs
    places, shares = np.zeros(1), np.zeros(1)
    if width > 1:
        places = np.linspace(-_REACH, _REACH, n_nodes) if n_nodes > 1 else np.zeros(1)
        shares = -0.5 * places**2
        shares -= np.logaddexp.reduce(shares)
    priors = [_parameters(mixture, width) for _, mixture in models]
    counts = [len(weights) for weights, _, _ in priors]
    logs = np.log(np.concatenate([weights for weights, _, _ in priors]))
    means = np.concatenate([each for _, each, _ in priors])
    values, axes = np.linalg.eigh(np.concatenate([each for _, _, each in priors]))
    scaled = axes * np.sqrt(np.maximum(values, 0.0))[:, None]
    starts = means[:, None].repeat(len(places), axis=1)
    if width > 1:
        starts = starts + places[:, None] * scaled[:, None, :, 0]
    return _Lines(
        owners=np.repeat(np.arange(len(models)), counts).repeat(len(places)),
        starts=starts.reshape(-1, width),
        directions=scaled[:, :, -1].repeat(len(places), axis=0),
        logs=(logs[:, None] + shares).ravel(),
    )


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


def _as_rows(rows: ArrayLike, n_outputs: int) -> Float:
    try:
        points = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim != 2 or points.shape[1] != n_outputs or not points.size:
        message = (
            f"rows of shape {points.shape} are no values of a decoder of {n_outputs} outputs: "
            f"give n×{n_outputs} numbers."
        )
        raise InputError(message)
    if not np.isfinite(points).all():
        message = "rows are not all finite: give numbers."
        raise InputError(message)
    return points


def _refuse_misfits(models: Sequence[Any]) -> None:
    networks = [each[0] for each in models if isinstance(each, tuple) and len(each) == 2]
    if not models or len(networks) < len(models):
        message = "models are not pairs of a decoder and a mixture: give at least one pair."
        raise InputError(message)
    for network in networks:
        if not isinstance(network, PiecewiseNetwork):
            message = f"a {type(network).__name__} has no known pieces: give a PiecewiseNetwork."
            raise InputError(message)
    if networks[0].n_inputs > 2:
        message = (
            f"the decoder has {networks[0].n_inputs} inputs, but the density is computed for one "
            "or two: estimate it by sampling instead."
        )
        raise InputError(message)
    if len({_shape(each) for each in networks}) > 1:
        message = "decoders differ in layers or activation: give those of one shape."
        raise InputError(message)


def _shape(network: PiecewiseNetwork) -> tuple[Any, ...]:
    sizes = tuple(each.shape for each in network.weights)
    return sizes, network.leak, network.activated_output
