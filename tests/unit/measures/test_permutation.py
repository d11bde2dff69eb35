"""Pairings, half-samples and scores against brute force."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from upto.core import InputError
from upto.measures import pair_scores, permutation
from upto.measures.calibration import (
    adjusted_p_values,
    calibrated,
    chance,
    chance_limit,
    interval,
    p_value,
)
from upto.measures.catalogue import find_measure, find_measures
from upto.measures.kernel_path import leaner_measures
from upto.measures.kinds import MomentMeasure, RelationMeasure
from upto.measures.moments import pair_moments
from upto.measures.pair_scores import Scored
from upto.measures.permutation import score_pairs
from upto.measures.resample import draw_halves, draw_pairings

LINEAR_CKA, NEIGHBOURS = find_measure("linear-cka"), find_measure("mutual-knn:3")


def explained(fit, held):
    """Share of the second run's variance that a linear map of the first explains."""
    weights = np.linalg.lstsq(fit.x.scatter, fit.cross, rcond=None)[0]
    left = (
        np.trace(held.y.scatter)
        - 2 * np.vdot(weights, held.cross)
        + np.vdot(weights, held.x.scatter @ weights)
    )
    return float(1 - left / np.trace(held.y.scatter))


def directed(first, second):
    """How much of the first run's nearness is near in the second."""
    return float(np.vdot(first[0], np.sqrt(second[0])) / np.vdot(first[0], first[0]))


FACTS = {"says": "", "source": "", "ignores": frozenset()}
EXPLAINED = MomentMeasure(
    name="explained", title="", low=-math.inf, high=1.0, symmetric=False, score=explained, **FACTS
)
RANKED = MomentMeasure(
    name="ranked", title="", low=-math.inf, high=1.0, symmetric=False, score=explained,
    prepare=lambda rows: np.argsort(np.argsort(rows, axis=0), axis=0).astype(float), **FACTS,
)  # fmt: skip
DISTANCE = MomentMeasure(
    name="distance", title="", low=0.0, high=math.inf, closer="lower", is_fitted=False,
    score=lambda _, held: float(
        np.trace(held.x.scatter) + np.trace(held.y.scatter) - 2 * np.trace(held.cross)
    ),
    **FACTS,
)  # fmt: skip
DIRECTED = RelationMeasure(
    name="directed", title="", low=-math.inf, high=math.inf, symmetric=False, score=directed,
    relate=lambda rows: (np.exp(-np.square(rows[:, None] - rows[None]).sum(axis=-1)),), **FACTS,
)  # fmt: skip
MEASURES = (LINEAR_CKA, EXPLAINED, RANKED, DISTANCE, NEIGHBOURS, DIRECTED)


def some_runs(rng, n=24, widths=(3, 3, 3)):
    source = rng.normal(size=(n, 3))
    return [
        10 + source @ rng.normal(size=(3, width)) + rng.normal(size=(n, width)) for width in widths
    ]


def directly(measure, x, y, parts):
    """Score rows as a measure alone would, fitted on part 0 and judged on part 1."""
    if not (isinstance(measure, MomentMeasure) and measure.is_fitted and parts.any()):
        return measure(x, y)
    x, y = measure.prepared(x), measure.prepared(y)
    sides = [pair_moments(x[parts == part], y[parts == part]) for part in (0, 1)]
    return measure.scored(*sides)


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("measure", MEASURES, ids=lambda each: each.name)
def test_values_nulls_and_halves_are_those_of_the_measure_itself(rng, measure, held_out):
    runs = some_runs(rng)
    parts = rng.permutation(np.arange(24) % 3 == 0).astype(int) * held_out
    pairs = [(0, 1), (2, 0), (1, 2), (0, 2)]
    found = score_pairs(
        runs, pairs, [measure], parts=parts, permutations=30, half_samples=5, seed=3
    )
    arranged = np.argsort(parts, kind="stable")
    orders = draw_pairings(parts[arranged], 30, 3).orders
    halves = draw_halves(parts[arranged], 5, 3)
    for each in found:
        x, y = (runs[run][arranged] for run in (each.first, each.second))
        own = parts[arranged]
        assert each.value == pytest.approx(directly(measure, x, y, own), rel=1e-9)
        for order, value in zip(orders, each.null, strict=True):
            # Of a pair the later run is permuted.
            a, b = (x, y[order]) if each.first < each.second else (x[order], y)
            assert value == pytest.approx(directly(measure, a, b, own), rel=1e-9, abs=1e-12)
        # Rows are prepared once, before half of them are drawn.
        bare, a, b = measure, x, y
        if isinstance(measure, MomentMeasure):
            bare, a, b = replace(measure, prepare=None), measure.prepared(x), measure.prepared(y)
        for half, value in zip(halves, each.halves, strict=True):
            expected = directly(bare, a[half], b[half], own[half])
            assert value == pytest.approx(expected, rel=1e-9)


