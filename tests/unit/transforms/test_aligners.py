"""A fitted map between runs is saved, loaded elsewhere, and applied to files block by block."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc

import anndata
import numpy as np
import pandas as pd
import pytest

from upto import Aligner, apply_transform, load_transform, save_transform
from upto.core import Embeddings, Group, InputError, read_tensors, write_tensors
from upto.engines import ThreadsEngine
from upto.files import read_run

WIDTHS = {"wider": 5, "equal": 3, "narrower": 2}


@pytest.fixture
def runs(rng):
    source = rng.laplace(size=(120, 3)) + np.array([5, 0, -3])
    target = source @ rng.normal(size=(3, 5)) + rng.normal(size=5)
    return source, target + 0.1 * rng.normal(size=target.shape)


def fitted(group, runs, width="wider"):
    source, target = runs
    return Aligner(group).fit(source, target[:, : WIDTHS[width]])


CASES = [
    pytest.param(group, width, id=f"{group}-{width}")
    for group in Group
    for width in WIDTHS
    if group is not Group.IDENTITY or width == "equal"
]


@pytest.mark.parametrize(("group", "width"), CASES)
def test_a_saved_aligner_maps_files_as_it_maps_arrays(tmp_path, runs, group, width):
    source, _ = runs
    aligner = fitted(group, runs, width)
    save_transform(tmp_path / "map.safetensors", aligner)
    loaded = load_transform(tmp_path / "map.safetensors")
    assert type(loaded) is Aligner
    assert loaded.get_params() == aligner.get_params()
    assert loaded.worst_error_ == aligner.worst_error_
    wanted = aligner.transform(source)
    np.testing.assert_array_equal(loaded.transform(source), wanted)
    np.testing.assert_array_equal(loaded.linear_, aligner.linear_)
    with pytest.raises(ValueError, match="2 features"):
        loaded.transform(source[:, :2])
    short = ThreadsEngine(block_rows=7)
    path = tmp_path / "out.npy"
    assert apply_transform(loaded, source, output=path, engine=short) == ()
    np.testing.assert_allclose(np.load(path), wanted, atol=1e-12)
    assert np.load(path).shape == (120, WIDTHS[width])


@pytest.mark.parametrize(("group", "width"), CASES)
def test_the_inverse_leads_back_or_says_why_not(tmp_path, runs, group, width):
    aligner = fitted(group, runs, width)
    carried, path = aligner.transform(runs[0]), tmp_path / "back.npy"
    no_inverse = "have no inverse" if group is Group.MONOTONE_PERMUTATION else "rank 2 on 3 source"
    if group is Group.MONOTONE_PERMUTATION or width == "narrower":
        with pytest.raises(InputError, match=no_inverse):
            apply_transform(aligner, carried, output=path, inverse=True)
        assert not path.exists()
        return
    apply_transform(aligner, carried, output=path, inverse=True)
    np.testing.assert_allclose(np.load(path), runs[0], atol=1e-9)


@pytest.mark.slow
def test_another_process_gives_the_same_numbers(tmp_path, runs):
    np.save(tmp_path / "run.npy", runs[0])
    for group in (Group.AFFINE, Group.MONOTONE_PERMUTATION):
        save_transform(tmp_path / f"{group}.safetensors", fitted(group, runs))
    code = (
        "import sys, upto\n"
        "for group in ('affine', 'monotone-permutation'):\n"
        "    path = f'{sys.argv[1]}/{group}'\n"
        "    run = f'{sys.argv[1]}/run.npy'\n"
        "    upto.apply_transform(f'{path}.safetensors', run, output=f'{path}.npy')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    for group in (Group.AFFINE, Group.MONOTONE_PERMUTATION):
        wanted = fitted(group, runs).transform(runs[0])
        np.testing.assert_allclose(np.load(tmp_path / f"{group}.npy"), wanted, atol=1e-12)


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "parquet", "h5ad"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_format_has_the_rows_the_ids_and_the_columns(tmp_path, runs, suffix, dtype):
    source = runs[0].astype(dtype)
    ids = np.array([f"row {number}" for number in range(len(source))])
    run = Embeddings(rows=source, name="old", ids=ids, columns={"kind": np.repeat(["a", "b"], 60)})
    aligner, path = fitted("affine", runs), tmp_path / f"new.{suffix}"
    apply_transform(aligner, run, output=path)
    read = read_run(f"{path}::X_aligned" if suffix == "h5ad" else path)
    assert read.rows.shape == (120, 5)
    if suffix != "csv":
        assert read.rows.dtype == dtype
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(read.rows[:], aligner.transform(runs[0]), atol=tolerance * 100)
    if suffix != "npy":
        assert list(read.ids) == list(ids)
        assert list(read.columns["kind"]) == list(run.columns["kind"])


def test_an_annotated_file_keeps_the_map_beside_the_rows(tmp_path, runs):
    adata = anndata.AnnData(np.zeros((120, 4)))
    adata.obsm["X_old"] = runs[0]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    aligner = fitted("rigid", runs)
    apply_transform(aligner, f"{tmp_path}/cells.h5ad::X_old", output=tmp_path / "cells.h5ad")
    read = anndata.read_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_allclose(read.obsm["X_aligned"], aligner.transform(runs[0]), atol=1e-12)
    np.testing.assert_array_equal(read.obsm["X_old"], runs[0])
    from upto import ica_from_anndata

    again = ica_from_anndata(read, "aligned")
    np.testing.assert_array_equal(again.transform(runs[0]), aligner.transform(runs[0]))
    assert "aligned_mixing" not in read.varm


@pytest.mark.parametrize("group", ["rigid", "signed-permutation", "monotone-permutation"])
def test_columns_are_matched_by_name(tmp_path, runs, group):
    frame = pd.DataFrame(runs[0], columns=["a", "b", "c"])
    aligner = Aligner(group).fit(frame, runs[1])
    save_transform(tmp_path / "map.safetensors", aligner)
    frame[["c", "a", "b"]].to_parquet(tmp_path / "run.parquet", index=False)
    said = apply_transform(
        tmp_path / "map.safetensors", tmp_path / "run.parquet", output=tmp_path / "out.parquet"
    )
    assert "not in the order the transform was fitted to" in said[0]
    out = pd.read_parquet(tmp_path / "out.parquet")
    assert list(out.columns) == [f"aligned_{number}" for number in range(5)]
    np.testing.assert_allclose(out, aligner.transform(frame), atol=1e-12)
    if group == "rigid":
        out[out.columns[::-1]].to_parquet(tmp_path / "turned.parquet", index=False)
        apply_transform(
            aligner, tmp_path / "turned.parquet", output=tmp_path / "back.csv", inverse=True
        )
        back = pd.read_csv(tmp_path / "back.csv")
        assert list(back.columns) == ["a", "b", "c"]
        np.testing.assert_allclose(back, frame, atol=1e-9)
    frame.rename(columns={"c": "d"}).to_parquet(tmp_path / "other.parquet", index=False)
    with pytest.raises(InputError, match="other has no c and has d"):
        apply_transform(aligner, tmp_path / "other.parquet", output=tmp_path / "other.npy")


REFUSED = {
    "width": ({"run": np.ones((9, 4))}, "run has 4 coordinates, but the transform takes 3: give"),
    "target": (
        {"run": np.ones((9, 3)), "inverse": True},
        "run has 3 coordinates, but the inverse of the transform takes 5: leave out inverse=True",
    ),
    "missing values": (
        {"run": np.full((9, 3), np.nan)},
        "9 rows with NaN or infinite values: row 0, row 1, row 2 and 6 more",
    ),
    "beyond float32": (
        {"run": np.full((9, 3), 3e38, dtype=np.float32)},
        "the image of row 0 of run is beyond the range of float32: rescale",
    ),
    "format": ({"run": np.ones((9, 3)), "output": "out.xlsx"}, "does not write"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_in_one_sentence(tmp_path, runs, changes, message):
    aligner = Aligner("affine").fit(runs[0], 100 * runs[1])
    given = {"output": "out.npy"} | changes
    given["output"] = tmp_path / given["output"]
    with pytest.raises(InputError, match=message):
        apply_transform(aligner, given.pop("run"), **given)
    assert list(tmp_path.iterdir()) == []


def test_a_map_is_not_overwritten_by_the_rows_it_maps(tmp_path, runs):
    path = tmp_path / "map.safetensors"
    save_transform(path, fitted("rigid", runs))
    with pytest.raises(InputError, match=r"map\.safetensors"):
        apply_transform(path, runs[0], output=path)
    assert load_transform(path).n_features_in_ == 3
    with pytest.raises(InputError, match="a path, not Aligner: give it first"):
        save_transform(fitted("rigid", runs), path)


def changed(path, **changes):
    arrays, words = read_tensors(path)
    described = json.loads(words["transform"])
    for name, value in changes.items():
        into = described if name in (*described, "n_features_in") else arrays
        into[name] = value
    arrays = {name: array for name, array in arrays.items() if array is not None}
    write_tensors(path, arrays, {"transform": json.dumps(described)})


FALLING = np.linspace(1, 0, 9)[:, None]
HOSTILE = {
    "no matrix": ("affine", {"matrix": None}, "it has no matrix"),
    "another form": ("affine", {"kind": "matching-aligner"}, "it has no index"),
    "wide": ("affine", {"matrix": np.ones((4, 5))}, r"matrix has the shape \(4, 5\)"),
    "infinite": ("affine", {"scale": np.full(5, np.inf)}, "scale has invalid values"),
    "not a number": ("affine", {"scale": np.full(5, np.nan)}, "scale has invalid values"),
    "huge": ("affine", {"matrix": np.full((3, 5), 1e300)}, "matrix has invalid values"),
    "whole": ("affine", {"matrix": np.ones((3, 5), dtype=int)}, "matrix has invalid values"),
    "no group": ("rigid", {"parameters": {"up_to": "x"}}, "there is no group 'x'"),
    "odd group": ("rigid", {"parameters": {"up_to": 3}}, "there is no group 3"),
    "engine": ("rigid", {"parameters": {"engine": "dask"}}, "Aligner has no parameter 'engine'"),
    "beyond": ("signed-permutation", {"index": np.full(5, 3)}, "index has invalid values"),
    "before": ("signed-permutation", {"index": np.full(5, -1)}, "index has invalid values"),
    "real": ("signed-permutation", {"index": np.zeros(5)}, "index has invalid values"),
    "later": ("monotone-permutation", {"index": np.full(5, 3)}, "index has invalid values"),
    "earlier": ("monotone-permutation", {"index": np.full(5, -2)}, "index has invalid values"),
    "no width": ("monotone-permutation", {"n_features_in": None}, "it has no n_features_in"),
    "zero": ("monotone-permutation", {"n_features_in": 0}, "not a complete transform"),
    "few knots": ("monotone-permutation", {"knots": np.ones((2, 5))}, "values has the shape"),
    "unsorted": (
        "monotone-permutation",
        {"knots": np.tile(FALLING, 5), "values": np.tile(FALLING, 5)},
        "its functions are not monotone",
    ),
    "up and down": (
        "monotone-permutation",
        {"knots": np.tile(-FALLING, 5), "values": np.tile(FALLING % 0.4, 5)},
        "its functions are not monotone",
    ),
}


@pytest.mark.parametrize(("group", "changes", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused(tmp_path, runs, group, changes, message):
    path = tmp_path / "map.safetensors"
    save_transform(path, fitted(group, runs))
    changed(path, **changes)
    with pytest.raises(InputError, match=message) as refused:
        load_transform(path)
    assert "\n" not in str(refused.value)


def test_a_wide_matching_in_a_file_costs_no_matrix(tmp_path):
    # Its linear part would have 10¹⁰ entries.
    width = 100_000
    ones = np.ones(width)
    arrays = {"source_mean": ones, "target_mean": ones, "scale": ones, "index": np.arange(width)}
    words = {"kind": "matching-aligner", "schema": 1, "upto": "1", "parameters": {}}
    write_tensors(tmp_path / "m.safetensors", arrays, {"transform": json.dumps(words)})
    loaded = load_transform(tmp_path / "m.safetensors")
    assert loaded.transform(np.zeros((1, width))).sum() == 0


def test_rows_in_single_precision_are_fitted_without_a_copy(rng):
    source = np.tile(rng.normal(size=(1000, 32)), (200, 1)).astype(np.float32)
    target = source[:, ::-1] + np.float32(2)
    Aligner("rigid").fit(source[:100], target[:100])
    tracemalloc.start()
    aligner = Aligner("rigid").fit(source, target)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < source.nbytes  # copies of both in double precision take four times as much
    assert aligner.transform(source).dtype == np.float32
    wide = Aligner("rigid").fit(source.astype(float), target.astype(float))
    np.testing.assert_allclose(aligner.linear_, wide.linear_, atol=1e-12)


def test_memory_does_not_grow_with_the_rows_of_a_file(tmp_path, rng):
    aligner = Aligner("affine").fit(rng.normal(size=(500, 48)), rng.normal(size=(500, 64)))
    peaks, one = [], ThreadsEngine(n_threads=1)
    for n_rows in (50_000, 200_000):
        rows = np.lib.format.open_memmap(
            tmp_path / "run.npy", mode="w+", dtype=np.float32, shape=(n_rows, 48)
        )
        rows[:] = 1
        rows.flush()
        tracemalloc.start()
        # With more threads, the number of blocks in flight varies.
        apply_transform(aligner, tmp_path / "run.npy", output=tmp_path / "out.npy", engine=one)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 200_000 * 64 * 4 / 3  # a third of what is written
