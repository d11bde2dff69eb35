"""Canonical correlations and linear maps on rows whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.measures.correlations import (
    GOOGLE_MEAN_CCA,
    MEAN_CCA,
    RIDGE_CCA,
    SHARE_SVCCA,
    STANDARDISED_SVCCA,
    SVCCA,
)
from upto.measures.moments import PairMoments, pair_moments, run_moments
from upto.measures.regression import LINEAR_R2, MEAN_COLUMN_R2
from upto.measures.weighted_correlations import GOOGLE_PWCCA, PWCCA

pytestmark = pytest.mark.slow

ROUNDING = 1e-9
AFFINE = (MEAN_CCA, GOOGLE_MEAN_CCA, LINEAR_R2, MEAN_COLUMN_R2, PWCCA, GOOGLE_PWCCA)
ALL = (*AFFINE, SVCCA, SHARE_SVCCA, STANDARDISED_SVCCA, RIDGE_CCA)
N_SAMPLES = 120
CORRELATIONS = np.array([0.95, 0.8, 0.5, 0.01])
FIRST_SCALES, SECOND_SCALES = np.array([8.0, 4.0, 2.0, 1.0]), np.array([9.0, 5.0, 3.0, 2.0])

every_measure = pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.name)


def designed(rng, n_samples=N_SAMPLES, correlations=CORRELATIONS):
    """Two runs whose canonical correlations in sample are exactly those wanted."""
    width = len(correlations)
    ones = np.ones((n_samples, 1))
    columns = np.linalg.qr(np.hstack([ones, rng.normal(size=(n_samples, 2 * width))]))[0][:, 1:]
    first, rest = columns[:, :width], columns[:, width:]
    second = correlations * first + np.sqrt(1 - correlations**2) * rest
    return FIRST_SCALES * first + 3, SECOND_SCALES * second - 2


def related(rng, n_samples=200, widths=(6, 5)):
    source = rng.laplace(size=(n_samples, max(widths)))
    return tuple(
        source @ rng.normal(size=(source.shape[1], width)) + rng.normal(size=(n_samples, width)) + 1
        for width in widths
    )


def halves(first, second):
    middle = len(first) // 2
    return tuple(
        pair_moments(first[part], second[part]) for part in (slice(middle), slice(middle, None))
    )


def held_out(measure, first, second):
    return measure.scored(*halves(first, second))


def test_the_mean_of_known_correlations(rng):
    assert MEAN_CCA(*designed(rng)) == pytest.approx(CORRELATIONS.mean(), abs=ROUNDING)


def test_google_averages_the_correlations_that_make_up_most_of_their_sum(rng):
    assert GOOGLE_MEAN_CCA(*designed(rng)) == pytest.approx(CORRELATIONS[:3].mean(), abs=ROUNDING)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 50])
def test_svcca_keeps_the_widest_directions_and_all_where_there_are_fewer(rng, count):
    wanted = CORRELATIONS[:count].mean()
    assert SVCCA.with_parameter(count)(*designed(rng)) == pytest.approx(wanted, abs=ROUNDING)


def test_a_share_keeps_the_fewest_directions_of_each_run_that_reach_it(rng):
    runs = designed(rng)
    for share in (0.3, 0.7, 0.9, 0.97, 0.995, 1.0):
        kept = []
        for scales in (FIRST_SCALES, SECOND_SCALES):
            shares = np.cumsum(scales**2) / np.sum(scales**2)
            kept.append(min(int((shares < share - 1e-12).sum()) + 1, 4))
        wanted = CORRELATIONS[: min(kept)].mean()
        found = SHARE_SVCCA.with_parameter(share)(*runs)
        assert found == pytest.approx(wanted, abs=ROUNDING)


def test_projections_weigh_by_what_each_direction_carries_of_its_run(rng):
    first, second = designed(rng)
    for runs, scales in (((first, second), FIRST_SCALES), ((second, first), SECOND_SCALES)):
        wanted = scales @ CORRELATIONS / scales.sum()
        assert PWCCA(*runs) == pytest.approx(wanted, abs=ROUNDING)
        assert GOOGLE_PWCCA(*runs) == pytest.approx(wanted, abs=ROUNDING)


@pytest.mark.parametrize("measure", [PWCCA, GOOGLE_PWCCA], ids=lambda each: each.name)
def test_projections_are_those_of_the_run_with_fewer_directions(rng, measure):
    first, second = related(rng, widths=(6, 4))
    assert measure(first, second) == pytest.approx(measure(second, first), abs=ROUNDING)
    mixed = first @ rng.normal(size=(6, 6))
    assert measure(mixed, second) == pytest.approx(measure(first, second), abs=ROUNDING)
    assert abs(measure(first, second @ rng.normal(size=(4, 4))) - measure(first, second)) > 1e-3


def test_r2_is_the_share_of_variance_and_not_symmetric(rng):
    first, second = designed(rng)
    for runs, scales in (((first, second), SECOND_SCALES), ((second, first), FIRST_SCALES)):
        wanted = scales**2 @ CORRELATIONS**2 / np.sum(scales**2)
        assert LINEAR_R2(*runs) == pytest.approx(wanted, abs=ROUNDING)
        assert MEAN_COLUMN_R2(*runs) == pytest.approx(np.mean(CORRELATIONS**2), abs=ROUNDING)


def test_a_coordinate_without_variance_does_not_count_as_explained(rng):
    first, second = designed(rng)
    padded = np.insert(second, 1, 7.0, axis=1)
    for measure in (LINEAR_R2, MEAN_COLUMN_R2):
        assert measure(first, padded) == pytest.approx(measure(first, second), abs=ROUNDING)


def test_a_coordinate_of_tiny_scale_counts_as_any_other(rng):
    first, second = designed(rng)
    small = second * [1e-9, 1, 1, 1]
    wanted = MEAN_COLUMN_R2(first, second)
    assert MEAN_COLUMN_R2(first, small) == pytest.approx(wanted, abs=ROUNDING)


def test_the_intercept_of_r2_is_that_of_the_fitted_rows(rng):
    first = rng.normal(size=(80, 3))
    second = 2 * first + 1
    moved = second.copy()
    moved[40:] += 0.5
    spread = np.square(moved[40:] - moved[40:].mean(axis=0)).sum()
    wanted = 1 - 40 * 3 * 0.25 / spread
    assert held_out(LINEAR_R2, first, moved) == pytest.approx(wanted, abs=ROUNDING)
    assert held_out(LINEAR_R2, first, second) == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize("measure", AFFINE, ids=lambda measure: measure.name)
def test_an_affine_image_is_found_in_sample_and_held_out(rng, measure):
    first, _ = related(rng)
    image = first @ rng.normal(size=(6, 6)) + 5
    assert measure(first, image) == pytest.approx(1, abs=ROUNDING)
    assert held_out(measure, first, image) == pytest.approx(1, abs=ROUNDING)


@pytest.mark.parametrize("measure", [SVCCA, STANDARDISED_SVCCA], ids=lambda each: each.name)
def test_truncation_is_not_affine_invariant(rng, measure):
    first, _ = related(rng)
    image = first @ rng.normal(size=(6, 6))
    assert measure.with_parameter(6)(first, image) == pytest.approx(1, abs=ROUNDING)
    assert measure.with_parameter(2)(first, image) < 0.99


def test_the_ridge_goes_from_cca_to_partial_least_squares(rng):
    first, second = related(rng)
    assert RIDGE_CCA.with_parameter(0)(first, second) == pytest.approx(
        MEAN_CCA(first, second), abs=ROUNDING
    )
    x, y = first - first.mean(axis=0), second - second.mean(axis=0)
    left, _, right = np.linalg.svd(x.T @ y, full_matrices=False)
    pairs = zip((x @ left).T, (y @ right.T).T, strict=True)
    wanted = np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs])
    assert RIDGE_CCA.with_parameter(1)(first, second) == pytest.approx(wanted, abs=ROUNDING)


@every_measure
def test_a_run_is_its_own_image(rng, measure):
    first, _ = related(rng)
    assert measure(first, first) == pytest.approx(1, abs=ROUNDING)
    assert held_out(measure, first, first) == pytest.approx(1, abs=ROUNDING)


@every_measure
def test_a_relation_that_turns_round_is_below_zero_on_other_rows(rng, measure):
    first, _ = related(rng)
    second = first.copy()
    second[100:] *= -1
    assert held_out(measure, first - first.mean(axis=0), second) < -0.9


@every_measure
def test_independent_noise_is_far_from_zero_in_sample_and_not_on_other_rows(rng, measure):
    first, second = rng.normal(size=(2, 800, 40))
    assert measure(first, second) > 0.04
    assert held_out(measure, first, second) < 0.03
    if measure not in (LINEAR_R2, MEAN_COLUMN_R2):
        assert measure(first, second) > 0.1
        assert held_out(measure, first, second) > -0.03


@every_measure
def test_dead_columns_do_not_count(rng, measure):
    first, second = related(rng)
    padded = (np.insert(first, [0, 3], [0.0, 0.1], axis=1), np.insert(second, 2, -4.0, axis=1))
    assert measure(*padded) == pytest.approx(measure(first, second), abs=ROUNDING)
    assert held_out(measure, *padded) == pytest.approx(
        held_out(measure, first, second), abs=ROUNDING
    )


@pytest.mark.parametrize("measure", AFFINE[:4], ids=lambda measure: measure.name)
def test_a_duplicated_column_of_the_first_run_adds_nothing(rng, measure):
    first, second = related(rng)
    doubled = np.hstack([first, first[:, :2] - 3 * first[:, 2:4]])
    assert measure(doubled, second) == pytest.approx(measure(first, second), abs=1e-7)
    assert held_out(measure, doubled, second) == pytest.approx(
        held_out(measure, first, second), abs=1e-7
    )


@every_measure
def test_a_run_without_variance_scores_nothing(rng, measure):
    first, second = related(rng)
    for runs in ((first, np.ones_like(second)), (np.zeros_like(first), second)):
        assert measure(*runs) == pytest.approx(0, abs=ROUNDING)
    half = second.copy()
    half[100:] = 3.0
    assert -1 <= held_out(measure, first, half) <= 1
    assert held_out(measure, first, half[::-1]) <= ROUNDING


@every_measure
@pytest.mark.parametrize("n_samples", [1, 2, 3, 24])
def test_few_rows_are_finite(rng, measure, n_samples):
    first, second = related(rng, n_samples, widths=(30, 40))
    assert measure.low <= measure(first, second) <= measure.high
    if n_samples > 1:
        assert measure.low <= held_out(measure, first, second) <= measure.high


@pytest.mark.parametrize("measure", AFFINE, ids=lambda measure: measure.name)
def test_fewer_rows_than_columns_explain_everything_in_sample(rng, measure):
    assert measure(*related(rng, 24, widths=(30, 40))) == pytest.approx(1, abs=1e-7)


@every_measure
@pytest.mark.parametrize("n_samples", [24, 60])
def test_equal_correlations_leave_nothing_to_rounding(rng, measure, n_samples):
    """With few rows many correlations are one, and any basis of their variates would do."""
    first, second = related(rng, n_samples, widths=(30, 20))
    order, other = rng.permutation(30), rng.permutation(20)
    turned = (first[:, order], second[:, other] * rng.choice([-1.0, 1.0], 20))
    assert held_out(measure, *turned) == pytest.approx(held_out(measure, first, second), abs=1e-6)
    assert measure(*turned) == pytest.approx(measure(first, second), abs=1e-6)


def test_equal_correlations_do_not_depend_on_the_basis(rng):
    first, second = related(rng, 60, widths=(20, 18))
    mixed = first @ rng.normal(size=(20, 20)), second @ rng.normal(size=(18, 18))
    assert np.linalg.matrix_rank(first[:30] - first[:30].mean(axis=0)) == 20
    for measure in (MEAN_CCA, GOOGLE_MEAN_CCA):
        found = held_out(measure, *mixed)
        assert found == pytest.approx(held_out(measure, first, second), abs=1e-6)


def test_of_few_rows_cca_takes_the_shortest_directions(rng):
    """What keeps every direction, or blends with nothing, is mean-cca on other rows too."""
    first, second = related(rng, 60, widths=(50, 40))
    wanted = held_out(MEAN_CCA, first, second)
    assert held_out(SVCCA.with_parameter(50), first, second) == pytest.approx(wanted, abs=1e-6)
    assert held_out(RIDGE_CCA.with_parameter(0), first, second) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("measure", [LINEAR_R2, MEAN_COLUMN_R2], ids=lambda each: each.name)
def test_of_few_rows_the_map_has_the_least_norm_that_its_measure_ignores(rng, measure):
    """By coordinates as they are for r2, by coordinates at unit variance for r2-cebra."""
    first, second = related(rng, 60, widths=(50, 4))
    first = first * np.exp(rng.normal(size=50))
    units = first[:30].std(axis=0) if measure is MEAN_COLUMN_R2 else np.ones(50)
    x, y = (rows[:30] - rows[:30].mean(axis=0) for rows in (first / units, second))
    slopes = np.linalg.lstsq(x, y)[0]
    predicted = (first / units - (first / units)[:30].mean(axis=0)) @ slopes
    left = np.square(second - second[:30].mean(axis=0) - predicted)[30:].sum(axis=0)
    total = 30 * second[30:].var(axis=0)
    shares = 1 - left / total if measure is MEAN_COLUMN_R2 else 1 - left.sum() / total.sum()
    assert held_out(measure, first, second) == pytest.approx(np.mean(shares), abs=1e-7)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-9])
@pytest.mark.parametrize("n_rows", [8, 12, 18])
def test_the_shortest_whitening_whitens_and_stays_within_the_span_of_the_rows(rng, scale, n_rows):
    rows = rng.normal(size=(n_rows, 20)) * np.where(np.arange(20) == 3, scale, 1.0)
    rows[:, 7] = 2.0
    moments, rank = run_moments(rows), n_rows - 1
    shortest, centred = moments.shortest_whitening, rows - rows.mean(axis=0)
    assert shortest.shape == (20, rank)
    assert shortest.T @ moments.scatter @ shortest == pytest.approx(np.eye(rank), abs=1e-10)
    outside = np.linalg.svd(centred[:, np.arange(20) != 7])[2][rank:]
    assert outside @ shortest[np.arange(20) != 7] == pytest.approx(0, abs=1e-7)


def test_dead_columns_do_not_lengthen_the_whitening(rng):
    rows = np.hstack([rng.normal(size=(50, 6)), np.ones((50, 2))])
    shortest = run_moments(rows).shortest_whitening
    assert shortest == pytest.approx(run_moments(rows).whitening)
    assert not shortest[6:].any()


def test_directions_without_any_correlation_are_not_paired_by_rounding(rng):
    first, second = designed(rng, correlations=np.array([0.9, 0.0, 0.0, 0.0]))
    later, other = rng.normal(size=(2, N_SAMPLES, 4)) + rng.normal(size=(N_SAMPLES, 1))
    wanted = np.corrcoef(later[:, 0], other[:, 0])[0, 1] / 4
    for _ in range(5):
        x_mix, y_mix = rng.normal(size=(2, 4, 4))
        runs = np.vstack([first, later]) @ x_mix, np.vstack([second, other]) @ y_mix
        assert held_out(MEAN_CCA, *runs) == pytest.approx(wanted, abs=1e-7)


def test_a_variate_that_is_constant_on_other_rows_scores_nothing(rng):
    for _ in range(5):
        first = 1e3 * rng.normal(size=(80, 2))
        second = first[:, :1] - first[:, 1:]
        first[40:, 1] = first[40:, 0] + 0.1
        second[40:] = rng.normal(size=(40, 1))
        assert held_out(MEAN_CCA, first, second) == 0


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


@pytest.mark.parametrize(
    ("measure", "number", "message"),
    [
        (SVCCA, 0, "0 principal directions requested: give a whole number from 1"),
        (SVCCA, 2.5, "2.5 principal directions requested"),
        (STANDARDISED_SVCCA, np.inf, "inf principal directions requested"),
        (STANDARDISED_SVCCA, np.nan, "nan principal directions requested"),
        (SHARE_SVCCA, 0, r"the share of variance to keep is 0: give a share in \(0, 1\]"),
        (SHARE_SVCCA, 99, "the share of variance to keep is 99"),
        (RIDGE_CCA, -0.1, "the ridge is -0.1: give a number from 0"),
        (RIDGE_CCA, 2, "the ridge is 2"),
    ],
    ids=str,
)
def test_parameters_that_mean_nothing_are_refused_in_words(rng, measure, number, message):
    with pytest.raises(InputError, match=message):
        measure.with_parameter(number)(*related(rng))
