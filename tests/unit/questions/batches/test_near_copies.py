"""Names that look alike, and rows that are nearly those of another batch."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto import Embeddings
from upto.batch_metrics.value_names import look_alikes, reads_as_missing
from upto.engines import choose_engine
from upto.questions.batches.near_copies import find_look_alikes, find_shared_copies, near_copies
from upto.questions.batches.screen import read_screen


def screen_of(rows, **columns):
    run = Embeddings(rows=rows, name="wells", columns=columns)
    control = "DMSO" if "DMSO" in columns["label"] else None
    return read_screen(
        run, batch="plate", label="label", control=control, fold_by=None, well=None, tasks=()
    )


def messages(found):
    return [(finding.code, finding.message) for finding in found]


def test_names_that_differ_by_how_they_are_written_are_found_together():
    assert look_alikes([" DMSO", "dmso", "DMSO", "drug"]) == [(" DMSO", "DMSO", "dmso")]
    assert look_alikes(["plate_1", "plate-1", "Plate 01", "plate 11"]) == [
        ("Plate 01", "plate-1", "plate_1")
    ]
    assert look_alikes(["-1", "1", "0", "00", "10"]) == [("0", "00")]
    assert look_alikes(["a", "b", "ab", "a b"]) == []
    assert reads_as_missing(["NA", "nan", "none ", "Nanog", "drug"]) == ["NA", "nan", "none "]


def test_labels_controls_and_batches_that_look_alike_are_said():
    label = np.array([" DMSO", "dmso", "DMSO", "NA", "nan", "drug", "Drug", "other"] * 4)
    plate = np.array(["plate 1", "plate_1", "plate 2", "plate 3"] * 8)
    found = find_look_alikes(screen_of(np.zeros((32, 2)), label=label, plate=plate))
    assert messages(found) == [
        (
            "UP085",
            "label has ' DMSO' and 'DMSO' and 'dmso', 'Drug' and 'drug' as separate values; "
            "only rows with 'DMSO' count as controls.",
        ),
        ("UP085", "label has 'NA', 'nan' as a value, not as missing."),
        ("UP085", "plate has 'plate 1' and 'plate_1' as separate values."),
    ]
    clean = screen_of(np.zeros((8, 2)), label=["a", "b"] * 4, plate=["p", "q", "q", "p"] * 2)
    assert find_look_alikes(clean) == []


@pytest.mark.parametrize("noise", [1e-6, 1e-3])
def test_rows_that_are_nearly_those_of_another_batch_are_found(rng, noise):
    n_batches, n_rows = 6, 40
    rows = rng.standard_normal((n_batches, n_rows, 8))
    # Eight controls a batch are the same wells, stored again with a little noise.
    rows[:, :8] = rows[:1, :8] + noise * rng.standard_normal((n_batches, 8, 8))
    label = np.tile(np.where(np.arange(n_rows) < 8, "DMSO", "drug"), n_batches)
    plate = np.repeat(np.arange(n_batches), n_rows)
    rows = rows.reshape(-1, 8)
    asked = screen_of(rows, label=label, plate=plate)
    found = find_shared_copies(near_copies(rows, asked, choose_engine(None), 0), asked)
    assert messages(found) == [
        ("UP086", "48 of 240 rows are nearly equal to a row in another plate.")
    ]


def test_rows_that_are_drawn_alike_or_equal_are_no_near_copies(rng):
    engine, plate = choose_engine(None), np.repeat(np.arange(6), 40)
    label = np.tile(["DMSO", "drug"], 120)
    rows = rng.standard_normal((240, 8)) + 3 * rng.standard_normal((6, 8))[plate]
    assert not len(near_copies(rows, screen_of(rows, label=label, plate=plate), engine, 0))
    # Equal rows are UP074's.
    rows[200:240] = rows[:40]
    assert not len(near_copies(rows, screen_of(rows, label=label, plate=plate), engine, 0))


def test_both_are_findings_of_a_result_and_arrays_stand_for_columns(rng):
    rows = rng.standard_normal((120, 4))
    rows[60:] = rows[:60] + 1e-6 * rng.standard_normal((60, 4))
    label = np.tile(["DMSO", "dmso", "drug"], 40)
    plate = np.repeat(np.arange(4), 30)
    found = upto.batches(
        Embeddings(rows=rows, name="wells"),
        batch=plate,
        label=label,
        control="DMSO",
        classifier="linear",
        conditions="base",
        concentration=(),
        mixing=False,
        maps=False,
    )
    assert (found.batch, found.label, len(found.batches)) == ("batch", "label", 4)
    assert {"UP085", "UP086"} <= {finding.code for finding in found.findings}
