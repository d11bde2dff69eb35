"""Labels predicted on batches never seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import upto
from upto import Embeddings, InputError
from upto.batch_metrics.fold_means import holm, mean_over_folds, p_of_mean
from upto.batch_metrics.folds import split_batches
from upto.batch_metrics.value_names import as_names
from upto.core import Estimate, MissingExtraError
from upto.corrections.cost_of_dropping import DroppingCost
from upto.questions.batches.aggregate import compare_conditions
from upto.questions.batches.conditions import CONDITIONS, find_conditions
from upto.questions.batches.evaluate import Judged
from upto.questions.batches.findings import RULES
from upto.questions.batches.leaks import repeated_rows
from upto.questions.batches.page import batches_badge
from upto.questions.batches.result import BatchesResult
from upto.questions.batches.screen import read_screen
from upto.questions.batches.text import kept_whole

FAST = {
    "classifier": "linear",
    "conditions": "base",
    "concentration": (),
    "mixing": False,
    "maps": False,
}


def screen(n_batches=8, n_rows=30, n_columns=4, effect=2.0, seed=0, **columns):
    """Make wells whose first column tells the label, in batches of shifted second columns."""
    random = np.random.default_rng(seed)
    batch = np.repeat(np.arange(n_batches), n_rows)
    label = np.tile(np.arange(n_rows) % 3, n_batches)
    rows = random.standard_normal((len(batch), n_columns))
    rows[:, 0] += effect * (label == 1)
    rows[:, 1] += 3 * random.standard_normal(n_batches)[batch]
    names = np.array(["DMSO", "drug", "other"])[label]
    wells = np.array([f"A{number:02d}" for number in random.permutation(len(batch)) % n_rows])
    given = {"plate": batch, "label": names, "well": wells} | columns
    return Embeddings(rows=rows, name="wells", columns=given)


def judge(run, **options):
    asked = {"batch": "plate", "label": "label", "control": "DMSO"} | FAST | options
    return upto.batches(run, **asked)


@given(
    st.lists(st.tuples(st.integers(0, 11), st.sampled_from("abc")), min_size=12, max_size=60),
    st.integers(2, 7),
    st.sampled_from(["folds", "one-trains"]),
    st.integers(0, 5),
)
@settings(max_examples=30, deadline=None)
def test_folds_never_share_a_batch_and_every_batch_is_judged(rows, n_folds, scheme, seed):
    held = np.unique([group for group, _ in rows], return_inverse=True)[1]
    labels = np.array([label for _, label in rows])
    if held.max() == 0:
        held[0] = 1
    fold_of, splits = split_batches(held, labels, scheme=scheme, n_folds=n_folds, seed=seed)
    judged = np.zeros(len(held), dtype=int)
    for split in splits:
        assert not set(held[split.training]) & set(held[split.judging])
        assert split.training.any()
        assert split.judging.any()
        judged += split.judging
    assert len(fold_of) == held.max() + 1
    assert (judged == (1 if scheme == "folds" else held.max())).all()
    assert len(splits) == (min(n_folds, held.max() + 1) if scheme == "folds" else held.max() + 1)


def test_folds_spread_the_batches_that_have_a_label():
    held = np.repeat(np.arange(20), 10)
    treated = np.array(["drug", "other", "control", "control"])[held % 4]
    labels = np.where(np.arange(200) % 10 < 3, treated, "control")
    _, splits = split_batches(held, labels, scheme="folds", n_folds=5, seed=0)
    for label in ("drug", "other"):
        assert [np.sum(labels[split.judging] == label) for split in splits] == [3] * 5
    assert [len(np.unique(held[split.judging])) for split in splits] == [4] * 5


def test_a_label_that_a_column_tells_is_predicted_and_one_that_none_tells_is_not():
    found = judge(screen(n_batches=10))
    assert found.score("base", "drug").auroc.value > 0.88
    low, high = found.score("base", "other").auroc.low, found.score("base", "other").auroc.high
    assert low < 0.5 < high
    assert found.judged == ("drug", "other")


@pytest.mark.parametrize("classifier", ["linear", "boosted"])
def test_shuffled_labels_are_at_chance_within_three_standard_errors(classifier):
    found = judge(screen(n_batches=20), classifier=classifier, tasks=["drug"], folds=10)
    values = np.array([score.shuffled for score in found.fold_scores])
    assert abs(values.mean() - 0.5) < 3 * values.std(ddof=1) / np.sqrt(len(values))


def test_nothing_depends_on_the_order_of_rows():
    run = screen()
    order = np.random.default_rng(1).permutation(len(run))
    other = Embeddings(
        rows=np.asarray(run.rows)[order],
        columns={name: values[order] for name, values in run.columns.items()},
    )
    asked = {"conditions": ["ica", "control-scaled"], "concentration": (50.0,)}
    first, second = judge(run, **asked), judge(other, **asked)
    assert first.fold_scores == second.fold_scores
    assert first.top_scores == second.top_scores


@given(
    st.integers(0, 100),
    st.sampled_from([1e-3, 1e3, 7.0]),
    st.sampled_from([0.0, -5.0, 12.0]),
    st.sampled_from(["float32", "float64"]),
)
@settings(max_examples=4, deadline=None)
def test_folds_and_controls_follow_names_and_no_unit_order_or_type_of_columns(
    seed, scale, offset, dtype
):
    random = np.random.default_rng(seed)
    run = screen(n_batches=6, n_rows=12, seed=seed)
    rows = (np.asarray(run.rows) + offset) * scale
    order = random.permutation(len(run))
    rows = rows[:, random.permutation(rows.shape[1])].astype(dtype)[order]
    columns = {name: values[order] for name, values in run.columns.items()}
    asked = {"conditions": "control-scaled", "shuffled": False}
    first = judge(run, **asked)
    second = judge(Embeddings(rows=rows, columns=columns), **asked)
    assert first.batches == second.batches
    for one, other in zip(first.fold_scores, second.fold_scores, strict=True):
        # A pair of rows that float32 takes for equal may count as half.
        assert one.auroc == pytest.approx(other.auroc, abs=0.02)


def test_rows_in_thousands_have_the_same_folds_and_intervals_by_trees():
    run = screen(n_batches=12, n_rows=24, effect=0.5)
    wide = Embeddings(rows=np.asarray(run.rows) * 1e3, columns=run.columns)
    asked = {"classifier": "boosted-fast", "shuffled": False, "tasks": ["drug"]}
    one, other = (judge(each, **asked).score("base").auroc for each in (run, wide))
    assert other.value == pytest.approx(one.value, abs=1e-3)
    assert other.low == pytest.approx(one.low, abs=2e-3)


@pytest.mark.parametrize("fit", ["training", "all"])
def test_controls_that_correct_their_batch_are_not_judged(fit):
    # More columns than controls: their covariance in a batch is the identity, and gives them away
    # with an AUROC of 0.97 where labels tell nothing.
    run = screen(n_batches=8, n_rows=30, n_columns=24, effect=0.0)
    asked = {"conditions": "tvn", "tasks": ["drug"], "classifier": "boosted", "fit": fit}
    found = judge(run, **asked)
    codes = {finding.code for finding in found.findings}
    assert found.score("tvn").auroc.value < 0.7
    assert found.tasks[0].n_others == 8 * 5
    assert "UP083" in codes
    assert ("UP079" in codes) == (fit == "all")
    assert "UP083" not in {finding.code for finding in judge(run).findings}


def test_equal_controls_of_a_batch_correct_it_or_are_judged_but_not_both():
    run = screen(n_batches=4, n_rows=30, n_columns=3)
    rows, controls = np.asarray(run.rows).copy(), run.columns["label"] == "DMSO"
    for number in range(4):
        own = np.flatnonzero(controls & (run.columns["plate"] == number))
        rows[own[1::2]] = rows[own[0::2]]
    keys = np.unique(rows, axis=0, return_inverse=True)[1]
    options = {"fold_by": None, "well": None, "tasks": ()}
    found = read_screen(
        Embeddings(rows=rows, columns=run.columns),
        batch="plate",
        label="label",
        control="DMSO",
        **options,
    ).with_references(keys)
    judged = controls & ~found.references
    assert not set(keys[found.references]) & set(keys[judged])
    assert (found.references.sum(), judged.sum()) == (24, 16)


def test_wells_that_tell_the_label_are_a_finding():
    fixed = np.tile([f"B{number:02d}" for number in range(30)], 8)
    found = judge(screen(well=fixed))
    assert found.leak.well.value == 1.0
    assert "UP072" in {finding.code for finding in found.findings}
    free = judge(screen())
    assert free.leak.well.value < 0.65
    assert "UP072" not in {finding.code for finding in free.findings}


def test_batches_that_give_the_label_away_are_a_finding():
    random = np.random.default_rng(3)
    plate = np.repeat(np.arange(12), 40)
    treated = plate % 2 == 1
    label = np.where(treated & (random.random(480) < 0.9), "drug", "DMSO")
    label[~treated] = np.where(random.random((~treated).sum()) < 0.1, "drug", "DMSO")
    rows = random.standard_normal((480, 3))
    rows[:, 0] += 4 * treated
    found = judge(Embeddings(rows=rows, columns={"plate": plate, "label": label}))
    assert found.leak.batch.low > 0.5
    assert "UP078" in {finding.code for finding in found.findings}
    assert found.score("base").within.value < 0.65 < found.score("base").auroc.value


@pytest.mark.parametrize("seed", [0, 1])
def test_where_batches_alone_predict_the_label_the_verdict_says_so_first(seed):
    random = np.random.default_rng(seed)
    plate = np.repeat(np.arange(16), 30)
    treated = plate % 2 == 1
    label = np.where(random.random(480) < np.where(treated, 0.9, 0.1), "drug", "DMSO")
    rows = random.normal(size=(480, 3)) + 4 * treated[:, None]
    run = Embeddings(rows=rows, name="wells", columns={"plate": plate, "label": label})
    found = judge(run, conditions=["pca", "batch-scaled"])
    alone, within = found.leak.batch, found.score("base").within
    assert found.verdict.startswith(
        "plate alone predicts label: labels shuffled within batches still reach an AUROC of "
        f"{alone:.3f}; within batches the unmodified embedding reaches {within:.3f}. "
    )
    assert batches_badge(found) == ("batches predict the label", "fair")
    for score in found.scores:
        for share in (score.sparsity, score.shuffled_sparsity):
            assert share is None or share.low is None or 0 <= share.low <= share.high <= 1


@pytest.mark.parametrize("n_batches", [8, 20])
def test_a_label_that_goes_with_batches_is_said_first_and_has_no_interval(n_batches):
    random = np.random.default_rng(1)
    plate = np.repeat(np.arange(n_batches), 12)
    label = np.where(plate % 2 == 0, "drug", "DMSO")
    rows = random.standard_normal((len(plate), 3))
    rows += 3 * random.standard_normal((n_batches, 3))[plate]
    found = judge(Embeddings(rows=rows, columns={"plate": plate, "label": label}))
    together = f"drug and its comparison group share none of {n_batches} batches"
    assert found.verdict.startswith(
        f"label cannot be separated from plate: {together}, so the AUROC of"
    )
    assert "no batch contains both classes" in found.verdict
    for task in (None, "drug"):
        auroc = found.score("base", task).auroc
        assert (auroc.low, auroc.high) == (None, None)
        assert f"{auroc.value:.3f}" in found.verdict
    (said,) = [each.message for each in found.findings if each.code == "UP071"]
    assert said == (
        f"drug shares none of {n_batches} batches with its comparison group. No interval is "
        "reported for it."
    )


def test_a_label_of_some_batches_has_a_wider_interval_and_one_of_all_leads_no_verdict():
    run = screen(n_batches=20)
    plate, label = run.columns["plate"], run.columns["label"].copy()
    label[(plate >= 12) & (label == "drug")] = "DMSO"
    found = judge(Embeddings(rows=run.rows, columns={**run.columns, "label": label}))
    shared = np.mean([fold.n_held_out / fold.n_training for fold in found.folds])
    for task, times in (("drug", 3), ("other", 1)):
        folds = [each.auroc for each in found.fold_scores if each.task == task]
        auroc = found.score("base", task).auroc
        reach = 2.7764451 * np.std(folds, ddof=1) * np.sqrt(1 / 5 + times * shared)
        assert auroc.low == pytest.approx(max(auroc.value - reach, 0.0), rel=1e-6)
    assert found.verdict.startswith("The unmodified embedding predicts label")
    assert "UP071" not in {each.code for each in found.findings}


def test_folds_that_are_all_at_one_are_no_surer_than_half_a_row():
    found = judge(screen(n_batches=4, n_rows=12, effect=40.0), tasks=["drug"])
    auroc = found.score("base").auroc
    assert {each.auroc for each in found.fold_scores} == {1.0}
    # Four rows of a side in every fold, and three degrees of freedom.
    reach = 3.1824463 * 0.5 / 4 * np.sqrt(1 / 4 + 1 / 3)
    assert (auroc.value, auroc.low, auroc.high) == (1.0, pytest.approx(1 - reach), 1.0)


def test_a_condition_that_drops_nothing_is_the_embedding_as_given_and_said():
    found = judge(screen(n_batches=6), conditions="biology")
    assert "UP089" in {each.code for each in found.findings}
    assert "UP076" not in {each.code for each in found.findings}
    assert found.verdict.startswith(
        "The unmodified embedding predicts label on held-out plate: AUROC 0."
    )
    assert found.verdict.endswith(
        " ICA, biology kept drops no component and leaves the embedding unmodified."
    )
    by_condition = [
        [each.auroc for each in found.fold_scores if each.condition == name]
        for name in ("base", "biology")
    ]
    assert by_condition[0] == by_condition[1]


def test_wells_that_are_not_known_are_not_the_same_well():
    half = np.where(np.arange(240) % 2, "", np.tile([f"B{number:02d}" for number in range(30)], 8))
    found = judge(screen(well=half))
    assert found.leak.n_repeated_wells == 0
    assert found.leak.well.value < 1
    none = judge(screen(well=np.array([""] * 240)))
    assert (none.leak.n_repeated_wells, none.leak.well) == (0, None)


def test_a_condition_of_one_column_has_no_concentration():
    found = judge(screen(), conditions="pca", n_components=1, concentration=(50.0,))
    assert found.concentration("pca", 50.0).value is None
    assert found.concentration("base", 50.0).value is not None
    assert found.condition("pca").n_components == 1


@pytest.mark.slow
def test_a_condition_that_would_keep_nothing_is_left_out_and_said():
    random = np.random.default_rng(0)
    wells = screen(n_batches=12, n_rows=300)
    offsets = 3 * random.standard_normal((12, 2))
    rows = random.laplace(size=(3600, 2)) + offsets[wells.columns["plate"]]
    run = Embeddings(rows=rows, columns=wells.columns)
    found = judge(run, conditions=["pca", "biology"], maps=True)
    assert [condition.name for condition in found.conditions] == ["base", "pca"]
    assert [each.condition for each in found.maps] == ["base", "pca"]
    (said,) = [finding for finding in found.findings if finding.code == "UP084"]
    assert "all 2 components carry batches" in said.message


def test_rows_and_wells_that_repeat_are_findings():
    run = screen()
    rows = np.asarray(run.rows).copy()
    rows[31] = rows[0]
    copied = Embeddings(rows=rows, columns={**run.columns, "well": np.array(["A01"] * len(rows))})
    found = judge(copied)
    assert found.leak.n_repeated_rows == 2
    assert found.leak.n_repeated_wells == 240 - 8
    assert {"UP073", "UP074"} <= {finding.code for finding in found.findings}


def test_rows_repeated_in_one_batch_are_not_shared_between_folds():
    keys = np.array([7, 7, 8, 8], dtype=np.uint64)
    assert repeated_rows(keys, np.array([0, 0, 1, 2])).tolist() == [False, False, True, True]


def test_a_label_of_one_batch_is_left_out_and_said():
    run = screen()
    label = run.columns["label"].astype("U8").copy()
    label[:10] = "rare"
    found = judge(Embeddings(rows=run.rows, columns={**run.columns, "label": label}))
    rare = next(task for task in found.tasks if task.name == "rare")
    assert rare.n_folds == 0
    assert "1 of 8 batches" in rare.says
    assert "UP075" in {finding.code for finding in found.findings}
    assert "rare" not in found.judged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": "plat"}, "did you mean plate"),
        ({"label": "labels"}, "did you mean label"),
        ({"control": "dmso"}, "did you mean 'DMSO'"),
        ({"control": "water"}, "3 values of label"),
        ({"tasks": ["drugs"]}, "did you mean 'drug'"),
        ({"conditions": "icaa"}, "did you mean ica"),
        ({"conditions": "tvn", "control": None}, "needs controls"),
        ({"batch": "one"}, "1 value in 240 rows"),
        ({"label": "one", "control": None}, "at least two are needed"),
        (
            {"label": "plate", "control": None},
            "batch='plate' and label='plate' are the same column",
        ),
        ({"label": "well", "batch": ["plate", "well"]}, "label='well' are the same column"),
        ({"label": "apart", "control": "DMSO"}, "no value of apart can be evaluated"),
        ({"control": "lone", "label": "few", "conditions": "tvn"}, r"fewer than 3 controls \(0"),
        ({"batch": "single", "conditions": "batch-scaled"}, r"1 of 9 .* fewer than 2 rows \(8\)"),
        ({"batch": "single", "conditions": "combat"}, "1 of 9 .* fewer than 2 rows"),
        (
            {"conditions": "combat", "scheme": "one-trains"},
            "1 training batch, but combat needs at least 2",
        ),
        ({"fold_by": "label"}, r"e\.g\. '0': .* whole. Hold out columns other than label,"),
        (
            {"fold_by": "well"},
            r"e\.g\. '0': batches must be held out as a whole.* batch=\['well', 'plate'\]",
        ),
        ({"label": "alone"}, r"'drug' cannot because its 1 control \(DMSO\) lies in 1 of 8 batch"),
        ({"tasks": ["b"], "label": "apart"}, "can be evaluated: only 'drug' is available.$"),
        ({"conditions": 3}, "^conditions=3 is not a list of conditions: pass a list"),
        ({"conditions": ["pca", 3]}, "is not a list of conditions: pass a list"),
        ({"concentration": "25"}, "^concentration='25' is not a list of percentages: use numbers"),
        ({"n_components": "5"}, "^n_components='5' is neither a number"),
        ({"n_components": 99}, "^n_components=99 exceeds the 4 columns of wells: choose 4 or"),
        ({"folds": 2.5}, "^folds=2.5 is not an integer"),
        ({"folds": "3"}, "^folds='3' is not an integer"),
        ({"seed": -1}, "^seed is -1, but it must be a whole number"),
        ({"seed": 0.5}, "^seed is 0.5, but it must be a whole number"),
        ({"probe_labels": 1.5}, "^probe_labels is 1.5"),
        (
            {"fold_by": np.arange(240) % 2},
            "e\\.g\\. '0': .*do not span several values of fold",
        ),
        ({"n_components": 0}, "n_components=0 is neither a number of components"),
        ({"n_components": 1.5}, "n_components=1.5 is neither a number of components"),
        ({"batch": "holes"}, "3 of 240 rows have no holes"),
        ({"classifier": "forest"}, "unknown classifier"),
        ({"folds": 1}, "at least 2"),
        ({"concentration": (100.0,)}, "between 0 and 100"),
        ({"fit": "some"}, "fit is 'some'"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_one_sentence_without_options(options, message):
    holes = np.repeat(np.arange(8), 30).astype(float)
    holes[:3] = np.nan
    few, single = np.array(["drug"] * 240), np.repeat(np.arange(8), 30)
    few[::15], single[-1] = "lone", 8
    run = screen(
        one=np.zeros(240, dtype=int),
        holes=holes,
        few=few,
        single=single,
        apart=np.where(np.arange(240) < 30, "drug", "DMSO"),
        alone=np.where(np.arange(240) == 7, "DMSO", "drug"),
    )
    with pytest.raises(InputError, match=message) as caught:
        judge(run, **options)
    assert "\n" not in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_missing_package_is_said_before_anything_is_judged(monkeypatch):
    monkeypatch.setattr("upto.corrections.harmony.find_spec", lambda _: None)
    monkeypatch.setattr("upto.questions.batches.question.single_run", lambda *_: 1 / 0)
    with pytest.raises(MissingExtraError, match="Harmony needs"):
        judge(screen(), conditions=["pca", "batch-scaled+harmony"])


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (
            np.array(["a", None, "None", float("nan"), 1, 1.0, True], dtype=object),
            "a||None||1|1|True",
        ),
        (np.array([1.0, np.nan, 0.5]), "1||0.5"),
        (np.array([0.1], dtype=np.float32), "0.1"),
        (np.array(["2026-01-02", "NaT"], dtype="datetime64[D]"), "2026-01-02|"),
        (np.array(["nan", ""]), "nan|"),
        (np.array([True, False]), "True|False"),
    ],
)
def test_what_is_missing_has_no_name(values, names):
    assert as_names(values).tolist() == names.split("|")


def test_a_column_that_is_named_twice_makes_a_batch_once():
    found = judge(
        screen(Metadata_day=np.repeat([0, 1], 120)), batch=["plate", "day", "Metadata_day"]
    )
    assert found.batch == "plate × Metadata_day"


def test_tables_of_a_terminal_fit_100_columns():
    asked = {"conditions": ["ica", "control-scaled", "biology"], "concentration": (25.0, 25.0)}
    found = judge(screen(), **asked)
    first, second = found.brief_tables()
    widths = [max(map(len, column)) for column in zip(*first.texts(), strict=True)]
    # Two blanks and a line between columns, and room for the mark of a gain.
    assert sum(widths) + 3 * len(widths) + 1 + len(" +") <= 100
    assert [column.name for column in second.columns] == [
        "label",
        *(condition.title for condition in found.conditions),
    ]
    assert all(isinstance(cell, float) for row in second.rows for cell in row[1:])
    assert len(found.concentrations) == 3 * len(found.conditions)
    (uses,) = [table for table in found.tables() if table.title.startswith("Standard errors")]
    score = found.score("ica")
    assert uses.rows[1][:3] == ("PCA + ICA", score.standard_error, score.sparsity.value)


def test_columns_together_make_a_batch():
    run = screen(day=np.repeat([0, 1], 120), plate=np.tile(np.repeat(np.arange(4), 30), 2))
    found = judge(run, batch=["day", "plate"], folds=8)
    assert found.batch == "day × plate"
    assert len(found.batches) == 8
    whole = judge(run, batch=["day", "plate"], fold_by="day")
    assert [fold.n_held_out_batches for fold in whole.folds] == [4, 4]
    assert "UP081" in {finding.code for finding in whole.findings}


def test_one_batch_that_trains_is_judged_by_all_others():
    found = judge(screen(), scheme="one-trains")
    assert [fold.n_training_batches for fold in found.folds] == [1] * 8
    assert [fold.n_held_out for fold in found.folds] == [210] * 8


def test_conditions_follow_each_other():
    (base, both) = find_conditions("control-scaled+ica", has_controls=True)
    assert (base.name, both.name, both.needs) == ("base", "control-scaled+ica", "controls")
    found = judge(screen(), conditions=["control-scaled+ica", "pca"])
    assert [condition.name for condition in found.conditions] == [
        "base",
        "control-scaled+ica",
        "pca",
    ]
    assert found.difference("pca", "control-scaled+ica").against == "control-scaled+ica"


def test_a_rotation_of_whitened_rows_does_not_matter_to_a_linear_classifier():
    found = judge(screen(), conditions=["pca", "ica", "random"])
    values = [found.score(name).auroc.value for name in ("pca", "ica", "random")]
    assert values == pytest.approx([values[0]] * 3, abs=1e-3)


def test_a_correction_that_removes_a_strong_batch_effect_gains_and_is_said_to():
    random = np.random.default_rng(0)
    run = screen(n_batches=12, effect=1.5)
    rows = np.asarray(run.rows).copy()
    rows[:, 0] += 6 * random.standard_normal(12)[run.columns["plate"]]
    found = judge(
        Embeddings(rows=rows, columns=run.columns), conditions=["batch-scaled"], tasks=["drug"]
    )
    assert found.difference("batch-scaled").is_gain
    assert found.verdict.startswith("Batch scaled raises the AUROC for label")
    none = judge(run, conditions=["random"], tasks=["drug"])
    assert none.verdict.startswith("No condition improves")
    assert "UP076" in {finding.code for finding in none.findings}


def test_a_condition_that_loses_is_said_to():
    run = screen(n_batches=12, effect=3.0)
    found = judge(run, conditions=["pca"], n_components=1, tasks=["drug"])
    assert found.difference("pca").is_loss
    base, pca = (found.score(name).auroc for name in ("base", "pca"))
    assert found.verdict == (
        f"PCA lowers the AUROC for label on held-out plate from {base:.3f} to {pca.value:.3f} "
        f"({found.difference('pca').value:+.3f})."
    )
    both = judge(run, conditions=["pca", "ica"], n_components=1, tasks=["drug"])
    assert both.verdict.startswith("All 2 conditions lower the AUROC for label on held-out")


def test_what_chance_could_give_is_said_in_a_sentence():
    found = judge(screen(effect=0.0, seed=1), tasks=["drug"])
    assert found.verdict == (
        "The unmodified embedding is not shown to predict label on held-out plate: AUROC "
        f"{found.score('base').auroc:.3f} (no better than chance)."
    )


def test_rows_without_a_label_are_said():
    run = screen()
    labels = run.columns["label"].astype(object)
    labels[:60] = np.nan
    found = judge(Embeddings(rows=run.rows, columns={**run.columns, "label": labels}))
    (said,) = [each.message for each in found.findings if each.code == "UP063"]
    assert said == (
        "60 of 240 rows have no label; classifiers are neither trained nor tested on them."
    )
    assert "UP063" not in {each.code for each in judge(run).findings}


@pytest.mark.parametrize("argument", ["batch", "label"])
def test_a_column_that_is_none_is_refused_in_one_sentence(argument):
    with pytest.raises(InputError, match=f"^{argument} is None: .* one value per row.*$"):
        judge(screen(), **{argument: None})


def test_no_finding_about_batches_names_an_option_of_the_command():
    run = screen(n_batches=4, n_rows=12, n_columns=20)
    found = judge(run, conditions="pca")
    (said,) = [each.message for each in found.findings if each.code == "UP001"]
    assert "Keep fewer components: a number, or a fraction" in said
    for rule in RULES:
        assert "--" not in rule.remedy


def test_what_keeps_components_from_being_dropped_is_said_with_its_number():
    cost = DroppingCost(
        n_components=1,
        gains={
            "boosted-fast": Estimate(value=-0.207, low=-0.241, high=-0.173, level=0.95),
            "linear": Estimate(value=0.0, low=-0.001, high=0.001, level=0.95),
        },
    )
    kept = Judged(
        kind=CONDITIONS["biology"], whole=np.zeros((1, 1)), n_dropped=[0, 0], costs=[cost]
    )
    (finding,) = kept_whole([kept])
    assert finding.message == (
        "ICA, biology kept drops no component in 2 fits; in the worst fit, dropping 1 component "
        "changes the AUROC on held-out batches by -0.207 [-0.241, -0.173] (boosted trees), so it "
        "may cost 0.241, and at most 0.005 is allowed."
    )
    assert kept_whole([replace(kept, n_dropped=[1, 0])]) == []


def test_intervals_are_widened_for_folds_that_share_their_training_rows():
    values = np.array([[0.6], [0.7], [0.8], [0.7], [0.7]])
    narrow, wide = mean_over_folds(values, shared=0.0), mean_over_folds(values, shared=0.25)
    assert wide.high - wide.low == pytest.approx(1.5 * (narrow.high - narrow.low))
    assert narrow.high - narrow.value == pytest.approx(2.7764451 * 0.0316228, rel=1e-5)
    assert p_of_mean(values, 0.7, shared=0.25) == pytest.approx(1.0)
    assert holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])


def test_differences_are_of_the_same_folds():
    base = np.array([[0.5], [0.9], [0.7], [0.6], [0.8], [0.4]])
    found = compare_conditions({"base": base, "a": base + 0.1}, "base", "auroc", shared=0.5)
    assert found[0].value.value == pytest.approx(0.1)
    assert found[0].value.low == pytest.approx(0.1)
    assert found[0].is_gain


@pytest.mark.slow
def test_a_result_survives_json():
    found = judge(screen(), conditions=["ica"], mixing=True, maps=True)
    assert BatchesResult.from_json(found.to_json()) == found
    assert {score.name for score in found.mixing} >= {"bras", "ilisi", "kbet", "total", "map"}
    assert [each.condition for each in found.maps] == ["base", "ica"]
    assert len(found.components) == 4


def test_values_and_numbers_may_be_given_as_people_write_them():
    run = screen()
    bare = Embeddings(rows=run.rows, name="run")
    label = run.columns["label"].tolist()
    plate = [f"p{number}" for number in run.columns["plate"]]
    first = judge(run, conditions="base, pca", concentration=25, tasks="drug")
    assert [each.name for each in first.conditions] == ["base", "pca"]
    assert first.judged == ("drug",)
    assert {each.percent for each in first.concentrations} == {25.0}
    listed = judge(bare, batch=plate, label=label, tasks=["drug"], fold_by=plate)
    assert listed.fold_scores == judge(run, tasks=["drug"]).fold_scores
    with pytest.raises(InputError, match=r"^2 of 240 rows have no batch: every row needs a batch"):
        judge(bare, batch=[None, None, *plate[2:]], label=label)
    with pytest.raises(InputError, match=r"^batch has shape \(5,\) but .* has 240 rows"):
        judge(bare, batch=plate[:5], label=label)


@pytest.mark.parametrize("control", [0.0, 0, "0.0", "0", np.float64(0)], ids=repr)
def test_a_control_is_named_as_labels_are(control):
    run = screen()
    dose = np.where(run.columns["label"] == "DMSO", 0.0, 1.5)
    found = judge(Embeddings(rows=run.rows, columns={**run.columns, "dose": dose}),
                  label="dose", control=control, tasks=[1.5])  # fmt: skip
    assert (found.control, found.judged) == ("0", ("1.5",))
