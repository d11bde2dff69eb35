"""What must not change the answer of `compare`, and what must be refused."""

import json
from dataclasses import asdict

import numpy as np
import pytest

import upto
from upto.core import Group, InputError
from upto.engines import ThreadsEngine, TorchEngine
from upto.files import bundled_path
from upto.questions.compare.result import CompareResult
from upto.testing import random_element

REORDERED = 1e-10
"""What another order of summation may change."""
INVARIANT = 1e-8
"""What a rotation of the data may change."""
ROUNDING = 1e-12
ICA_MOVES = {"UP005": 1e-3, "UP004": 2e-2}
"""What another order of rows may do to the ICA row of runs with these findings."""

FAST = {"ica": False, "refits": 0}
EVERYTHING = {"refits": 2}
RIGID_AND_LARGER = ("rigid", "similarity", "affine")


@pytest.fixture
def runs(rng):
    """Two related runs with skewed, so identifiable, sources."""
    x = rng.laplace(size=(900, 5)) ** 3
    linear, translation = random_element("rigid", 5, rng)
    return x, x @ linear + translation + 0.3 * rng.normal(size=x.shape)


def numbers(result):
    """Return every number of a result by its path; the time it took is not one of them."""
    record = json.loads(result.to_json())
    del record["provenance"]
    found = {}

    def walk(value, path):
        if isinstance(value, dict):
            for key, each in value.items():
                walk(each, f"{path}.{key}")
        elif isinstance(value, list):
            for position, each in enumerate(value):
                walk(each, f"{path}[{position}]")
        else:
            found[path] = value

    walk(record, kind := record["kind"])
    assert len(found) > 100, f"a {kind} holds more numbers than that"
    return found


def assert_same(first, second, *, tolerance=REORDERED):
    one, other = numbers(first), numbers(second)
    assert one.keys() == other.keys()
    for path, value in one.items():
        if isinstance(value, float) and not path.startswith("comparison.findings"):
            np.testing.assert_allclose(
                other[path], value, rtol=tolerance, atol=tolerance, err_msg=path
            )
        else:
            assert other[path] == value, path


def in_sample(result, names):
    rows = [result.fit(name).in_sample for name in names]
    return np.array([[row.mean.value, row.rms, row.q99, row.worst, row.r2] for row in rows])


def codes(result):
    return [finding.code for finding in result.findings]


# ---------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("block_rows", [64, pytest.param(899, marks=pytest.mark.slow), 100_000])
def test_the_length_of_a_block_does_not_matter(runs, block_rows):
    expected = upto.compare(*runs, **EVERYTHING)
    engine = ThreadsEngine(block_rows=block_rows)
    assert_same(upto.compare(*runs, engine=engine, **EVERYTHING), expected)


