"""Layers of runs against each other: planted counterparts are found, and noise has none."""

import itertools

import numpy as np
import pytest

import upto
from upto import Embeddings, LayersResult
from upto.core import InputError
from upto.measures.calibration import adjusted_p_values, family_tests
from upto.measures.catalogue import MEASURES, find_measure
from upto.measures.kernel_path import by_kernels, fewer_coordinates
from upto.measures.kinds import Change, RelationMeasure
from upto.measures.pair_scores import Scored
from upto.measures.permutation import score_pairs
from upto.questions.layers.counterparts import Sides, layer_pair
from upto.questions.layers.stacks import as_stacks

FAST = {"permutations": 39, "half_samples": 10}


def rotation(rng, size):
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


def values_of(pair):
    return np.array(pair.value, dtype=float)


def test_a_rotated_layer_is_found_at_another_depth(rng):
    first = {f"a{depth}": rng.laplace(size=(80, 5)) for depth in range(1, 4)}
    second = {f"b{depth}": rng.laplace(size=(80, 5)) for depth in range(1, 5)}
    second["b3"] = first["a2"] @ rotation(rng, 5) * 3 + 7
    result = upto.layers(first, second, **FAST)
    (pair,) = result.pairs
    found = pair.closest[1]
    assert (found.layer, found.closest) == (1, 2)
    assert found.value.value == pytest.approx(1, abs=1e-6)
    assert found.p_value == 1 / 40
    assert found.share == 1
    beyond = np.array(pair.p_value) <= 0.05
    assert beyond.tolist() == [[i == 1 and j == 2 for j in range(4)] for i in range(3)]
    assert pair.n_beyond == 1


def test_every_value_is_that_of_the_measure_on_the_two_layers(rng):
    first = {"a": rng.normal(size=(40, 3)), "b": rng.normal(size=(40, 60))}
    second = {"c": first["a"] @ rng.normal(size=(3, 70)), "d": rng.normal(size=(40, 2))}
    names = ("linear-cka", "linear-cka-biased", "mutual-knn:5")
    result = upto.layers(first, second, measures=names, held_out=0, **FAST)
    for pair in result.pairs:
        measure = find_measure(pair.measure)
        expected = [[measure(x, y) for y in second.values()] for x in first.values()]
        np.testing.assert_allclose(values_of(pair), expected, atol=1e-6)


def test_one_run_alone_is_compared_with_itself(rng):
    rows = rng.laplace(size=(60, 4))
    layers = {"one": rows, "two": np.tanh(rows), "three": np.tanh(rows) @ rotation(rng, 4)}
    result = upto.layers(layers, **FAST)
    (pair,) = result.pairs
    assert (pair.first, pair.second, pair.aligned_by) == ("first", "first", "next")
    values = values_of(pair)
    assert np.isnan(np.diag(values)).all()
    np.testing.assert_array_equal(values, values.T)
    assert [(step.layer, step.beside) for step in pair.along] == [(0, 1), (1, 2)]
    assert [each.closest for each in pair.closest] == [1, 2, 1]
    assert result.verdict.startswith("3 of 3 layers of first are closest to an adjacent layer")


def test_a_measure_with_a_direction_is_scored_both_ways_within_a_run(rng):
    rows = rng.normal(size=(60, 6))
    measure = find_measure("r2")
    layers = {"wide": rows, "narrow": rows[:, :1], "other": rng.normal(size=(60, 2))}
    result = upto.layers(layers, measures="r2", held_out=0, **FAST)
    values = values_of(result.pairs[0])
    for i, x in enumerate(layers.values()):
        for j, y in enumerate(layers.values()):
            if i != j:
                assert values[i, j] == pytest.approx(measure(x, y), abs=1e-6)
    assert values[0, 1] == pytest.approx(1)
    assert values[1, 0] < 0.5


def test_p_values_are_those_of_the_largest_over_all_layers_in_every_pairing(rng):
    first = {"a": rng.normal(size=(5, 2)), "b": rng.normal(size=(5, 2))}
    second = {"c": rng.normal(size=(5, 2)), "d": first["a"] + 0.6 * rng.normal(size=(5, 2))}
    result = upto.layers(first, second, measures="linear-cka-biased", held_out=0)
    assert (result.n_pairings, result.complete) == (119, True)
    measure = find_measure("linear-cka-biased")
    values = np.array(
        [
            [[measure(x, y[list(order)]) for y in second.values()] for x in first.values()]
            for order in itertools.permutations(range(5))
        ]
    )
    standardised = (values - values.mean(axis=0)) / values.std(axis=0)
    largest = standardised.max(axis=(1, 2))
    expected = [[(largest >= z - 1e-6).mean() for z in row] for row in standardised[0]]
    np.testing.assert_allclose(np.array(result.pairs[0].p_value), expected, atol=1e-12)
    assert 1 / 120 < np.min(expected) < np.max(expected)