def test_scores_come_back_pair_by_pair_and_measure_by_measure(rng):
    runs = some_runs(rng)
    pairs = [(2, 1), (0, 1), (1, 2)]
    found = score_pairs(runs, pairs, MEASURES, permutations=5, half_samples=0)
    expected = [(*pair, measure.name) for pair in pairs for measure in MEASURES]
    assert [(each.first, each.second, each.measure.name) for each in found] == expected
    by = {(each.first, each.second, each.measure.name): each for each in found}
    there, back = by[1, 2, "linear-cka"].value, by[2, 1, "linear-cka"].value
    assert there == pytest.approx(back, rel=1e-12)
    there, back = by[1, 2, "explained"].value, by[2, 1, "explained"].value
    assert there != pytest.approx(back, rel=1e-3)


def test_measures_do_not_change_each_other(rng):
    runs = some_runs(rng)
    parts = np.arange(24) % 2
    together = score_pairs(runs, [(0, 1)], MEASURES, parts=parts, permutations=20, half_samples=5)
    for each in together:
        (alone,) = score_pairs(
            runs, [(0, 1)], [each.measure], parts=parts, permutations=20, half_samples=5
        )
        np.testing.assert_allclose(each.null, alone.null, rtol=1e-12)
        np.testing.assert_allclose(each.halves, alone.halves, rtol=1e-12)


@pytest.mark.parametrize(
    ("module", "setting"), [(pair_scores, "VIEW_BYTES"), (permutation, "_THREADED_SIZE")]
)
def test_little_memory_and_many_threads_give_the_same_scores(rng, monkeypatch, module, setting):
    runs = some_runs(rng, widths=(3, 4, 2, 5, 3))
    pairs = list(itertools.permutations(range(5), 2))
    options = {"permutations": 20, "half_samples": 3}
    usual = score_pairs(runs, pairs, MEASURES[:1] + MEASURES[4:], **options)
    monkeypatch.setattr(module, setting, 1)
    again = score_pairs(runs, pairs, MEASURES[:1] + MEASURES[4:], **options)
    for one, other in zip(usual, again, strict=True):
        assert one.value == other.value
        np.testing.assert_array_equal(one.null, other.null)
        np.testing.assert_array_equal(one.halves, other.halves)


def test_runs_of_another_number_of_rows_are_refused(rng):
    with pytest.raises(InputError, match="runs, parts and strata have 5, 6 rows"):
        score_pairs([rng.normal(size=(5, 2)), rng.normal(size=(6, 2))], [(0, 1)], [LINEAR_CKA])


@pytest.mark.parametrize(
    ("cells", "count"), [([0, 0, 0, 0], 24), ([0, 0, 0, 1, 1], 12), ([0, 1, 2, 2], 2), ([0, 1], 1)]
)
def test_few_pairings_are_all_enumerated_once(cells, count):
    found = draw_pairings(np.array(cells), 24, 0)
    assert found.complete
    assert len(found.orders) == count - 1
    assert len({tuple(order) for order in found.orders}) == count - 1
    assert tuple(range(len(cells))) not in {tuple(order) for order in found.orders}
    assert not draw_pairings(np.array(cells), max(1, count - 1), 0).complete or count == 1


def test_pairings_keep_rows_in_their_cells_and_are_uniform_there():
    cells = np.array([0, 1, 0, 1, 2, 0, 1, 0, 0, 0, 1, 1])
    found = draw_pairings(cells, 4000, 7)
    assert not found.complete
    assert (cells[found.orders] == cells).all()
    assert (np.sort(found.orders, axis=1) == np.arange(12)).all()
    # Every row of a cell of six goes to every place in it about once in six.
    shares = [(found.orders[:, 0] == other).mean() for other in np.flatnonzero(cells == 0)]
    assert np.allclose(shares, 1 / 6, atol=0.03)


