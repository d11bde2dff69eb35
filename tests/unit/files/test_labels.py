from __future__ import annotations

import anndata
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from upto.core import InputError
from upto.files import read_labels


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str = "labels.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def assert_labels(found, name, expected):
    assert found[0] == name
    np.testing.assert_array_equal(found[1], expected)


def test_the_only_column_of_a_table_is_the_labels(written):
    assert_labels(read_labels(written("digit\n3\n5\n")), "digit", [3, 5])


def test_the_only_column_that_is_no_feature_is_the_labels(written):
    assert_labels(read_labels(written("id,feature_0,n\n7,1,2\n8,3,4\n")), "n", [2, 4])
    assert_labels(read_labels(written("id,x,kind\n7,1,a\n8,3,b\n")), "kind", ["a", "b"])
    assert_labels(read_labels(written("x,label\n1,2\n3,4\n")), "label", [2, 4])


def test_a_column_can_be_named_in_the_path_or_beside_it(written):
    path = written("a,b\nx,1\ny,2\n")
    assert_labels(read_labels(path, "b"), "b", [1, 2])
    assert_labels(read_labels(f"{path}::a"), "a", ["x", "y"])
    with pytest.raises(InputError, match=r"has no column 'c': its columns are a, b\."):
        read_labels(path, "c")


def test_several_columns_are_a_choice(written):
    path = written("a\tb\nx\ty\n", "labels.tsv")
    with pytest.raises(
        InputError, match=r"has the columns a, b: name the one with the labels, as in .*tsv::a\."
    ):
        read_labels(path)


def test_a_column_of_a_parquet_table(tmp_path):
    table = pa.table({"well_id": ["w", "v"], "feature_0": [1.0, 2.0], "gene": ["g", "h"]})
    pq.write_table(table, tmp_path / "labels.parquet")
    assert_labels(read_labels(tmp_path / "labels.parquet"), "gene", ["g", "h"])
    assert_labels(read_labels(tmp_path / "labels.parquet", "well_id"), "well_id", ["w", "v"])


def test_a_vector_of_numpy(tmp_path):
    np.save(tmp_path / "digits.npy", np.array([1, 2, 3]))
    assert_labels(read_labels(tmp_path / "digits.npy"), "digits", [1, 2, 3])
    np.savez(tmp_path / "all.npz", emb=np.ones((2, 2)), kind=np.array(["a", "b"]))
    assert_labels(read_labels(tmp_path / "all.npz"), "kind", ["a", "b"])


def test_vectors_of_other_containers(tmp_path):
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file["a"], file["b"] = [1, 2], ["x", "y"]
    assert_labels(read_labels(tmp_path / "all.h5", "b"), "b", ["x", "y"])
    with pytest.raises(InputError, match=r"all\.h5 has the columns a, b: name the one to use"):
        read_labels(tmp_path / "all.h5")
    save_file({"emb": np.ones((2, 2)), "y": np.array([4, 5])}, tmp_path / "all.safetensors")
    assert_labels(read_labels(tmp_path / "all.safetensors"), "y", [4, 5])
    obs = pd.DataFrame({"type": pd.Categorical(["T", "B"])}, index=["c", "d"])
    anndata.AnnData(np.ones((2, 1)), obs=obs).write_h5ad(tmp_path / "all.h5ad")
    assert_labels(read_labels(tmp_path / "all.h5ad"), "type", ["T", "B"])
    assert_labels(read_labels(tmp_path / "all.h5ad::_index"), "_index", ["c", "d"])


def test_a_text_file_has_one_label_a_line(written):
    assert_labels(
        read_labels(written("cat \ndog, big\n", "kinds.txt")), "kinds", ["cat", "dog, big"]
    )
    assert_labels(read_labels(written("3\n5\n", "kinds.txt")), "kinds", [3, 5])


def test_bad_text_files_are_reported(written, tmp_path):
    with pytest.raises(InputError, match=r"kinds\.txt line 2 is empty: write one label per row"):
        read_labels(written("a\n\nb\n", "kinds.txt"))
    with pytest.raises(InputError, match=r"one label per line and no columns: drop `::x`"):
        read_labels(written("a\n", "kinds.txt"), "x")
    (tmp_path / "kinds.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"kinds\.txt is not UTF-8 text \(byte 0\)"):
        read_labels(tmp_path / "kinds.txt")


def test_bad_arrays_are_reported(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    with pytest.raises(InputError, match=r"x\.npy has shape \(2, 2\): labels have one dimens"):
        read_labels(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array([None]))
    with pytest.raises(InputError, match=r"x\.npy holds Python objects \(a pickle\)"):
        read_labels(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", emb=np.ones((2, 2)))
    with pytest.raises(InputError, match=r"has no column of labels: name the one to use"):
        read_labels(tmp_path / "x.npz")
    with pytest.raises(InputError, match=r"x\.npz has no column 'y': its columns are none\."):
        read_labels(tmp_path / "x.npz", "y")
    with pytest.raises(InputError, match=r"labels\.npy does not exist"):
        read_labels(tmp_path / "labels.npy")