def made_up(value, null=(), halves=(), measure="linear-cka"):
    """Return a score as it comes out of `score_pairs`, with numbers of our own."""
    return Scored(
        first=0,
        second=1,
        measure=find_measure(measure),
        value=value,
        halves=np.asarray(halves, dtype=float),
        null=np.asarray(null, dtype=float),
        complete=False,
        held_out=False,
    )


@pytest.mark.parametrize(("measure", "sign"), [("linear-cka", 1), ("angular-procrustes", -1)])
def test_the_share_counts_half_samples_with_the_same_closest_layer(measure, sign, rng):
    shift = 0 if sign > 0 else 1.5
    null = rng.normal(size=(3, 39)) * 0.01 + 0.1
    values = (0.5, 0.8, 0.7)
    halves = [[0.5, 0.5, 0.9, 0.5], [0.8, 0.7, 0.8, 0.8], [0.7, 0.75, 0.7, 0.7]]
    scored = {
        (0, j): made_up(
            shift + sign * values[j],
            shift + sign * null[j],
            shift + sign * np.array(halves[j]),
            measure,
        )
        for j in range(3)
    }
    sides = Sides(first="A", second="B", first_layers=("x",), second_layers=("a", "b", "c"))
    pair = layer_pair(sides, scored, measure)
    (closest,) = pair.closest
    assert (closest.closest, closest.share) == (1, 0.5)
    assert closest.p_value == 1 / 40
    assert [step.beside for step in pair.along] == [2]
    assert pair.n_level == 0


def test_a_layer_of_one_run_may_be_closest_to_one_far_away():
    scored = {(0, 1): made_up(0.1), (0, 2): made_up(0.9), (1, 2): made_up(0.3)}
    sides = Sides(first="A", second="A", first_layers=tuple("xyz"), second_layers=tuple("xyz"))
    pair = layer_pair(sides, scored, "linear-cka")
    assert [each.closest for each in pair.closest] == [2, 2, 0]
    assert pair.n_level == 1
    assert pair.value == ((None, 0.1, 0.9), (0.1, None, 0.3), (0.9, 0.3, None))
    assert [each.share for each in pair.closest] == [None] * 3


def test_the_limit_is_the_largest_of_the_family_in_one_of_twenty_pairings():
    rng = np.random.default_rng(0)
    null = rng.normal(size=(3, 199)) * np.array([[0.01], [0.1], [0.02]])
    values = np.array([0.03, 0.0, -0.01])
    found = family_tests([made_up(value, own) for value, own in zip(values, null, strict=True)])
    # The true pairing is one of 200: at most ten of them may have a score beyond its limit.
    scores = np.column_stack([values, null])
    limits = np.array([test.limit for test in found])
    assert (scores > limits[:, None]).any(axis=0).sum() == 10
    mean, spread = scores.mean(axis=1), scores.std(axis=1)
    largest = ((scores - mean[:, None]) / spread[:, None]).max(axis=0)
    np.testing.assert_allclose(limits, mean + np.sort(largest)[-11] * spread, atol=2e-9)
    few = [made_up(value, own[:10]) for value, own in zip(values, null, strict=True)]
    assert [test.limit for test in family_tests(few)] == [None] * 3
    assert family_tests([]) == []
    (lower,) = family_tests([made_up(0.97, 1 - null[0], measure="angular-procrustes")])
    (higher,) = family_tests([made_up(0.03, null[0])])
    assert lower.limit == pytest.approx(1 - higher.limit, abs=1e-12)
    assert lower.p_value == higher.p_value


