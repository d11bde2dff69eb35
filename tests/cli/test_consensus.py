"""`upto consensus RUN RUN… -o OUT`: the space that runs share, in a file."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from upto import ConsensusResult, read_run
from upto.files.write import Writer

SEEDS = ("seed0.npy", "seed1.npy", "seed2.npy")


@pytest.fixture
def seeds(tmp_path, rng):
    """Write three rotations of one run, and a run that has nothing to do with them."""
    latent = rng.laplace(size=(1500, 4)) * (2, 1.5, 1, 0.5)
    for name in SEEDS:
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        np.save(tmp_path / name, latent @ turn + 0.1 * rng.normal(size=latent.shape))
    np.save(tmp_path / "odd.npy", rng.laplace(size=(1500, 4)))
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_consensus_is_written_and_said(upto, seeds):
    result = upto("consensus", *SEEDS, "-o", "out.csv")
    assert result.exit_code == 0
    assert result.stdout.startswith("All 3 runs share one space up to a rigid motion")
    assert "seed1" in result.stdout
    assert "wrote out.csv" in result.stderr
    found = read_run(seeds / "out.csv")
    assert found.rows.shape == (1500, 4)
    head = (seeds / "out.csv").read_text().splitlines()[0]
    assert head == "consensus_0,consensus_1,consensus_2,consensus_3"


def test_nothing_is_written_where_no_file_is_named(upto, seeds):
    before = names(seeds)
    result = upto("consensus", *SEEDS)
    assert result.exit_code == 0
    assert result.stdout.startswith("All 3 runs share one space up to a rigid motion")
    assert names(seeds) == before


def test_components_are_matched_after_ica(upto, seeds):
    arguments = ("--up-to", "ica", "--format", "json", "--report", "page.html", "-q")
    result = upto("consensus", *SEEDS, "-o", "out.csv", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert (seeds / "out.csv").read_text().startswith("ica_0,ica_1,ica_2,ica_3\n")
    found = ConsensusResult.from_json(result.stdout)
    assert (found.up_to, found.in_every_run) == ("ica", (0, 1, 2, 3))
    assert "Components by runs" in (seeds / "page.html").read_text()


def test_the_data_are_one_row_for_every_component_and_run(upto, seeds):
    result = upto("consensus", *SEEDS, "-o", "out.npy", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 12
    assert {row["run"] for row in rows} == {"seed0", "seed1", "seed2"}


def test_a_manifest_stands_for_its_runs(upto, seeds):
    text = "\n".join(f'[[run]]\npath = "{name}"' for name in SEEDS)
    (seeds / "runs.toml").write_text(text)
    assert upto("consensus", "runs.toml", "-o", "out.npy").exit_code == 0
    assert np.load(seeds / "out.npy").shape == (1500, 4)


def test_verbose_shows_what_the_runs_share(upto, seeds):
    brief = upto("consensus", *SEEDS, "-o", "out.npy")
    verbose = upto("consensus", *SEEDS, "-o", "out.npy", "-v")
    assert "What the runs share" not in brief.stdout
    assert "What the runs share" in verbose.stdout


def test_a_run_that_does_not_belong_fails_strictly(upto, seeds):
    arguments = ("consensus", *SEEDS, "odd.npy", "-o", "out.npy")
    assert upto(*arguments).exit_code == 0
    strict = upto(*arguments, "--strict")
    assert strict.exit_code == 1
    assert "UP030 run that does not belong: the share of odd" in strict.stderr


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--up-to", "affine"), "'affine' is not one of 'rigid', 'similarity', 'ica'"),
        (("--no-ica",), "No such option '--no-ica'"),
        (("--refits", "2"), "No such option '--refits'"),
        (("--fail-above", "0.1"), "No such option '--fail-above'"),
        (("--labels", "x"), "No such option '--labels'"),
    ],
)
def test_options_of_a_comparison_are_refused(upto, seeds, option, message):
    result = upto("consensus", *SEEDS, "-o", "out.npy", *option)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "seed1.npy"), "seed1.npy is an input: writing the result there would"),
        (("-o", "out.xyz"), "out.xyz ends in .xyz, which upto does not write"),
        (("-o", "nowhere/out.npy"), "does not exist: make it first"),
        (("-o", "a.csv", "--report", "a.csv"), "-o and --report are the same file, a.csv"),
        (("-o", "a.npy", "--report", "b/c.html"), "does not exist: make it first"),
    ],
)
def test_places_are_refused_before_any_work(upto, seeds, arguments, message):
    before = names(seeds)
    result = upto("consensus", *SEEDS, *arguments)
    assert result.exit_code == 3
    assert message in result.stderr
    assert names(seeds) == before


def test_an_input_that_is_read_into_memory_is_not_overwritten_either(upto, seeds):
    np.savetxt(seeds / "seed3.csv", np.load(seeds / "seed0.npy"), delimiter=",")
    before = (seeds / "seed3.csv").read_bytes()
    result = upto("consensus", "seed0.npy", "seed3.csv", "-o", "seed3.csv")
    assert result.exit_code == 3
    assert "seed3.csv is an input: writing the result there would destroy it." in result.stderr
    assert (seeds / "seed3.csv").read_bytes() == before


def test_one_run_is_refused(upto, seeds):
    result = upto("consensus", "seed0.npy", "-o", "out.npy")
    assert result.exit_code == 3
    assert "a consensus needs two or more runs, not 1." in result.stderr


def test_an_interrupt_while_writing_leaves_nothing(upto, seeds, monkeypatch):
    before = names(seeds)

    def interrupted(self, key, block):
        assert len(names(seeds)) > len(before), "the file is under way"
        raise KeyboardInterrupt

    monkeypatch.setattr(Writer, "__setitem__", interrupted)
    result = upto("consensus", *SEEDS, "-o", "out.csv")
    assert result.exit_code == 130
    assert result.stderr == "upto: interrupted; nothing was left half written.\n"
    assert names(seeds) == before
