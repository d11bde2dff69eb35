"""Files of the layout of RxRx3-core are read and judged, gene by gene as in the paper."""

from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from upto.core import InputError
from upto.questions.batches.parts import FoldScore
from upto.simulate import CONTROL, GUIDES, PlateLayout, ScreenEffects, draw_screen
from upto_studies.held_out_plates import FOUR, PAPER_AUROC, PAPER_SPARSITY
from upto_studies.run import run_study
from upto_studies.rxrx3_data import EMBEDDINGS, METADATA, Chosen, guides_of, read_rxrx3
from upto_studies.rxrx3_openphenom import (
    PAPER_AUROCS,
    PAPER_SPARSITIES,
    mean_with_error,
    score_genes,
)

pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")

HEADS = ("well_id", "experiment_name", "plate", "address", "gene", "treatment", "perturbation_type")
GENES = ("HCK", "SRC")


def screen(**changes):
    layout = PlateLayout(
        n_experiments=3, n_plates=3, n_wells=40, guides=guides_of(GENES), **changes
    )
    return draw_screen(layout, ScreenEffects(shift=2.0), n_features=10, seed=0)


def write(folder, drawn, *, leave_out=()):
    """Write files as published: metadata in another order, and a compound plate with controls."""
    run = drawn.embeddings()
    ids = run.ids.tolist()
    rows = np.asarray(run.rows, dtype=np.float32)
    known = [
        (ids[n], *(str(run.columns[name][n]) for name in HEADS[1:-1]), "CRISPR")
        for n in range(len(ids))
    ]
    known += [
        (f"compound-001_1_A{n:02}", "compound-001", "1", f"A{n:02}", "", CONTROL, "COMPOUND")
        for n in range(4)
    ]
    ids += [each[0] for each in known[-4:]]
    rows = np.concatenate([rows, np.zeros((4, rows.shape[1]), np.float32)])
    table = {"well_id": ids} | {f"feature_{n}": rows[:, n] for n in range(rows.shape[1])}
    pq.write_table(pa.table(table), folder / EMBEDDINGS)
    with (folder / METADATA).open("w", newline="") as file:
        csv.writer(file).writerows(
            [HEADS, *(each for each in known[::-1] if each[0] not in leave_out)]
        )


def chosen(kind="guides", n_experiments=0):
    return Chosen(genes=GENES, kind=kind, n_experiments=n_experiments)


def test_wells_are_matched_by_their_ids_whatever_their_order(tmp_path):
    drawn = screen()
    write(tmp_path, drawn)
    read = read_rxrx3(tmp_path, chosen(), seed=0)
    assert np.array_equal(read.rows, drawn.rows.astype(np.float32))
    assert read.columns["treatment"].tolist() == drawn.treatment.tolist()
    assert read.columns["plate"].tolist() == [str(each) for each in drawn.plate.tolist()]


def test_controls_of_compounds_take_part_in_fits_only(tmp_path):
    write(tmp_path, screen())
    read = read_rxrx3(tmp_path, chosen("all"), seed=0)
    assert read.n_samples == 3 * 3 * 40 + 4
    assert set(read.columns["treatment"][-4:].tolist()) == {""}
    assert read_rxrx3(tmp_path, chosen("genes"), seed=0).n_samples == 3 * 3 * 40


def test_some_experiments_are_whole_and_the_same_for_a_seed(tmp_path):
    write(tmp_path, screen())
    names = [
        read_rxrx3(tmp_path, chosen(n_experiments=2), seed=3).columns["experiment_name"]
        for _ in range(2)
    ]
    assert len(np.unique(names[0])) == 2
    assert len(names[0]) == 2 * 3 * 40
    assert names[0].tolist() == names[1].tolist()


def test_wells_that_are_not_in_the_metadata_are_refused(tmp_path):
    drawn = screen()
    gone = str(drawn.embeddings().ids[5])
    write(tmp_path, drawn, leave_out=(gone,))
    with pytest.raises(InputError, match=rf"1 of 364 wells .* such as {gone}"):
        read_rxrx3(tmp_path, chosen(), seed=0)


def test_metadata_without_a_column_or_guides_are_refused(tmp_path):
    write(tmp_path, screen())
    other = Chosen(genes=("MTOR",), kind="guides", n_experiments=0)
    with pytest.raises(InputError, match=r"no well of .* has a guide of MTOR"):
        read_rxrx3(tmp_path, other, seed=0)
    (tmp_path / METADATA).write_text("well_id,plate\na,1\n")
    with pytest.raises(InputError, match="has no column experiment_name, address, treatment"):
        read_rxrx3(tmp_path, chosen(), seed=0)


def test_the_papers_means_are_those_of_its_table_by_guide():
    weights = np.array([len(guides_of([gene])) for gene in PAPER_AUROCS])
    assert weights.tolist() == [1, 1, 1, 6, 6, 1]
    assert guides_of(PAPER_AUROCS) == GUIDES
    for table, means in ((PAPER_AUROCS, PAPER_AUROC), (PAPER_SPARSITIES, PAPER_SPARSITY)):
        found = np.average(np.array([*table.values()]), axis=0, weights=weights)
        assert np.abs(found - [means[name] for name in FOUR]).max() < 6e-4


def test_a_gene_is_the_mean_of_all_folds_of_all_its_guides():
    def fold(condition, task, number, value):
        return FoldScore(
            condition=condition,
            task=task,
            fold=number,
            auroc=value,
            within=None,
            shuffled=None,
            sparsity=value / 2,
            shuffled_sparsity=None,
        )

    tasks = ("MTOR_guide_1", "MTOR_guide_2", "SRC_guide_1")
    folds = [
        fold(condition, task, number, 0.5 + 0.1 * FOUR.index(condition) + 0.02 * number)
        for condition in FOUR
        for task in tasks
        for number in range(2)
    ]
    scores = score_genes(SimpleNamespace(judged=tasks, fold_scores=tuple(folds)))
    assert [(each.gene, each.n_guides) for each in scores.values()] == [("MTOR", 2), ("SRC", 1)]
    assert scores["MTOR"].auroc["ica"].value == pytest.approx(0.71)
    assert scores["MTOR"].sparsity["base"].value == pytest.approx(0.255)
    assert scores["SRC"].gains["ica-base"].value == pytest.approx(0.2)
    assert scores["SRC"].gains["ica-random"].value == pytest.approx(-0.1)


def test_a_standard_error_is_that_of_the_mean():
    found = mean_with_error([1.0, 2.0, 3.0])
    assert (found.value, found.high - found.value) == pytest.approx((2.0, 1 / np.sqrt(3)))
    assert mean_with_error([1.0]).low is None


@pytest.mark.slow
def test_the_study_runs_on_files_of_the_published_layout(tmp_path):
    write(tmp_path, screen(controls_per_guide=4.0))
    result = run_study(
        "rxrx3-openphenom",
        size="tiny",
        settings={"data": "published", "n_experiments": 0, "rows": "all"},
        data=tmp_path,
    )
    assert [row[0] for row in result.details[0].rows[::4]] == ["HCK (1)", "SRC (1)"]
    assert result.quantities[0].measured is not None
    assert "UP079" in {finding.code for finding in result.findings}


@pytest.mark.slow
def test_the_tiny_study_bears_out_what_it_claims():
    result = run_study("rxrx3-openphenom", size="tiny")
    assert result.missed == ()
    assert sum(each.fixed is not None for each in result.quantities) == 7
