from __future__ import annotations

import gzip
import pickle
import sys

import numpy as np
import pytest

from upto.core import InputError, MissingExtraError
from upto.files import read_labels, read_run


def test_a_missing_file_suggests_close_names(tmp_path):
    np.save(tmp_path / "layer12.npy", np.ones((2, 2)))
    with pytest.raises(
        InputError, match=r"layer13\.npy does not exist\. Did you mean .*layer12\.n"
    ):
        read_run(tmp_path / "layer13.npy")
    with pytest.raises(InputError, match=r"zzz\.csv does not exist\.$"):
        read_run(tmp_path / "zzz.csv")
    with pytest.raises(InputError, match=r"does not exist: the folder .*nowhere is missing\."):
        read_run(tmp_path / "nowhere" / "run.npy")


@pytest.mark.parametrize("name", ["runs", "runs.zarr"])
def test_a_folder_that_is_not_zarr_is_refused(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=r"is a folder, but not a zarr folder: pass a file in it"):
        read_run(tmp_path / name)


def test_a_zarr_folder_may_have_any_name(tmp_path, values):
    import zarr

    zarr.open_group(tmp_path / "runs", mode="w").create_array("emb", data=values)
    np.testing.assert_array_equal(read_run(tmp_path / "runs").rows[:], values)


def test_a_file_named_zarr_is_refused(tmp_path):
    (tmp_path / "run.zarr").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"run\.zarr is a file, but zarr is a folder: unpack it"):
        read_run(tmp_path / "run.zarr")


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "parquet", "h5ad", "h5", "safetensors"])
def test_an_empty_file_is_refused(tmp_path, suffix):
    (tmp_path / f"run.{suffix}").touch()
    with pytest.raises(InputError, match=rf"run\.{suffix} is empty: it has 0 bytes"):
        read_run(tmp_path / f"run.{suffix}")


@pytest.mark.parametrize(
    ("written", "named", "message"),
    [
        ("a.npz", "x.npy", r"x\.npy is a zip archive: rename it to x\.npz\."),
        ("a.npy", "x.npz", r"x\.npz is a NumPy array: rename it to x\.npy\."),
        ("a.npy", "x.csv", r"x\.csv is a NumPy array: rename it to x\.npy\."),
        ("a.parquet", "x.csv", r"x\.csv is a parquet table: rename it to x\.parquet\."),
        ("a.h5", "x.safetensors", r"x\.safetensors is an HDF5 file: rename it to x\.h5\."),
        ("a.csv", "x.parquet", r"x\.parquet does not begin like a parquet table: it is dam"),
        ("a.csv.gz", "x.csv", r"x\.csv is compressed with gzip: decompress it first\."),
        ("a.pkl", "x.npy", r"x\.npy is a pickle, which can run any code when it is loaded, so"),
    ],
)
def test_a_wrong_suffix_is_found_by_the_first_bytes(tmp_path, written, named, message):
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq

    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    np.savez(tmp_path / "a.npz", a=np.ones((2, 2)))
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    h5py.File(tmp_path / "a.h5", "w").close()
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n1,2\n"))
    (tmp_path / "a.pkl").write_bytes(pickle.dumps([1, 2]))
    (tmp_path / written).rename(tmp_path / named)
    with pytest.raises(InputError, match=message):
        read_run(tmp_path / named)


def test_an_unknown_suffix_lists_the_known_ones(tmp_path):
    (tmp_path / "run.xlsx").write_bytes(b"PK")
    with pytest.raises(
        InputError, match=r"ends in \.xlsx, which upto does not read: it reads \.npy"
    ):
        read_run(tmp_path / "run.xlsx")
    (tmp_path / "run").write_bytes(b"x")
    with pytest.raises(InputError, match=r"run has no suffix, which upto .*\.faiss\.$"):
        read_run(tmp_path / "run")
    (tmp_path / "run.txt").write_text("a\n")
    with pytest.raises(InputError, match=r"ends in \.txt, which upto does not read"):
        read_run(tmp_path / "run.txt")


@pytest.mark.parametrize("suffix", ["pkl", "pickle", "pt", "pth", "joblib"])
def test_pickles_are_refused_with_what_to_do_instead(tmp_path, suffix):
    (tmp_path / f"run.{suffix}").write_bytes(b"\x80\x04")
    with pytest.raises(InputError, match=r"is a pickle, .*never loads one: save .* safetensors\."):
        read_run(tmp_path / f"run.{suffix}")
    with pytest.raises(InputError, match=r"is a pickle"):
        read_labels(tmp_path / f"run.{suffix}")


def test_suffixes_may_be_written_in_capitals(tmp_path, values):
    np.save(tmp_path / "run.npy", values)
    (tmp_path / "run.npy").rename(tmp_path / "RUN.NPY")
    assert read_run(tmp_path / "RUN.NPY").n_samples == 37


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("parquet", "pyarrow", "tables"),
        ("hdf5", "h5py", "hdf5"),
        ("h5ad", "h5py", "anndata"),
        ("zarr3", "zarr", "zarr"),
    ],
)
def test_a_missing_library_names_the_extra(
    tmp_path, values, monkeypatch, savers, name, package, extra
):
    path = savers[name](tmp_path, values)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}, .* `pip install 'upto\[{extra}\]'`"):
        read_run(path)


def test_a_key_is_given_once(tmp_path, values):
    np.savez(tmp_path / "run.npz", a=values, b=values)
    path = f"{tmp_path / 'run.npz'}::a"
    assert read_run(path, key="a").name == "a"
    with pytest.raises(InputError, match=r"names the key 'a' but key is 'b': pass only one"):
        read_run(path, key="b")
    with pytest.raises(InputError, match=r"has no key after `::`: write path::key"):
        read_run(f"{tmp_path / 'run.npz'}::")
    with pytest.raises(InputError, match=r"has no path before `::`"):
        read_run("::a")


def test_a_file_with_colons_in_its_name_is_still_found(tmp_path, values):
    np.save(tmp_path / "a::b.npy", values)
    assert read_run(tmp_path / "a::b.npy").name == "a::b"


def test_a_single_column_may_be_given_as_text(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, plate=np.arange(37), well=np.arange(37))
    assert list(read_run(tmp_path / "run.npz", columns="plate").columns) == ["plate"]
