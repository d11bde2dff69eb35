"""Mixture densities: closed forms against integrals, and distances up to affine maps."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from upto.core import InputError
from upto.measures.densities import Mixture, fit_mixture, l2_inner, log_inner, push_forward
from upto.measures.density_matching import _squared_distance, affine_l2_distance, match_densities

pytestmark = pytest.mark.slow

INTEGRAL = 1e-10
SAME_DENSITY = 1e-6


def mixture_of(rng, n_components, width):
    roots = rng.normal(size=(n_components, width, width))
    return Mixture(
        weights=rng.dirichlet(np.full(n_components, 5.0)),
        means=2 * rng.normal(size=(n_components, width)),
        covariances=roots @ roots.transpose(0, 2, 1) / width + 0.1 * np.eye(width),
    )


def on_a_line(means, deviations, weights=None):
    means = np.asarray(means, dtype=float)
    return Mixture(
        weights=np.full(len(means), 1 / len(means)) if weights is None else weights,
        means=means[:, None],
        covariances=np.square(np.broadcast_to(deviations, len(means)))[:, None, None],
    )


def density(mixture, points):
    parts = [
        weight * scipy.stats.multivariate_normal(mean, covariance).pdf(points)
        for weight, mean, covariance in zip(
            mixture.weights, mixture.means, mixture.covariances, strict=True
        )
    ]
    return np.sum(parts, axis=0)


def shuffled(rng, mixture):
    order = rng.permutation(mixture.n_components)
    return Mixture(
        weights=mixture.weights[order],
        means=mixture.means[order],
        covariances=mixture.covariances[order],
    )


def relative_distance(first, second):
    """Return the distance of two densities by its definition, without a map."""
    own = l2_inner(first, first)
    squared = 1 - 2 * l2_inner(first, second) / own + l2_inner(second, second) / own
    return np.sqrt(max(0.0, squared))


def squared_distance_of(first, second):
    norms = log_inner(first, first), log_inner(second, second)
    return partial(_squared_distance, target=first, source=second, norms=norms)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [1, 2])
def test_the_inner_product_is_the_integral_on_a_grid(seed, width):
    rng = np.random.default_rng(seed)
    first, second = mixture_of(rng, 3, width), mixture_of(rng, 2, width)
    # Sums over a regular grid converge faster than any power for Gaussians.
    line, step = np.linspace(-25, 25, 1001, retstep=True)
    points = np.stack(np.meshgrid(*[line] * width), axis=-1).reshape(-1, width)
    integral = np.sum(density(first, points) * density(second, points)) * step**width
    assert l2_inner(first, second) == pytest.approx(integral, abs=INTEGRAL)
    assert l2_inner(second, first) == pytest.approx(integral, abs=INTEGRAL)


def test_the_norm_of_one_gaussian_is_known():
    assert l2_inner(on_a_line([3], 0.7), on_a_line([3], 0.7)) == pytest.approx(
        1 / (2 * np.sqrt(np.pi) * 0.7), rel=1e-14
    )


def test_an_image_has_the_density_of_a_change_of_variables(rng):
    mixture, matrix, shift = mixture_of(rng, 3, 3), rng.normal(size=(3, 3)), rng.normal(size=3)
    points = rng.normal(size=(20, 3))
    image = density(push_forward(mixture, matrix, shift), points @ matrix.T + shift)
    expected = density(mixture, points) / abs(np.linalg.det(matrix))
    np.testing.assert_allclose(image, expected, rtol=1e-10)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("n_components", "width"), [(1, 3), (2, 1), (2, 2), (3, 2), (5, 2), (2, 4), (7, 3)]
)
def test_an_affine_image_is_no_distance_away(n_components, width, seed):
    rng = np.random.default_rng(seed)
    first = mixture_of(rng, n_components, width)
    matrix, shift = rng.normal(size=(width, width)), 10 * rng.normal(size=width)
    second = shuffled(rng, push_forward(first, matrix, shift))
    match = match_densities(first, second, n_starts=4)
    assert match.distance <= SAME_DENSITY
    mapped = push_forward(second, match.matrix, match.shift)
    assert l2_inner(first, mapped) == pytest.approx(l2_inner(first, first), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_scales_do_not_matter(scale, rng):
    first, second = mixture_of(rng, 2, 2), mixture_of(rng, 3, 2)
    value = affine_l2_distance(first, second, n_starts=4)
    larger = push_forward(second, scale * np.eye(2), np.full(2, 100 * scale))
    assert affine_l2_distance(first, larger, n_starts=4) == pytest.approx(value, abs=1e-4)
    larger = push_forward(first, scale * np.eye(2), np.full(2, 100 * scale))
    assert affine_l2_distance(larger, second, n_starts=4) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("counts", [(2, 2), (3, 2), (2, 3), (3, 3), (6, 6)])
def test_the_distance_is_that_of_its_map_and_no_map_tried_is_closer(counts, rng):
    first, second = (mixture_of(rng, count, 2) for count in counts)
    match = match_densities(first, second)
    mapped = partial(push_forward, second)
    reached = relative_distance(first, mapped(match.matrix, match.shift))
    assert match.distance == pytest.approx(reached, abs=1e-9)
    assert 0.05 < match.distance < 1
    assert affine_l2_distance(first, second) == match.distance
    for _ in range(300):
        size = 10 ** rng.uniform(-3, 0)
        matrix = match.matrix @ (np.eye(2) + size * rng.normal(size=(2, 2)))
        shift = match.shift + size * rng.normal(size=2)
        assert relative_distance(first, mapped(matrix, shift)) >= match.distance - 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 13])
def test_on_a_line_no_map_on_a_fine_grid_is_closer(seed):
    rng = np.random.default_rng(seed)
    first, second = (
        on_a_line(3 * rng.normal(size=count), rng.uniform(0.3, 1.5, size=count))
        for count in rng.integers(1, 5, size=2)
    )
    spread = first.means.max() - first.means.min() + 4
    slopes, shifts = np.geomspace(0.02, 20, 150), np.linspace(-8, 8, 81)
    slope = np.concatenate([slopes, -slopes])[:, None, None, None]
    mean = slope * (second.means[:, 0] - second.means.mean())
    mean = mean + first.means.mean() + spread * shifts[:, None, None] / 8
    variance = np.square(slope) * second.covariances[:, 0, 0]
    crossed = scipy.stats.norm.pdf(
        first.means[:, 0, None],
        mean,
        np.sqrt(first.covariances[:, 0, 0, None] + variance),
    ).mean(axis=(2, 3))
    own = l2_inner(second, second) / np.abs(slope[..., 0, 0])
    squares = 1 + (own - 2 * crossed) / l2_inner(first, first)
    assert affine_l2_distance(first, second) <= np.sqrt(max(0, squares.min())) + 1e-9


def whitened(mixture):
    mean = mixture.weights @ mixture.means
    away = mixture.means - mean
    spread = mixture.covariances + away[:, :, None] * away[:, None, :]
    root = np.linalg.cholesky(np.tensordot(mixture.weights, spread, axes=1))
    return push_forward(mixture, np.linalg.inv(root), -np.linalg.solve(root, mean))


@pytest.mark.parametrize(("n_components", "seed"), [(3, 0), (6, 3), (6, 5)])
def test_a_search_from_random_rotations_finds_nothing_closer(n_components, seed):
    rng = np.random.default_rng(seed)
    first, second = (mixture_of(rng, n_components, 2) for _ in range(2))
    error = squared_distance_of(whitened(first), whitened(second))
    searched = [
        scipy.optimize.minimize(
            error, np.append(np.linalg.qr(draw)[0].ravel(), [0, 0]), jac=True, method="BFGS"
        ).fun
        for draw in rng.normal(size=(40, 2, 2))
    ]
    assert affine_l2_distance(first, second) <= np.sqrt(min(searched)) + 1e-6


def test_the_slope_of_the_squared_distance_is_right(rng):
    error = squared_distance_of(mixture_of(rng, 3, 3), mixture_of(rng, 2, 3))
    for _ in range(5):
        place = rng.normal(size=12)
        slope = scipy.optimize.approx_fprime(place, lambda x: error(x)[0], 1e-7)
        np.testing.assert_allclose(error(place)[1], slope, atol=1e-5 * (1 + np.abs(slope).max()))


def test_densities_that_a_folding_decoder_cannot_tell_apart_are_far_apart():
    """Kivva et al.: both have the same absolute value, and no affine map between them."""
    folded = on_a_line([-2, -1, 3], 0.2), on_a_line([-2, 1, 3], 0.2)
    points = np.linspace(0, 5, 50)
    first, second = (density(m, points) + density(m, -points) for m in folded)
    np.testing.assert_allclose(first, second, atol=1e-12)
    assert affine_l2_distance(*folded) > 0.3


def test_the_distance_depends_on_which_density_is_first():
    one, two = on_a_line([0], 1), on_a_line([-5, 5], 1, weights=[0.7, 0.3])
    # One Gaussian covers the larger of two far ones; only its width is left to choose.
    width = np.linspace(0.5, 3, 10_001)
    squares = 0.7**2 + 0.3**2 - 2 * 0.7 * np.sqrt(2 / (1 + width**2)) + 1 / width
    expected = np.sqrt(squares.min() / (0.7**2 + 0.3**2))
    assert affine_l2_distance(two, one) == pytest.approx(expected, abs=1e-6)
    assert affine_l2_distance(one, two) < expected - 0.05


def test_a_mixture_keeps_its_own_numbers(rng):
    weights = np.array([0.5, 0.5])
    mixture = Mixture(weights=weights, means=[[0], [1]], covariances=[[[1]], [[2]]])
    weights[0] = 7
    assert mixture.weights[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        mixture.means[0] = 1


GOOD = {"weights": [0.4, 0.6], "means": [[0, 0], [1, 1]], "covariances": [np.eye(2)] * 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [0.4, 0.5]}, "sum to 0.9"),
        ({"weights": [1.4, -0.4]}, "the smallest weight is -0.4"),
        ({"weights": [1, 0]}, "drop components of zero weight"),
        ({"weights": [1]}, "1 weights"),
        ({"weights": 1}, r"weights \(\)"),
        ({"means": [[0], [1]]}, r"means of shape \(2, 1\)"),
        ({"means": [[0, np.nan], [1, 1]]}, "means of the mixture are not all finite"),
        ({"covariances": [np.eye(2), [[1, 1], [1, 1]]]}, "component 2 .* positive definite"),
        (
            {"covariances": [np.eye(2), [[1, 0.5], [0, 1]]]},
            "not all of the 2 covariances are symmetric",
        ),
    ],
    ids=str,
)
def test_what_is_no_mixture_is_refused_in_words(change, message):
    with pytest.raises(InputError, match=message):
        Mixture(**(GOOD | change))


def test_what_cannot_be_compared_is_refused_in_words(rng):
    mixture = mixture_of(rng, 2, 2)
    with pytest.raises(InputError, match="in 2 and 3 dimensions"):
        l2_inner(mixture, mixture_of(rng, 2, 3))
    with pytest.raises(InputError, match="in 2 and 3 dimensions"):
        affine_l2_distance(mixture, mixture_of(rng, 2, 3))
    with pytest.raises(InputError, match="0 starts requested"):
        affine_l2_distance(mixture, mixture, n_starts=0)
    with pytest.raises(InputError, match=r"matrix of shape \(3, 2\)"):
        push_forward(mixture, np.ones((3, 2)), np.ones(2))
    with pytest.raises(InputError, match="positive definite"):
        push_forward(mixture, np.zeros((2, 2)), np.ones(2))


def drawn(rng, mixture, n_samples):
    which = rng.choice(mixture.n_components, p=mixture.weights, size=n_samples)
    roots = np.linalg.cholesky(mixture.covariances)
    noise = rng.normal(size=(n_samples, mixture.width, 1))
    return mixture.means[which] + (roots[which] @ noise)[..., 0]


def test_a_mixture_that_rows_were_drawn_from_is_found_again(rng):
    planted = Mixture(
        weights=[0.3, 0.7],
        means=[[0, 0], [6, 2]],
        covariances=[[[1, 0.5], [0.5, 2]], [[0.5, 0], [0, 0.3]]],
    )
    found = fit_mixture(drawn(rng, planted, 20_000), 2)
    assert relative_distance(planted, found) < 0.03


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_an_affine_map_of_the_rows_maps_the_fitted_mixture(scale, rng):
    rows = drawn(rng, mixture_of(rng, 3, 3), 500)
    matrix, shift = scale * rng.normal(size=(3, 3)), 5 * scale * rng.normal(size=3)
    found = fit_mixture(rows @ matrix.T + shift, 3, seed=1)
    expected = push_forward(fit_mixture(rows, 3, seed=1), matrix, shift)
    assert relative_distance(expected, found) < 1e-4


@pytest.mark.parametrize(
    ("rows", "count", "message"),
    [
        (np.eye(4)[:, :2], 5, "5 components requested from 4 rows"),
        (np.eye(4)[:, :2], 0, "0 components requested"),
        (np.repeat(np.arange(8.0)[:, None], 2, axis=1), 2, "vary in 1 of 2 directions"),
        (np.ones((8, 2)), 1, "vary in 0 of 2 directions"),
    ],
    ids=["too many", "none", "on a line", "constant"],
)
def test_rows_without_a_density_are_refused_in_words(rows, count, message):
    with pytest.raises(InputError, match=message):
        fit_mixture(rows, count)


@pytest.mark.parametrize("seed", range(3))
def test_many_components_are_paired_whatever_their_order(seed):
    rng = np.random.default_rng(seed)
    first = Mixture(
        weights=np.full(12, 1 / 12),
        means=4 * rng.normal(size=(12, 6)),
        covariances=np.exp(rng.normal(size=(12, 6)))[:, :, None] * np.eye(6),
    )
    order = rng.permutation(12)
    moved = Mixture(
        weights=first.weights,
        means=first.means[order] + 0.1 * rng.normal(size=(12, 6)),
        covariances=first.covariances[order],
    )
    image = push_forward(moved, rng.normal(size=(6, 6)), rng.normal(size=6))
    start = match_densities(first, image, n_starts=1, improve=False)
    assert start.distance < 0.5
    improved = match_densities(first, image, n_starts=1)
    assert improved.distance < start.distance