def test_half_samples_take_half_of_each_part_and_no_row_twice():
    parts = np.array([0] * 11 + [1] * 8)
    for half in draw_halves(parts, 20, 0):
        assert len(set(half)) == len(half) == 9
        assert (parts[half] == 1).sum() == 4


@pytest.mark.parametrize("measure", [LINEAR_CKA, DISTANCE, DIRECTED], ids=lambda each: each.name)
def test_p_values_of_few_rows_are_those_of_brute_force(rng, measure):
    x, y = rng.normal(size=(2, 5, 2))
    (found,) = score_pairs([x, y], [(0, 1)], [measure], permutations=120, half_samples=0)
    assert found.complete
    every = np.array([measure(x, y[list(order)]) for order in itertools.permutations(range(5))])
    better = every >= every[0] - 1e-9 if measure.closer == "higher" else every <= every[0] + 1e-9
    assert p_value(found) == pytest.approx(better.mean(), rel=1e-12)


def test_p_values_within_classes_are_those_of_brute_force(rng):
    x, y = rng.normal(size=(2, 7, 2))
    strata = np.array(["b", "a", "b", "a", "c", "b", "a"])
    (found,) = score_pairs([x, y], [(0, 1)], [LINEAR_CKA], strata=strata, permutations=40)
    members = [np.flatnonzero(strata == each) for each in "abc"]
    values = []
    for moved in itertools.product(*(itertools.permutations(each) for each in members)):
        order = np.arange(7)
        for own, others in zip(members, moved, strict=True):
            order[own] = others
        values.append(LINEAR_CKA(x, y[order]))
    assert found.complete
    assert len(values) == 36
    assert p_value(found) == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-9))


def scored(value, null, *, measure=LINEAR_CKA, halves=()):
    return Scored(
        first=0, second=1, measure=measure, value=value, halves=np.array(halves, dtype=float),
        null=np.array(null, dtype=float), complete=False, held_out=False,
    )  # fmt: skip


def test_a_value_above_all_random_ones_has_the_smallest_p_value():
    assert p_value(scored(0.9, np.linspace(0, 0.5, 99))) == pytest.approx(0.01)
    assert p_value(scored(-0.9, np.linspace(0, 0.5, 99))) == 1.0
    assert p_value(scored(0.0, [0.0] * 99)) == 1.0


def test_lower_is_closer_for_a_distance():
    assert p_value(scored(0.1, np.linspace(1, 2, 99), measure=DISTANCE)) == pytest.approx(0.01)
    assert p_value(scored(3.0, np.linspace(1, 2, 99), measure=DISTANCE)) == 1.0


@pytest.mark.parametrize("count", [19, 39, 99, 120, 200])
@pytest.mark.parametrize("measure", [LINEAR_CKA, DISTANCE], ids=lambda each: each.name)
def test_what_beats_the_limit_of_chance_is_what_has_a_p_value_of_five_per_cent(rng, measure, count):
    null = rng.uniform(0.2, 0.8, size=count)
    for value in (*(null + 1e-6), *(null - 1e-6)):
        each = scored(value, null, measure=measure)
        limit = chance_limit(each)
        beats = value > limit if measure.closer == "higher" else value < limit
        assert beats == (p_value(each) <= 0.05 + 1e-12)
        assert chance(each) == pytest.approx(null.mean())


def test_too_few_pairings_have_no_limit():
    assert chance_limit(scored(0.9, [0.1] * 18)) is None
    assert calibrated(scored(0.9, [0.1] * 18)) is None
    assert chance(scored(0.9, [])) is None
    assert p_value(scored(0.9, [])) == 1.0


def test_calibrated_values_start_at_the_limit_and_end_at_the_best():
    null = np.linspace(0.0, 0.5, 99)
    limit = chance_limit(scored(0.0, null))
    assert calibrated(scored(limit, null)) == 0.0
    assert calibrated(scored(0.1, null)) == 0.0
    assert calibrated(scored(1.0, null)) == 1.0
    assert calibrated(scored((limit + 1) / 2, null)) == pytest.approx(0.5)
    assert calibrated(scored(1.0, [1.0] * 99)) == 0.0
    low = np.linspace(1.0, 2.0, 99)
    limit = chance_limit(scored(1.0, low, measure=DISTANCE))
    assert calibrated(scored(limit / 4, low, measure=DISTANCE)) == pytest.approx(0.75)
    assert calibrated(scored(3.0, low, measure=DIRECTED)) is None