@pytest.mark.parametrize("n_threads", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_number_of_threads_does_not_change_a_bit(runs, n_threads):
    expected = upto.compare(*runs, engine=ThreadsEngine(n_threads=1, block_rows=16), **EVERYTHING)
    engine = ThreadsEngine(n_threads=n_threads, block_rows=16)
    assert_same(upto.compare(*runs, engine=engine, **EVERYTHING), expected, tolerance=0)


@pytest.mark.parametrize(
    "data", ["cifar_resnets", pytest.param("admet_members", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_another_order_moves_what_real_networks_give_as_far_as_the_readme_says(data, rng):
    archive = np.load(bundled_path(data))
    names = [name for name in archive.files if name.startswith(("resnet", "member"))][:2]
    runs = [archive[name] for name in names]
    order = rng.permutation(len(runs[0]))
    one, other = upto.compare(*runs), upto.compare(*(run[order] for run in runs))
    assert (one.up_to, one.verdict) == (other.up_to, other.verdict)
    for fit, again in zip(one.fits, other.fits, strict=True):
        is_ica = fit.unmixed
        tolerance = max([ICA_MOVES.get(found.code, 1e-6) for found in one.findings], default=1e-6)
        tolerance = tolerance if is_ica else REORDERED
        for error in ("value", "low", "high"):
            here, there = (getattr(each.error, error) for each in (fit, again))
            assert here == pytest.approx(there, abs=tolerance)
        assert fit.p_value == again.p_value or is_ica


def test_the_order_of_the_rows_does_not_matter(runs, rng):
    order = rng.permutation(len(runs[0]))
    expected = upto.compare(*runs, **EVERYTHING)
    assert_same(upto.compare(*(run[order] for run in runs), **EVERYTHING), expected)


def test_the_order_of_few_rows_does_not_matter(rng):
    """An affine map fits them too well for its errors in sample to count."""
    x = rng.laplace(size=(34, 16))
    y = x @ np.linalg.qr(rng.normal(size=(16, 16)))[0] + 0.2 * rng.standard_t(1.5, size=x.shape)
    order = rng.permutation(34)
    assert_same(upto.compare(x[order], y[order], **FAST), upto.compare(x, y, **FAST))


def test_one_seed_gives_one_answer(runs):
    expected = upto.compare(*runs, seed=3, **EVERYTHING)
    assert_same(upto.compare(*runs, seed=3, **EVERYTHING), expected, tolerance=0)


def test_another_seed_holds_out_other_rows_and_keeps_the_in_sample_errors(runs):
    one, other = (upto.compare(*runs, seed=seed, **FAST) for seed in (0, 1))
    names = list(Group)
    np.testing.assert_allclose(in_sample(one, names), in_sample(other, names), rtol=REORDERED)
    assert one.rigid.held_out.mean.value != other.rigid.held_out.mean.value
    assert one.up_to is other.up_to


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        pytest.param(lambda rows: rows[:, ::-1][:, ::-1], marks=pytest.mark.slow),
        pytest.param(lambda rows: np.repeat(rows, 2, axis=0)[::2], marks=pytest.mark.slow),
        lambda rows: rows.tolist(),
    ],
    ids=["fortran", "negative strides", "not contiguous", "lists"],
)
def test_the_layout_of_an_array_does_not_matter(runs, change):
    expected = upto.compare(*runs, **FAST)
    assert_same(upto.compare(*map(change, runs), **FAST), expected, tolerance=ROUNDING)


def test_read_only_arrays_are_accepted_and_no_array_is_changed(runs):
    copies = [run.copy() for run in runs]
    for run in runs:
        run.flags.writeable = False
    assert_same(upto.compare(*runs, **FAST), upto.compare(*copies, **FAST), tolerance=0)
    for run, copy in zip(runs, copies, strict=True):
        np.testing.assert_array_equal(run, copy)


def test_memory_mapped_arrays_give_the_same(runs, tmp_path):
    mapped = []
    for number, run in enumerate(runs):
        np.save(tmp_path / f"{number}.npy", run)
        mapped.append(np.load(tmp_path / f"{number}.npy", mmap_mode="r"))
    assert_same(upto.compare(*mapped, **FAST), upto.compare(*runs, **FAST), tolerance=0)


@pytest.mark.parametrize(
    "dtype",
    [
        "float16",
        "float32",
        "int8",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("float64", "int64", "uint16")),
    ],
)
def test_a_dtype_stands_for_its_values(runs, dtype):
    typed = [np.round(np.clip(run, -50, 50) + 60).astype(dtype) for run in runs]
    wide = [run.astype(np.float64) for run in typed]
    assert_same(upto.compare(*typed, **FAST), upto.compare(*wide, **FAST), tolerance=0)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_one_scale_of_both_runs_does_not_matter(runs, scale):
    expected = upto.compare(*runs, **FAST)
    result = upto.compare(*(scale * run for run in runs), **FAST)
    names = list(Group)
    np.testing.assert_allclose(
        in_sample(result, names), in_sample(expected, names), rtol=INVARIANT, atol=INVARIANT
    )
    np.testing.assert_allclose(
        result.second.diameter.value, scale * expected.second.diameter.value, rtol=ROUNDING
    )
    assert (result.up_to, result.agreement) == (expected.up_to, expected.agreement)


def test_a_mean_far_away_does_not_matter(runs):
    expected = upto.compare(*runs, **FAST)
    result = upto.compare(*(run + 1e3 * runs[0].std() for run in runs), **FAST)
    names = list(Group)
    np.testing.assert_allclose(
        in_sample(result, names), in_sample(expected, names), rtol=INVARIANT, atol=INVARIANT
    )
    assert (result.up_to, result.agreement) == (expected.up_to, expected.agreement)


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_rotation_of_either_run_keeps_the_rigid_and_larger_groups(runs, side, rng):
    x, y = runs
    linear, translation = random_element("rigid", x.shape[1], rng)
    turned = (x @ linear + translation, y) if side == "first" else (x, y @ linear + translation)
    expected, result = upto.compare(x, y, **FAST), upto.compare(*turned, **FAST)
    np.testing.assert_allclose(
        in_sample(result, RIGID_AND_LARGER), in_sample(expected, RIGID_AND_LARGER), rtol=INVARIANT
    )
    np.testing.assert_allclose(result.defect.value, expected.defect.value, rtol=INVARIANT)
    assert abs(result.identity.in_sample.rms - expected.identity.in_sample.rms) > INVARIANT


def test_an_affine_map_of_the_first_run_keeps_the_affine_row_only(runs, rng):
    x, y = runs
    linear, translation = random_element("affine", x.shape[1], rng)
    expected, result = upto.compare(x, y, **FAST), upto.compare(x @ linear + translation, y, **FAST)
    np.testing.assert_allclose(
        in_sample(result, ["affine"]), in_sample(expected, ["affine"]), rtol=INVARIANT
    )
    assert result.rigid.in_sample.rms > expected.rigid.in_sample.rms


def test_a_permutation_of_coordinates_keeps_every_row_but_the_identity(runs, rng):
    x, y = runs
    linear, translation = random_element("signed-permutation", x.shape[1], rng)
    expected, result = upto.compare(x, y, **FAST), upto.compare(x @ linear + translation, y, **FAST)
    names = [group for group in Group if group is not Group.IDENTITY]
    np.testing.assert_allclose(in_sample(result, names), in_sample(expected, names), rtol=INVARIANT)


def test_exchanging_the_runs_exchanges_what_is_not_symmetric(runs):
    there, back = upto.compare(*runs, **FAST), upto.compare(*runs[::-1], **FAST)
    assert (there.n_held_out, there.n_samples) == (back.n_held_out, back.n_samples)
    for one, other in ((there.first, back.second), (there.second, back.first)):
        assert one.rank == other.rank
        assert one.spread == pytest.approx(other.spread, rel=ROUNDING)
        assert asdict(one.diameter) == pytest.approx(asdict(other.diameter), rel=ROUNDING)
    extents = there.second.diameter.value, back.second.diameter.value
    np.testing.assert_allclose(
        there.defect.value * extents[0], back.defect.value * extents[1], rtol=ROUNDING
    )
    for group in Group:
        if group.is_isometric:
            errors = [
                np.array([fit.in_sample.rms, fit.held_out.rms, fit.held_out.mean.value]) * extent
                for fit, extent in zip((there.fit(group), back.fit(group)), extents, strict=True)
            ]
            np.testing.assert_allclose(*errors, rtol=INVARIANT, err_msg=group)


def with_ties(seed, widths):
    """Return related runs with fewer fitted rows than directions: many correlations are one."""
    rng = np.random.default_rng(seed)
    first, second = widths
    x = rng.laplace(size=(60, first))
    y = np.hstack([x, rng.laplace(size=(60, second - first))])
    y = y @ random_element("rigid", second, rng)[0] + 0.4 * rng.normal(size=y.shape)
    return x, y


def agreeing(x, y, **options):
    """Return the word, the numbers of directions that agree, and their variance in each run."""
    result = upto.compare(x, y, permutations=19, up_to="rigid", **FAST, **options)
    shared = result.shared
    counts = result.agreement, shared.n_shared, shared.n_closely
    return counts, (shared.variance_first, shared.variance_second)


@pytest.mark.parametrize("widths", [(30, 30), (24, 36)])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_order_decides_which_of_equally_correlated_directions_agree(widths, seed, rng):
    x, y = with_ties(seed, widths)
    counts, variances = agreeing(x, y)
    assert 0 < counts[2] < counts[1]
    order = rng.permutation(len(x))
    reordered, exchanged = agreeing(x[order], y[order]), agreeing(y, x)
    assert reordered[0] == exchanged[0] == counts
    assert reordered[1] == pytest.approx(variances, rel=1e-6)
    assert exchanged[1] == pytest.approx(variances[::-1], rel=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_engine_decides_which_of_equally_correlated_directions_agree(seed):
    pytest.importorskip("torch")
    x, y = with_ties(seed, (30, 30))
    (counts, variances), on_torch = agreeing(x, y), agreeing(x, y, engine=TorchEngine(device="cpu"))
    assert on_torch[0] == counts
    assert on_torch[1] == pytest.approx(variances, rel=1e-6)


def test_every_number_survives_json(runs):
    result = upto.compare(*runs, labels=np.arange(len(runs[0])) % 3, **EVERYTHING)
    read = CompareResult.from_json(result.to_json())
    assert read == result
    assert_same(read, result, tolerance=0)


# ---------------------------------------------------------------- degenerate data


def test_a_run_compared_with_itself_is_identical(runs):
    x, _ = runs
    result = upto.compare(x, x.copy(), **EVERYTHING)
    assert (result.up_to, result.agreement) == (Group.IDENTITY, "identical")
    assert "UP014" in codes(result)
    for fit in result.fits:
        if not fit.unmixed:
            np.testing.assert_allclose(fit.in_sample.worst, 0, atol=ROUNDING)


def test_a_difference_in_the_last_digits_is_the_same_but_not_identical(runs, rng):
    x, _ = runs
    result = upto.compare(x, x + 1e-12 * rng.normal(size=x.shape), **FAST)
    assert (result.up_to, result.agreement) == (Group.IDENTITY, "same")


def test_one_dimension_is_enough(rng):
    x = rng.normal(size=(50, 1))
    result = upto.compare(x, 1 - x, **EVERYTHING)
    assert (result.up_to, result.agreement) == (Group.SIGNED_PERMUTATION, "same")


@pytest.mark.parametrize("n_samples", [2, 3, 4, 5, 6, 7])
def test_a_handful_of_rows_is_left_undecided(n_samples, rng):
    result = upto.compare(*rng.normal(size=(2, n_samples, 3)), **EVERYTHING)
    assert (result.up_to, result.agreement) == (None, "undecided")
    assert f"{n_samples} rows are too few" in result.verdict
    assert {"UP001", "UP015"} <= set(codes(result))


@pytest.mark.parametrize("held_out", [0.0, 0.3])
def test_nothing_is_decided_without_held_out_rows(runs, held_out):
    result = upto.compare(*runs, held_out=held_out, **FAST)
    assert (result.agreement == "undecided") == (held_out == 0)
    assert (result.rigid.held_out is None) == (held_out == 0)


def test_dead_coordinates_are_named_and_change_nothing(runs):
    dead = [np.insert(run, 2, value, axis=1) for run, value in zip(runs, (4.0, -1.0), strict=True)]
    expected, result = upto.compare(*runs, **FAST), upto.compare(*dead, **FAST)
    assert {"UP002", "UP013"} <= set(codes(result))
    np.testing.assert_allclose(
        in_sample(result, RIGID_AND_LARGER), in_sample(expected, RIGID_AND_LARGER), rtol=INVARIANT
    )
    assert result.up_to is expected.up_to


@pytest.mark.parametrize(("n_samples", "n_features"), [(20, 40), (31, 30), (40, 30)])
def test_few_rows_for_the_dimensions_are_not_mistaken_for_agreement(n_samples, n_features, rng):
    result = upto.compare(*rng.normal(size=(2, n_samples, n_features)), **EVERYTHING)
    assert result.agreement in ("chance", "weak")
    assert result.up_to is None
    assert {"UP001", "UP010", "UP017"} <= set(codes(result))
    if n_samples <= n_features + 1:
        np.testing.assert_allclose(result.affine.in_sample.worst, 0, atol=INVARIANT)


def test_repeated_rows_are_counted_and_never_straddle_the_split(runs):
    repeated = [np.concatenate([run, run[:300], run[:300]]) for run in runs]
    result = upto.compare(*repeated, **FAST)
    assert "600 of 1500 rows repeat another" in str(result.findings)
    assert result.up_to is upto.compare(*runs, **FAST).up_to


@pytest.mark.parametrize("values", [0, "all the same"])
def test_a_constant_label_is_as_good_as_any(runs, values):
    labels = np.full(len(runs[0]), values)
    result = upto.compare(*runs, labels=labels, **FAST)
    assert set(result.scatter.labels) == {str(values)}


def test_every_number_of_hard_data_is_finite(rng):
    cases = {
        "heavy tails": rng.standard_cauchy(size=(2, 200, 3)),
        "ties": rng.integers(2, size=(2, 200, 3)),
        "one outlier": np.concatenate([rng.normal(size=(2, 199, 3)), np.full((2, 1, 3), 1e8)], 1),
        "mostly zero": rng.normal(size=(2, 400, 6)) * (rng.random((2, 400, 6)) < 0.005),
        "low rank": rng.normal(size=(2, 100, 1)) @ rng.normal(size=(2, 1, 6)),
        "one moving row": np.eye(100, 3)[None] * np.array([1.0, 2.0])[:, None, None],
    }
    for name, (x, y) in cases.items():
        values = [v for v in numbers(upto.compare(x, y, **EVERYTHING)).values() if v is not None]
        floats = [value for value in values if isinstance(value, float)]
        assert np.isfinite(floats).all(), name
        # msgspec writes NaN as null: what may be null is known.
        result = upto.compare(x, y, **FAST)
        assert all(np.isfinite(in_sample(result, list(Group))).ravel()), name


def test_held_out_rows_without_variance_have_no_absurd_share_of_it(rng):
    x = rng.normal(size=(500, 10)) * (rng.random((500, 1)) < 0.03)
    y = x @ random_element("rigid", 10, rng)[0]
    for seed in range(5):
        result = upto.compare(x, y, seed=seed, **FAST)
        assert all(-100 < fit.held_out.r2 <= 1 for fit in result.fits)


# ---------------------------------------------------------------- refusals

GOOD = np.arange(30.0).reshape(10, 3) ** 1.5


def spoiled(value):
    rows = GOOD.copy()
    rows[4, 1] = value
    return rows


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (GOOD[:1], GOOD[:1], "first has 1 row: at least two"),
        (spoiled(np.nan), GOOD, "first has 1 values that are NaN or infinite"),
        (GOOD, spoiled(np.inf), "second has 1 values that are NaN or infinite"),
        (GOOD, spoiled(-np.inf), "second has 1 values that are NaN or infinite"),
        (np.ones((10, 3)), GOOD, "first has zero variance: all its 10 rows are equal"),
        (GOOD[:0], GOOD[:0], r"first is empty: its shape is \(0, 3\)"),
        (GOOD, GOOD[:, :0], r"second is empty: its shape is \(10, 0\)"),
        (GOOD + 1j, GOOD, "first contains complex128 values, not real numbers"),
        (GOOD, GOOD.astype(object), "second contains object values, not real numbers"),
        (GOOD.astype(str), GOOD, "first contains <U32 values, not real numbers"),
        (GOOD[:5], GOOD, "first has 5 rows but second has 10"),
        (GOOD[:, 0], GOOD, r"first has 1 dimension, .*, but embeddings have two"),
        (GOOD[None], GOOD, r"first has 3 dimensions, .*, but embeddings have two"),
        ([[1.0, 2.0], [3.0]], GOOD, "first is not an array: its rows differ in length"),
        (1e200 * GOOD, GOOD, "first has values of magnitude 1.6e.202, .* rescale the run"),
        (GOOD, 1e-200 * GOOD, "second has values that differ by at most 1.5e-198, .* rescale"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(first, second, message):
    with pytest.raises(InputError, match=message):
        upto.compare(first, second)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"up_to": "conformal"}, "'conformal' is not a group: choose one of identity"),
        ({"held_out": 1.0}, "held_out is 1.0, but it must be a fraction"),
        ({"held_out": -0.1}, "held_out is -0.1, but it must be a fraction"),
        ({"tolerance": -1.0}, "tolerance is -1.0, but it must be a finite number of at least 0"),
        ({"refits": -1}, "refits is -1, but it must be a whole number of at least 0"),
        ({"seed": -1}, "seed is -1, but it must be a whole number of at least 0"),
        ({"permutations": 18}, "permutations is 18, but a 5 % level needs at least 19"),
        ({"labels": np.zeros(9)}, r"labels has shape \(9,\) but first has 10 rows"),
        ({"labels": "digit"}, "first has no column 'digit': its columns are none"),
        ({"engine": "abacus"}, "there is no engine 'abacus'"),
    ],
)
def test_an_option_without_meaning_is_refused_with_a_reason(options, message):
    with pytest.raises(InputError, match=message):
        upto.compare(GOOD, GOOD[::-1], **options)


def test_a_single_run_is_refused():
    with pytest.raises(InputError, match="a comparison needs two or more runs, not 1"):
        upto.compare(GOOD)
