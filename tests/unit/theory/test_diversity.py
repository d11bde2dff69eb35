"""The diversity condition: rank, conditioning and the choice of differences."""

import numpy as np
import pytest
import scipy.linalg

from upto.core import InputError
from upto.theory import centred_rank, head_diversity, independent_differences


def orthogonal(rng, rows, columns):
    return np.linalg.qr(rng.normal(size=(rows, columns)))[0]


def centred_frame(rng, rows, columns):
    """Orthonormal columns that each sum to zero."""
    values = rng.normal(size=(rows, columns))
    return np.linalg.qr(values - values.mean(axis=0))[0]


def test_singular_values_are_those_that_were_planted(rng):
    planted = np.array([5.0, 2.0, 0.5])
    head = centred_frame(rng, 40, 3) * planted @ orthogonal(rng, 3, 3).T + [7.0, -2.0, 1.0]
    found = head_diversity(head)
    assert (found.n_classes, found.width, found.rank) == (40, 3, 3)
    np.testing.assert_allclose(found.singular_values, planted, rtol=1e-12)
    np.testing.assert_allclose(found.condition, 10.0, rtol=1e-12)
    np.testing.assert_allclose(found.smallest_variance, 0.25 / 40, rtol=1e-12)
    assert found.holds
    assert not found.is_ill_conditioned


def test_one_class_more_than_coordinates_is_enough_and_no_fewer(rng):
    head = rng.normal(size=(6, 5))
    assert head_diversity(head).holds
    few = head_diversity(head[:5])
    assert (few.rank, few.holds, few.condition, few.differences_condition) == (4, False, None, None)
    assert few.singular_values[-1] == few.smallest_variance == 0.0
    assert not few.is_ill_conditioned
    assert len(few.chosen) == 0
    assert head_diversity(head[:1]).rank == 0


def test_many_classes_on_a_plane_are_not_enough(rng):
    head = rng.normal(size=(100, 4))
    head[:, 3] = 1.0 + head[:, 0] - 2 * head[:, 1]
    found = head_diversity(head)
    assert (found.rank, found.holds, found.condition) == (3, False, None)


def test_vectors_that_span_may_have_differences_that_do_not(rng):
    head = np.column_stack([rng.normal(size=(50, 2)), np.ones(50)])
    assert np.linalg.matrix_rank(head) == 3
    assert head_diversity(head).rank == 2


def test_a_shift_of_all_class_vectors_changes_nothing(rng):
    head = rng.normal(size=(30, 4))
    here, there = head_diversity(head), head_diversity(head + 1e3)
    np.testing.assert_allclose(here.condition, there.condition, rtol=1e-9)
    assert here.base == there.base
    np.testing.assert_array_equal(here.chosen, there.chosen)


def test_many_blocks_give_what_one_factorisation_gives(rng):
    head = rng.normal(size=(9000, 6)) * np.geomspace(1, 1e-3, 6) + 4
    values = np.linalg.svd(head - head.mean(axis=0), compute_uv=False)
    found = head_diversity(head)
    np.testing.assert_allclose(found.singular_values, values, rtol=1e-10)


def test_the_variance_is_that_of_classes_as_they_occur(rng):
    head, counts = rng.normal(size=(5000, 3)), rng.integers(1, 50, size=5000)
    covariance = np.cov(head.T, aweights=counts, ddof=0)
    expected = np.linalg.eigvalsh(covariance)[0]
    found = head_diversity(head, frequencies=counts).smallest_variance
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert abs(head_diversity(head).smallest_variance - expected) > 1e-4 * expected


def test_classes_that_never_occur_do_not_count(rng):
    head = rng.normal(size=(20, 3))
    head[:, 2] = 0.0
    head[11, 2] = 5.0
    assert head_diversity(head).holds
    counts = np.ones(20)
    counts[11] = 0
    found = head_diversity(head, frequencies=counts)
    assert (found.n_classes, found.rank) == (19, 2)


