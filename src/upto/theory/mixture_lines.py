"""Lines along which the density of a mixture through a piecewise affine map is exact.

Their formula is that of `upto.theory.likelihood`.
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from upto.theory.piecewise import PiecewiseNetwork


_CELLS = 1 << 17
"""Numbers in one block of lines × pieces × rows × outputs, which fit a cache."""
_NARROW = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lines:
    """Lines along which components are integrated exactly: z = start + t·direction, t normal.

    `owners` are the models, in order, and `logs` the logarithms of the weights of the lines.
    """

    owners: Index
    starts: Float
    directions: Float
    logs: Float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axes:
    """Components of a mixture: logarithms of weights, means, and axes as columns, the last widest.

    Axes are as long as the standard deviation along them.
    """

    logs: Float
    means: Float
    scaled: Float


def axes_of(mixture: Any, width: int) -> Axes:
    """Return the components of a mixture in as many dimensions as the decoder has inputs."""
    weights, means, covariances = _parameters(mixture, width)
    values, axes = np.linalg.eigh(covariances)
    scaled = axes * np.sqrt(np.maximum(values, 0.0))[:, None]
    return Axes(logs=np.log(weights), means=means, scaled=scaled)


def lines_through(axes: Sequence[Axes], places: Float, shares: Float) -> Lines:
    """Return the lines of all components of all models through the same places of w."""
    counts = [len(each.logs) for each in axes]
    logs = np.concatenate([each.logs for each in axes])
    scaled = np.concatenate([each.scaled for each in axes])
    starts = np.concatenate([each.means for each in axes])[:, None].repeat(len(places), axis=1)
    width = starts.shape[2]
    if width > 1:
        starts = starts + places[:, None] * scaled[:, None, :, 0]
    return Lines(
        owners=np.repeat(np.arange(len(axes)), counts).repeat(len(places)),
        starts=starts.reshape(-1, width),
        directions=scaled[:, :, -1].repeat(len(places), axis=0),
        logs=(logs[:, None] + shares).ravel(),
    )


def line_sums(
    networks: Sequence[PiecewiseNetwork], lines: Lines, points: Float, noise: float
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


def slopes_across(network: PiecewiseNetwork, axes: Axes) -> Float:
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
    >>> from upto.theory.mixture_lines import log_normal_interval
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
