"""Several files are carried into a folder: refused early, and continued where a call stopped."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

from upto import apply_transform
from upto.core import Embeddings, InputError
from upto.files import read_run
from upto.transforms.several_files import apply_to_files, check_targets

N_ROWS = 400


@pytest.fixture
def old(rng) -> Embeddings:
    return Embeddings(rows=rng.laplace(size=(N_ROWS, 6)), name="old", ids=np.arange(N_ROWS))


@pytest.fixture
def parts(tmp_path, old, rng):
    """Two files of rows that were last changed in the past."""
    runs = []
    for name in ("a.npy", "b.npy"):
        runs.append(tmp_path / name)
        np.save(runs[-1], rng.normal(size=old.rows.shape))
        os.utime(runs[-1], (1e9, 1e9))
    return runs


@pytest.mark.parametrize("pattern", ["new", "new/*.npz", "new/*.parquet", "new/*.h5", "new/*.csv"])
def test_several_files_go_on_where_a_call_stopped(tmp_path, aligner, parts, pattern):
    output = tmp_path / pattern
    assert apply_to_files(aligner, parts, output) == ()
    folder = tmp_path / "new"
    first, second = sorted(folder.iterdir())
    before, wanted = first.stat().st_mtime_ns, second.read_bytes()
    second.unlink()
    kept = "was there, newer than its source, and was not carried again"
    assert apply_to_files(aligner, parts, output) == (f"{first.name}: {kept}",)
    assert first.stat().st_mtime_ns == before
    assert read_run(second).rows.shape == (N_ROWS, 9)
    assert len(second.read_bytes()) == len(wanted)


def test_what_is_there_is_carried_again_if_it_is_not_the_image(tmp_path, aligner, parts, old):
    output = tmp_path / "new"
    apply_to_files(aligner, parts, output)
    np.save(output / "a.npy", np.zeros((N_ROWS, 9)))
    np.save(output / "b.npy", np.zeros((3, 9)))
    assert apply_to_files(aligner, parts, output) == ()
    np.save(parts[0], old.rows[:5])  # now newer than its image
    assert apply_to_files(aligner, parts, output)[0].startswith("b.npy: was there")
    assert np.load(output / "a.npy").shape == (5, 9)
    assert apply_to_files(aligner, parts, output, resume=False) == ()


def test_files_written_before_one_that_fails_are_named(tmp_path, aligner, parts):
    rows = np.load(parts[1])
    rows[3] = np.nan
    np.save(parts[1], rows)
    with pytest.raises(InputError, match="b has 1 row with NaN") as caught:
        apply_to_files(aligner, parts, tmp_path / "new")
    assert caught.value.__notes__ == ["Written before: a.npy."]


def test_targets_are_refused_before_anything_is_written(tmp_path, parts, aligner):
    for output, said in (
        ("x.npy", "is one file for 2 runs: give a folder"),
        ("new/*.xyz", "which upto does not write"),
        ("no/new", "does not exist: make it first"),
        (".", "is an input"),
    ):
        with pytest.raises(InputError, match=said):
            check_targets(parts, tmp_path / output)
    with pytest.raises(InputError, match="two runs would be written to"):
        check_targets([parts[0], parts[0]], tmp_path / "new")
    assert check_targets(parts[:1], tmp_path / "one.npy") == [tmp_path / "one.npy"]
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("output", "lost"),
    [
        ("out.npy", "the ids and the columns lang, month"),
        ("out.safetensors", "the ids and the columns lang, month"),
        ("out.faiss", "the columns lang, month"),
        ("out.npz", None),
    ],
)
def test_what_a_format_has_no_room_for_is_said(tmp_path, aligner, old, output, lost):
    columns = {"lang": np.full(N_ROWS, "en"), "month": np.arange(N_ROWS)}
    run = Embeddings(rows=old.rows, ids=np.arange(N_ROWS), columns=columns)
    notes = apply_transform(aligner, run, output=tmp_path / output)
    said = f"{output} has no room for {lost} of run, which it leaves out"
    assert notes == (() if lost is None else (said,))


def test_ids_are_named(tmp_path, aligner, old):
    table = pd.DataFrame(old.rows, columns=list("abcdef")).assign(doc=np.arange(N_ROWS) * 7)
    table.to_parquet(tmp_path / "old.parquet")
    for output in ("new.parquet", "new.faiss"):
        apply_transform(aligner, tmp_path / "old.parquet", output=tmp_path / output, ids="doc")
    kept = read_run(tmp_path / "new.parquet", ids="doc")
    assert np.array_equal(kept.ids, table["doc"])
    assert np.array_equal(read_run(tmp_path / "new.faiss").ids, table["doc"])