@pytest.mark.parametrize(("measure", "sign"), [("linear-cka", 1), ("angular-procrustes", -1)])
def test_what_beats_its_limit_has_an_adjusted_p_value_of_one_in_twenty_at_most(measure, sign):
    decided = []
    for trial in range(200):
        rng = np.random.default_rng(trial)
        count = (19, 39, 50, 200)[trial % 4]
        # Rounding leaves ties, within a score and between scores; the last one does not vary.
        scores = np.round(0.5 + 0.05 * rng.normal(size=(6, count + 1)), 3)
        scores[:4, 0] += 0.1 * rng.uniform(size=4)
        scores[-1] = 0.7 + 1e-12 * rng.normal(size=count + 1)
        family = [made_up(own[0], own[1:], measure=measure) for own in sign * (scores - 0.5) + 0.5]
        found = family_tests(family)
        assert [test.p_value for test in found] == adjusted_p_values(family)
        for scored, test in zip(family, found, strict=True):
            is_beyond = sign * scored.value > sign * test.limit
            assert is_beyond == (test.p_value <= 0.05)
            decided.append(is_beyond)
    assert 50 < sum(decided) < 500


def test_limits_and_p_values_of_a_result_agree():
    agreed = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        base = rng.normal(size=(50, 3))
        first, second = (
            {str(i): 0.6 * base + rng.normal(size=(50, 3)) for i in range(4)} for _ in range(2)
        )
        found = upto.layers(first, second, permutations=39, half_samples=0, seed=seed).pairs[0]
        is_beyond = values_of(found) > np.array(found.limit)
        np.testing.assert_array_equal(is_beyond, np.array(found.p_value) <= 0.05)
        agreed += is_beyond.ravel().tolist()
    assert 0 < sum(agreed) < len(agreed)


@pytest.mark.slow
def test_noise_has_a_counterpart_in_one_of_twenty_trials_at_most():
    trials, hits = 120, 0
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        layers = rng.normal(size=(2, 3, 24, 3))
        # Layers of one run depend on each other, as those of a network do.
        first, second = ({str(i): x for i, x in enumerate(run.cumsum(axis=0))} for run in layers)
        pair = upto.layers(first, second, permutations=39, half_samples=0, seed=trial).pairs[0]
        hits += pair.n_beyond > 0
    # The level is 5 %: 6 are expected, and 14 or more come once in a thousand times.
    assert hits < 14
    assert hits > 0


def test_chance_differs_from_the_smallest_p_value_without_adjustment():
    """See the test above fail without the adjustment: nine looks at 5 % find something often."""
    hits = 0
    for trial in range(60):
        rng = np.random.default_rng(trial)
        rows = [*rng.normal(size=(6, 24, 3))]
        pairs = [(i, j) for i in range(3) for j in range(3, 6)]
        scored = score_pairs(
            rows, pairs, [find_measure("linear-cka")], permutations=39, half_samples=0, seed=trial
        )
        hits += any(adjusted_p_values([each])[0] <= 0.05 for each in scored)
    assert hits > 12


def test_neither_the_order_of_rows_nor_of_runs_changes_anything(rng):
    first = {"a": rng.laplace(size=(50, 3)), "b": rng.laplace(size=(50, 4))}
    second = {"c": first["a"] + rng.normal(size=(50, 3)), "d": rng.laplace(size=(50, 2))}
    (pair,) = upto.layers(first, second, **FAST).pairs
    order = rng.permutation(50)
    shuffled = [{name: rows[order] for name, rows in run.items()} for run in (first, second)]
    (same,) = upto.layers(*shuffled, **FAST).pairs
    (turned,) = upto.layers(second, first, **FAST).pairs
    for what in ("value", "limit", "p_value"):
        expected = np.array(getattr(pair, what))
        np.testing.assert_allclose(np.array(getattr(same, what)), expected, atol=1e-6)
        np.testing.assert_allclose(np.array(getattr(turned, what)).T, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "beside"),
    [
        (4, 4, [0, 1, 2, 3]),
        (2, 4, [0, 3]),
        (4, 2, [0, 0, 1, 1]),
        (3, 12, [0, 6, 11]),
        (1, 5, [4]),
        (5, 1, [0] * 5),
    ],
)
def test_depth_is_the_share_of_the_way_to_the_last_layer(first, second, beside):
    sides = Sides(
        first="A",
        second="B",
        first_layers=tuple(f"a{i}" for i in range(first)),
        second_layers=tuple(f"b{i}" for i in range(second)),
    )
    assert sides.aligned_by == "depth"
    assert [sides.beside(layer) for layer in range(first)] == beside


