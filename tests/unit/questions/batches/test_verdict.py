"""What the verdict of batches says first, and what it must not leave out."""

from __future__ import annotations

import numpy as np
import pytest
from checks.batch_intervals import CELLS, SEED, judged

import upto
from upto import Embeddings
from upto.questions.batches.findings import RULES
from upto.questions.batches.leaks import can_batches_tell
from upto.questions.batches.page import batches_badge

FAST = {
    "batch": "plate",
    "label": "label",
    "control": "DMSO",
    "classifier": "linear",
    "conditions": "base",
    "concentration": (),
    "shuffled": False,
    "mixing": False,
    "maps": False,
    "threads": 1,
}


def compounds(seed, *, offset, effect, n_plates=20, n_wells=16):
    """Draw plates of controls beside one of five compounds each."""
    random = np.random.default_rng(seed)
    plate, well = np.divmod(np.arange(n_plates * n_wells), n_wells)
    number = plate % 5
    treated = well % 2 == 1
    rows = random.normal(size=(len(plate), 4))
    rows += offset * random.normal(size=(n_plates, 4))[plate]
    rows[np.flatnonzero(treated), number[treated] % 4] += effect
    label = np.where(treated, np.char.add("cpd", number.astype(str)), "DMSO")
    return Embeddings(rows=rows, name="wells", columns={"plate": plate, "label": label})


def judge(run, **options):
    return upto.batches(run, **FAST | options)


def test_compounds_beside_their_controls_are_told_within_plates_and_a_gain_is_said():
    found = judge(compounds(1, offset=6.0, effect=3.0), conditions=["control-scaled"])
    base, scaled = found.score("base"), found.score("control-scaled")
    gain, within = (found.difference("control-scaled", measure=m) for m in ("auroc", "within"))
    assert gain.is_gain
    assert "cannot be separated" not in found.verdict
    assert found.verdict.startswith(
        f"The unmodified embedding predicts label within batches: AUROC {base.within.value:.3f} (p"
    )
    assert (
        "AUROCs across held-out plate confound label with plate because 5 of 5 labels share few "
        "batches with their comparison group (cpd0 shares 4 of 20 batches)"
    ) in found.verdict
    assert (
        f"Control scaled raises the AUROC for label on held-out plate from {base.auroc.value:.3f} "
        f"to {scaled.auroc.value:.3f} ({gain.value:+.3f})."
    ) in found.verdict
    assert f"to {scaled.within.value:.3f} ({within.value:+.3f})" in found.verdict
    # No interval of the AUROC over all plates would cover.
    assert base.auroc.low is None


def test_a_condition_that_tells_labels_within_plates_is_named_where_the_embedding_does_not():
    found = judge(compounds(0, offset=6.0, effect=3.0), conditions=["control-scaled"])
    scaled = found.score("control-scaled").within.value
    assert found.verdict.startswith(
        f"Control scaled predicts label within batches: AUROC {scaled:.3f} (p"
    )
    assert found.difference("control-scaled", measure="within").is_gain
    assert "Within batches, Control scaled raises it from" in found.verdict


@pytest.mark.parametrize("seed", range(3))
def test_small_offsets_of_plates_do_not_hide_a_strong_effect(seed):
    found = judge(compounds(seed, offset=0.5, effect=3.0))
    assert found.verdict.startswith("The unmodified embedding predicts label within batches: AUROC")


@pytest.mark.parametrize("seed", range(4))
def test_compounds_without_effect_cannot_be_separated_and_conditions_are_still_said(seed):
    found = judge(compounds(seed, offset=3.0, effect=0.0), conditions=["control-scaled"])
    within = found.score("base").within.value
    assert found.verdict.startswith("label cannot be separated from plate: 5 of 5 labels")
    assert (
        f"the AUROC within batches is {within:.3f}, not clearly above chance (p = " in found.verdict
    )
    assert "Control scaled" in found.verdict


def test_labels_that_hardly_meet_their_controls_cannot_be_separated_however_well_one_is_told():
    run = compounds(0, offset=1.0, effect=6.0)
    plate, label = run.columns["plate"], run.columns["label"].copy()
    # One plate of each compound keeps its controls; the others have one side only.
    label[(plate >= 5) & (plate < 10)] = "DMSO"
    alone = plate >= 10
    label[alone] = np.char.add("cpd", (plate[alone] % 5).astype(str))
    found = judge(Embeddings(rows=run.rows, columns={"plate": plate, "label": label}))
    assert {task.n_batches for task in found.tasks} == {1}
    assert found.verdict.startswith("label cannot be separated from plate: 5 of 5 labels share few")


@pytest.mark.parametrize(("noise", "code"), [(0.0, "UP074"), (1e-6, "UP086")])
def test_a_plate_that_was_copied_to_others_is_said_before_any_number(noise, code):
    random = np.random.default_rng(3)
    rows = np.tile(random.normal(size=(40, 4)), (6, 1))
    rows += noise * random.normal(size=rows.shape)
    columns = {"plate": np.repeat(np.arange(6), 40), "label": np.tile(["DMSO", "drug"], 120)}
    run = Embeddings(rows=rows, columns=columns)
    found = judge(run, classifier="boosted-fast", conditions="pca")
    assert found.score("base").auroc.value > 0.7
    assert code in {each.code for each in found.findings}
    assert found.verdict.startswith(
        "240 of 240 held-out rows are exact or near copies of a row in another plate, so "
        "classifiers may have been trained on their test rows"
    )
    assert batches_badge(found) == ("held-out rows are copies", "fair")


