"""The calibrated similarity of runs: what it says, and what it refuses."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import upto
from upto import Embeddings, InputError, SimilarityResult
from upto.core import Estimate
from upto.measures.catalogue import find_measure
from upto.measures.kinds import MomentMeasure
from upto.questions.similarity.page import similarity_facts
from upto.questions.similarity.pairwise_summary import mean_over_pairs, order_of_runs

CKA, NEAR = "linear-cka", "mutual-knn:5"
FAST = {"permutations": 39, "half_samples": 10}


def explained(fit, held):
    weights = np.linalg.lstsq(fit.x.scatter, fit.cross, rcond=None)[0]
    total = np.trace(held.y.scatter)
    left = total - 2 * np.vdot(weights, held.cross) + np.vdot(weights, held.x.scatter @ weights)
    return float(1 - left / total) if total > 0 else 0.0


EXPLAINED = MomentMeasure(
    name="explained", title="explained variance", says="", source="", low=-1e9, high=1.0,
    symmetric=False, ignores=frozenset(), score=explained,
)  # fmt: skip


def related(rng, count=2, n=100, noise=0.5, width=4):
    source = rng.normal(size=(n, width))
    return [
        source @ np.linalg.qr(rng.normal(size=(width, width)))[0]
        + noise * rng.normal(size=(n, width))
        for _ in range(count)
    ]


def codes(result):
    return {finding.code for finding in result.findings}


def test_related_runs_are_beyond_chance_and_unrelated_ones_are_not(rng):
    a, b, c = *related(rng), np.random.default_rng(1).normal(size=(100, 3))
    found = upto.similarity(a, b, c, measures=[CKA, NEAR, EXPLAINED], permutations=99)
    close = {(row.first, row.second, row.measure) for row in found.rows if row.is_beyond_chance}
    assert close == {
        ("first", "second", CKA),
        ("first", "second", NEAR),
        ("first", "second", "explained"),
        ("second", "first", "explained"),
    }
    assert "UP025" in codes(found)
    assert found.verdict.startswith("Among 3 runs, closer than chance: 1 of 3 pairs by linear CKA")


def test_values_in_sample_are_those_of_the_measure(rng):
    a, b = related(rng)
    found = upto.similarity(a, b, measures=[CKA, NEAR, EXPLAINED], held_out=0, **FAST)
    for row in found.rows:
        measure = EXPLAINED if row.measure == "explained" else find_measure(row.measure)
        x, y = (a, b) if row.first == "first" else (b, a)
        assert row.value.value == pytest.approx(measure(x, y), rel=1e-9)
    assert not any(measure.held_out for measure in found.measures)
    assert found.n_held_out == 0


def test_only_what_is_fitted_is_held_out(rng):
    a, b = related(rng, n=101)
    found = upto.similarity(a, b, measures=[CKA, NEAR, EXPLAINED], **FAST)
    assert {each.name: each.held_out for each in found.measures} == {
        CKA: False,
        NEAR: False,
        "explained": True,
    }
    assert found.n_held_out == 50
    assert found.rows[0].value.value == pytest.approx(find_measure(CKA)(a, b), rel=1e-9)


def test_a_fitted_measure_of_noise_is_high_in_sample_and_not_held_out(rng):
    noise = rng.normal(size=(2, 40, 30))
    inside = upto.similarity(*noise, measures=EXPLAINED, held_out=0, **FAST)
    outside = upto.similarity(*noise, measures=EXPLAINED, **FAST)
    assert inside.rows[0].value.value > 0.6
    assert inside.rows[0].calibrated == 0.0
    assert outside.rows[0].value.value < 0.3
    assert "UP001" in codes(outside)


@pytest.mark.slow
def test_p_values_of_noise_keep_their_level():
    hits = {CKA: 0, NEAR: 0, "explained": 0}
    for trial in range(60):
        noise = np.random.default_rng([1, trial]).normal(size=(2, 24, 3))
        found = upto.similarity(
            *noise, measures=[CKA, NEAR, EXPLAINED], permutations=19, half_samples=0, seed=trial
        )
        for row in found.rows:
            hits[row.measure] += row.p_value <= 0.05 and (row.first == "first")
    # Of a level of 5 %, ten of sixty has a probability of 0.06 %.
    assert max(hits.values()) < 10


def test_neither_the_order_of_rows_nor_of_runs_matters(rng):
    runs = [*related(rng, 3, n=60), rng.normal(size=(60, 2))]
    names = "abcd"
    batch = np.arange(60) % 3
    one = upto.similarity(
        *(Embeddings(rows=run, name=name) for run, name in zip(runs, names, strict=True)),
        measures=[CKA, NEAR, EXPLAINED], within=batch, max_rows=50, **FAST,
    )  # fmt: skip
    order, places = rng.permutation(60), [2, 0, 3, 1]
    other = upto.similarity(
        *(Embeddings(rows=runs[place][order], name=names[place]) for place in places),
        measures=[EXPLAINED, NEAR, CKA], within=batch[order], max_rows=50, **FAST,
    )  # fmt: skip

    def by_name(result):
        symmetric = {each.name: each.symmetric for each in result.measures}
        return {
            (*(sorted([row.first, row.second]) if symmetric[row.measure]
               else [row.first, row.second]), row.measure): row
            for row in result.rows
        }  # fmt: skip

    ours, theirs = by_name(one), by_name(other)
    assert set(ours) == set(theirs)
    for key, row in ours.items():
        again = theirs[key]
        assert row.value.value == pytest.approx(again.value.value, rel=1e-9)
        assert row.value.low == pytest.approx(again.value.low, rel=1e-9)
        assert row.chance == pytest.approx(again.chance, rel=1e-9, abs=1e-12)
        assert (row.p_value, row.adjusted) == (again.p_value, again.adjusted)
    for name in (CKA, NEAR, "explained"):
        mean, again = one.measure(name).mean, other.measure(name).mean
        assert (mean.low, mean.high) == pytest.approx((again.low, again.high), rel=1e-9)


def test_rows_are_left_out_by_their_content_and_a_finding_says_so(rng):
    a, b = related(rng, n=300)
    found = upto.similarity(a, b, measures=[CKA], max_rows=80, **FAST)
    assert (found.n_used, found.n_samples, found.n_held_out) == (80, 300, 40)
    assert "UP024" in codes(found)
    assert "UP024" not in codes(upto.similarity(a, b, measures=[CKA], max_rows=300, **FAST))


def test_two_rows_or_more_are_left_to_fit(rng):
    found = upto.similarity(*related(rng, n=40), measures=[EXPLAINED], held_out=0.95, max_rows=4)
    assert (found.n_used, found.n_held_out) == (4, 2)


def test_rows_that_repeat_count_once(rng):
    a, b = related(rng, n=40)
    once = upto.similarity(a, b, measures=[CKA], **FAST)
    twice = upto.similarity(np.vstack([a, a]), np.vstack([b, b]), measures=[CKA], **FAST)
    assert twice.n_used == 40
    assert twice.rows[0].value.value == pytest.approx(once.rows[0].value.value, rel=1e-9)
    assert "UP007" in codes(twice)
    assert "UP024" not in codes(twice)


def test_of_equal_rows_in_different_classes_the_class_decides_and_not_their_place(rng):
    a, b = related(rng, n=30)
    a, b = np.vstack([a, a]), np.vstack([b, b])
    classes = rng.integers(3, size=60)
    order = rng.permutation(60)
    one = upto.similarity(a, b, measures=[CKA], within=classes, **FAST)
    other = upto.similarity(a[order], b[order], measures=[CKA], within=classes[order], **FAST)
    assert one.rows[0].chance == pytest.approx(other.rows[0].chance, rel=1e-9)


def test_identical_runs_are_perfect_with_an_interval_of_no_width(rng):
    (a,) = related(rng, 1)
    found = upto.similarity(a, a.copy(), measures=[CKA, NEAR], **FAST)
    for row in found.rows:
        assert row.value.value == pytest.approx(1.0)
        assert row.value.high - row.value.low == pytest.approx(0.0, abs=1e-12)
        assert row.calibrated == pytest.approx(1.0)
        assert row.is_beyond_chance
    assert "UP014" in codes(found)


def test_dead_coordinates_and_different_widths_are_no_obstacle(rng):
    a, b = related(rng)
    wide = np.hstack([b, np.full((100, 3), 7.0)])
    plain = upto.similarity(a, b, measures=[CKA], held_out=0, **FAST)
    found = upto.similarity(a, wide, measures=[CKA], held_out=0, **FAST)
    assert found.rows[0].value.value == pytest.approx(plain.rows[0].value.value, rel=1e-9)
    assert found.runs[1].n_dead == 3
    assert "UP013" in codes(found)


def test_ids_match_rows_in_another_order_and_some_missing(rng):
    a, b = related(rng)
    first = Embeddings(rows=a, name="a", ids=np.arange(100), columns={"batch": np.arange(100) % 4})
    order = rng.permutation(100)[:90]
    second = Embeddings(rows=b[order], name="b", ids=order)
    found = upto.similarity(first, second, measures=[CKA], within="batch", held_out=0, **FAST)
    kept = np.sort(order)
    assert found.rows[0].value.value == pytest.approx(find_measure(CKA)(a[kept], b[kept]))
    assert "UP006" in codes(found)
    assert found.within == "batch"


def test_what_a_batch_explains_is_chance_within_the_batch(rng):
    # In turn, batches would be a season of four.
    batch = np.random.default_rng(0).permutation(np.arange(120) % 4)
    centres = 5 * rng.normal(size=(2, 4, 3))
    a, b = centres[:, batch] + rng.normal(size=(2, 120, 3))
    free = upto.similarity(a, b, measures=[CKA], **FAST)
    restricted = upto.similarity(a, b, measures=[CKA], within=batch, **FAST)
    assert free.rows[0].is_beyond_chance
    assert not restricted.rows[0].is_beyond_chance
    assert restricted.rows[0].chance > 0.3
    assert free.rows[0].value == restricted.rows[0].value


def test_classes_of_one_row_are_told_and_classes_of_single_rows_refused(rng):
    a, b = related(rng, n=40)
    classes = np.array([str(min(i, 5)) for i in range(40)])
    found = upto.similarity(a, b, measures=[CKA], within=classes, held_out=0, **FAST)
    message = next(each.message for each in found.findings if each.code == "UP027")
    assert message.startswith("5 of 40 rows cannot be re-paired")
    with pytest.raises(InputError, match="none of 40 rows within the classes given has another"):
        upto.similarity(a, b, within=np.arange(40))


def test_columns_that_are_missing_or_too_short_are_refused(rng):
    a, b = related(rng)
    with pytest.raises(InputError, match="no run has a column 'batch'; their columns are: none"):
        upto.similarity(a, b, within="batch")
    with pytest.raises(InputError, match=r"within has shape \(3,\) but first has 100 rows"):
        upto.similarity(a, b, within=[1, 2, 3])


def test_classes_may_hold_text_and_numbers_but_no_gaps(rng):
    a, b = related(rng, n=40)
    classes = np.array(["x", "", 3.0, "y"] * 10, dtype=object)
    assert upto.similarity(a, b, measures=[CKA], within=classes, **FAST).n_pairings == 39
    classes[1::4] = None
    with pytest.raises(InputError, match=r"^within has 10 missing values in 40 rows: fill or drop"):
        upto.similarity(a, b, measures=[CKA], within=classes, **FAST)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_a_handful_of_rows_has_exact_p_values_and_no_interval(rng, n):
    a, b = rng.normal(size=(2, n, 3))
    found = upto.similarity(a, b, measures=[CKA, EXPLAINED], held_out=0.5, permutations=200)
    for row in found.rows:
        assert np.isfinite(row.value.value)
        assert row.value.low is None
        assert 0 < row.p_value <= 1
    assert "UP015" in codes(found)
    assert found.complete
    ways = found.n_pairings + 1
    assert ("UP028" in codes(found)) == (ways < 20)
    assert found.rows[0].p_value * ways == pytest.approx(round(found.rows[0].p_value * ways))


def test_a_measure_that_needs_more_rows_is_left_out_unless_it_is_the_only_one(rng):
    a, b = rng.normal(size=(2, 9, 3))
    found = upto.similarity(a, b, measures=[CKA, "mutual-knn:10", EXPLAINED])
    assert [each.name for each in found.measures] == [CKA, "explained"]
    assert "UP026" in codes(found)
    with pytest.raises(InputError, match="10 nearest rows requested from 9 rows"):
        upto.similarity(a, b, measures="mutual-knn:10")


def test_a_measure_that_refuses_leaves_those_that_share_its_moments(rng):
    def fussy(fit, held):
        message = f"{held.n_samples} rows are not enough."
        raise InputError(message)

    measures = [replace(EXPLAINED, name="fussy", score=fussy), CKA]
    found = upto.similarity(*related(rng), measures=measures, **FAST)
    assert [each.name for each in found.measures] == [CKA]
    assert found.rows[0].p_value < 0.05
    message = next(each.message for each in found.findings if each.code == "UP026")
    assert message == "fussy: 50 rows are not enough."


def test_intervals_are_left_out_where_half_the_rows_are_too_few_for_the_measure(rng):
    a, b = related(rng, n=30)
    found = upto.similarity(a, b, measures=[CKA, "mutual-knn:20"], **FAST)
    assert found.of(CKA)[0].value.low is not None
    assert found.of("mutual-knn")[0].value.low is None
    none = upto.similarity(a, b, measures=[CKA], permutations=19, half_samples=0)
    assert none.rows[0].value.low is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measures": "nonsense"}, "there is no measure 'nonsense': choose from .*linear-cka"),
        ({"measures": []}, "no measure was requested"),
        ({"held_out": 1.0}, "held_out is 1.0"),
        ({"held_out": float("nan")}, "held_out is nan"),
        ({"permutations": 5}, "permutations is 5, but it must be a whole number of at least 19"),
        ({"half_samples": 3}, "half_samples is 3, but an interval needs at least 10"),
        ({"max_rows": 1}, "max_rows is 1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"engine": "abacus"}, "there is no engine 'abacus'"),
    ],
)
def test_options_that_make_no_sense_are_refused(rng, options, words):
    with pytest.raises(InputError, match=words):
        upto.similarity(*related(rng, n=20), **options)


def test_one_run_and_unusable_runs_are_refused(rng):
    a, b = related(rng, n=20)
    with pytest.raises(InputError, match="a similarity needs two or more runs, not 1"):
        upto.similarity(a)
    with pytest.raises(InputError, match="second has zero variance"):
        upto.similarity(a, np.ones((20, 3)))
    with pytest.raises(InputError, match="20 rows but second has 19"):
        upto.similarity(a, b[:19])
    with pytest.raises(InputError, match="NaN or infinite"):
        upto.similarity(a, np.where(b > b.max() - 1e-9, np.nan, b))


def test_runs_that_are_constant_on_the_rows_used_are_finite(rng):
    a = rng.normal(size=(300, 3))
    spike = np.zeros((300, 2))
    spike[0] = 1.0
    found = upto.similarity(a, spike, measures=[CKA, NEAR, EXPLAINED], max_rows=20, **FAST)
    assert all(np.isfinite(row.value.value) for row in found.rows)


def test_asymmetric_measures_have_both_directions_and_symmetric_ones_one(rng):
    runs = related(rng, 3, n=40)
    found = upto.similarity(*runs, measures=[CKA, EXPLAINED], **FAST)
    names = ["first", "second", "third"]
    assert [(row.first, row.second) for row in found.of(CKA)] == list(
        itertools.combinations(names, 2)
    )
    assert [(row.first, row.second) for row in found.of("explained")] == list(
        itertools.permutations(names, 2)
    )
    matrix = found.matrix("explained")
    assert matrix[0][1] != matrix[1][0]
    assert matrix[0][1] == found.of("explained")[0].value.value
    symmetric = found.matrix(CKA, "adjusted")
    assert symmetric[0][1] == symmetric[1][0] == found.of(CKA)[0].adjusted
    assert all(symmetric[i][i] is None for i in range(3))


def test_adjusted_p_values_are_at_least_the_raw_ones(rng):
    runs = [rng.normal(size=(40, 3)) for _ in range(5)]
    found = upto.similarity(*runs, measures=[CKA, NEAR], **FAST)
    assert all(row.adjusted >= row.p_value for row in found.rows)


def test_the_order_places_similar_runs_side_by_side(rng):
    kinds = [related(rng, 2, noise=0.2) for _ in range(3)]
    runs = [each[0] for each in kinds] + [each[1] for each in kinds[::-1]]
    order = upto.similarity(*runs, measures=[CKA], **FAST).measure(CKA).order
    assert [order[place] + order[place + 1] for place in (0, 2, 4)] == [5, 5, 5]


def test_the_order_of_runs_on_a_line_is_the_line(rng):
    places = rng.permutation(7)
    distances = np.abs(places[:, None] - places[None]).astype(float)
    distance = replace(EXPLAINED, closer="lower", low=0.0, high=np.inf, symmetric=True)
    order = order_of_runs(distances, distance)
    assert list(places[list(order)]) in (list(range(7)), list(range(6, -1, -1)))
    similarity = replace(EXPLAINED, low=-np.inf, high=np.inf)
    assert order_of_runs(-distances, similarity) == order


def test_the_mean_over_pairs_has_an_interval_from_four_runs_on(rng):
    values = rng.uniform(size=(5, 5))
    values = (values + values.T) / 2
    found = mean_over_pairs(values, EXPLAINED)
    off = values[~np.eye(5, dtype=bool)]
    assert found.value == pytest.approx(off.mean())
    assert found.low < found.value < found.high
    assert mean_over_pairs(values[:3, :3], EXPLAINED).low is None
    same = mean_over_pairs(np.full((4, 4), 0.3), EXPLAINED)
    assert (same.low, same.high) == pytest.approx((0.3, 0.3))


def test_the_diagonal_does_not_enter_the_mean():
    values = np.full((4, 4), 0.25)
    np.fill_diagonal(values, 1.0)
    assert mean_over_pairs(values, EXPLAINED).high == pytest.approx(0.25)


def test_results_survive_json(rng):
    runs = related(rng, 4, n=40)
    for found in (
        upto.similarity(*runs, measures=[CKA, EXPLAINED], within=np.arange(40) % 2, **FAST),
        upto.similarity(*runs[:2], measures=[replace(EXPLAINED, low=-np.inf)], **FAST),
    ):
        assert SimilarityResult.from_json(found.to_json()) == found


def test_names_of_measures_may_leave_out_the_parameter(rng):
    found = upto.similarity(*related(rng), measures=["mutual-knn:3", "mutual-knn:5"], **FAST)
    assert found.measure("mutual-knn:5").name == "mutual-knn:5"
    assert found.measure("mutual-knn").name == "mutual-knn:3"
    with pytest.raises(KeyError, match="this result has no measure 'linear-cka'"):
        found.matrix(CKA)


def test_tables_show_the_pair_or_the_runs_in_order(rng):
    runs = related(rng, 3, n=60)
    pair = upto.similarity(*runs[:2], measures=[CKA, EXPLAINED], **FAST)
    (table,) = pair.tables()
    assert [row[0] for row in table.rows] == [
        CKA,
        "explained, first → second",
        "explained, second → first",
    ]
    assert "60 of 60 rows, 30 of them held out for explained" in table.caption
    assert pair.verdict.startswith("first and second are closer than chance by 2 of 2 measures")
    several = upto.similarity(*runs, measures=[CKA], **FAST)
    summary, matrix = several.tables()
    assert isinstance(summary.rows[0][1], Estimate)
    assert summary.rows[0][-1] == "3 of 3"
    names = [several.runs[run].name for run in several.measure(CKA).order]
    assert [column.name for column in matrix.columns[1:]] == names
    assert len(several.data_table().rows) == 3
    alone = upto.similarity(*rng.normal(size=(2, 60, 3)), measures=[CKA], **FAST)
    assert alone.verdict.startswith("first and second are no closer than chance by linear CKA: ")


def test_the_interval_of_the_mean_covers_that_of_other_runs(rng):
    open_ended = replace(EXPLAINED, low=-np.inf, high=np.inf)
    hits = 0
    for _ in range(400):
        effects = rng.normal(size=5)
        found = mean_over_pairs(np.add.outer(effects, effects), open_ended)
        hits += found.low <= 0 <= found.high
    assert 0.92 <= hits / 400 <= 0.98


def test_equal_rows_of_codes_are_evidence_and_not_copies(rng):
    codes = rng.integers(2, size=(2000, 3)).astype(float)
    flipped = np.where(rng.uniform(size=codes.shape) < 0.1, 1 - codes, codes)
    result = upto.similarity(codes, flipped, measures=["linear-cka"], permutations=39)
    assert result.n_used == 2000
    (row,) = result.rows
    assert row.value.value == pytest.approx(find_measure("linear-cka")(codes, flipped), abs=0.1)
    assert row.is_beyond_chance


def test_a_copied_sample_counts_once(rng):
    first, second = rng.normal(size=(2, 60, 3))
    copied = [np.concatenate([rows, rows[:20]]) for rows in (first, second)]
    result = upto.similarity(*copied, measures=["linear-cka"], permutations=39)
    assert result.n_used == 60
    assert "20 of 80 rows repeat another" in str(result.findings)


def test_pairs_the_other_way_round_are_different_rows():
    grid = np.array([(i, j) for i in range(6) for j in range(6)], dtype=float)
    result = upto.similarity(grid[:, :1], grid[:, 1:], measures=["mcc"], permutations=39)
    assert result.n_used == 36


def test_the_sentence_names_the_measures_that_are_closer(rng):
    first = rng.normal(size=(300, 4))
    second = first @ rng.normal(size=(4, 4)) + 0.01 * rng.normal(size=first.shape)
    second = second * [1e-3, 1.0, 1.0, 30.0]
    measures = ["hard-correlation-match", "mean-cca"]
    result = upto.similarity(first, second, measures=measures, permutations=99)
    close = [row.measure for row in result.rows if row.is_beyond_chance]
    named = result.verdict.partition(": ")[2]
    assert ("mean canonical correlation" in named) == ("mean-cca" in close)
    assert "mean-cca" in close


@pytest.mark.slow
def test_noise_is_seldom_called_close_by_any_of_several_measures():
    calls = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        first, second = rng.normal(size=(2, 40, 3))
        names = ["linear-cka", "mean-cca", "mutual-knn:5", "mcc"]
        options = {"permutations": 19, "half_samples": 0, "seed": seed}
        calls += any(
            row.is_beyond_chance
            for row in upto.similarity(first, second, measures=names, **options).rows
        )
    # One in twenty is the level; more than this has a chance of one in ten thousand.
    assert calls <= 22


def test_nearly_all_rows_may_be_held_out(rng):
    first = rng.normal(size=(300, 3))
    result = upto.similarity(
        first, first + 1, measures=["mean-cca"], held_out=0.999, permutations=39
    )
    assert result.n_held_out == 298


def test_fits_of_wide_runs_are_counted_where_pairings_share_them(rng):
    wide = rng.normal(size=(300, 130))
    options = {"measures": ["procrustes", CKA], "permutations": 19, "half_samples": 0}
    found = upto.similarity(wide, wide + rng.normal(size=wide.shape), **options)
    assert (found.n_pairings, found.n_fits) == (19, 5)
    assert found.tables()[0].caption.endswith("chance from 19 random pairings of 5 fits")
    assert ("chance", "19", "random pairings of rows; 5 fits") in similarity_facts(found)
    assert upto.SimilarityResult.from_json(found.to_json()).n_fits == 5
    assert {row.p_value for row in found.rows} == {0.05}
    narrow = upto.similarity(wide[:, :20], wide[:, 20:40], **options)
    assert narrow.n_fits is None
