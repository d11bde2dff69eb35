"""Softmax models with equal or close probabilities: the heads alone give the map between them."""

import numpy as np
import pytest
from scipy.special import log_softmax

from upto.theory import linear_map_between

METHODS = ("least-squares", "pairs")


def log_probabilities(features, head, bias=0.0):
    return log_softmax(features @ head.T + bias, axis=1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n_classes", "width"), [(4, 3), (50, 8), (700, 40)])
def test_models_with_equal_probabilities_have_the_map_their_heads_give(
    rng, method, n_classes, width
):
    planted = rng.normal(size=(width, width)) + 2 * np.eye(width)
    features, head = rng.normal(size=(100, width)), rng.normal(size=(n_classes, width))
    other_features = features @ planted.T
    other_head = head @ np.linalg.inv(planted) + rng.normal(size=width)
    np.testing.assert_allclose(
        log_probabilities(features, head), log_probabilities(other_features, other_head), atol=1e-9
    )
    found = linear_map_between(head, other_head, method=method)
    np.testing.assert_allclose(found.matrix, planted, atol=1e-9)
    np.testing.assert_array_equal(found.shift, np.zeros(width))
    np.testing.assert_allclose(found.apply(features), other_features, atol=1e-9)
    assert found.head_error < 1e-12
    moved = found.apply_to_head(head)
    np.testing.assert_allclose(
        moved - moved.mean(axis=0), other_head - other_head.mean(axis=0), atol=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
def test_with_biases_the_map_is_affine_and_one_class_more_than_coordinates_is_enough(rng, method):
    width, n_classes = 4, 5
    planted, shift = rng.normal(size=(width, width)), rng.normal(size=width)
    features, head = rng.normal(size=(60, width)), rng.normal(size=(n_classes, width))
    bias = rng.normal(size=n_classes)
    other_head = head @ np.linalg.inv(planted) + rng.normal(size=width)
    other_bias = bias - other_head @ shift + 1.7
    other_features = features @ planted.T + shift
    np.testing.assert_allclose(
        log_probabilities(features, head, bias),
        log_probabilities(other_features, other_head, other_bias),
        atol=1e-10,
    )
    found = linear_map_between(
        head, other_head, first_bias=bias, second_bias=other_bias, method=method
    )
    np.testing.assert_allclose(found.matrix, planted, atol=1e-9)
    np.testing.assert_allclose(found.shift, shift, atol=1e-9)
    np.testing.assert_allclose(found.apply(features), other_features, atol=1e-9)
    assert found.bias_error < 1e-12
    # Without the biases the same heads would give a map that misses the shift.
    linear = linear_map_between(head, other_head, method=method)
    np.testing.assert_allclose(
        other_features - linear.apply(features), np.tile(shift, (60, 1)), atol=1e-9
    )


def test_without_diversity_equal_probabilities_leave_the_representation_open(rng):
    head = rng.normal(size=(30, 3))
    head[:, 2] = 1.0
    features = rng.normal(size=(20, 3))
    other = features.copy()
    other[:, 2] = rng.normal(size=20) ** 3
    np.testing.assert_allclose(
        log_probabilities(features, head), log_probabilities(other, head), atol=1e-12
    )
    design = np.column_stack([features, np.ones(20)])
    left = other - design @ np.linalg.lstsq(design, other, rcond=None)[0]
    assert np.abs(left).max() > 0.1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("noise", [1e-6, 1e-3, 1e-1, 1.0])
def test_close_probabilities_keep_representations_within_the_promise(rng, method, noise):
    for _ in range(50):
        width = int(rng.integers(1, 8))
        n_classes = int(rng.integers(width + 1, 40))
        features, head = rng.normal(size=(30, width)), rng.normal(size=(n_classes, width))
        planted = rng.normal(size=(width, width))
        other_head = head @ np.linalg.inv(planted) + noise * rng.normal(size=head.shape)
        other_features = features @ planted.T + noise * rng.normal(size=features.shape)
        bias, other_bias = noise * rng.normal(size=(2, n_classes))
        counts = rng.integers(1, 5, size=n_classes)
        found = linear_map_between(
            head,
            other_head,
            first_bias=bias,
            second_bias=other_bias,
            frequencies=counts,
            method=method,
        )
        apart = np.abs(
            log_probabilities(features, head, bias)
            - log_probabilities(other_features, other_head, other_bias)
        ).max(axis=1)
        errors = np.linalg.norm(other_features - found.apply(features), axis=1)
        bounds = [float(found.promise(each)) for each in apart]
        assert (errors <= np.array(bounds) * (1 + 1e-6) + 1e-9).all()


def test_the_promise_of_least_squares_is_sharp():
    """With classes at the corners of a tetrahedron an error along one axis is the worst."""
    head = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    small = 1e-4
    features, other = np.zeros((1, 3)), np.array([[small, 0.0, 0.0]])
    found = linear_map_between(head, head)
    apart = np.abs(log_probabilities(features, head) - log_probabilities(other, head)).max()
    bound = float(found.promise(apart))
    np.testing.assert_allclose(bound, small, rtol=1e-3)
    assert bound >= small


def test_all_classes_bear_noise_better_than_chosen_pairs(rng):
    width, n_classes = 6, 400
    head = rng.normal(size=(n_classes, width))
    planted = rng.normal(size=(width, width))
    other = head @ np.linalg.inv(planted) + 0.05 * rng.normal(size=head.shape)
    errors = {
        method: np.abs(linear_map_between(head, other, method=method).matrix - planted).max()
        for method in METHODS
    }
    assert errors["least-squares"] < errors["pairs"]