def test_a_few_copies_are_a_finding_and_lead_no_verdict():
    run = compounds(0, offset=0.5, effect=3.0)
    rows = np.asarray(run.rows).copy()
    rows[-10:] = rows[:10]
    found = judge(Embeddings(rows=rows, columns=run.columns))
    assert "UP074" in {each.code for each in found.findings}
    assert "near copies" not in found.verdict


def test_wells_that_predict_as_well_as_the_embedding_are_said_first():
    random = np.random.default_rng(0)
    plate, place = np.divmod(np.arange(8 * 24), 24)
    label = np.where(place % 2 == 0, "drug", "DMSO")
    for effect in (1.0, 8.0):
        rows = random.normal(size=(len(plate), 3))
        rows[:, 0] += effect * (label == "drug")
        columns = {"plate": plate, "label": label, "well": place.astype(str)}
        found = judge(Embeddings(rows=rows, columns=columns))
        assert found.verdict.startswith("Well position alone predicts label at least about as")
    # Half of the wells change their side from plate to plate.
    label = np.where((place % 2 == 0) ^ ((place % 4 < 2) & (plate % 2 == 0)), "drug", "DMSO")
    rows[:, 0] = random.normal(size=len(rows)) + 8.0 * (label == "drug")
    columns = {"plate": plate, "label": label, "well": place.astype(str)}
    found = judge(Embeddings(rows=rows, columns=columns))
    assert "UP072" in {each.code for each in found.findings}
    assert found.verdict.startswith("The unmodified embedding predicts label")


@pytest.mark.parametrize("seed", [0, 1])
def test_plates_with_equal_shares_of_the_label_cannot_give_it_away(seed):
    random = np.random.default_rng(seed)
    plate, place = np.divmod(np.arange(8 * 12), 12)
    columns = {"plate": plate, "label": np.where(place % 2 == 0, "drug", "DMSO")}
    rows = random.normal(size=(len(plate), 3)) + 3 * random.normal(size=(8, 3))[plate]
    found = judge(Embeddings(rows=rows, columns=columns))
    assert found.leak.batch is None
    assert "UP078" not in {each.code for each in found.findings}


def test_shares_that_differ_by_a_well_tell_nothing_and_others_are_asked():
    plate, place = np.divmod(np.arange(10 * 60), 60)
    for n_more, is_asked in ((1, False), (12, True)):
        label = np.where(place < 30 + n_more * (plate % 2), "drug", "DMSO")
        perturbed = label == "drug"
        assert can_batches_tell(perturbed, plate) is is_asked


def test_an_auroc_below_chance_predicts_nothing():
    random = np.random.default_rng(0)
    plate, place = np.divmod(np.arange(10 * 20), 20)
    label = np.where(place % 2 == 0, "drug", "DMSO")
    # What tells the label on one half of the plates tells the opposite on the other.
    rows = random.normal(size=(len(plate), 1))
    rows += 2.0 * ((label == "drug") ^ (plate % 2 == 0))[:, None]
    found = judge(Embeddings(rows=rows, columns={"plate": plate, "label": label}), folds=10)
    auroc = found.score("base").auroc
    assert auroc.high < 0.5
    assert found.verdict == (
        "The unmodified embedding does not predict label on held-out plate: AUROC "
        f"{auroc:.3f} (below chance)."
    )


def test_a_condition_that_changes_no_rank_is_said_to_change_nothing():
    random = np.random.default_rng(0)
    plate, place = np.divmod(np.arange(2 * 40), 40)
    label = np.where(place % 2 == 0, "drug", "DMSO")
    rows = random.normal(size=(len(plate), 2)) + 30.0 * (label == "drug")[:, None]
    run = Embeddings(rows=rows, columns={"plate": plate, "label": label})
    found = judge(run, conditions=["batch-scaled"])
    assert found.difference("batch-scaled").value.value == 0.0
    assert found.verdict.endswith("for the unmodified embedding; Batch scaled changes nothing.")


def test_the_text_about_near_copies_promises_no_more_than_is_found():
    random = np.random.default_rng(0)
    rows = random.normal(size=(160, 6))
    rows[80:] = 2 * rows[:80]
    columns = {"plate": np.repeat(np.arange(4), 40), "label": np.tile(["DMSO", "drug"], 80)}
    found = judge(Embeddings(rows=rows, columns=columns))
    assert "UP086" not in {each.code for each in found.findings}
    (rule,) = [each for each in RULES if each.code == "UP086"]
    assert "Scaled copies are not detected." in rule.matters


@pytest.mark.parametrize(
    "cell",
    [each for each in CELLS if not each.has_interval and each.n_plates < 100],
    ids=lambda cell: cell.case,
)
def test_noise_that_goes_with_plates_is_said_first_in_the_words_that_are_counted(cell):
    found = [judged(cell, (SEED, 7, trial)) for trial in range(4)]
    assert all(each.is_said and each.low is None for each in found)
