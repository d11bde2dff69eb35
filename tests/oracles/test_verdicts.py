"""No verdict claims too much: pairs of which it is known what they share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from scipy.spatial.distance import pdist

import upto
from upto.core import Group, InputError
from upto.testing import random_element

FAST = {"ica": False, "refits": 0}


def codes(result):
    return {finding.code for finding in result.findings}


def rotation(d, rng):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def half_unrelated(rng, d=8, share=0.5, narrow=0.05, n=400):
    """Two runs whose last, narrow directions have nothing in common."""
    k = round(d * (1 - share))
    x = rng.normal(size=(n, d))
    y = x.copy()
    y[:, k:] = rng.normal(size=(n, d - k))
    scale = np.r_[np.ones(k), np.full(d - k, narrow)]
    return x * scale, y * scale, k


class TestImages:
    """A run that lost directions is no longer the same."""

    @pytest.mark.parametrize("flipped", [False, True])
    def test_one_coordinate_of_eight_is_a_part(self, flipped, rng):
        x = rng.laplace(size=(1000, 8))
        y = np.hstack([x[:, :1], np.zeros((1000, 7))])
        result = upto.compare(*((y, x) if flipped else (x, y)), **FAST)
        assert result.agreement == "image"
        assert (result.shared.n_shared, result.shared.is_bijective) == (1, False)
        assert "spans 1 of 8 directions" in result.verdict
        assert "UP034" in codes(result)

    @pytest.mark.parametrize("flipped", [False, True])
    def test_a_linear_map_of_low_rank_is_an_image(self, flipped, rng):
        x = rng.laplace(size=(1000, 8))
        y = x @ rng.normal(size=(8, 4)) @ rng.normal(size=(4, 8))
        result = upto.compare(*((y, x) if flipped else (x, y)), **FAST)
        part, whole = ("first", "second") if flipped else ("second", "first")
        assert result.verdict.startswith(f"{part} is a linear image of {whole}: it spans 4 of 8")
        assert result.agreement == "image"

    def test_some_coordinates_scaled_are_a_part(self, rng):
        x = rng.laplace(size=(1000, 8))
        result = upto.compare(x, x[:, :4] * [1, 2, 3, 4], **FAST)
        assert (result.agreement, result.up_to) == ("image", Group.SCALED_PERMUTATION)

    def test_dead_coordinates_take_nothing_away(self, rng):
        x = rng.laplace(size=(500, 4))
        y = np.hstack([x @ rotation(4, rng), np.zeros((500, 3))])
        assert upto.compare(x, y, **FAST).agreement == "same"


class TestDirections:
    """Agreement is that of every direction, however narrow."""

    @pytest.mark.parametrize("share", [1 / 16, 1 / 8, 1 / 4, 1 / 2])
    @pytest.mark.parametrize(
        "narrow", [0.05, *(pytest.param(sd, marks=pytest.mark.slow) for sd in (0.02, 0.1))]
    )
    def test_unrelated_narrow_directions_are_counted(self, share, narrow, rng):
        x, y, k = half_unrelated(rng, d=16, share=share, narrow=narrow)
        result = upto.compare(x, y, **FAST)
        assert result.agreement in (("close",) if share <= 0.1 else ("partial",))
        assert (result.shared.n_shared, result.shared.n_first) == (k, 16)
        assert f"agree on {k} of 16 directions" in result.verdict
        assert "unrelated" in result.verdict
        assert "UP034" in codes(result)

    def test_one_of_two_coordinates_is_noise(self, rng):
        x = rng.normal(size=(400, 2)) * [1, 0.05]
        y = np.c_[x[:, 0], 0.05 * rng.normal(size=400)]
        result = upto.compare(x, y, **FAST)
        assert result.agreement == "partial"
        assert "the other is unrelated" in result.verdict

    def test_narrow_directions_stretched_are_not_moved_rigidly(self, rng):
        x = rng.normal(size=(600, 6)) * [1, 1, 1, 0.02, 0.02, 0.02]
        y = x * [1, 1, 1, 3, 3, 3]
        result = upto.compare(x, y, **FAST)
        assert (result.agreement, result.up_to) == ("same", Group.SCALED_PERMUTATION)

    def test_r2_of_a_direction_is_in_the_table_and_on_the_page(self, rng):
        x, y, _ = half_unrelated(rng)
        result = upto.compare(x, y, **FAST)
        assert "R² of a direction" in [column.name for column in result.tables()[0].columns]
        assert result.affine.r2_per_direction == pytest.approx(0.5, abs=0.05)
        (panel,) = result.panels()
        assert [marks.name for marks in panel.marks] == ["first", "second"]
        for marks in panel.marks:
            np.testing.assert_allclose(marks.y, [1] * 4 + [0] * 4, atol=0.1)

    def test_few_rows_settle_a_strict_group_before_all_directions(self, rng):
        x = rng.normal(size=(30, 12))
        y = x[:, ::-1] + 1
        assert upto.compare(x, y, **FAST).agreement == "same"


class TestExactness:
    """Where an exact group exists, it is named."""

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_one_scale(self, dtype, rng):
        x = rng.laplace(size=(600, 5)).astype(dtype)
        result = upto.compare(x, (1.05 * x).astype(dtype), **FAST)
        assert result.up_to is Group.IDENTITY
        assert result.exact is Group.SIGNED_SIMILARITY
        assert "exactly up to a signed permutation of the coordinates and one scale" in (
            result.verdict
        )

    def test_a_turn_of_three_degrees(self, rng):
        x = rng.laplace(size=(600, 5))
        turn = np.eye(5)
        c, s = np.cos(np.pi / 60), np.sin(np.pi / 60)
        turn[:2, :2] = [[c, s], [-s, c]]
        result = upto.compare(x, x @ turn, **FAST)
        assert (result.up_to, result.exact) == (Group.IDENTITY, Group.RIGID)

    def test_noise_is_not_exact(self, rng):
        x = rng.laplace(size=(600, 5))
        y = x @ rotation(5, rng) + 1e-5 * rng.normal(size=x.shape)
        assert upto.compare(x, y, **FAST).exact is None


class TestOneVerdictForAPair:
    """The order of two runs does not change what is said of them."""

    @pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
    def test_group_and_word_are_the_same_both_ways(self, noise, rng):
        x = rng.laplace(size=(800, 6)) * np.geomspace(1, 0.2, 6)
        linear, _ = random_element("affine", 6, rng)
        y = x @ linear + noise * rng.normal(size=x.shape)
        there, back = upto.compare(x, y, **FAST), upto.compare(y, x, **FAST)
        assert (there.up_to, there.agreement) == (back.up_to, back.agreement)

    def test_runs_of_different_width(self, rng):
        x = rng.laplace(size=(800, 8))
        y = np.hstack([x[:, :5], rng.laplace(size=(800, 1))])
        there, back = upto.compare(x, y, **FAST), upto.compare(y, x, **FAST)
        assert (there.up_to, there.agreement) == (back.up_to, back.agreement)
        assert there.agreement not in ("same", "close", "image")

    def test_many_runs_say_what_two_say(self, rng):
        x, y, _ = half_unrelated(rng)
        many = upto.compare(x, y, x @ rotation(8, rng), **FAST)
        pair = upto.compare(x, y, **FAST)
        assert many.pairs.agreement[0][1] == many.pairs.agreement[1][0] == pair.agreement
        assert many.pairs.up_to[0][1] is pair.up_to


def test_narrow_directions_of_badly_scaled_columns_are_seen(rng):
    z = rng.laplace(size=(1000, 3))
    x = (z * [1e7, 1, 1]) @ rotation(3, rng)
    result = upto.compare(x, z @ rng.normal(size=(3, 3)), **FAST)
    assert (result.agreement, result.up_to) == ("same", Group.AFFINE)
    assert result.affine.supremum.high < 1e-8
    assert result.affine.supremum.low is None


def test_no_lower_end_is_proved_where_directions_were_left_out(rng):
    """Rows hardly show two directions beside the first; long doubles still fit by them."""
    z = rng.laplace(size=(300, 3))
    x, y = (z * [1e14, 2, 1]) @ rotation(3, rng), z @ rng.normal(size=(3, 3))
    found = upto.compare(x, y, **FAST).affine.supremum
    # Gram-Schmidt in long doubles: a map with this error exists, whatever doubles find.
    left, basis = y.astype(np.longdouble), [np.ones(300, np.longdouble)]
    columns = list(x.astype(np.longdouble).T)
    while columns:
        columns = [
            each - basis[-1] * (basis[-1] @ each) / (basis[-1] @ basis[-1]) for each in columns
        ]
        columns.sort(key=lambda each: float(each @ each))
        basis.append(columns.pop())
    for each in basis:
        left = left - np.outer(each, each @ left) / (each @ each)
    error = np.linalg.norm(left.astype(float), axis=1).max() / pdist(y).max()
    assert error < 0.1
    assert found.low is None or found.low <= error


@pytest.mark.parametrize(
    "seed", [4, 5, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 14))]
)
def test_a_row_far_away_does_not_stop_a_comparison(seed):
    rng = np.random.default_rng(seed)
    x = rng.laplace(size=(300, 4))
    y = x.copy()
    y[7, 0] = 1e8
    result = upto.compare(x, y, refits=0, seed=seed)
    assert "UP011" in codes(result)


@pytest.mark.parametrize("case", ["one far", "constant rows", "two rows", "three rows", "far cube"])
def test_hard_rows_have_an_answer(case, rng):
    x = rng.laplace(size=(200, 3))
    y = x @ rotation(3, rng)
    if case == "one far":
        x[0], y[0] = 1e12, -1e12
    elif case == "constant rows":
        x[:150], y[:150] = 1.0, 2.0
    elif case == "far cube":
        y = np.sinh(2 * np.tanh(x) ** 3 * np.abs(x))
    elif case == "two rows":
        x, y = x[:2], y[:2]
    else:
        x, y = x[:3], y[:3]
    result = upto.compare(x, y, refits=1)
    assert result.verdict.endswith(".")


class TestMonotoneFunctions:
    """The indeterminacy of nonlinear ICA has a group of its own."""

    @pytest.mark.parametrize(
        "function",
        [lambda x: x**3, np.exp, np.sinh, lambda x: -np.exp(x)],
        ids=["cube", "exp", "sinh", "-exp"],
    )
    def test_a_function_of_each_coordinate_is_named(self, function, rng):
        x = rng.normal(size=(1000, 6))
        result = upto.compare(x, function(x)[:, rng.permutation(6)], **FAST)
        assert result.up_to is Group.MONOTONE_PERMUTATION
        assert result.agreement in ("same", "close")

    def test_different_functions_with_noise(self, rng):
        x = rng.normal(size=(2000, 4))
        y = np.c_[np.exp(x[:, 2]), x[:, 0] ** 3, np.tanh(x[:, 3]), -x[:, 1]]
        y += 0.05 * rng.normal(size=y.shape)
        result = upto.compare(x, y, **FAST)
        assert result.up_to is Group.MONOTONE_PERMUTATION
        assert result.agreement in ("same", "close")

    def test_a_rotation_is_not_monotone(self, rng):
        x = rng.laplace(size=(1000, 4))
        result = upto.compare(x, x @ rotation(4, rng), **FAST)
        assert result.up_to is Group.RIGID
        assert result.monotone_permutation.held_out.r2 < 0.9

    def test_it_is_left_out_where_a_freest_group_is_named(self, rng):
        x = rng.normal(size=(200, 3))
        result = upto.compare(x, x**3, up_to="affine", **FAST)
        with pytest.raises(KeyError, match="monotone"):
            _ = result.monotone_permutation


class TestClasses:
    """Runs that share classes share that much, and no more."""

    @pytest.fixture
    def labels(self, rng):
        return rng.integers(0, 10, 1000)

    def test_independent_runs_given_the_class(self, labels, rng):
        means = 3 * rng.normal(size=(10, 16))
        x = means[labels] + rng.normal(size=(1000, 16))
        y = (means @ rotation(16, rng))[labels] + rng.normal(size=(1000, 16))
        result = upto.compare(x, y, labels=labels, **FAST)
        assert result.agreement == "partial"
        assert result.classes.between_r2 > 0.9
        assert result.classes.within_r2 < 0.05
        assert result.classes.within_p_value > 0.05
        assert "UP038" in codes(result)
        assert upto.compare(x, y, within=labels, **FAST).agreement == "chance"

    def test_collapsed_classes_are_not_the_same_representation(self, labels, rng):
        means = 3 * rng.normal(size=(10, 4))
        x = means[labels] + 0.01 * rng.normal(size=(1000, 4))
        y = (means @ rotation(4, rng))[labels] + 0.01 * rng.normal(size=(1000, 4))
        result = upto.compare(x, y, labels=labels, **FAST)
        assert result.agreement == "partial"
        assert "UP038" in codes(result)
        assert "Within classes, 0%" in result.verdict

    def test_runs_that_agree_within_classes_too(self, labels, rng):
        x = 3 * rng.normal(size=(10, 6))[labels] + rng.normal(size=(1000, 6))
        y = x @ rotation(6, rng) + 0.1 * rng.normal(size=x.shape)
        result = upto.compare(x, y, labels=labels, **FAST)
        assert (result.agreement, "UP038" in codes(result)) == ("same", False)
        assert result.classes.within_r2 > 0.95
        assert upto.compare(x, y, within=labels, **FAST).agreement == "same"

    def test_one_class_and_classes_of_one(self, rng):
        x = rng.normal(size=(200, 3))
        y = x @ rotation(3, rng)
        assert upto.compare(x, y, labels=np.zeros(200), **FAST).classes is None
        assert upto.compare(x, y, labels=np.arange(200), **FAST).classes is None


class TestComponents:
    """The rows of ICA."""

    def test_gaussian_rows_have_no_efficiency(self, rng):
        x = rng.normal(size=(1000, 8))
        result = upto.compare(x, x @ rotation(8, rng), refits=0)
        assert (result.efficiency, result.efficiency_in_sample) == (None, None)
        assert "UP003" in codes(result)

    def test_too_few_rows_to_judge_are_said(self, rng):
        x = rng.laplace(size=(200, 4))
        result = upto.compare(x, x @ rotation(4, rng), refits=0)
        assert result.efficiency is None
        assert any("too few to test components" in found.message for found in result.findings)

    def test_mixed_sources_are_found_again_in_both_columns(self, rng):
        sources = rng.laplace(size=(4000, 6))
        x = sources @ rotation(6, rng)
        y = sources @ rotation(6, rng) + 0.05 * rng.normal(size=sources.shape)
        result = upto.compare(x, y, refits=0)
        assert result.efficiency > 0.9
        assert result.efficiency_in_sample > 0.9
        assert result.ica_scaled.error.value <= result.ica.error.value + 1e-3

    def test_an_exact_pair_has_nothing_to_divide_by(self, rng):
        x = rng.laplace(size=(2000, 5))
        result = upto.compare(x, x[:, ::-1] * [1, -1, 1, 1, -1], refits=0)
        assert (result.efficiency, result.efficiency_in_sample) == (None, None)

    def test_few_rows_for_many_directions_are_said_and_unmixed_in_fewer(self, rng):
        x = rng.laplace(size=(300, 100))
        result = upto.compare(x, x @ rotation(100, rng), refits=0)
        assert result.first.n_components == 32
        assert any("only the 32 widest directions" in found.message for found in result.findings)

    @pytest.mark.parametrize(("spread", "is_known"), [(1.0, False), (0.05, True)])
    def test_no_efficiency_if_much_of_the_variance_is_not_unmixed(self, rng, spread, is_known):
        sources = rng.laplace(size=(800, 40)) * np.where(np.arange(40) < 32, 1.0, spread)
        x = sources @ rotation(40, rng)
        y = sources @ rotation(40, rng) + 0.01 * rng.normal(size=sources.shape)
        result = upto.compare(x, y, refits=0)
        assert result.first.n_components == 32
        assert (result.efficiency is not None) == is_known
        said = [found.message for found in result.findings if found.code == "UP035"]
        assert ("too few for an efficiency" in said[0]) != is_known


class TestWords:
    """What is said can be pasted into a paper."""

    def test_every_error_stands_beside_that_of_the_mean(self, rng):
        x = rng.laplace(size=(500, 4))
        y = x @ rotation(4, rng) + 0.2 * rng.normal(size=x.shape)
        result = upto.compare(x, y)
        mean = np.linalg.norm(y - y.mean(axis=0), axis=1).mean() / result.second.diameter.value
        assert result.mean.in_sample.mean.value == pytest.approx(mean, rel=1e-9)
        assert f"{result.mean.held_out.mean.value:.3f} for predicting the mean" in result.verdict
        assert result.tables()[0].rows[-1][0] == "the mean"

    def test_a_map_worse_than_the_mean_is_no_group(self, rng):
        x = rng.normal(size=(400, 3)) ** 5
        y = x + np.where(rng.random((400, 1)) < 0.03, 1e3, 0.0) * rng.normal(size=(400, 3))
        result = upto.compare(x, y, **FAST)
        if result.up_to is not None:
            assert result.fit(result.up_to).error.value < result.mean.held_out.mean.value

    def test_weak_relations_do_not_say_that_numbers_agree(self, rng):
        x = rng.normal(size=(2000, 4))
        y = 0.5 * x + rng.normal(size=x.shape)
        result = upto.compare(x, y, up_to="affine", tolerance=1.0, **FAST)
        assert result.agreement == "weak"
        assert "coordinate by coordinate" not in result.verdict


def autoregressive(n, d, memory, rng):
    noise = rng.normal(size=(n + (0 if memory == 1 else 400), d))
    return scipy.signal.lfilter([1], [1, -memory], noise, axis=0)[-n:]


def season(n, d, lag, memory, rng):
    noise = rng.normal(size=(n + 400, d))
    return scipy.signal.lfilter([1], [1, *[0] * (lag - 1), -memory], noise, axis=0)[-n:]


def copies(rng, jitter, each, n=200, d=4):
    return np.repeat(rng.normal(size=(n // each, d)), each, axis=0) + jitter * rng.normal(
        size=(n, d)
    )


def with_far(rng, n_far, scale, n=200, d=4):
    rows = rng.normal(size=(n, d))
    rows[:n_far] *= scale
    return rows


NOISE = {
    "memory 0.5": lambda rng: autoregressive(200, 4, 0.5, rng),
    "memory 0.9": lambda rng: autoregressive(200, 4, 0.9, rng),
    "memory 0.99": lambda rng: autoregressive(400, 4, 0.99, rng),
    "random walks": lambda rng: autoregressive(300, 4, 1, rng),
    "negative memory": lambda rng: autoregressive(200, 4, -0.9, rng),
    "a season of seven": lambda rng: season(200, 4, 7, 0.9, rng),
    "twice integrated": lambda rng: rng.normal(size=(200, 4)).cumsum(axis=0).cumsum(axis=0),
    "near copies in fives": lambda rng: copies(rng, 1e-6, 5),
    "rough copies in fives": lambda rng: copies(rng, 0.2, 5),
    "near copies in pairs": lambda rng: copies(rng, 0.05, 2),
    "copies in fives": lambda rng: copies(rng, 0.0, 5),
    "one far row": lambda rng: with_far(rng, 1, 20),
    "one very far row": lambda rng: with_far(rng, 1, 1e3),
    "3 % far rows": lambda rng: with_far(rng, 6, 20),
    "counts": lambda rng: rng.poisson(0.3, (200, 4)).astype(float),
}


OFTEN = ("memory 0.9", "a season of seven", "near copies in fives", "one very far row")


@pytest.mark.parametrize(
    "case",
    [case if case in OFTEN else pytest.param(case, marks=pytest.mark.slow) for case in NOISE],
)
def test_unrelated_runs_whose_rows_are_not_exchangeable_are_chance(case):
    beyond = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 16])
        result = upto.compare(NOISE[case](rng), NOISE[case](rng), seed=seed, **FAST)
        beyond += result.agreement not in ("chance", "undecided")
    # At a level of 5 %, three of six happen twice in a thousand times; before, all six did.
    assert beyond <= 2


class TestGroups:
    """Rows that belong together."""

    @pytest.fixture
    def views(self, rng):
        names = np.repeat([f"patient {i}" for i in range(100)], 4)
        x, y = (
            np.repeat(rng.normal(size=(100, 5)), 4, axis=0) + 0.5 * rng.normal(size=(400, 5))
            for _ in range(2)
        )
        order = rng.permutation(400)
        return x[order], y[order], names[order]

    def test_unrelated_views_are_chance(self, views):
        x, y, names = views
        assert upto.compare(x, y, groups=names, **FAST).agreement == "chance"

    def test_whole_groups_are_held_out(self, views, rng):
        x, _, names = views
        y = x @ rotation(5, rng)
        result = upto.compare(x, y, groups=names, **FAST)
        assert result.agreement == "same"
        assert result.n_held_out == 120

    def test_one_group_cannot_be_held_out(self, views):
        x, y, _ = views
        with pytest.raises(InputError, match="one group"):
            upto.compare(x, y, groups=np.zeros(400), **FAST)

    def test_groups_of_one_change_nothing_but_which_rows(self, rng):
        x = rng.laplace(size=(300, 4))
        y = x @ rotation(4, rng)
        result = upto.compare(x, y, groups=np.arange(300), **FAST)
        assert (result.agreement, result.n_held_out) == ("same", 90)

    def test_two_groups(self, rng):
        x = rng.laplace(size=(300, 4))
        y = x @ rotation(4, rng)
        result = upto.compare(x, y, groups=np.arange(300) % 2, **FAST)
        assert result.n_held_out == 150
        assert result.agreement in ("same", "undecided")

    def test_related_runs_with_memory_are_the_same(self, rng):
        x = autoregressive(600, 4, 0.95, rng)
        result = upto.compare(x, x @ rotation(4, rng), **FAST)
        assert result.agreement == "same"
        assert "UP036" in codes(result)

    def test_near_copies_of_related_runs_are_found_and_agree(self, rng):
        x = copies(rng, 1e-4, 4, n=400)
        result = upto.compare(x, x @ rotation(4, rng), **FAST)
        assert result.agreement == "same"
        assert any("400 rows are 100 samples" in found.message for found in result.findings)

    @pytest.mark.parametrize("n", [100, 1000, 6000])
    def test_independent_rows_have_no_near_copies_and_no_memory(self, n, rng):
        x = rng.standard_t(3, size=(n, 5))
        found = codes(upto.compare(x, x @ rotation(5, rng), **FAST))
        assert not found & {"UP036", "UP037"}
