"""Checks of the inputs of mixture likelihoods, and warnings of densities not resolved."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.theory.piecewise import PiecewiseNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from upto.core.array_types import Float

_LARGEST = 1e150
"""Numbers whose squares are still numbers."""
_AT_ENDS = 1e-6


def refuse_extremes(network: PiecewiseNetwork, latents: float, points: Float, noise: float) -> None:
    """Refuse numbers whose squares, or whose squares over that of the noise, are none.

    `latents` is how large coordinates of z are.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        largest = latents
        for weights, biases in network.layers:
            largest = largest * weights.shape[1] * np.abs(weights).max() + np.abs(biases).max()
        largest = max(largest, np.abs(points).max())
        fits = max(largest, largest / noise, noise, 1.0 / noise) < _LARGEST
    if not fits:
        message = (
            f"noise of {noise:.3g} and values of x up to {largest:.3g} are too far from each other "
            "or from one to be squared: give rows, weights and noise in other units."
        )
        raise InputError(message)


def as_rows(rows: ArrayLike, n_outputs: int) -> Float:
    """Return the rows as numbers, or refuse them."""
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


def refuse_misfits(models: Sequence[Any]) -> None:
    """Refuse what are no decoders of one shape, of one or two inputs, each with a mixture."""
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


def warn_of_gaps(places: Float, slope: float, noise: float) -> None:
    """Warn if x moves by more than the noise from one quadrature point to the next."""
    step = places[1] - places[0] if len(places) > 1 else np.inf
    if slope > 0.0 and step * slope > noise:
        message = (
            f"densities may be wrong: between {len(places)} quadrature points x can move by "
            f"{step * slope / noise:.3g} times the noise; leave n_nodes out."
        )
        warnings.warn(message, stacklevel=3)


def warn_of_ends(found: Float, ends: Float, n_nodes: int) -> None:
    """Warn of rows, of log densities models × rows, with a share at the first and last point."""
    outside = (ends > found + np.log(_AT_ENDS)).any(axis=0)
    if n_nodes > 1 and outside.any():
        message = (
            f"densities of {outside.sum()} rows are wrong, first that of row {outside.argmax()}: "
            f"they lie where {n_nodes} quadrature points do not reach; leave n_nodes out."
        )
        warnings.warn(message, stacklevel=3)
