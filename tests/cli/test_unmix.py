"""Components from the command line: every format in and out, and nothing half written."""

import errno
import json
import os
import subprocess
import sys

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from upto import read_run
from upto.core import Embeddings
from upto.files import open_writer
from upto.files.write import Writer
from upto.questions.unmix.result import UnmixResult

SUFFIXES = ("npy", "npz", "csv", "tsv", "parquet", "h5ad", "h5", "zarr", "safetensors")
LABELLED = ("npz", "csv", "tsv", "parquet", "h5ad", "h5", "zarr")
N_SAMPLES, N_FEATURES = 400, 3


@pytest.fixture
def run(tmp_path, rng):
    """Write mixed sources with ids and labels, and return the run."""
    rows = rng.laplace(size=(N_SAMPLES, N_FEATURES)) @ rng.normal(size=(3, 3)) + 2
    np.savez(
        tmp_path / "run.npz",
        emb=rows,
        id=np.array([f"s{i}" for i in range(N_SAMPLES)]),
        dose=np.arange(N_SAMPLES) / 4,
        gene=np.array(["TP53", "KRAS"] * (N_SAMPLES // 2)),
    )
    return read_run(tmp_path / "run.npz")


@pytest.fixture
def unmix(upto):
    def run(*args):
        return upto("unmix", *args, "--no-progress")

    return run


@pytest.fixture
def components(unmix, run):
    """Return the components of the run."""
    assert unmix("run.npz", "-o", "reference.npy").exit_code == 0
    return np.load("reference.npy")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def save_as(run, path):
    prefix = "feature" if path.suffix in (".csv", ".tsv", ".parquet") else "emb"
    with open_writer(path, run, N_FEATURES, dtype="float64", prefix=prefix) as writer:
        writer[:] = run.rows[:]


def test_components_are_white_and_recover_the_sources(unmix, tmp_path, rng):
    sources = rng.laplace(size=(20_000, 3))
    np.save(tmp_path / "run.npy", sources @ rng.normal(size=(3, 3)) + 5)
    assert unmix("run.npy", "-o", "out.npy").exit_code == 0
    found = np.load(tmp_path / "out.npy").astype(np.float64)
    match = np.abs(np.corrcoef(sources.T, found.T)[:3, 3:])
    np.testing.assert_allclose(np.sort(match.max(axis=0)), 1, atol=1e-2)
    np.testing.assert_allclose(np.sort(match.max(axis=1)), 1, atol=1e-2)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_format_goes_in(unmix, tmp_path, run, components, suffix):
    save_as(run, tmp_path / f"in.{suffix}")
    result = unmix(f"in.{suffix}", "-o", "out.npz")
    assert result.exit_code == 0, result.output
    out = read_run(tmp_path / "out.npz")
    np.testing.assert_allclose(out.rows[:], components, atol=1e-6)
    if suffix in LABELLED:
        np.testing.assert_array_equal(out.ids, run.ids)
        np.testing.assert_array_equal(out.columns["gene"], run.columns["gene"])
        np.testing.assert_array_equal(out.columns["dose"], run.columns["dose"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_format_comes_out(unmix, tmp_path, run, components, suffix):
    result = unmix("run.npz", "-o", f"out.{suffix}")
    assert result.exit_code == 0, result.output
    assert f"wrote out.{suffix}" in result.stderr
    out = read_run(tmp_path / f"out.{suffix}")
    np.testing.assert_allclose(out.rows[:], components, atol=1e-6)
    if suffix in LABELLED:
        np.testing.assert_array_equal(out.ids, run.ids)
        np.testing.assert_array_equal(out.columns["gene"], run.columns["gene"])
        np.testing.assert_array_equal(out.columns["dose"], run.columns["dose"])
    assert names_in(tmp_path) == sorted(["reference.npy", "run.npz", f"out.{suffix}"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_saved_transform_is_applied_and_inverted(unmix, tmp_path, run, suffix):
    save_as(run, tmp_path / f"in.{suffix}")
    fit = unmix(f"in.{suffix}", "-o", f"fit.{suffix}", "--save", "ica.safetensors")
    assert fit.exit_code == 0, fit.output
    applied = unmix(f"in.{suffix}", "-o", f"out.{suffix}", "--apply", "ica.safetensors")
    assert applied.exit_code == 0, applied.output
    assert applied.stdout == ""
    fitted, out = (key_of(tmp_path / f"{name}.{suffix}") for name in ("fit", "out"))
    np.testing.assert_allclose(read_run(out).rows[:], read_run(fitted).rows[:], atol=1e-10)
    back = unmix(out, "-o", "back.npz", "--apply", "ica.safetensors", "--inverse")
    assert back.exit_code == 0, back.output
    restored = read_run(tmp_path / "back.npz")
    np.testing.assert_allclose(restored.rows[:], run.rows[:], atol=1e-10)
    table = unmix(out, "-o", "back.csv", "--apply", "ica.safetensors", "--inverse")
    assert table.exit_code == 0, table.output
    np.testing.assert_allclose(read_run(tmp_path / "back.csv").rows[:], run.rows[:], atol=1e-10)
    if suffix in LABELLED:
        np.testing.assert_array_equal(restored.ids, run.ids)


def key_of(path):
    """Name the components where the file holds the run as well."""
    return f"{path}::X_ica" if path.suffix == ".h5ad" else str(path)


def test_new_rows_get_the_components_of_the_fitted_ones(unmix, tmp_path, run, components):
    rows = run.rows[:]
    assert unmix("run.npz", "--save", "ica.safetensors").exit_code == 0
    np.save(tmp_path / "new.npy", rows[10:20])
    assert unmix("new.npy", "-o", "out.npy", "--apply", "ica.safetensors").exit_code == 0
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), components[10:20], atol=1e-10)
    np.save(tmp_path / "wide.npy", np.ones((5, 4)))
    result = unmix("wide.npy", "-o", "out.npy", "--apply", "ica.safetensors")
    assert result.exit_code == 3
    assert len(result.stderr.splitlines()) == 1
    assert "4" in result.stderr
    assert "3" in result.stderr


def test_an_annotated_file_gets_components_in_place(unmix, tmp_path, rng):
    rows = rng.laplace(size=(300, 4)) @ rng.normal(size=(4, 4))
    obs = pd.DataFrame(
        {"type": pd.Categorical(["T", "B"] * 150)}, index=[f"c{i}" for i in range(300)]
    )
    adata = anndata.AnnData(rows, obs=obs)
    adata.obsm["X_pca"] = rows[:, :3]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert unmix("cells.h5ad::X", "-o", "cells.h5ad").exit_code == 0
    read = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert read.obsm["X_ica"].shape == (300, 4)
    centred = read.obsm["X_ica"] @ read.varm["ica_mixing"].T
    np.testing.assert_allclose(centred, rows - rows.mean(axis=0), atol=1e-5)
    np.testing.assert_array_equal(read.X, rows)
    assert read.uns["ica"]["transform"]
    pd.testing.assert_frame_equal(read.obs, adata.obs)
    assert unmix("cells.h5ad::X_pca", "-o", "copy.h5ad").exit_code == 0
    assert anndata.read_h5ad(tmp_path / "copy.h5ad").obsm["X_ica"].shape == (300, 3)
    assert names_in(tmp_path) == ["cells.h5ad", "copy.h5ad"]


def test_the_result_goes_to_stdout_and_into_a_page(unmix, upto, tmp_path, run):
    result = unmix("run.npz", "-o", "out.csv", "--format", "json", "--report", "page.html")
    assert result.exit_code == 0, result.output
    found = UnmixResult.from_json(result.stdout)
    assert (found.n_samples, found.n_features, len(found.components)) == (N_SAMPLES, 3, 3)
    assert found.converged
    assert (tmp_path / "page.html").read_text().rstrip().endswith("</html>")
    (tmp_path / "result.json").write_text(result.stdout)
    assert upto("report", "result.json", "-o", "again.html").exit_code == 0
    assert unmix("run.npz", "-o", "out.csv").stdout.count("component")


def test_components_are_a_number_or_a_fraction(unmix, tmp_path, rng):
    rows = rng.laplace(size=(500, 4)) * [10, 10, 1, 0.1]
    np.save(tmp_path / "run.npy", rows)
    for given, kept in (("3", 3), ("0.9", 2)):
        assert unmix("run.npy", "-o", "out.npy", "--n-components", given).exit_code == 0
        assert np.load(tmp_path / "out.npy").shape == (500, kept)


@pytest.mark.parametrize(
    "options",
    [
        ("--solver", "fastica"),
        ("--solver", "picard"),
        ("--contrast", "cube"),
        ("--contrast", "exp"),
        ("--restarts", "3"),
        ("--bootstraps", "2"),
        ("--held-out", "0"),
        ("--whiten", "rotation"),
    ],
    ids=" ".join,
)
def test_options_reach_the_fit(unmix, tmp_path, run, options):
    result = unmix("run.npz", "-o", "out.npy", "--format", "json", *options)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    told = {
        "--solver": found["solver"],
        "--contrast": found["contrast"],
        "--restarts": found["n_restarts"],
        "--bootstraps": found["n_bootstraps"],
        "--held-out": found["n_held_out"],
        "--whiten": found["whiten"],
    }
    assert str(told[options[0]]) == options[1]


def test_a_rank_tolerance_drops_what_is_below_it_and_says_so(unmix, tmp_path, rng):
    rows = rng.laplace(size=(500, 4))
    rows[:, 3] = rows[:, 0] + 1e-6 * rows[:, 3]
    np.save(tmp_path / "run.npy", rows)
    assert unmix("run.npy", "-o", "out.npy").exit_code == 0
    assert np.load(tmp_path / "out.npy").shape == (500, 4)
    result = unmix("run.npy", "-o", "out.npy", "--rank-tolerance", "1e-9")
    assert result.exit_code == 0, result.output
    assert np.load(tmp_path / "out.npy").shape == (500, 3)
    assert "UP008" in result.stderr
    assert "1 of 4 directions of run" in " ".join(result.stderr.split())
    assert unmix("run.npy", "-o", "out.npy", "--rank-tolerance", "1").exit_code == 2


def test_strict_tells_unconverged_ica_by_its_own_code(unmix, tmp_path, rng):
    np.save(tmp_path / "run.npy", rng.laplace(size=(500, 8)) @ rng.normal(size=(8, 8)))
    options = ("--max-iterations", "1", "--tolerance", "1e-12")
    loose = unmix("run.npy", "-o", "out.npy", *options)
    strict = unmix("run.npy", "-o", "out.npy", *options, "--strict")
    assert loose.exit_code == 0
    assert strict.exit_code == 4
    assert "ICA did not converge and --strict was given" in strict.stderr
    assert np.load(tmp_path / "out.npy").shape == (500, 8)


USAGE = {
    "nowhere to write": ("run.npz",),
    "inverse of nothing": ("run.npz", "-o", "out.npy", "--inverse"),
    "apply to nowhere": ("run.npz", "--apply", "t.safetensors"),
    "apply and fit": ("run.npz", "-o", "o.npy", "--apply", "t.safetensors", "--n-components", "2"),
    "apply and save": ("run.npz", "-o", "o.npy", "--apply", "t.safetensors", "--save", "s"),
    "apply and resume": ("run.npz", "-o", "o.npy", "--apply", "t.safetensors", "--resume"),
    "no components": ("run.npz", "-o", "out.npy", "--n-components", "0"),
    "negative components": ("run.npz", "-o", "out.npy", "--n-components", "-2"),
    "a large fraction": ("run.npz", "-o", "out.npy", "--n-components", "1.5"),
    "nan components": ("run.npz", "-o", "out.npy", "--n-components", "nan"),
    "many components": ("run.npz", "-o", "out.npy", "--n-components", "many"),
    "no tolerance": ("run.npz", "-o", "out.npy", "--tolerance", "0"),
    "nan tolerance": ("run.npz", "-o", "out.npy", "--tolerance", "nan"),
    "a solver": ("run.npz", "-o", "out.npy", "--solver", "newton"),
    "an engine": ("run.npz", "-o", "out.npy", "--engine", "spark"),
    "everything held out": ("run.npz", "-o", "out.npy", "--held-out", "1"),
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE)
def test_wrong_usage_exits_with_two(unmix, tmp_path, run, arguments):
    result = unmix(*arguments)
    assert result.exit_code == 2, result.output
    assert names_in(tmp_path) == ["run.npz"]


def bad_inputs(folder):
    good = np.random.default_rng(0).normal(size=(40, 3))
    np.save(folder / "nan.npy", np.where(good > 1, np.nan, good))
    np.save(folder / "flat.npy", np.ones((20, 3)))
    (folder / "folder.npy").mkdir()
    (folder / "bad.safetensors").write_bytes(b"nonsense")
    save_file({"mean": np.ones(3)}, folder / "other.safetensors")


REFUSED = {
    "missing run": (("missing.npz", "-o", "o.npy"), "missing.npz does not exist"),
    "nan": (("nan.npy", "-o", "o.npy"), "NaN or infinite"),
    "equal rows": (("flat.npy", "-o", "o.npy"), ""),
    "too many components": (("run.npz", "-o", "o.npy", "--n-components", "9"), "9"),
    "unknown suffix": (("run.npz", "-o", "o.xyz"), "which upto does not write: end it in .npy"),
    "missing folder": (("run.npz", "-o", "no/o.npy"), "does not exist: make it first"),
    "missing folder of the transform": (
        ("run.npz", "-o", "o.npy", "--save", "no/t.safetensors"),
        "does not exist: make it first",
    ),
    "missing folder of the page": (
        ("run.npz", "-o", "o.npy", "--report", "no/p.html"),
        "does not exist: make it first",
    ),
    "transform as a pickle": (
        ("run.npz", "-o", "o.npy", "--save", "t.pkl"),
        "t.pkl does not end in .safetensors",
    ),
    "the input": (("run.npz", "-o", "run.npz"), "run.npz is an input"),
    "the input by its key": (("run.npz::emb", "-o", "run.npz"), "run.npz is an input"),
    "the input as a page": (("run.npz", "-o", "o.npy", "--report", "run.npz"), "is an input"),
    "the transform": (
        ("run.npz", "-o", "bad.safetensors", "--apply", "bad.safetensors"),
        "bad.safetensors is an input",
    ),
    "one file for two": (
        ("run.npz", "-o", "t.safetensors", "--save", "t.safetensors"),
        "are the same file, t.safetensors: choose different names",
    ),
    "a folder": (("run.npz", "-o", "folder.npy"), "is a folder, which would be lost"),
    "nothing to resume": (
        ("run.npz", "-o", "o.npy", "--resume"),
        "there is no o.npy.checkpoint to continue from: start without --resume",
    ),
    "a damaged transform": (
        ("run.npz", "-o", "o.npy", "--apply", "bad.safetensors"),
        "bad.safetensors is damaged or truncated",
    ),
    "another file": (
        ("run.npz", "-o", "o.npy", "--apply", "other.safetensors"),
        "other.safetensors is not a saved transform",
    ),
    "a missing transform": (
        ("run.npz", "-o", "o.npy", "--apply", "no.safetensors"),
        "no.safetensors cannot be read",
    ),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_gets_one_sentence_and_exit_code_three(
    unmix, tmp_path, run, arguments, words
):
    bad_inputs(tmp_path)
    before = names_in(tmp_path)
    result = unmix(*arguments)
    assert result.exit_code == 3, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("upto: ")
    assert len(result.stderr.strip().splitlines()) == 1
    assert words in result.stderr
    assert names_in(tmp_path) == before


@pytest.mark.parametrize("place", ["run.csv", "o.xyz", "no/o.npy"])
def test_a_wrong_place_is_refused_before_any_work(unmix, tmp_path, run, monkeypatch, place):
    save_as(run, tmp_path / "run.csv")
    before = (tmp_path / "run.csv").read_bytes()
    monkeypatch.setattr("upto.questions.unmix.question.unmix", None)
    assert unmix("run.csv", "-o", place).exit_code == 3
    assert (tmp_path / "run.csv").read_bytes() == before


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_what_was_there(unmix, tmp_path, run, monkeypatch, suffix):
    path = tmp_path / f"out.{suffix}"
    with open_writer(path, run, 1) as writer:
        writer[:] = np.ones((N_SAMPLES, 1))

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("upto.core.files.os.fsync", full)
    result = unmix("run.npz", "-o", path.name)
    assert result.exit_code == 3, result.output
    assert "the disk was full after 400 of 400 rows" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    monkeypatch.undo()
    np.testing.assert_array_equal(read_run(path).rows[:], np.ones((N_SAMPLES, 1)))
    left = {name for name in names_in(tmp_path) if not name.endswith(".checkpoint")}
    assert left == {path.name, "run.npz"}


def test_a_disk_that_is_full_at_the_end_names_what_is_kept(unmix, tmp_path, run, monkeypatch):
    fsync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 1:  # the checkpoint still has room
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr("upto.core.files.os.fsync", full)
    result = unmix("run.npz", "-o", "out.npy")
    assert result.exit_code == 3
    assert "the disk was full after 400 of 400 rows" in result.stderr
    assert "out.npy.checkpoint stores the fit: --resume continues it." in result.stderr
    assert names_in(tmp_path) == ["out.npy.checkpoint", "run.npz"]


INTERRUPTED = """
import os, signal
from upto.cli.main import main
from upto.ica.checkpoint import Checkpoint

see = Checkpoint.see

def interrupting(self, step, components):
    see(self, step, components)
    if step.iteration == 4:
        os.kill(os.getpid(), signal.SIGINT)

Checkpoint.see = interrupting
main(prog_name="upto")
"""


@pytest.mark.slow
def test_an_interrupt_keeps_the_search_and_resume_ends_it(unmix, tmp_path, rng):
    np.save(tmp_path / "run.npy", rng.laplace(size=(3000, 12)) @ rng.normal(size=(12, 12)))
    options = ("--tolerance", "1e-10", "--format", "json")
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "unmix", "run.npy", "-o", "out.npy", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=120,
    )
    assert done.returncode == 130, done.stderr
    kept = "upto: interrupted; out.npy.checkpoint stores the fit: --resume continues it.\n"
    assert done.stderr == kept
    assert done.stdout == ""
    assert names_in(tmp_path) == ["out.npy.checkpoint", "run.npy"]
    resumed = unmix("run.npy", "-o", "out.npy", *options, "--resume")
    assert resumed.exit_code == 0, resumed.output
    assert names_in(tmp_path) == ["out.npy", "run.npy"]
    whole = unmix("run.npy", "-o", "whole.npy", *options)
    np.testing.assert_allclose(
        np.load(tmp_path / "out.npy"), np.load(tmp_path / "whole.npy"), atol=1e-7
    )
    steps = [json.loads(each.stdout)["n_iterations"] for each in (resumed, whole)]
    assert steps[0] < steps[1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupt_while_writing_leaves_what_was_there(
    unmix, tmp_path, run, monkeypatch, suffix
):
    path = tmp_path / f"out.{suffix}"
    with open_writer(path, run, 1) as writer:
        writer[:] = np.ones((N_SAMPLES, 1))
    write = Writer.__setitem__

    def interrupted(self, key, block):
        write(self, key, block)
        raise KeyboardInterrupt

    monkeypatch.setattr(Writer, "__setitem__", interrupted)
    result = unmix("run.npz", "-o", path.name)
    assert result.exit_code == 130, result.output
    assert result.stderr.startswith("upto: interrupted; ")
    assert len(result.stderr.splitlines()) == 1
    np.testing.assert_array_equal(read_run(path).rows[:], np.ones((N_SAMPLES, 1)))
    left = {name for name in names_in(tmp_path) if not name.endswith(".checkpoint")}
    assert left == {path.name, "run.npz"}


def test_a_run_in_a_manifest_is_not_written_over(unmix, tmp_path, run):
    (tmp_path / "runs.toml").write_text('[[run]]\npath = "run.npz"\n')
    result = unmix("runs.toml", "-o", "run.npz")
    assert result.exit_code == 3
    assert "run.npz is an input" in result.stderr


def test_components_of_components_replace_them(unmix, tmp_path, rng):
    rows = rng.laplace(size=(300, 3)) @ rng.normal(size=(3, 3))
    like = Embeddings(rows=rows, columns={"ica_7": np.arange(300.0)})
    with open_writer(tmp_path / "run.csv", like, 3, prefix="feature") as writer:
        writer[:] = rows
    assert unmix("run.csv", "-o", "out.csv").exit_code == 0
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header == "ica_0,ica_1,ica_2"


def test_a_plain_hdf5_output_has_the_components_under_their_name(unmix, tmp_path, run):
    assert unmix("run.npz", "-o", "out.h5").exit_code == 0
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["ica"].shape == (N_SAMPLES, 3)