def test_intervals_are_two_deviations_wide_and_stay_in_the_range(rng):
    halves = rng.normal(0.5, 0.1, size=5000)
    found = interval(scored(0.5, [0.1], halves=halves))
    assert found.low == pytest.approx(0.5 - 0.196, abs=0.01)
    assert found.high == pytest.approx(0.5 + 0.196, abs=0.01)
    clipped = interval(scored(0.95, [0.1], halves=halves))
    assert clipped.high == 1.0
    assert interval(scored(0.5, [0.1])).low is None


def test_adjusted_p_values_are_never_below_the_raw_ones_and_equal_for_one_pair(rng):
    family = [scored(value, rng.normal(size=99)) for value in rng.normal(1.0, 1.0, size=8)]
    adjusted = adjusted_p_values(family)
    raw = [p_value(each) for each in family]
    assert all(a >= r for a, r in zip(adjusted, raw, strict=True))
    assert any(a > r for a, r in zip(adjusted, raw, strict=True))
    assert adjusted_p_values(family[:1]) == [p_value(family[0])]


def test_adjusted_p_values_are_those_of_the_largest_standardised_score(rng):
    null = rng.normal(size=(3, 40)) * [[1.0], [10.0], [0.1]]
    values = [2.5, 10.0, 0.0]
    family = [scored(value, own) for value, own in zip(values, null, strict=True)]
    every = np.column_stack([values, null])
    z = (every - every.mean(axis=1, keepdims=True)) / every.std(axis=1, keepdims=True)
    expected = [(z.max(axis=0) >= own[0] - 1e-9).mean() for own in z]
    assert adjusted_p_values(family) == pytest.approx(expected)


def test_scores_that_differ_by_rounding_only_are_within_chance(rng):
    family = [scored(1.0, 1.0 - 1e-14 * rng.uniform(size=99)), scored(0.9, rng.uniform(size=99))]
    assert adjusted_p_values(family) == [1.0, p_value(family[1])]
    assert p_value(family[0]) == 1.0


def test_halves_vary_as_much_as_samples_do(rng):
    """The deviation of half-samples is that of the value over fresh samples of the same size."""
    mixing = rng.normal(size=(3, 3))

    def draw(n):
        x = rng.normal(size=(n, 3))
        return [x, x @ mixing + 2 * rng.normal(size=(n, 3))]

    fresh = [LINEAR_CKA(*draw(200)) for _ in range(400)]
    found = [
        score_pairs(draw(200), [(0, 1)], [LINEAR_CKA], permutations=1, half_samples=50)[0]
        for _ in range(20)
    ]
    deviation = np.mean([each.halves.std(ddof=1) for each in found])
    assert deviation == pytest.approx(np.std(fresh), rel=0.2)


def test_kernels_replace_products_only_where_no_other_measure_needs_them(rng):
    rows = [rng.normal(size=(30, 12)), rng.normal(size=(30, 8))]
    alone = find_measures(["linear-cka", "mutual-knn:3", "mcc-spearman"])
    assert [type(each).__name__ for each in leaner_measures(alone, rows)] == [
        "RelationMeasure",
        "RelationMeasure",
        "MomentMeasure",
    ]
    beside = find_measures(["linear-cka", "mean-cca"])
    assert leaner_measures(beside, rows) == list(beside)
    narrow = [own[:, :3] for own in rows]
    assert leaner_measures(alone, narrow) == list(alone)


def test_a_measure_by_kernels_is_scored_as_by_products_and_keeps_its_name(rng):
    rows = [rng.normal(size=(30, 12)), rng.normal(size=(30, 40))]
    options = {"permutations": 25, "half_samples": 12, "seed": 1}
    (alone,) = score_pairs(rows, [(0, 1)], find_measures(["linear-cka"]), **options)
    beside, _ = score_pairs(rows, [(0, 1)], find_measures(["linear-cka", "svcca:2"]), **options)
    assert alone.measure is beside.measure
    assert alone.value == pytest.approx(beside.value, abs=1e-6)
    np.testing.assert_allclose(alone.null, beside.null, atol=1e-6)
    np.testing.assert_allclose(alone.halves, beside.halves, atol=1e-6)
