"""The groups: their order, their elements, their words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from upto.core import Group, InputError
from upto.testing import random_element

ROUNDING = 1e-10
WIDTH = 4
GROUPS = list(Group)
AFFINE = [group for group in GROUPS if group.is_affine]


def compose(first, second):
    """Apply the first element, then the second."""
    return first[0] @ second[0], first[1] @ second[0] + second[1]


def is_element(group: Group, linear: np.ndarray, translation: np.ndarray) -> bool:
    """Whether a map lies in a group, told from its matrix alone."""

    def close(first, second):
        return np.allclose(first, second, atol=ROUNDING, rtol=0)

    gram = linear @ linear.T
    one_scale = close(gram, gram[0, 0] * np.eye(len(gram))) and gram[0, 0] > ROUNDING
    entries = np.abs(linear) > ROUNDING
    one_to_one = bool((entries.sum(axis=0) == 1).all() and (entries.sum(axis=1) == 1).all())
    if group is Group.IDENTITY:
        return close(linear, np.eye(len(linear))) and close(translation, 0)
    if group is Group.SIGNED_PERMUTATION:
        return one_to_one and close(gram, np.eye(len(gram)))
    if group is Group.SIGNED_SIMILARITY:
        return one_to_one and one_scale
    if group is Group.SCALED_PERMUTATION:
        return one_to_one
    if group is Group.RIGID:
        return close(gram, np.eye(len(gram)))
    if group is Group.SIMILARITY:
        return one_scale
    return bool(np.linalg.matrix_rank(linear) == len(linear))


def test_containment_is_a_partial_order():
    for a in GROUPS:
        assert a.contains(a)
    for a, b in itertools.product(GROUPS, repeat=2):
        if a is not b:
            assert not (a.contains(b) and b.contains(a)), (a, b)
    for a, b, c in itertools.product(GROUPS, repeat=3):
        if a.contains(b) and b.contains(c):
            assert a.contains(c), (a, b, c)


def test_the_identity_is_the_least_and_the_affine_group_the_greatest():
    assert all(group.contains(Group.IDENTITY) for group in GROUPS)
    assert all(Group.AFFINE.contains(group) for group in AFFINE)
    assert set(GROUPS) - set(AFFINE) == {Group.MONOTONE_PERMUTATION}


def test_monotone_functions_of_coordinates_are_freer_than_scales_and_no_rotations():
    inside = {group for group in GROUPS if Group.MONOTONE_PERMUTATION.contains(group)}
    assert inside == {
        Group.IDENTITY,
        Group.SIGNED_PERMUTATION,
        Group.SIGNED_SIMILARITY,
        Group.SCALED_PERMUTATION,
        Group.MONOTONE_PERMUTATION,
    }
    with pytest.raises(ValueError, match="no finite number"):
        Group.MONOTONE_PERMUTATION.free_parameters(3)
    with pytest.raises(InputError, match="no linear part"):
        random_element("monotone-permutation", 3, np.random.default_rng(0))


def test_groups_are_listed_after_their_subgroups():
    for later, earlier in itertools.combinations(reversed(GROUPS), 2):
        assert not earlier.contains(later), (earlier, later)


@pytest.mark.parametrize("group", AFFINE)
def test_random_elements_and_their_products_and_inverses_stay_in_the_group(group, rng):
    element = random_element(group, WIDTH, rng)
    for _ in range(20):
        assert is_element(group, *element)
        inverse = np.linalg.inv(element[0])
        assert is_element(group, inverse, -element[1] @ inverse)
        element = compose(element, random_element(group, WIDTH, rng))
        size = np.abs(element[0]).max()
        # Many small scales would reach the threshold that tells zero from not zero.
        if group.is_isometric or size > 1e-2:
            continue
        element = (element[0] / size, element[1])


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(AFFINE, repeat=2)), ids=str)
def test_containment_is_what_random_elements_show(outer, inner, rng):
    inside = [is_element(outer, *random_element(inner, WIDTH, rng)) for _ in range(5)]
    assert all(inside) == outer.contains(inner)


@pytest.mark.parametrize("group", AFFINE)
def test_isometric_groups_keep_distances_and_the_others_do_not(group, rng):
    points = rng.normal(size=(10, WIDTH))
    linear, translation = random_element(group, WIDTH, rng)
    moved = points @ linear + translation
    before = np.linalg.norm(points[:, None] - points, axis=2)
    after = np.linalg.norm(moved[:, None] - moved, axis=2)
    kept = np.allclose(before, after, atol=ROUNDING)
    assert kept == group.is_isometric


def test_a_larger_group_has_no_fewer_parameters():
    for outer, inner in itertools.product(AFFINE, repeat=2):
        if outer.contains(inner):
            for width in (1, 2, 7, 384):
                assert outer.free_parameters(width) >= inner.free_parameters(width)


def test_parameters_are_counted_as_in_the_table_of_groups():
    counts = {group: group.free_parameters(3) for group in AFFINE}
    assert counts == {
        Group.IDENTITY: 0,
        Group.SIGNED_PERMUTATION: 3,
        Group.SIGNED_SIMILARITY: 4,
        Group.SCALED_PERMUTATION: 6,
        Group.RIGID: 6,
        Group.SIMILARITY: 7,
        Group.AFFINE: 12,
    }


def test_every_group_has_its_own_phrase():
    phrases = [group.phrase for group in GROUPS]
    assert all(phrases)
    assert len(set(phrases)) == len(GROUPS)


def test_groups_read_as_their_names():
    assert Group("rigid") is Group.RIGID
    assert f"{Group.SCALED_PERMUTATION}" == "scaled-permutation"


@pytest.mark.parametrize("group", [group for group in AFFINE if group is not Group.IDENTITY])
def test_a_random_element_can_lead_to_a_wider_target(group, rng):
    linear, translation = random_element(group, 3, rng, n_out=5)
    assert linear.shape == (3, 5)
    assert translation.shape == (5,)
    assert np.linalg.matrix_rank(linear) == 3
    if group.is_isometric:
        np.testing.assert_allclose(linear @ linear.T, np.eye(3), atol=ROUNDING)


@pytest.mark.parametrize("group", ["signed-permutation", "signed-similarity", "scaled-permutation"])
def test_permutations_leave_the_extra_coordinates_of_a_wider_target_constant(group, rng):
    linear, translation = random_element(group, 3, rng, n_out=5)
    mapped = rng.normal(size=(20, 3)) @ linear + translation
    extra = np.ptp(mapped, axis=0) == 0
    assert extra.sum() == 2
    np.testing.assert_array_equal(mapped[0, extra], translation[extra])
