import json

import numpy as np
import pytest

from upto.cli.output import Output
from upto.core import SilentProgress
from upto.core.progress_bar import LineProgress
from upto.questions.batches.result import BatchesResult

QUICK = (
    "--classifier", "linear", "--no-mixing", "--no-maps", "--no-progress",
    "--conditions", "base,batch-scaled",
)  # fmt: skip
KEEP = ("--keep", "biology", "-o", "clean.csv")
ASKED = ("--batch", "plate", "--label", "gene", "--control", "DMSO")


@pytest.fixture
def wells(tmp_path, rng):
    """Write a table of wells, and return its path."""
    return write_wells(tmp_path / "wells.csv", rng, n_plates=6, n_wells=20, effect=4)


def write_wells(file, rng, *, n_plates, n_wells, effect):
    plate, gene = np.repeat(np.arange(n_plates), n_wells), np.arange(n_plates * n_wells) % 2
    rows = rng.laplace(size=(len(plate), 3))
    rows += np.stack([effect * gene, 9 * plate, 0 * plate], axis=1)
    lines = [
        f"P{p},{'DMSO' if g == 0 else 'MTOR'}," + ",".join(f"{x:.6f}" for x in row)
        for p, g, row in zip(plate, gene, rows.tolist(), strict=True)
    ]
    file.write_text(
        "\n".join(["Metadata_plate,Metadata_gene,feature_0,feature_1,feature_2", *lines]) + "\n"
    )
    return file


def test_conditions_are_shown_with_what_they_gain(upto, tmp_path, wells):
    result = upto("batches", wells, *ASKED, *QUICK, "--report", "page.html", "-o", "out.json")
    assert result.exit_code == 0, result.stderr
    found = BatchesResult.from_json((tmp_path / "out.json").read_text())
    assert [condition.name for condition in found.conditions] == ["base", "batch-scaled"]
    assert (found.batch, found.label) == ("Metadata_plate", "Metadata_gene")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "Batch scaled" in page
    shown = upto("report", "out.json", "-o", "again.html")
    assert shown.exit_code == 0


def test_a_terminal_shows_the_verdict_and_the_findings(upto, wells):
    result = upto("batches", wells, *ASKED, *QUICK)
    assert result.exit_code == 0
    assert "the AUROC for" in " ".join(result.stdout.split())
    assert "UP071" not in result.stderr
    assert upto("batches", wells, *ASKED, *QUICK, "--format", "csv").stdout.startswith("condition,")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--label", "gene"), 2, "--batch"),
        (("--batch", "plate"), 2, "--label"),
        (("--batch", "plates", "--label", "gene"), 3, "did you mean Metadata_plate"),
        (("--batch", "plate", "--label", "gene", "--control", "dmso"), 3, "did you mean 'DMSO'"),
        (
            ("--batch", "plate", "--label", "gene", "--conditions", "tvn"),
            3,
            "e.g. --control 'DMSO'",
        ),
        (("--batch", "plate", "--label", "plate"), 3, "--batch 'Metadata_plate' and --label 'Meta"),
        (
            ("--batch", "plate", "--label", "gene", "--control", "x"),
            3,
            "--control 'x' is not among",
        ),
        (
            ("--batch", "gene", "--label", "plate", "--fold-by", "day"),
            3,
            "--fold-by 'day' is not among",
        ),
        ((*ASKED, "--task", "PLK"), 3, "--task 'PLK' matches no value of Metadata_gene"),
        (
            ("--batch", "gene", "--label", "plate", "--fold-by", "plate"),
            3,
            "Hold out columns other than Metadata_plate, the label",
        ),
        ((*ASKED, "--n-components", "99"), 3, "--n-components 99 exceeds the 3 columns"),
        (("--batch", "plate", "--label", "gene", "--folds", "1"), 2, "--folds"),
        *(
            ((*ASKED, "--n-components", text), 2, "fraction of variance")
            for text in ("a", "0", "-3", "1.0", "1e999")
        ),
        (("--batch", "plate", "--label", "gene", "--keep", "biology"), 2, "-o OUT"),
        (("--batch", "plate", "--label", "gene", "--conditions", ","), 2, "names no condition"),
        ((*ASKED, "--space", "components"), 2, "--space requires --keep"),
        ((*ASKED, *KEEP, "--report", "page.html"), 2, "--report cannot be combined with --keep"),
        (
            (*ASKED, *KEEP, "--n-components", "2"),
            2,
            "--n-components cannot be combined with --keep",
        ),
        ((*ASKED, *KEEP, "--task", "MTOR"), 2, "--task cannot be combined with --keep"),
    ],
)
def test_what_is_wrong_is_said_with_its_exit_code(upto, wells, args, code, message):
    result = upto("batches", wells, *args, "--no-progress")
    assert result.exit_code == code
    assert message in " ".join(result.stderr.split())
    assert [path.name for path in wells.parent.iterdir()] == ["wells.csv"]


