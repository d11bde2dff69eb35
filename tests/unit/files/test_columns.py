"""All columns of a file, such as known factors, with the ids of its rows."""

import numpy as np
import pytest

from upto import InputError
from upto.files import read_columns


def test_a_table_has_all_columns_but_ids(tmp_path):
    file = tmp_path / "factors.csv"
    file.write_text("id,shape,size,hue\na,cube,1,0.5\nb, ball ,2,\n")
    found = read_columns(file)
    assert found.ids.tolist() == ["a", "b"]
    assert list(found.columns) == ["shape", "size", "hue"]
    assert found.columns["shape"].tolist() == ["cube", "ball"]
    assert found.columns["size"].dtype == np.int64
    assert found.columns["hue"].tolist() == ["0.5", ""]


def test_the_key_of_a_table_is_how_its_columns_begin(tmp_path):
    file = tmp_path / "factors.tsv"
    file.write_text("name\tfactor_x\tfactor_y\tz\nu\t1\t2\t3\nv\t4\t5\t6\n")
    found = read_columns(f"{file}::factor_", ids="name")
    assert list(found.columns) == ["factor_x", "factor_y"]
    assert found.ids.tolist() == ["u", "v"]
    with pytest.raises(InputError, match="no column that begins with 'w'"):
        read_columns(f"{file}::w")
    with pytest.raises(InputError, match="has no column 'who': its columns are name, factor_x"):
        read_columns(file, ids="who")


def test_a_parquet_table_keeps_its_types_and_leaves_lists_out(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = {"id": ["a", "b"], "size": [1, None], "shape": ["cube", None], "z": [[1.0], [2.0]]}
    pq.write_table(pa.table(table), tmp_path / "factors.parquet")
    found = read_columns(tmp_path / "factors.parquet")
    assert list(found.columns) == ["size", "shape"]
    assert found.columns["size"][0] == 1
    assert np.isnan(found.columns["size"][1])
    assert found.columns["shape"].tolist() == ["cube", ""]


def test_an_array_has_numbered_columns(tmp_path):
    np.save(tmp_path / "factors.npy", np.arange(6).reshape(3, 2))
    found = read_columns(tmp_path / "factors.npy")
    assert list(found.columns) == ["factors 0", "factors 1"]
    assert found.columns["factors 1"].tolist() == [1, 3, 5]
    assert found.ids is None
    np.save(tmp_path / "one.npy", np.arange(3))
    assert list(read_columns(tmp_path / "one.npy").columns) == ["one"]
    with pytest.raises(InputError, match="one array and no ids"):
        read_columns(tmp_path / "one.npy", ids="id")
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(InputError, match="one or two dimensions"):
        read_columns(tmp_path / "cube.npy")
    np.save(tmp_path / "objects.npy", np.array([None, 1], dtype=object))
    with pytest.raises(InputError, match="never loads"):
        read_columns(tmp_path / "objects.npy")


def test_an_archive_has_its_vectors_or_the_columns_of_an_array(tmp_path):
    file = tmp_path / "data.npz"
    np.savez(file, z=np.zeros((3, 4)), x=np.arange(3), ids=np.array(["a", "b", "c"]))
    found = read_columns(file)
    assert list(found.columns) == ["x"]
    assert found.ids.tolist() == ["a", "b", "c"]
    assert list(read_columns(f"{file}::z").columns) == ["z 0", "z 1", "z 2", "z 3"]
    assert list(read_columns(f"{file}::x").columns) == ["x"]
    np.savez(tmp_path / "plain.npz", factors=np.zeros((3, 2)))
    assert list(read_columns(tmp_path / "plain.npz").columns) == ["factors 0", "factors 1"]
    np.savez(tmp_path / "uneven.npz", x=np.zeros(3), y=np.zeros(4))
    with pytest.raises(InputError, match=r"different lengths: x \(3\), y \(4\)"):
        read_columns(tmp_path / "uneven.npz")
    np.savez(tmp_path / "short.npz", x=np.zeros(3), ids=np.arange(2))
    assert read_columns(tmp_path / "short.npz").ids is None
    with pytest.raises(InputError, match="'ids' has 2 values but"):
        read_columns(tmp_path / "short.npz", ids="ids")
    with pytest.raises(InputError, match="has no column 'who'"):
        read_columns(tmp_path / "short.npz", ids="who")


def test_an_h5ad_file_has_its_obs(tmp_path):
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    obs = pd.DataFrame(
        {"batch": pd.Categorical(["p", "q", None]), "dose": [1.0, 2.0, 3.0]}, index=["a", "b", "c"]
    )
    anndata.AnnData(X=np.zeros((3, 2)), obs=obs).write_h5ad(tmp_path / "cells.h5ad")
    found = read_columns(tmp_path / "cells.h5ad")
    assert found.ids.tolist() == ["a", "b", "c"]
    assert found.columns["dose"].tolist() == [1, 2, 3]
    assert found.columns["batch"].tolist() == ["p", "q", ""]


def test_tensors_are_columns_too(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file({"factors": np.ones((3, 2))}, tmp_path / "factors.safetensors")
    assert list(read_columns(tmp_path / "factors.safetensors").columns) == [
        "factors 0",
        "factors 1",
    ]


def test_a_list_of_labels_is_no_table(tmp_path):
    (tmp_path / "labels.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match="which upto does not read"):
        read_columns(tmp_path / "labels.txt")
    with pytest.raises(InputError, match="does not exist"):
        read_columns(tmp_path / "nothing.csv")