def test_layers_of_the_same_names_stand_side_by_side_whatever_their_order():
    sides = Sides(first="A", second="B", first_layers=("x", "y"), second_layers=("y", "x"))
    assert sides.aligned_by == "name"
    assert [sides.beside(0), sides.beside(1)] == [1, 0]


def test_a_layer_that_changes_nothing_is_not_taken_for_another_depth(rng):
    rows = rng.laplace(size=(40, 3))
    layers = {"conv": rows, "dropout": rows, "head": rng.laplace(size=(40, 3))}
    result = upto.layers(layers, {k: v @ rotation(rng, 3) for k, v in layers.items()}, **FAST)
    assert [each.closest for each in result.pairs[0].closest] == [0, 1, 2]
    assert result.pairs[0].n_level == 3
    assert [each.share for each in result.pairs[0].closest] == [1, 1, 1]


def test_a_dead_layer_is_told_and_compared_with_nothing(rng):
    rows = rng.laplace(size=(40, 3))
    first = {"input": rows, "dead": np.full((40, 5), 0.25)}
    result = upto.layers(first, {"input": rows + 1, "dead": rows**2}, **FAST)
    (pair,) = result.pairs
    assert [each.layer for each in pair.closest] == [0]
    assert [step.layer for step in pair.along] == [0]
    assert np.isnan(values_of(pair)[1]).all()
    messages = {finding.code: finding.message for finding in result.findings}
    assert messages["UP040"] == "all rows of layer dead of first are equal."
    nothing = upto.layers({"a": np.zeros((9, 2)), "b": np.ones((9, 2)), "c": rows[:9]})
    assert nothing.verdict == "No layer of first varies: nothing can be compared."


def test_unrelated_runs_are_told_so(rng):
    first, second = ({str(i): rng.normal(size=(60, 3)) for i in range(3)} for _ in range(2))
    result = upto.layers(first, second, permutations=99, half_samples=0)
    assert "UP041" in {finding.code for finding in result.findings}
    assert result.verdict.startswith("No layer of first and second is closer to any layer of")
    assert "UP041" not in {f.code for f in upto.layers(first, first, **FAST).findings}


def test_the_verdict_counts_layers_whose_counterpart_is_at_the_same_depth(rng):
    rows = {f"a{i}": rng.laplace(size=(60, 3)) for i in range(4)}
    a = list(rows.values())
    other = {"b0": a[0] + 1, "b1": a[2] * 2, "b2": a[1], "b3": a[3]}
    result = upto.layers(rows, other, **FAST)
    assert result.verdict == (
        "2 of 4 layers of first have their closest counterpart at the same depth in second: linear "
        f"CKA {min(s.value.value for s in result.pairs[0].along):.2f} to 1.00 between aligned "
        "layers, 4 of 4 closest layers beat chance."
    )


def test_three_runs_are_compared_pair_by_pair_and_survive_json(rng):
    rows = rng.laplace(size=(40, 3))
    runs = [{"a": rows + k, "b": rows**2 + k * rng.normal(size=(40, 3))} for k in range(3)]
    result = upto.layers(*runs, measures=["linear-cka", "mutual-knn:3"], **FAST)
    assert [(pair.first, pair.second, pair.measure) for pair in result.pairs] == [
        (first, second, measure)
        for first, second in (("first", "second"), ("first", "third"), ("second", "third"))
        for measure in ("linear-cka", "mutual-knn:3")
    ]
    assert LayersResult.from_json(result.to_json()) == result
    assert len(result.data_table().rows) == 3 * 2 * 4
    assert result.verdict.startswith("6 of 6 layers, over 3 pairs of runs, have their closest")
    closest, along, *matrices = result.tables()
    assert [len(closest.rows), len(along.rows), len(matrices)] == [12, 12, 6]
    assert closest.columns[-2].name == "runs"
    assert result.measure("mutual-knn").closer == "higher"
    with pytest.raises(KeyError, match="choose one of first, second, third"):
        result.run("fourth")


def test_rows_are_matched_by_ids_over_all_layers(rng):
    rows = rng.laplace(size=(50, 3))
    ids = np.arange(50)
    order = rng.permutation(50)[:40]
    first = [Embeddings(rows=rows**k, name="A", layer=f"l{k}", ids=ids) for k in (1, 2)]
    second = [
        Embeddings(rows=(rows**k)[order], name="B", layer=f"l{k}", ids=ids[order]) for k in (1, 2)
    ]
    result = upto.layers(*first, *second, **FAST)
    assert [run.name for run in result.runs] == ["A", "B"]
    assert result.pairs[0].along[0].value.value == pytest.approx(1, abs=1e-6)
    codes = {finding.code: finding.message for finding in result.findings}
    assert "10 of 50 in A, layer l1" in codes["UP006"]
    assert "UP014" in codes


