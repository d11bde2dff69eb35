"""Shares of batches and labels against closed forms, statsmodels and what was planted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from upto.batch_metrics.effects import batch_and_label_shares
from upto.core import InputError
from upto.measures.tails import q_values

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "effects.json").read_text())
N_BATCHES, N_LABELS = 6, 4


def complete(rng, each=1):
    """Return batch and label of a complete table, with as many rows in every cell."""
    batch, label = np.divmod(np.arange(N_BATCHES * N_LABELS), N_LABELS)
    order = rng.permutation(N_BATCHES * N_LABELS * each)
    return np.repeat(batch, each)[order], np.repeat(label, each)[order]


def screen(rng, n_batches=12):
    """Return batch and label of an uneven screen: many controls, few of everything else."""
    batch = np.repeat(np.arange(n_batches), rng.integers(12, 40, n_batches))
    label = np.where(rng.random(len(batch)) < 0.4, 0, rng.integers(1, 9, len(batch)))
    return batch, label


def test_a_complete_table_gives_the_classical_omega_squared_and_tests(rng):
    batch, label = complete(rng)
    values = rng.normal(size=len(batch)) + 0.8 * batch + 0.6 * label
    table = np.empty((N_BATCHES, N_LABELS))
    table[batch, label] = values
    rows, columns, whole = table.mean(axis=1), table.mean(axis=0), table.mean()
    error = ((table - rows[:, None] - columns + whole) ** 2).sum() / 15
    (effect,) = batch_and_label_shares(values[:, None], batch, label)
    for squares, df, share, p in (
        (N_LABELS * ((rows - whole) ** 2).sum(), 5, effect.batch_share, effect.batch_p),
        (N_BATCHES * ((columns - whole) ** 2).sum(), 3, effect.label_share, effect.label_p),
    ):
        omega = (squares - df * error) / (squares + (table.size - df) * error)
        assert share == pytest.approx(omega)
        assert p == pytest.approx(stats.f.sf(squares / df / error, df, 15))


def test_with_replicates_labels_are_tested_against_their_interaction_with_batches(rng):
    batch, label = complete(rng, each=3)
    values = rng.normal(size=len(batch)) + rng.normal(size=(N_BATCHES, N_LABELS))[batch, label]
    table = np.zeros((N_BATCHES, N_LABELS))
    np.add.at(table, (batch, label), values / 3)
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    interaction = ((table - rows[:, None] - columns + table.mean()) ** 2).sum() / 15
    ratio = N_BATCHES * ((columns - table.mean()) ** 2).sum() / 3 / interaction
    (effect,) = batch_and_label_shares(values[:, None], batch, label)
    assert effect.label_p == pytest.approx(stats.f.sf(ratio, 3, 15))


def test_two_labels_are_a_paired_t_test_over_batches(rng):
    batch = np.repeat(np.arange(7), 12)
    label = np.tile(np.r_[np.zeros(10), [1, 1]], 7)
    values = rng.normal(size=len(batch)) + batch + 0.5 * label
    means = [[values[(batch == b) & (label == k)].mean() for b in range(7)] for k in (0, 1)]
    (effect,) = batch_and_label_shares(values[:, None], batch, label)
    assert effect.label_p == pytest.approx(stats.ttest_rel(*means).pvalue)


def test_an_uneven_table_is_adjusted_as_by_statsmodels():
    names = np.array(GOLDEN["batch"]), np.array(GOLDEN["label"])
    values = np.array(GOLDEN["value"])[:, None]
    (effect,) = batch_and_label_shares(values, *names)
    assert effect.batch_p == pytest.approx(GOLDEN["p"], rel=1e-9)
    error = GOLDEN["residual"] / GOLDEN["df_residual"]
    surplus = GOLDEN["squares"] - GOLDEN["df"] * error
    assert effect.batch_share == pytest.approx(surplus / (surplus + len(values) * error))


def test_controls_decide_about_batches_and_equal_plates_give_the_f_test_nearly(rng):
    batch, label = np.repeat(np.arange(8), 30), np.tile(np.arange(3), 80)
    values = rng.normal(size=(240, 2)) + np.stack([np.zeros(240), 0.5 * batch], axis=1)
    values[label > 0] += 3.0 * batch[label > 0, None]
    effects = batch_and_label_shares(values, batch, label, controls=label == 0)
    for column, effect in enumerate(effects):
        groups = [values[(batch == b) & (label == 0), column] for b in range(8)]
        ratio, p = stats.f_oneway(*groups)
        assert effect.batch_share == pytest.approx(7 * (ratio - 1) / (7 * (ratio - 1) + 80))
        assert effect.batch_p == pytest.approx(p, rel=0.05, abs=1e-6)


def test_the_p_value_of_controls_has_the_mean_and_variance_of_permutations(rng):
    counts = np.array([2, 3, 4, 11])
    batch, values = np.repeat(np.arange(4), counts), rng.laplace(size=20) ** 3
    (effect,) = batch_and_label_shares(
        values[:, None], batch, np.zeros(20), controls=np.ones(20, dtype=bool)
    )
    sums = np.add.reduceat(
        rng.permuted(np.tile(values - values.mean(), (20_000, 1)), axis=1), [0, 2, 5, 9], axis=1
    )
    dealt = (sums**2 / counts).sum(axis=1)
    own = np.add.reduceat(values - values.mean(), [0, 2, 5, 9])
    shares = dealt / ((values - values.mean()) ** 2).sum()
    a, b = _beta_of(shares)
    assert effect.batch_p == pytest.approx(
        stats.beta.sf((own**2 / counts).sum() / ((values - values.mean()) ** 2).sum(), a, b),
        abs=0.01,
    )


def _beta_of(shares):
    mean, variance = shares.mean(), shares.var()
    total = mean * (1 - mean) / variance - 1
    return mean * total, (1 - mean) * total


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**20), scale=st.sampled_from([-1e3, -1.0, 1e-4]))
def test_order_names_and_units_do_not_matter(seed, scale):
    rng = np.random.default_rng(seed)
    batch, label = screen(rng)
    rows = rng.laplace(size=(len(batch), 2)) + np.stack([0.2 * batch, 0.1 * label], axis=1)
    order, names = rng.permutation(len(batch)), rng.permutation(100)[:12].astype(str)
    for controls in (None, label == 0):
        wanted = batch_and_label_shares(rows, batch, label, controls=controls)
        found = batch_and_label_shares(
            rows[order] * scale + 5.0,
            names[batch][order],
            label[order],
            controls=None if controls is None else controls[order],
        )
        for one, other in zip(wanted, found, strict=True):
            for field in ("batch_share", "batch_p", "label_share", "label_p"):
                assert getattr(other, field) == pytest.approx(getattr(one, field), rel=1e-6)
            assert other.carries == one.carries


def test_the_largest_shift_is_the_largest_t_limit_over_the_batches_of_a_label(rng):
    batch, label = screen(rng)
    rows = rng.normal(size=(len(batch), 3)) + np.stack([0 * label, 2 * (label == 3), batch], axis=1)
    found = [batch_and_label_shares(column[:, None], batch, label)[0] for column in rows.T]
    within = sum(
        ((rows[batch == b] - rows[batch == b].mean(axis=0)) ** 2).sum(0) for b in range(12)
    )
    deviation = np.sqrt(within / (len(batch) - 12))
    for column, effect in enumerate(found):
        limits = []
        for each in range(9):
            apart = [
                values[own].mean() - values[~own].mean()
                for values, own in (
                    (rows[batch == b, column], label[batch == b] == each) for b in range(12)
                )
                if own.any()
            ]
            high = stats.ttest_1samp(apart, 0.0).confidence_interval(0.90)
            limits.append(max(-high.low, high.high))
        assert effect.label_shift == pytest.approx(max(limits) / deviation[column])
    assert found[1].label_shift > 1.5


def test_the_shift_of_a_component_of_batches_is_of_what_the_others_do_not_tell():
    rng = np.random.default_rng(5)
    plate, gene = np.repeat(np.arange(20), 200), np.tile(np.arange(200) % 4, 20)
    label = 2.0 * (gene == 1) + rng.normal(size=4000)
    leaning = 3.0 * rng.normal(size=20)[plate] + 0.2 * label + rng.normal(size=4000)
    (alone,) = batch_and_label_shares(leaning[:, None], plate, gene)
    assert alone.label_shift > 0.3
    _, beside = batch_and_label_shares(np.stack([label, leaning], axis=1), plate, gene)
    assert (beside.carries, beside.label_shift < 0.15) == ("batch", True)


def test_rows_without_a_label_are_no_label_whose_shift_counts(rng):
    batch, label = screen(rng)
    names = np.array(list("abcdefghi"))[label]
    rows = rng.normal(size=(len(batch), 1))
    names[np.flatnonzero(batch == 0)[:2]] = ""
    (effect,) = batch_and_label_shares(rows, batch, names)
    assert effect.label_shift is not None
    names[np.flatnonzero(batch == 0)[:2]] = "only here"
    (effect,) = batch_and_label_shares(rows, batch, names)
    assert effect.label_shift is None
    assert "1 of 10 labels occur with other labels on fewer than two batches" in effect.says


def test_planted_components_are_told_apart(rng):
    batch, label = screen(rng, n_batches=30)
    plate, gene = rng.normal(size=30)[batch], rng.normal(size=9)[label]
    # The last differs between labels, but differently on every batch: that is no biology.
    one_plate_only = 2 * rng.normal(size=(30, 9))[batch, label]
    rows = rng.laplace(size=(len(batch), 5)) + np.stack(
        [plate, gene, plate + gene, 0 * plate, one_plate_only * (label > 0)], axis=1
    )
    effects = batch_and_label_shares(rows, batch, label, controls=label == 0)
    found = [effect.carries for effect in effects]
    assert found == ["batch", "label", "both", "neither", "neither"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "heavy"])
@pytest.mark.parametrize("interaction", [0.0, 1.0])
def test_chance_is_called_an_effect_as_often_as_it_should(kind, interaction, rng):
    batch, label = screen(rng, n_batches=30)
    size = (len(batch), 4000)
    rows = rng.normal(size=size) if kind == "normal" else rng.standard_t(3, size=size)
    cells = rng.normal(size=(30, 9, 4000))[batch, label] * interaction
    plates = 2 * rng.normal(size=(30, 4000))[batch]
    by_label = batch_and_label_shares(rows + plates + cells, batch, label)
    by_batch = batch_and_label_shares(rows, batch, label, controls=label == 0)
    p_label = np.array([effect.label_p for effect in by_label])
    p_batch = np.array([effect.batch_p for effect in by_batch])
    for p in (p_label, p_batch):
        assert 0.03 < (p < 0.05).mean() < 0.065
        assert (p < 0.01).mean() < 0.018
    assert abs(np.mean([effect.label_share for effect in by_label])) < 0.002
    assert abs(np.mean([effect.batch_share for effect in by_batch])) < 0.002


def test_what_cannot_be_told_is_none_and_says_why(rng):
    batch = np.repeat(np.arange(6), 5)
    rows = rng.normal(size=(30, 2))
    (confounded, _) = batch_and_label_shares(rows, batch, batch // 2)
    assert confounded.label_share is None
    assert confounded.label_p is None
    assert "no two labels occur together on two batches" in confounded.says
    (nested, _) = batch_and_label_shares(rows, batch, np.arange(30))
    assert nested.batch_share is None
    assert "mark the control rows" in nested.says
    (single, _) = batch_and_label_shares(rows, np.zeros(30), np.arange(30) % 2)
    assert single.batch_share is None
    rows[:, 1] = 7.0
    (_, constant) = batch_and_label_shares(rows, batch, np.arange(30) % 5)
    assert (constant.batch_share, constant.label_share, constant.carries) == (None, None, "neither")
    assert constant.says == "the component is constant."


def test_q_values_are_those_of_scipy(rng):
    p = rng.random(40) ** 3
    np.testing.assert_allclose(q_values(p), stats.false_discovery_control(p))


@pytest.mark.parametrize("what", ["batches", "labels", "controls"])
def test_one_value_a_row_is_needed(what, rng):
    given_ = {"batches": np.zeros(5), "labels": np.zeros(5), "controls": np.ones(5, dtype=bool)}
    given_[what] = np.zeros(4)
    with pytest.raises(InputError, match=rf"{what} have the shape \(4,\) but there are 5 rows"):
        batch_and_label_shares(rng.normal(size=(5, 2)), **given_)


def test_what_is_not_finite_is_refused():
    with pytest.raises(InputError, match="rows 0 to 4 have components that are NaN or infinite"):
        batch_and_label_shares(np.array([[1.0], [np.nan], [2.0], [3.0]]), [0, 0, 1, 1], [0, 1] * 2)


def test_a_component_of_batches_that_leans_towards_one_of_labels_carries_batches_only():
    rng = np.random.default_rng(5)
    plate, gene = np.repeat(np.arange(10), 40), np.tile(np.arange(40) % 4, 10)
    label = 2.0 * gene + rng.normal(size=400)
    leaning = 5.0 * plate + 0.4 * label + rng.normal(size=400)
    own = 5.0 * plate + 0.8 * gene + rng.normal(size=400)
    rows = np.stack([label, leaning, own], axis=1)
    found = batch_and_label_shares(rows, plate, gene)
    assert [effect.carries for effect in found] == ["label", "batch", "both"]
    assert found[1].label_q < 0.01
    assert "is shared with" in found[1].says
    alone = batch_and_label_shares(rows[:, 1:], plate, gene)
    assert [effect.carries for effect in alone] == ["both", "both"]