def test_chosen_classes_are_numbered_as_given(rng):
    head, counts = rng.normal(size=(30, 3)), np.ones(30)
    counts[:10] = 0
    found = head_diversity(head, frequencies=counts)
    assert min(found.base, *found.chosen) >= 10
    differences = head[found.chosen] - head[found.base]
    np.testing.assert_allclose(found.differences_condition, np.linalg.cond(differences))


@pytest.mark.parametrize("crowded", [False, True])
@pytest.mark.parametrize(("n_classes", "width"), [(4, 3), (300, 20), (5000, 100), (201, 200)])
def test_each_difference_is_half_as_far_from_the_span_as_any_other(rng, n_classes, width, crowded):
    head = rng.normal(size=(n_classes, width)) * np.geomspace(1, 1e-2, width) + 3
    if crowded:
        # Long vectors in one direction fill the first shortlist and are one after the first pivot.
        head[: n_classes // 2] *= 1e-4
        head[: n_classes // 2, 0] += 100
    base, chosen = independent_differences(head)
    assert len({base, *chosen}) == width + 1
    left = head - head[base]
    for number in chosen:
        sizes = np.linalg.norm(left, axis=1)
        assert sizes[number] >= 0.5 * sizes.max() * (1 - 1e-6)
        direction = left[number] / sizes[number]
        left = left - np.outer(left @ direction, direction)


def test_the_choice_is_about_as_good_as_pivoting_over_all_differences(rng):
    head = rng.normal(size=(2000, 80)) * np.geomspace(1, 1e-2, 80)
    base, chosen = independent_differences(head)
    others = np.delete(head, base, axis=0) - head[base]
    _, order = scipy.linalg.qr(others.T, mode="r", pivoting=True)
    found = np.linalg.cond(head[chosen] - head[base])
    assert found <= 3 * np.linalg.cond(others[order[:80]])
    random = [np.linalg.cond(others[rng.choice(1999, 80, replace=False)]) for _ in range(20)]
    assert found < min(random)


def test_too_few_classes_have_no_choice():
    with pytest.raises(InputError, match="give at least 4"):
        independent_differences(np.eye(3))


def test_a_head_that_only_rounding_made_diverse_is_flagged(rng):
    flat = rng.normal(size=(500, 4))
    flat[:, 3] = flat[:, :3] @ [0.3, 0.7, -1.1]
    rounded = flat.astype(np.float32)
    found = head_diversity(rounded)
    assert found.holds
    assert found.singular_values[-1] < found.rounding
    assert found.is_ill_conditioned
    assert not head_diversity(rng.normal(size=(500, 4)).astype(np.float32)).is_ill_conditioned


def test_a_condition_above_half_the_digits_is_flagged(rng):
    head = rng.normal(size=(50, 3)) * [1.0, 1.0, 1e-9]
    found = head_diversity(head)
    assert found.holds
    assert found.condition > 1e8
    assert found.is_ill_conditioned


def test_whole_numbers_are_vectors_too():
    assert head_diversity(np.array([[0, 0], [1, 0], [0, 1]])).holds


def test_the_rank_of_representations_is_about_their_mean(rng):
    features = np.column_stack([rng.normal(size=(100, 2)), np.full(100, 3.0)])
    assert centred_rank(features) == 2


@pytest.mark.parametrize(
    ("head", "frequencies", "message"),
    [
        (np.ones(3), None, "one row per class"),
        (np.array([[1.0, np.nan]]), None, "not finite"),
        (np.array([["a"]]), None, "real numbers"),
        (np.eye(3), [1.0, 2.0], "3 classes"),
        (np.eye(3), [1.0, 2.0, -1.0], "none is negative"),
        (np.eye(3), [1.0, 0.0, 0.0], "1 of 3"),
    ],
)
def test_what_is_no_head_is_refused(head, frequencies, message):
    with pytest.raises(InputError, match=message):
        head_diversity(head, frequencies=frequencies)