def test_different_numbers_of_rows_are_refused(rng):
    x, y = rng.normal(size=(20, 2)), rng.normal(size=(19, 2))
    with pytest.raises(
        InputError, match="first, layer a has 20 rows but second, layer b has 19: embeddings must"
    ):
        upto.layers({"a": x}, {"b": y})
    with pytest.raises(InputError, match="first, layer a has 20 rows but first, layer b has 19"):
        upto.layers({"a": x, "b": y})


def test_what_cannot_be_compared_is_refused(rng):
    x = rng.normal(size=(20, 2))
    with pytest.raises(InputError, match="first has 1 layer and there is no other run"):
        upto.layers({"a": x})
    with pytest.raises(InputError, match="0 runs are given: pass at least one"):
        upto.layers()
    with pytest.raises(InputError, match="there is no measure 'no'"):
        upto.layers({"a": x}, {"b": x}, measures="no")
    with pytest.raises(InputError, match="no measure was requested"):
        upto.layers({"a": x}, {"b": x}, measures=())
    with pytest.raises(InputError, match="permutations is 5, but it must be a whole number of at"):
        upto.layers({"a": x}, {"b": x}, permutations=5)
    with pytest.raises(InputError, match="held_out is 1, but it must be a fraction"):
        upto.layers({"a": x}, {"b": x}, held_out=1)
    with pytest.raises(InputError, match="first, layer a has 1 values that are NaN"):
        upto.layers({"a": np.where(np.arange(40).reshape(20, 2) == 3, np.nan, x)}, {"b": x})
    with pytest.raises(InputError, match="squares overflow float64"):
        upto.layers({"a": x * 1e200}, {"b": x})
    many = {str(i): x for i in range(501)}
    with pytest.raises(InputError, match="501 layers of 1 runs make 251001 pairs"):
        upto.layers(many)


def test_rows_beyond_the_most_are_left_out_by_content(rng):
    x = rng.normal(size=(200, 2))
    result = upto.layers({"a": x}, {"b": x + 1}, max_rows=50, **FAST)
    assert (result.n_samples, result.n_used) == (200, 50)
    assert "50 of 200 rows are used." in {finding.message for finding in result.findings}


@pytest.mark.parametrize(("max_rows", "held_out"), [(4, 2), (5, 2), (6, 3), (20, 10)])
def test_of_few_rows_as_large_a_share_is_held_out(max_rows, held_out, rng):
    x, y = rng.normal(size=(100, 4)), rng.normal(size=(100, 5))
    for seed in range(12):
        result = upto.layers(
            {"a": x},
            {"b": y},
            measures=["procrustes", "r2"],
            permutations=19,
            half_samples=0,
            max_rows=max_rows,
            seed=seed,
        )
        assert (result.n_used, result.n_held_out) == (max_rows, held_out)
        assert np.isfinite([values_of(pair) for pair in result.pairs]).all()


def test_measures_may_be_given_as_objects(rng):
    layers = {"a": rng.normal(size=(40, 3)), "b": rng.normal(size=(40, 3))}
    for given in (MEASURES["mcc"], ["mcc", MEASURES["mcc"]]):
        result = upto.layers(layers, measures=given, **FAST)
        assert [measure.name for measure in result.measures] == ["mcc"]
    named = upto.layers(layers, measures="mcc", **FAST)
    assert result.pairs == named.pairs


def test_a_measure_that_needs_more_rows_is_left_out_unless_it_is_the_only_one(rng):
    layers = {"a": rng.normal(size=(8, 3)), "b": rng.normal(size=(8, 2))}
    result = upto.layers(layers, measures=["mutual-knn:10", "linear-cka", "r2"], **FAST)
    assert [measure.name for measure in result.measures] == ["linear-cka", "r2"]
    assert [pair.measure for pair in result.pairs] == ["linear-cka", "r2"]
    (message,) = [each.message for each in result.findings if each.code == "UP026"]
    assert message.startswith("mutual-knn:10: 10 nearest rows requested from 8 rows")
    without = upto.layers(layers, measures=["linear-cka", "r2"], **FAST)
    assert result.pairs == without.pairs
    with pytest.raises(InputError, match="10 nearest rows requested from 8 rows"):
        upto.layers(layers, measures="mutual-knn:10", **FAST)


