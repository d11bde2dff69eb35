"""Mixings invert, differentiate and stretch exactly as they declare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upto.measures.distances import squared_distances
from upto.simulate import MIXINGS, compose, draw_ball, draw_mixing, leaky_mixing, linear_mixing

KINDS = list(MIXINGS)
ONTO_BALLS = ["radial", "twist", "spiral", "inversion"]
VOLUME_KEEPING = ["twist", "spiral", "wave"]
constants = st.floats(0.0, 1.5)
widths = st.integers(2, 5)
radii = st.floats(0.3, 5.0)
seeds = st.integers(0, 2**31)


def stretches(mixing, points):
    return np.linalg.svd(mixing.jacobian(points), compute_uv=False)


def worst(mixing, points) -> float:
    values = stretches(mixing, points)
    return max(values.max(), 1 / values.min())


@pytest.mark.parametrize("kind", KINDS)
@given(lipschitz=constants, n=widths, extra=st.integers(0, 2), radius=radii, seed=seeds)
def test_the_inverse_undoes_the_map(kind, lipschitz, n, extra, radius, seed):
    mixing = draw_mixing(kind, n, lipschitz=lipschitz, n_out=n + extra, radius=radius, seed=seed)
    points = np.vstack([draw_ball(20, n, radius=radius, seed=seed), np.zeros((1, n))])
    images = mixing(points)
    assert images.shape == (21, n + extra)
    np.testing.assert_allclose(mixing.inverse(images), points, atol=1e-9 * radius)


@pytest.mark.parametrize("kind", KINDS)
@given(lipschitz=constants, n=widths, extra=st.integers(0, 2), radius=radii, seed=seeds)
def test_the_jacobian_is_the_derivative(kind, lipschitz, n, extra, radius, seed):
    mixing = draw_mixing(kind, n, lipschitz=lipschitz, n_out=n + extra, radius=radius, seed=seed)
    points = draw_ball(10, n, radius=radius, seed=seed)
    step = 1e-5 * radius
    # The spiral bends ever faster towards zero, and a kink has no derivative to compare with.
    points = points[np.linalg.norm(points, axis=1) > 0.2 * radius]
    if kind == "leaky":
        folds = mixing.parts[0].weights[0]
        points = points[np.abs(points @ folds).min(axis=1) > 2 * step]
    ahead, behind = points[:, None] + step * np.eye(n), points[:, None] - step * np.eye(n)
    change = mixing(ahead.reshape(-1, n)) - mixing(behind.reshape(-1, n))
    slopes = change.reshape(len(points), n, n + extra).swapaxes(1, 2) / (2 * step)
    np.testing.assert_allclose(mixing.jacobian(points), slopes, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@given(lipschitz=constants, n=widths, radius=radii, seed=seeds)
def test_no_stretch_exceeds_the_constant(kind, lipschitz, n, radius, seed):
    mixing = draw_mixing(kind, n, lipschitz=lipschitz, radius=radius, seed=seed)
    points = draw_ball(200, n, radius=radius, seed=seed)
    assert worst(mixing, points) <= mixing.constant * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@given(lipschitz=st.floats(0.01, 1.5), n=widths, radius=radii, seed=seeds)
def test_the_constant_is_attained_on_the_ball(kind, lipschitz, n, radius, seed):
    mixing = draw_mixing(kind, n, lipschitz=lipschitz, radius=radius, seed=seed)
    first = mixing.parts[0]
    along = draw_ball(1, n, radius=1.0, seed=seed)
    places = {
        "radial": radius / 2 * along / np.linalg.norm(along),
        "inversion": radius * getattr(first, "direction", along),
        "twist": radius * in_a_plane(first, n),
        "spiral": 0.5 * radius * in_a_plane(first, n),
        "wave": np.zeros((1, n)),
        "leaky": -np.ones((1, n)) @ first.weights[0].T if kind == "leaky" else None,
        "linear": along,
    }
    assert mixing.attained
    assert mixing.lipschitz == pytest.approx(lipschitz, rel=1e-12)
    assert worst(mixing, np.atleast_2d(places[kind])) == pytest.approx(1 + lipschitz, rel=1e-9)


def in_a_plane(mixing, n):
    """Return a unit vector that the generator of a twist turns."""
    generator = getattr(mixing, "generator", np.eye(n))
    moved = np.ones((1, n)) @ generator
    return moved / np.linalg.norm(moved)


@pytest.mark.parametrize("kind", ONTO_BALLS)
@given(lipschitz=constants, n=widths, radius=radii, seed=seeds)
def test_the_ball_is_mapped_onto_a_ball_and_distances_keep_the_constant(
    kind, lipschitz, n, radius, seed
):
    mixing = draw_mixing(kind, n, lipschitz=lipschitz, radius=radius, seed=seed)
    points = draw_ball(60, n, radius=radius, seed=seed)
    images = mixing(points)
    assert mixing.keeps_balls
    assert np.linalg.norm(images, axis=1).max() <= radius * (1 + 1e-9)
    surface = radius * points / np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(mixing(surface), axis=1), radius, rtol=1e-9)
    above = np.triu_indices(60, 1)
    ratios = np.sqrt(
        squared_distances(images, images)[above] / squared_distances(points, points)[above]
    )
    assert max(ratios.max(), 1 / ratios.min()) <= mixing.constant * (1 + 1e-6)


@pytest.mark.parametrize("kind", VOLUME_KEEPING)
@given(lipschitz=constants, n=widths, seed=seeds)
def test_flows_without_divergence_keep_volumes(kind, lipschitz, n, seed):
    mixing = draw_mixing(kind, n, lipschitz=lipschitz, seed=seed)
    volumes = np.prod(stretches(mixing, draw_ball(50, n, radius=1.0, seed=seed)), axis=1)
    np.testing.assert_allclose(volumes, 1, rtol=1e-9)


@given(lipschitz=constants, n=widths, seed=seeds)
def test_the_inversion_is_conformal(lipschitz, n, seed):
    mixing = draw_mixing("inversion", n, lipschitz=lipschitz, seed=seed)
    values = stretches(mixing, draw_ball(50, n, radius=1.0, seed=seed))
    np.testing.assert_allclose(values, values[:, :1] * np.ones(n), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@given(n=widths, seed=seeds)
def test_at_zero_every_mixing_is_rigid(kind, n, seed):
    mixing = draw_mixing(kind, n, lipschitz=0.0, n_out=n + 1, seed=seed)
    points = draw_ball(30, n, radius=1.0, seed=seed)
    images = mixing(points)
    np.testing.assert_allclose(
        squared_distances(images, images), squared_distances(points, points), atol=1e-9
    )


@pytest.mark.parametrize("kind", ["linear", "leaky", "radial", "inversion"])
@given(lipschitz=st.floats(0.01, 1.5), seed=seeds)
def test_one_dimension_is_enough_for_some(kind, lipschitz, seed):
    mixing = draw_mixing(kind, 1, lipschitz=lipschitz, seed=seed)
    points = np.linspace(-1, 1, 401)[:, None]
    assert worst(mixing, points) == pytest.approx(1 + lipschitz, rel=1e-6)


@given(seed=seeds, leak=st.floats(0.1, 1.0), n_layers=st.integers(1, 4))
def test_deep_leaky_networks_stay_below_their_bound(seed, leak, n_layers):
    mixing = leaky_mixing((2, *[4] * (n_layers - 1), 6), leak=leak, seed=seed)
    assert mixing.constant == pytest.approx(leak ** -(n_layers - 1))
    points = draw_ball(100, 2, seed=seed)
    assert worst(mixing, points) <= mixing.constant * (1 + 1e-9)


@given(seed=seeds, first=st.floats(1, 2), second=st.floats(1, 2))
def test_constants_of_compositions_multiply_to_a_bound(seed, first, second):
    mixing = compose(
        linear_mixing([first, 1.0], seed=seed), linear_mixing([second, 1.0], n_out=3, seed=seed + 1)
    )
    points = draw_ball(5, 2, seed=seed)
    assert worst(mixing, points) <= mixing.constant * (1 + 1e-9)
    np.testing.assert_allclose(mixing.inverse(mixing(points)), points, atol=1e-9)
