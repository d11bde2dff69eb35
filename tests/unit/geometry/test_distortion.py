import numpy as np
import pytest

from upto.geometry.distortion import (
    best_scale,
    bi_lipschitz,
    direction_estimate,
    isometry_deviation,
    nearest_rows,
    neighbour_ratios,
    scaled_bi_lipschitz,
    secant_range,
    share_within,
)


def test_the_constant_is_the_larger_of_stretch_and_shrink():
    largest, smallest = np.array([2.0, 0.5, 1.0, 3.0, 0.0]), np.array([1.0, 0.25, 1.0, 0.0, 0.0])
    assert bi_lipschitz(largest, smallest).tolist() == [2.0, 4.0, 1.0, np.inf, np.inf]
    np.testing.assert_allclose(
        scaled_bi_lipschitz(largest, smallest), [np.sqrt(2), np.sqrt(2), 1.0, np.inf, np.inf]
    )
    assert isometry_deviation(largest, smallest).tolist() == [1.0, 0.75, 0.0, 2.0, 1.0]


def test_no_scale_does_better_than_the_best_one(rng):
    largest = rng.uniform(1, 5, size=20)
    smallest = largest * rng.uniform(0.1, 1, size=20)
    scale, constant = best_scale(largest, smallest)
    assert bi_lipschitz(scale * largest, scale * smallest).max() == pytest.approx(constant)
    for other in scale * np.array([0.5, 0.9, 0.999, 1.001, 1.1, 2.0]):
        assert bi_lipschitz(other * largest, other * smallest).max() > constant


def test_a_lost_direction_has_no_best_scale():
    assert best_scale(np.array([1.0]), np.array([0.0])) == (1.0, np.inf)


def test_the_share_near_one_counts_both_ends():
    assert share_within(np.array([0.91, 0.89, 1.09, 1.11, 1.0]), 0.1) == pytest.approx(0.6)


def test_directions_are_judged_by_the_most_extreme_one():
    lengths = np.array([[1.0, 2.0, 0.0], [0.5, 1.0, 1.0]])
    assert direction_estimate(lengths).tolist() == [2.0, 2.0, np.inf]


def brute_force(latents, outputs):
    ratios = {}
    for i in range(len(latents)):
        for j in range(i + 1, len(latents)):
            before = np.linalg.norm(latents[i] - latents[j])
            if before > 0:
                ratios[i, j] = np.linalg.norm(outputs[i] - outputs[j]) / before
    return ratios


@pytest.mark.parametrize("block", [7, 2**21])
def test_the_extreme_ratios_are_those_of_all_pairs(rng, monkeypatch, block):
    monkeypatch.setattr("upto.geometry.distortion._BLOCK", block)
    latents = rng.normal(size=(40, 3)) + 1e3
    outputs = np.tanh(latents - 1e3) @ rng.normal(size=(3, 7))
    ratios = brute_force(latents, outputs)
    found = secant_range(latents, outputs)
    assert found.n_pairs == len(ratios) == 40 * 39 // 2
    assert found.largest == pytest.approx(max(ratios.values()), rel=1e-9)
    assert found.smallest == pytest.approx(min(ratios.values()), rel=1e-9)
    assert ratios[found.largest_pair] == pytest.approx(found.largest, rel=1e-9)
    assert ratios[found.smallest_pair] == pytest.approx(found.smallest, rel=1e-9)


def test_rows_that_almost_coincide_are_compared_without_cancellation(rng):
    """Squared distances from inner products would be all rounding here."""
    latents = rng.normal(size=(30, 4))
    latents[1] = latents[0] + 1e-9 * rng.normal(size=4)
    outputs = 3.0 * latents
    found = secant_range(latents, outputs)
    assert found.largest == pytest.approx(3.0, rel=1e-6)
    assert found.smallest == pytest.approx(3.0, rel=1e-6)


def test_equal_latents_are_counted_and_left_out(rng):
    latents = rng.normal(size=(10, 2))
    latents[3] = latents[2]
    outputs = latents.copy()
    outputs[3] += 1.0
    found = secant_range(latents, outputs)
    assert (found.n_equal, found.n_clashes, found.n_pairs) == (1, 1, 44)


def test_one_row_has_no_pairs():
    found = secant_range(np.ones((1, 2)), np.ones((1, 3)))
    assert (found.n_pairs, found.largest, found.smallest) == (0, 0.0, 0.0)


def test_the_nearest_rows_are_the_nearest_and_never_the_point_itself(rng):
    points = rng.normal(size=(50, 3))
    near = nearest_rows(points, points, 4)
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert np.array_equal(near, np.argsort(distances, axis=1)[:, :4])


def test_a_pool_with_too_few_rows_says_so():
    pool = np.array([[0.0], [1.0]])
    assert nearest_rows(np.array([[0.0]]), pool, 5).tolist() == [[1, -1]]


def test_ratios_of_a_linear_map_lie_between_its_singular_values(rng):
    matrix = rng.normal(size=(3, 6))
    values = np.linalg.svd(matrix, compute_uv=False)
    points, pool = rng.normal(size=(20, 3)), rng.normal(size=(20, 5, 3))
    ratios = neighbour_ratios(points, points @ matrix, pool, pool @ matrix)
    assert ratios.shape == (20, 5)
    assert (ratios <= values[0] * (1 + 1e-12)).all()
    assert (ratios >= values[-1] * (1 - 1e-12)).all()