def test_the_embedding_without_batch_components_is_written(upto, tmp_path, rng):
    wells = write_wells(tmp_path / "many.csv", rng, n_plates=12, n_wells=160, effect=20)
    result = upto("batches", wells, *ASKED, *KEEP, "--no-progress")
    assert result.exit_code == 0, result.stderr
    head, first, *_ = (tmp_path / "clean.csv").read_text().splitlines()
    assert head == "Metadata_plate,Metadata_gene,feature_0,feature_1,feature_2"
    assert first.startswith("P0,DMSO,")
    rows = np.loadtxt(tmp_path / "clean.csv", delimiter=",", skiprows=1, usecols=(2, 3, 4))
    assert np.std(rows.reshape(12, 160, 3)[:, :, 1].mean(axis=1)) < 1
    said = " ".join(result.stderr.split())
    assert "1 of 3 components carries Metadata_plate and is removed: dropping 1 component" in said
    assert "of AUROC on held-out batches" in said
    refused = upto("batches", wells, *ASKED, "--keep", "biology", "-o", wells, "--no-progress")
    assert refused.exit_code == 3


def test_an_embedding_of_which_nothing_can_be_dropped_is_written_as_it_is(upto, tmp_path, wells):
    result = upto("batches", wells, *ASKED, *KEEP, "--no-progress")
    assert result.exit_code == 0, result.stderr
    assert "no component can be dropped safely" in " ".join(result.stderr.split())
    before, after = (
        np.loadtxt(path, delimiter=",", skiprows=1, usecols=(2, 3, 4))
        for path in (wells, tmp_path / "clean.csv")
    )
    np.testing.assert_array_equal(before, after)


def test_conditions_are_listed(upto):
    result = upto("batches", "--list", "--format", "json")
    assert result.exit_code == 0
    names = [record["condition"] for record in json.loads(result.stdout)]
    assert {"base", "pca", "ica", "random", "tvn", "combat", "harmony", "biology"} <= set(names)


def test_warnings_stop_a_strict_command(upto, wells):
    assert upto("batches", wells, *ASKED, *QUICK, "--strict").exit_code == 0
    few = ("--batch", "half", "--label", "gene", "--control", "DMSO", *QUICK, "--strict")
    lines = wells.read_text().splitlines()
    halves = [f"{line},{line[1] < '3'}" for line in lines[1:]]
    wells.write_text("\n".join([f"{lines[0]},Metadata_half", *halves]) + "\n")
    stopped = upto("batches", wells, *few)
    assert stopped.exit_code == 1
    assert "UP081" in stopped.stderr


@pytest.mark.parametrize(
    ("settings", "kind"),
    [({}, LineProgress), ({"progress": False}, SilentProgress), ({"quiet": True}, SilentProgress)],
)
def test_lines_are_for_files_unless_nothing_is_asked_for(settings, kind):
    asked = {"format": None, "path": None, "choice": None, "seed": 0, "quiet": False,
             "verbose": False, "progress": True} | settings  # fmt: skip
    assert isinstance(Output(**asked).watcher(), kind)


def test_only_our_own_arguments_become_options_and_data_stays_as_it_is(upto, tmp_path, rng):
    lines = ["Metadata_plate,Metadata_day,Metadata_gene,feature_0,feature_1"]
    for number in range(48):
        gene = "label=a;batch=[x]" if number % 2 else "batch='plate'"
        values = ",".join(f"{value:.4f}" for value in rng.normal(size=2))
        lines.append(f"P{number // 6},D{number % 3},{gene},{values}")
    file = tmp_path / "odd.csv"
    file.write_text("\n".join(lines) + "\n")
    asked = ("batches", file, "--batch", "plate", "--label", "gene", "--no-progress")
    said = " ".join(upto(*asked, "--control", "x").stderr.split())
    assert "--control 'x' is not among the 2 values of Metadata_gene" in said
    assert "choose one of batch='plate', label=a;batch=[x]" in said
    said = " ".join(upto(*asked, "--fold-by", "day").stderr.split())
    assert ": --batch 'Metadata_day' --batch 'Metadata_plate'." in said
