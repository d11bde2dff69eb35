"""Table 1: families, the order of errors, intervals, and the study at its smallest."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from upto.core import InputError
from upto.core.progress import SilentProgress
from upto_studies.agreement import Agreement
from upto_studies.model_pairs import _says
from upto_studies.order_failures import (
    FEW_ROWS,
    MATCHED,
    NOT_SHARED,
    SCALED,
    WIDER,
    cause,
    failures_table,
    order_by_rows,
    rows_panel,
    rows_table,
    swept_rows,
)
from upto_studies.pretrained_families import Family, layer_of, read_families
from upto_studies.run import run_study
from upto_studies.table_one import PAPER, PairRow, error_of, over_models, pair_row, table_one
from upto_studies.trained_pairs import linear_accuracy
from upto_studies.unmixed_pairs import broken_order, unmixed_pair


def row(models, permutation=0.4, rigid=0.2, linear=0.1, ica=0.3, scaled=0.35):
    errors = {"signed-permutation": permutation, "similarity": rigid, "affine": linear, "ica": ica}
    errors["signed-similarity"] = scaled
    return PairRow(
        family="f",
        models=models,
        remark="",
        n_rows=10,
        widths=(2, 2),
        agreement=Agreement(
            held_out=errors,
            in_sample=errors,
            chance=errors,
            r2={"affine": 0.5},
            efficiency=0.5,
            efficiency_in_sample=None,
            measures={},
            measures_in_sample={},
            measures_chance={},
            measures_chance_in_sample={},
        ),
        unmixed=None,
    )


def test_the_order_of_the_paper_and_what_breaks_it():
    for values in PAPER.values():
        permutation, rigid, linear, ica, _ = values
        assert row("ab", permutation, rigid, linear, ica).in_order(in_sample=True)
    assert row("ab", ica=0.5).failure(in_sample=True) == "ICA ≥ permutation"
    assert row("ab", ica=0.15).failure(in_sample=True) == "ICA ≤ rigid"
    assert row("ab", linear=0.25).failure(in_sample=False) == "rigid < linear"


def test_a_permutation_with_one_scale_may_gain_as_much_as_ica():
    assert row("ab").gains_more_than_a_scale
    assert not row("ab", scaled=0.25).gains_more_than_a_scale
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 4))
    # Matched coordinates that differ in scale and noise only.
    other = 3 * rows[:, ::-1] + 0.5 * rng.normal(size=rows.shape)
    family = Family(title="scaled", remark="", runs={"a": rows, "b": other})
    found = pair_row(family, "a", "b", seed=0)
    errors = found.agreement.held_out
    assert errors["signed-similarity"] < 0.3 * errors["signed-permutation"]
    assert not found.gains_more_than_a_scale
    assert table_one([found]).columns[7].name == "permutation, one scale"


def test_intervals_leave_out_one_model_at_a_time():
    values = {("a", "b"): 0.1, ("a", "c"): 0.2, ("b", "c"): 0.6}
    rows = [row(models, permutation=value) for models, value in values.items()]
    found = over_models(rows, error_of("permutation", "held_out"))
    without = np.array([0.6, 0.2, 0.1])
    spread = np.sqrt(2 / 3 * np.square(without - without.mean()).sum())
    assert found.value == pytest.approx(0.3)
    assert found.high - found.value == pytest.approx(4.302653 * spread, rel=1e-5)
    assert over_models(rows[:1], error_of("rigid", "held_out")).low is None


def test_a_rotated_family_agrees_up_to_a_rigid_motion():
    rng = np.random.default_rng(0)
    rows = rng.laplace(size=(600, 4))
    turned = 2 * rows @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    family = Family(title="turned", remark="", runs={"a": rows, "b": turned})
    found = pair_row(family, "a", "b", seed=0)
    assert found.agreement.held_out["similarity"] < 1e-8
    assert found.agreement.held_out["ica"] < 0.05
    assert found.agreement.held_out["signed-permutation"] > 0.1
    assert found.unmixed.recurrence == 1.0
    table = table_one([found], with_paper=False)
    assert [cells[2] for cells in table.rows] == ["in sample", "held out", "chance"]


def test_families_are_read_from_arrays(tmp_path):
    folder = tmp_path / "reps"
    folder.mkdir()
    rows = np.random.default_rng(0).normal(size=(30, 3))
    np.savez(
        folder / "mine.npz", final1=rows, final2=rows, mid1=rows, labels=np.arange(30), head_x=rows
    )
    np.savez(folder / "single.npz", a=rows)
    (family,) = read_families(tmp_path)
    assert family.title == "mine"
    assert list(family.pairs()) == [("final1", "final2")]
    assert [layer_of(name) for name in ("mid3", "resnet20_layer2", "v5", "cls0")] == [
        "mid",
        "layer2",
        "",
        "",
    ]
    with pytest.raises(InputError, match="has no representations"):
        read_families(folder / "nothing")
    np.savez(folder / "uneven.npz", a=rows, b=rows[1:])
    with pytest.raises(InputError, match="29 and 30 rows"):
        read_families(tmp_path)
    (folder / "uneven.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="cannot be read"):
        read_families(tmp_path)


def test_groups_of_rows_are_read(tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 3))
    np.savez(tmp_path / "mine.npz", a=rows, b=rows, groups=np.arange(30) // 3)
    (family,) = read_families(tmp_path)
    assert list(family.runs) == ["a", "b"]
    assert family.groups.tolist() == [n // 3 for n in range(30)]
    for bad in (np.arange(29), np.zeros(30, int), np.linspace(0, 1, 30)):
        np.savez(tmp_path / "mine.npz", a=rows, b=rows, groups=bad)
        with pytest.raises(InputError, match="has no groups of its 30 rows"):
            read_families(tmp_path)


def unmixed(**changes):
    values = {"permutation": 4.0, "ICA": 3.0, "rigid": 2.0, "linear": 1.0} | changes
    turned, whitened = values.pop("turned", 5.0), values.pop("whitened", 1.5)
    rows = np.random.default_rng(0).laplace(size=(100, 2))
    return replace(unmixed_pair(rows, rows), errors=values, turned=turned, whitened=whitened)


def test_what_mends_the_order_is_its_cause():
    broken = replace(row("ab", ica=0.5), widths=(8, 8))
    causes = {
        name: cause(replace(broken, unmixed=unmixed(**changes)))
        for name, changes in {
            "leading": {},
            "turned": {"ICA": 4.5},
            "not": {"ICA": 6.0},
            "whitened": {"ICA": 1.8},
            "better alone": {"ICA": 1.2, "whitened": 2.5, "turned": 1.1},
            "overfitted": {"linear": 2.5},
        }.items()
    }
    assert causes == {
        "leading": WIDER,
        "turned": MATCHED,
        "not": NOT_SHARED,
        "whitened": SCALED,
        "better alone": "",
        "overfitted": FEW_ROWS,
    }
    assert cause(replace(broken, unmixed=unmixed(), widths=(2, 2))) == ""
    assert cause(broken) == ""
    table = failures_table([row("ab"), replace(broken, unmixed=unmixed(ICA=4.5)), broken])
    (first, second) = table.records()
    assert (first["order in sample"], first["cause"]) == ("ICA ≥ permutation", MATCHED)
    assert first["permutation, turned"] == 2.5
    assert second["ICA"] is None


def test_rounding_breaks_no_order():
    assert broken_order(0.4, 0.1, 2e-16, 3e-16) == ""
    assert broken_order(0.4, 1e-16, 2e-16, 2e-16) == ""
    assert broken_order(0.4, 0.1, 0.2, 0.3) == "ICA ≤ rigid"
    assert broken_order(0.0, 0.0, 0.0, 0.0) == "ICA ≥ permutation"


def test_the_sentence_of_a_pair_says_what_speaks_against_it():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 6)) * np.arange(1, 7)
    turned = rows @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    runs = {"a": rows, "b": turned, "c": rng.laplace(size=rows.shape)}
    family = Family(title="drawn", remark="", runs=runs)
    # Accidents of the same Gaussian rows are found in both.
    found = _says([pair_row(family, "a", "b", seed=0)])
    assert "on rows of its own" in found
    assert "of the components recur" in found
    unrelated = _says([pair_row(family, "a", "c", seed=0)])
    assert "rows paired at random differ by" in unrelated
    assert "efficiency" not in unrelated


def test_a_pair_loses_the_order_with_few_rows():
    rng = np.random.default_rng(0)
    rows = rng.laplace(size=(3000, 8))
    turned = rows @ np.linalg.qr(rng.normal(size=(8, 8)))[0] + 0.1 * rng.normal(size=rows.shape)
    family = Family(title="turned", remark="", runs={"a": rows, "b": turned, "c": rows + turned})
    settings = SimpleNamespace(rows_each=[20, 200, 2000], swept_pairs=1)
    work = SimpleNamespace(seed=0, progress=SilentProgress())
    swept = swept_rows([family], settings, work)
    # The last number of rows is more than there are.
    assert [each.rows_each for each in swept] == [20, 200]
    assert [each.unmixed.n_fitted for each in swept] == [160, 1600]
    assert swept[0].unmixed.apart < swept[1].unmixed.apart
    assert set(order_by_rows(swept)) == {"order with fewest rows", "order with most rows"}
    table = rows_table(swept)
    assert [cells[1] for cells in table.rows] == [20, 200]
    assert rows_panel(swept).marks[0].x == (20.0, 200.0)


def test_a_linear_classifier_tells_separate_classes():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=200)
    rows = rng.normal(size=(200, 5)) + 4 * np.eye(3, 5)[labels]
    assert linear_accuracy(rows[:100], labels[:100], rows[100:], labels[100:]) > 0.9


@pytest.mark.slow
def test_the_study_at_its_smallest(tmp_path):
    pytest.importorskip("torch")
    result = run_study("model-pairs", size="tiny", folder=tmp_path, progress=False)
    table, yardsticks, pairs, failures, swept = result.details
    assert {cells[0] for cells in pairs.rows} == {"GPT", "MAE", "ResNet-18"}
    assert {cells[0] for cells in table.rows} >= {"GPT", "MAE", "ResNet-18"}
    assert {cells[0] for cells in swept.rows} == {"GPT", "MAE", "ResNet-18"}
    assert len(failures.rows) <= 3
    values = {(cells[0], cells[1]): float(cells[2]) for cells in yardsticks.rows}
    guess = values["MAE", "error of the mean of seen patches"]
    assert values["MAE", "error of hidden patches"] < 0.9 * guess
    (quantity,) = [each for each in result.quantities if each.measured is not None]
    assert quantity.name == "permutation above rigid/trained"
    assert quantity.measured.value > 0
    assert [panel.title for panel in result.plots[2:]] == [
        f"Training of {name}" for name in ("GPT", "MAE", "ResNet-18")
    ]
    assert "of 3 pairs of 3 families" in result.verdict


def test_missing_data_are_named():
    with pytest.raises(InputError, match="--data"):
        run_study("model-pairs", size="full", settings={"trained": []}, progress=False)
