"""Pairs of models with one law of x, each for one assumption of the hierarchy that is dropped.

Where a guarantee is left, the rival is searched for among all that keep it; where none is, it is
built from what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtr
from scipy.stats import norm

from upto.core import Group
from upto.core.array_types import Float
from upto.theory import (
    Assumption,
    PiecewiseNetwork,
    check_decoder,
    check_prior,
    what_is_identified,
)
from upto_studies.trials.rivals import Model, draw_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

_LEAK = 0.2
_SEARCHES = 12
_INDEPENDENT = 1e-7
"""Correlation within components below which coordinates are independent."""
_SPREAD = 6.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """A model, a rival, and latents of both that have the same images.

    Parameters
    ----------
    model, rival
        The two models.
    noises
        Standard deviation of the noise of each.
    latents
        Latents of the model and of the rival, paired.
    predicted
        Group up to which P(Z) is identified according to `what_is_identified`, for both models;
        None if it is not.
    """

    model: Model
    rival: Model
    noises: tuple[float, float]
    latents: tuple[Float, Float]
    predicted: Group | None


def _pair(
    rng: np.random.Generator,
    model: Model,
    rival: Model,
    *,
    noises: tuple[float, float],
    n_rows: int,
) -> Pair:
    """Pair models whose components correspond, and latents that are equal within components."""
    width = model.means.shape[1]
    states = rng.choice(len(model.weights), size=n_rows, p=model.weights)
    draws = rng.normal(size=(n_rows, width))
    first, second = (
        each.means[states] + np.einsum("rab,rb->ra", each.roots[states], draws)
        for each in (model, rival)
    )
    return Pair(
        model=model,
        rival=rival,
        noises=noises,
        latents=(first, second),
        predicted=_predicted(model, rival),
    )


def _predicted(model: Model, rival: Model, *overruled: Assumption) -> Group | None:
    """Return the group promised for both models, the weaker if they differ."""
    groups = [
        what_is_identified(
            [*check_prior(each.mixture), *check_decoder(each.network), *overruled]
        ).prior
        for each in (model, rival)
    ]
    if None in groups:
        return None
    return Group.AFFINE if Group.AFFINE in groups else Group.SCALED_PERMUTATION


def turned_pair(
    deviations: Callable[[np.random.Generator], Float],
) -> Callable[[np.random.Generator, float, int], Pair]:
    """Return a maker of pairs in the plane whose rivals have independent coordinates too.

    The decoder is injective. Among all linear maps that keep the coordinates independent within
    components, the one farthest from a scaled permutation is searched for.

    Parameters
    ----------
    deviations
        Draws the standard deviations of the components, one row each.
    """

    def made(rng: np.random.Generator, noise: float, n_rows: int) -> Pair:
        spread = deviations(rng)
        model = Model(
            weights=_weights(rng, len(spread)),
            means=1.5 * rng.normal(size=(len(spread), 2)),
            roots=np.array([np.diag(each) for each in spread]),
            network=PiecewiseNetwork(
                weights=(draw_matrix(rng, 2), draw_matrix(rng, 2)),
                biases=(rng.normal(size=2), np.zeros(2)),
                leak=_LEAK,
            ),
            facts=frozenset(),
            kind="plane",
        )
        matrix = _farthest_turn(rng, spread)
        first, *rest = model.network.weights
        rival = replace(
            model,
            means=model.means @ matrix.T,
            roots=matrix @ model.roots,
            network=replace(model.network, weights=(first @ np.linalg.inv(matrix), *rest)),
        )
        pair = _pair(rng, model, _without_rounding(rival), noises=(noise, noise), n_rows=n_rows)
        return replace(pair, latents=(pair.latents[0], pair.latents[0] @ matrix.T))

    return made


def _without_rounding(model: Model) -> Model:
    """Return a model whose covariances are exactly diagonal, as they are up to rounding."""
    deviations = np.sqrt(np.diagonal(model.covariances, axis1=1, axis2=2))
    exact = np.array([np.diag(each) for each in deviations])
    return replace(model, roots=exact)


def _farthest_turn(rng: np.random.Generator, spread: Float) -> Float:
    """Return the linear map that keeps independence and mixes coordinates most."""
    covariances = np.array([np.diag(each**2) for each in spread])
    identity: Float = np.eye(2)
    found = [identity]
    for _ in range(_SEARCHES):
        solved = minimize(
            _dependence, rng.normal(size=4), args=(covariances,), options={"gtol": 1e-12}
        )
        matrix = solved.x.reshape(2, 2)
        values = np.linalg.svd(matrix, compute_uv=False)
        if solved.fun <= _INDEPENDENT**2 and values[1] > 1e-2 * values[0]:
            found.append(matrix / np.sqrt(abs(np.linalg.det(matrix))))
    return max(found, key=lambda matrix: _mixing(matrix * spread[0]))


def _dependence(entries: Float, covariances: Float) -> float:
    """Return the sum of squared correlations within components after a linear map."""
    matrix = entries.reshape(2, 2)
    images = matrix @ covariances @ matrix.T
    return float((images[:, 0, 1] ** 2 / (images[:, 0, 0] * images[:, 1, 1])).sum())


def _mixing(matrix: Float) -> float:
    """Return how far a matrix is from a scaled permutation: zero for one."""
    sizes = np.sort(np.abs(matrix), axis=1)
    return float((sizes[:, 0] / sizes[:, 1]).min())


def folded_pair(rng: np.random.Generator, noise: float, n_rows: int) -> Pair:
    """Return Remark 3.12 with random numbers: under |z| a component can be mirrored."""
    folded = PiecewiseNetwork(weights=(np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])))
    means = np.array([[-2.0], [-1.0], [3.0]]) * rng.uniform(0.8, 1.2, size=(3, 1))
    model = _scalar(rng, means, rng.uniform(0.2, 0.6, size=3), folded)
    rival = replace(
        model, means=model.means * [[1.0], [-1.0], [1.0]], roots=model.roots * _signs(1)
    )
    return _pair(rng, model, rival, noises=(noise, noise), n_rows=n_rows)


def points_pair(rng: np.random.Generator, noise: float, n_rows: int) -> Pair:
    """Return three points, bent apart by injective decoders."""
    places = np.cumsum(rng.uniform(0.8, 1.5, size=3))
    slope = rng.uniform(1.5, 3.0)
    model = _scalar(rng, places[:, None], np.zeros(3), _identity_with_bend(places[1], 1.0))
    moved = places.copy()
    moved[2] = places[1] + slope * (places[2] - places[1])
    rival = replace(
        model, means=moved[:, None], network=_identity_with_bend(places[1], 1.0 / slope)
    )
    return _pair(rng, model, rival, noises=(noise, noise), n_rows=n_rows)


def moved_point_pair(rng: np.random.Generator, noise: float, n_rows: int) -> Pair:
    """Return a normal component beside a point that can stand at any preimage of its image."""
    left = rng.uniform(0.5, 1.0)
    # f(z) = z, but falls by one from `left` to `left` + 1.
    network = PiecewiseNetwork(
        weights=(np.array([[1.0], [-1.0], [1.0], [1.0]]), np.array([[1.0, -1.0, -2.0, 2.0]])),
        biases=(np.array([0.0, 0.0, -left, -left - 1.0]), np.zeros(1)),
    )
    height = left - rng.uniform(0.2, 0.8)
    means = np.array([[0.0], [height]])
    model = _scalar(rng, means, np.array([1.0, 0.0]), network)
    rival = replace(model, means=np.array([[0.0], [height + 2.0]]))
    return _pair(rng, model, rival, noises=(noise, noise), n_rows=n_rows)


def known_noise_pair(rng: np.random.Generator, noise: float, n_rows: int) -> Pair:
    """Return an affine decoder, under which noise and deviations can be exchanged."""
    linear = PiecewiseNetwork(weights=(np.eye(1),))
    means = np.array([[-1.0], [1.0]]) * rng.uniform(0.8, 1.5, size=(2, 1))
    deviations = np.array([rng.uniform(0.1, 0.3), rng.uniform(0.8, 1.2)])
    model = _scalar(rng, means, deviations, linear)
    other = noise * rng.uniform(0.1, 0.5)
    wider = np.sqrt(deviations**2 + noise**2 - other**2)
    rival = replace(model, roots=wider[:, None, None])
    pair = _pair(rng, model, rival, noises=(noise, other), n_rows=n_rows)
    # Every level of the hierarchy needs it, and no check of prior or decoder can tell.
    return replace(pair, predicted=None)


def transported_pair(
    n_pieces: int,
) -> Callable[[np.random.Generator, float, int], Pair]:
    """Return a maker of pairs whose rival has one Gaussian, transported to the mixture.

    The map that takes a Gaussian to a mixture is smooth. The decoder of the rival is it in so many
    pieces, so laws are equal only in the limit, where f is not piecewise affine.
    """

    def made(rng: np.random.Generator, noise: float, n_rows: int) -> Pair:
        linear = PiecewiseNetwork(weights=(np.eye(1),))
        means = np.array([[-1.0], [1.0]]) * rng.uniform(1.0, 2.0, size=(2, 1))
        model = _scalar(rng, means, rng.uniform(0.4, 0.9, size=2), linear)
        places = np.linspace(-3.5, 3.5, n_pieces + 1)
        heights = _quantiles(model, ndtr(places))
        slopes = np.diff(heights) / np.diff(places)
        network = PiecewiseNetwork(
            weights=(
                np.array([[1.0], [-1.0], *[[1.0]] * (n_pieces - 1)]),
                np.array([[slopes[0], -slopes[0], *np.diff(slopes)]]),
            ),
            biases=(
                np.concatenate([[-places[0], places[0]], -places[1:-1]]),
                np.array([heights[0]]),
            ),
        )
        rival = Model(
            weights=np.ones(1),
            means=np.zeros((1, 1)),
            roots=np.ones((1, 1, 1)),
            network=network,
            facts=frozenset(),
            kind="transported",
        )
        smooth = Assumption(name="F1", holds=False, evidence="f is smooth in the limit")
        latents = rng.normal(size=(n_rows, 1))
        return Pair(
            model=model,
            rival=rival,
            noises=(noise, noise),
            latents=(network(latents), latents),
            predicted=_predicted(model, rival, smooth),
        )

    return made


def _quantiles(model: Model, shares: Float) -> Float:
    """Return quantiles of a scalar mixture, by interpolation of its distribution function."""
    deviations = model.roots[:, 0, 0]
    reach = _SPREAD * deviations
    places = np.linspace(
        (model.means[:, 0] - reach).min(), (model.means[:, 0] + reach).max(), 20001
    )
    below = norm.cdf(places[:, None], model.means[:, 0], deviations) @ model.weights
    return np.interp(shares, below, places)


def _identity_with_bend(place: float, slope: float) -> PiecewiseNetwork:
    """Return f(z) = z up to a place, and with another slope beyond it."""
    return PiecewiseNetwork(
        weights=(np.array([[1.0], [-1.0], [1.0]]), np.array([[1.0, -1.0, slope - 1.0]])),
        biases=(np.array([0.0, 0.0, -place]), np.zeros(1)),
    )


def _scalar(
    rng: np.random.Generator, means: Float, deviations: Float, network: PiecewiseNetwork
) -> Model:
    return Model(
        weights=_weights(rng, len(means)),
        means=means,
        roots=deviations[:, None, None],
        network=network,
        facts=frozenset(),
        kind="scalar",
    )


def _weights(rng: np.random.Generator, count: int) -> Float:
    """Draw weights of at least a tenth."""
    return 0.1 + (1.0 - 0.1 * count) * rng.dirichlet(np.full(count, 3.0))


def _signs(number: int) -> Float:
    """Return roots' signs that mirror one of three components, so that draws mirror too."""
    signs = np.ones((3, 1, 1))
    signs[number] = -1.0
    return signs


def _distinct(rng: np.random.Generator) -> Float:
    return np.array([[1.0, 1.0], [rng.uniform(0.3, 0.6), rng.uniform(1.5, 2.5)]])


def _equal(rng: np.random.Generator) -> Float:
    ratio = rng.uniform(0.5, 2.0)
    return np.array([[1.0, ratio], [2.0, 2.0 * ratio]])


def _single(rng: np.random.Generator) -> Float:
    return np.array([[1.0, rng.uniform(0.5, 2.0)]])


CASES: dict[str, Callable[[np.random.Generator, float, int], Pair]] = {
    "none": turned_pair(_distinct),
    "P2: equal variance ratios": turned_pair(_equal),
    "P2: one component": turned_pair(_single),
    "F2: f = |z|": folded_pair,
    "P1: all components are points": points_pair,
    "P1: one component is a point, F2 only": moved_point_pair,
    "noise of known law": known_noise_pair,
    "F1: 64 pieces of a smooth f": transported_pair(64),
}
"""Assumptions that are dropped, and makers of pairs of models."""
