"""Distances of shapes on rows whose answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from upto.core import InputError
from upto.measures.moments import PairMoments, pair_moments
from upto.measures.shape_distances import (
    ANGULAR_PROCRUSTES,
    NETREP_SHAPE_DISTANCE,
    PROCRUSTES,
    SHAPE_DISTANCE,
)

pytestmark = pytest.mark.slow

ROUNDING = 1e-9
NEAR = 1e-6
"""A distance is the root of a difference: near zero it has half the digits."""
ALL = (PROCRUSTES, ANGULAR_PROCRUSTES, SHAPE_DISTANCE, NETREP_SHAPE_DISTANCE)
CORRELATIONS = np.array([0.9, 0.6, 0.3])
FIRST_SCALES, SECOND_SCALES = np.array([5.0, 2.0, 1.0]), np.array([4.0, 3.0, 0.5])

every_measure = pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.name)


def designed(rng, n_samples=90):
    """Two runs of orthogonal coordinates with known correlations, in unknown orientations."""
    width = len(CORRELATIONS)
    ones = np.ones((n_samples, 1))
    columns = np.linalg.qr(np.hstack([ones, rng.normal(size=(n_samples, 2 * width))]))[0][:, 1:]
    first, rest = columns[:, :width], columns[:, width:]
    second = CORRELATIONS * first + np.sqrt(1 - CORRELATIONS**2) * rest
    return (
        (FIRST_SCALES * first) @ turn(rng, width) + 3,
        (SECOND_SCALES * second) @ turn(rng, width) - 2,
    )


def turn(rng, width):
    return np.linalg.qr(rng.normal(size=(width, width)))[0]


def related(rng, n_samples=200, widths=(6, 4)):
    source = rng.laplace(size=(n_samples, max(widths)))
    return tuple(
        source @ rng.normal(size=(source.shape[1], width)) + rng.normal(size=(n_samples, width)) + 1
        for width in widths
    )


def held_out(measure, first, second):
    middle = len(first) // 2
    fit, held = (
        pair_moments(first[part], second[part]) for part in (slice(middle), slice(middle, None))
    )
    return measure.scored(fit, held)


def unrelated(measure):
    return np.sqrt(2) if measure is PROCRUSTES else np.pi / 2


def cosine(first, second):
    """Return the cosine of diagonal runs with these scales."""
    return first * second @ CORRELATIONS / np.linalg.norm(first) / np.linalg.norm(second)


def test_rotations_are_found_and_correlations_weighed_by_their_scales(rng):
    runs = designed(rng)
    wanted = cosine(FIRST_SCALES, SECOND_SCALES)
    assert PROCRUSTES(*runs) == pytest.approx(np.sqrt(2 - 2 * wanted), abs=ROUNDING)
    assert ANGULAR_PROCRUSTES(*runs) == pytest.approx(np.arccos(wanted), abs=ROUNDING)


@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 1.0])
def test_directions_are_stretched_between_whitening_and_nothing(rng, alpha):
    runs = designed(rng)
    for measure, typical in ((SHAPE_DISTANCE, None), (NETREP_SHAPE_DISTANCE, 1.0)):
        stretched = [
            alpha * scales + (1 - alpha) * (typical or np.sqrt(np.mean(scales**2)))
            for scales in (FIRST_SCALES, SECOND_SCALES)
        ]
        wanted = np.arccos(cosine(*stretched))
        assert measure.with_parameter(alpha)(*runs) == pytest.approx(wanted, abs=ROUNDING)


@pytest.mark.parametrize("measure", [SHAPE_DISTANCE, NETREP_SHAPE_DISTANCE])
def test_both_ends_of_the_family_have_names_of_their_own(rng, measure):
    first, second = related(rng)
    whole = measure.with_parameter(1)
    assert whole(first, second) == pytest.approx(ANGULAR_PROCRUSTES(first, second), abs=ROUNDING)
    assert held_out(whole, first, second) == pytest.approx(
        held_out(ANGULAR_PROCRUSTES, first, second), abs=ROUNDING
    )
    image = first @ rng.normal(size=(6, 6)) + 1
    assert measure.with_parameter(0)(first, image) == pytest.approx(0, abs=NEAR)
    assert measure(first, image) > 0.01


def test_only_the_distance_of_netrep_depends_on_how_often_rows_are_repeated(rng):
    first, second = related(rng)
    thrice = [np.tile(each, (3, 1)) for each in (first, second)]
    assert SHAPE_DISTANCE(*thrice) == pytest.approx(SHAPE_DISTANCE(first, second), abs=ROUNDING)
    assert abs(NETREP_SHAPE_DISTANCE(*thrice) - NETREP_SHAPE_DISTANCE(first, second)) > 1e-3


@every_measure
def test_a_turned_run_is_the_same_shape_in_sample_and_held_out(rng, measure):
    first, _ = related(rng)
    for image in (first, first @ turn(rng, 6) + 5, np.hstack([first, np.zeros((200, 2))])):
        assert measure(first, image) == pytest.approx(0, abs=NEAR)
        assert held_out(measure, first, image) == pytest.approx(0, abs=NEAR)


@every_measure
def test_a_turned_run_of_another_width_keeps_its_distances(rng, measure):
    first, second = related(rng)
    wider = np.hstack([second, np.zeros((200, 5))]) @ turn(rng, 9)
    for distance in (measure, lambda *runs: held_out(measure, *runs)):
        assert distance(first, wider) == pytest.approx(distance(first, second), abs=ROUNDING)
        assert distance(first, second) == pytest.approx(distance(second, first), abs=ROUNDING)


@every_measure
def test_distances_obey_the_triangle_inequality_across_widths(rng, measure):
    for _ in range(20):
        runs = [rng.normal(size=(10, width)) * 3 ** rng.normal(size=width) for width in (2, 3, 5)]
        runs[1][:, :2] += rng.uniform(0, 3) * runs[0]
        for a, b, c in itertools.permutations(runs):
            assert measure(a, c) <= measure(a, b) + measure(b, c) + NEAR


@every_measure
def test_a_relation_that_turns_round_is_beyond_unrelated_on_other_rows(rng, measure):
    first, _ = related(rng)
    first -= first.mean(axis=0)
    second = first.copy()
    second[100:] *= -1
    assert held_out(measure, first, second) > unrelated(measure) + 0.4
    assert held_out(measure, first, second) <= measure.high


def test_means_are_those_of_the_fitted_rows(rng):
    first = rng.normal(size=(60, 3))
    first[:30] -= first[:30].mean(axis=0)
    first[30:] -= first[30:].mean(axis=0)
    second = first.copy()
    second[30:] += [1.0, 0.0, 0.0]
    size = np.linalg.norm(first[30:])
    wanted = np.arccos(size / np.sqrt(size**2 + 30))
    assert held_out(ANGULAR_PROCRUSTES, first, second) == pytest.approx(wanted, abs=ROUNDING)


@every_measure
def test_independent_noise_is_near_in_sample_and_unrelated_on_other_rows(rng, measure):
    first, second = rng.normal(size=(2, 800, 40))
    assert measure(first, second) < unrelated(measure) - 0.1
    assert held_out(measure, first, second) == pytest.approx(unrelated(measure), abs=0.03)


@every_measure
def test_dead_columns_do_not_count(rng, measure):
    first, second = related(rng)
    padded = (np.insert(first, [0, 3], [0.0, 0.1], axis=1), np.insert(second, 2, -4.0, axis=1))
    for distance in (measure, lambda *runs: held_out(measure, *runs)):
        assert distance(*padded) == pytest.approx(distance(first, second), abs=ROUNDING)


@every_measure
def test_a_run_without_variance_is_unrelated_to_every_run(rng, measure):
    first, second = related(rng)
    still = np.ones_like(second)
    for runs in ((first, still), (still, first), (still, still)):
        assert measure(*runs) == pytest.approx(unrelated(measure), abs=ROUNDING)
        assert held_out(measure, *runs) == pytest.approx(unrelated(measure), abs=ROUNDING)


@every_measure
@pytest.mark.parametrize("n_samples", [1, 2, 3, 24])
def test_few_rows_are_finite(rng, measure, n_samples):
    first, second = related(rng, n_samples, widths=(30, 40))
    assert 0 <= measure(first, second) <= unrelated(measure) + NEAR
    if n_samples > 1:
        assert 0 <= held_out(measure, first, second) <= measure.high


@every_measure
def test_directions_that_few_rows_do_not_reach_leave_nothing_to_the_basis(rng, measure):
    first, second = related(rng, 40, widths=(30, 25))
    turned = first @ turn(rng, 30), second @ turn(rng, 25)
    wanted = held_out(measure, first, second)
    assert held_out(measure, *turned) == pytest.approx(wanted, abs=NEAR)


@every_measure
def test_another_pairing_only_changes_the_cross_products(rng, measure):
    first, second = related(rng)
    pair = pair_moments(first, second)
    measure.scored(pair, pair)
    order = rng.permutation(len(first))
    x, y = first - first.mean(axis=0), second - second.mean(axis=0)
    moved = PairMoments(pair.x, pair.y, x.T @ y[order], 0.0)
    wanted = measure(first, second[order])
    assert measure.scored(moved, moved) == pytest.approx(wanted, abs=ROUNDING)


@pytest.mark.parametrize("alpha", [-0.1, 1.5, np.nan])
@pytest.mark.parametrize("measure", [SHAPE_DISTANCE, NETREP_SHAPE_DISTANCE])
def test_an_alpha_outside_the_family_is_refused_in_words(rng, measure, alpha):
    with pytest.raises(InputError, match=f"alpha is {alpha:g}: give a number from 0"):
        measure.with_parameter(alpha)(*related(rng))