def test_the_verdict_of_runs_aligned_in_different_ways_says_so(rng):
    x, y = rng.laplace(size=(60, 3)), rng.laplace(size=(60, 3))
    same, other = {"a": x, "b": y}, {"c": x + 1, "d": y + 1}
    result = upto.layers(same, same, other, **FAST)
    assert [pair.aligned_by for pair in result.pairs] == ["name", "depth", "depth"]
    assert result.verdict.startswith(
        "6 of 6 layers, over 3 pairs of runs, have their closest counterpart under the same name "
        "or at the same depth: "
    )
    alike = upto.layers(same, same, same, **FAST).verdict
    assert "closest counterpart under the same name: " in alike


def test_runs_given_in_other_ways_are_refused_or_told_apart(rng, tmp_path):
    x = rng.normal(size=(6, 2))
    (bare,) = as_stacks([x])
    assert (bare.name, bare.names) == ("first", ("output",))
    with pytest.raises(InputError, match=r"^first is an int: pass an array"):
        as_stacks([3])
    with pytest.raises(InputError, match="A has 2 entries, 1 of them without a layer"):
        as_stacks([Embeddings(rows=x, name="A"), Embeddings(rows=x, name="A", layer="b")])
    with pytest.raises(InputError, match="A has the layer 'b' 2 times"):
        as_stacks([Embeddings(rows=x, name="A", layer="b")] * 2)
    (only,) = as_stacks([Embeddings(rows=x, name="A", seed=3)])
    assert (only.name, only.names, only.seed) == ("A", ("output",), 3)
    paths = []
    for folder in ("seed0", "seed1"):
        (tmp_path / folder / "acts").mkdir(parents=True)
        np.save(tmp_path / folder / "acts" / "x.npy", x)
        paths.append(tmp_path / folder / "acts" / "runs.toml")
        paths[-1].write_text('[[run]]\nname = "net"\nlayer = "x"\npath = "x.npy"\n')
    assert [stack.name for stack in as_stacks(paths)] == ["seed0/net", "seed1/net"]
    assert [stack.name for stack in as_stacks(paths[:1] * 2)] == ["net", "net (2)"]
    assert [stack.name for stack in as_stacks([path.parent for path in paths])] == [
        *("seed0/net", "seed1/net")
    ]


@pytest.mark.parametrize("name", ["linear-cka", "linear-cka-biased"])
@pytest.mark.parametrize("shape", [(3, 2), (30, 4), (20, 50)])
def test_kernels_of_rows_give_the_same_values(name, shape, rng):
    x = rng.laplace(size=shape) + 100
    y = x[:, ::-1] ** 2 + rng.normal(size=shape)
    kernelled = by_kernels(find_measure(name))
    assert isinstance(kernelled, RelationMeasure)
    assert kernelled(x, y) == pytest.approx(find_measure(name)(x, y), abs=1e-6)
    assert kernelled(x, np.ones(shape)) == 0
    assert by_kernels(find_measure("mutual-knn")) is find_measure("mutual-knn")


@pytest.mark.parametrize("name", MEASURES)
def test_fewer_coordinates_change_no_measure_that_ignores_turns(name, rng):
    measure = MEASURES[name]
    x = rng.laplace(size=(24, 60)) + 3
    y = x[:, :40] + rng.normal(size=(24, 40))
    turned = [fewer_coordinates(rows, [measure], len(rows)) for rows in (x, y)]
    if Change.ROTATION in measure.ignores:
        assert [rows.shape for rows in turned] == [(24, 24), (24, 24)]
        assert measure(*turned) == pytest.approx(measure(x, y), abs=1e-6)
    else:
        assert turned[0] is x
    assert fewer_coordinates(x[:, :20], [measure], 24).shape == (24, 20)


def test_fitted_rows_are_turned_to_as_few_coordinates_as_they_span(rng):
    rows = rng.normal(size=(24, 20))
    turned = fewer_coordinates(rows, [MEASURES["procrustes"]], 12)
    assert turned.shape == (24, 20)
    assert not turned[:12, 12:].any()
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, atol=1e-12)
