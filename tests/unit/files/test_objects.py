"""Objects in memory become runs without needless copies; what cannot be one is named."""

from __future__ import annotations

import gc
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import upto
from upto.core import InputError
from upto.files import read_run
from upto.files.accept import single_run

ROWS = np.random.default_rng(0).normal(size=(6, 3))
NAMES = ("a", "b", "c")
IDS = [f"s{number}" for number in range(6)]


def refused(thing, message, **options):
    """Check that a thing is refused by one sentence that begins with its name."""
    with pytest.raises(InputError, match=message) as caught:
        upto.as_embeddings(thing, name="mae", **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")
    assert "mae" in str(caught.value)
    return True


# Arrays


def test_arrays_are_not_copied():
    assert upto.as_embeddings(ROWS).rows is ROWS or np.shares_memory(
        upto.as_embeddings(ROWS).rows, ROWS
    )
    run = upto.as_embeddings(ROWS, name="mae", ids=IDS, columns={"plate": [1, 1, 1, 2, 2, 2]})
    assert (run.name, run.ids.tolist(), run.columns["plate"].tolist()) == (
        "mae", IDS, [1, 1, 1, 2, 2, 2],
    )  # fmt: skip
    assert np.shares_memory(np.asarray(run), ROWS)
    np.testing.assert_array_equal(np.asarray(run, dtype=np.float32), ROWS.astype(np.float32))


def test_embeddings_of_a_file_are_an_array(tmp_path):
    np.save(tmp_path / "mae.npy", ROWS)
    np.testing.assert_array_equal(np.asarray(read_run(tmp_path / "mae.npy")), ROWS)


def test_embeddings_take_ids_columns_and_a_name():
    run = upto.as_embeddings(ROWS, columns={"plate": IDS, "day": IDS[::-1]})
    again = upto.as_embeddings(run, ids="plate", name="mae", columns=["day"])
    assert (again.name, again.ids.tolist(), list(again.columns)) == ("mae", IDS, ["day"])
    with pytest.raises(InputError, match=r"^run has no column 'well': its columns are plate, day"):
        upto.as_embeddings(run, ids="well")
    with pytest.raises(InputError, match=r"^key='X' chooses an array, but run is Embeddings"):
        upto.as_embeddings(run, key="X")


def test_a_path_takes_arrays_as_ids_and_columns(tmp_path):
    np.savez(tmp_path / "mae.npz", one=ROWS, two=2 * ROWS)
    run = upto.as_embeddings(tmp_path / "mae.npz", key="two", ids=IDS, columns={"day": IDS})
    np.testing.assert_array_equal(np.asarray(run), 2 * ROWS)
    assert (run.name, run.ids.tolist(), list(run.columns)) == ("two", IDS, ["day"])


class Exporter:
    """An array that only speaks the array protocols of its constructor."""

    def __init__(self, rows, protocol):
        self._rows = rows
        if protocol == "array":
            self.__class__ = _WithArray
        else:
            self.__class__ = _WithDlpack


class _WithArray(Exporter):
    def __array__(self, dtype=None, copy=None):
        return self._rows


class _WithDlpack(Exporter):
    def __dlpack__(self, **options):
        return self._rows.__dlpack__()

    def __dlpack_device__(self):
        return self._rows.__dlpack_device__()


@pytest.mark.parametrize("protocol", ["array", "dlpack"])
def test_any_array_protocol_is_understood(protocol):
    run = upto.as_embeddings(Exporter(ROWS, protocol))
    np.testing.assert_array_equal(run.rows, ROWS)


BAD = {
    "none": (None, "^mae is None: pass an array, a tensor, a data frame, an AnnData or xarray"),
    "number": (3.0, "^mae is a float: pass an array"),
    "NumPy number": (np.float64(2), "^mae is a numpy float64: pass an array"),
    "bytes": (b"abc", "^mae is a bytes: pass an array"),
    "function": (len, "^mae is a builtin_function_or_method: pass an array"),
    "set": ({1.0}, "^mae is a set: pass an array"),
    "mapping": ({"a": ROWS}, "^mae is a dict: pass an array"),
    "vector": (ROWS[0], r"^mae has 1 dimension, its shape is \(3,\), but embeddings have two"),
    "cube": (ROWS[None], "^mae has 3 dimensions, .*: flatten or pool the others first"),
    "empty": (ROWS[:0], r"^mae is empty: its shape is \(0, 3\)"),
    "ragged": ([[1.0, 2.0], [3.0]], "^mae is not an array: its rows differ in length"),
    "complex": (ROWS + 1j, "^mae contains complex128 values, .*: take the real part"),
    "times": (ROWS.astype("M8[s]"), r"^mae contains datetime64\[s\] values, .*: convert the times"),
    "spans": (ROWS.astype("m8[s]"), r"^mae contains timedelta64\[s\] values"),
    "text": (ROWS.astype(str), "^mae contains <U32 values, not real numbers"),
    "objects": (ROWS.astype(object), "^mae contains object values, not real numbers"),
    "records": (np.zeros(3, "f8,i4"), "^mae contains records of f0, f1: convert them"),
    "masked": (np.ma.masked_less(ROWS, 0.0), r"^mae has \d+ masked values: remove or fill"),
    "generator": ((row for row in ROWS), "^mae is a generator, which can be read only once"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_a_run_is_named(kind):
    assert refused(*BAD[kind])


def test_a_mask_of_nothing_and_booleans_are_fine():
    assert type(upto.as_embeddings(np.ma.array(ROWS)).rows) is np.ndarray
    assert upto.as_embeddings(ROWS > 0).rows.dtype == bool


def test_a_key_is_refused_where_there_is_nothing_to_choose():
    assert refused(
        ROWS, "^key='X' chooses among the arrays of an object or file, but mae is", key="X"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": 3}, "^key is an int: pass text"),
        ({"name": 3}, "^name is an int: pass text"),
        ({"columns": 3}, "^columns is an int: pass the names of columns, or a mapping"),
        ({"columns": ["day"]}, "^run has no column 'day': its columns are none"),
        ({"columns": {"day": [1]}}, r"^columns\['day'\] has shape \(1,\) but"),
        ({"ids": ROWS}, r"^ids has shape \(6, 3\) but run has 6 rows"),
        ({"ids": [*IDS[:5], None]}, "^ids has 1 missing value in 6 rows"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        upto.as_embeddings(ROWS, **options)


def test_sparse_matrices_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    assert refused(sparse.csr_array(ROWS), "^mae is a scipy csr_array, which is sparse: pass it as")
    assert refused(sparse.csr_matrix(ROWS), "^mae is a scipy csr_matrix, which is sparse")


def test_rows_of_embeddings_that_are_no_array_are_refused():
    for rows in (ROWS.tolist(), None, "mae.npy"):
        with pytest.raises(InputError, match=r"^the rows of mae are of type \w+, not an array:"):
            upto.Embeddings(rows=rows, name="mae")


@given(
    hnp.arrays(
        st.sampled_from(["f4", "f8", "i2", "u1", "?", "c8", "U2", "O", "M8[s]"]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    )
)
def test_an_array_is_taken_or_refused_in_one_sentence(array):
    good = array.ndim == 2 and array.size > 0 and array.dtype.kind in "fiub"
    if good:
        assert np.shares_memory(upto.as_embeddings(array).rows, array)
        return
    with pytest.raises(InputError, match=r"^run [^\n]+\.$"):
        upto.as_embeddings(array)


# Tensors


def test_a_tensor_is_not_copied():
    torch = pytest.importorskip("torch")
    rows = upto.as_embeddings(torch.from_numpy(ROWS)).rows
    assert np.shares_memory(rows, ROWS)
    leaf = torch.from_numpy(ROWS.copy()).requires_grad_()
    assert np.shares_memory(upto.as_embeddings(leaf).rows, leaf.detach().numpy())


def test_tensors_of_any_type_are_taken():
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(ROWS)
    halved = upto.as_embeddings(tensor.bfloat16()).rows
    assert halved.dtype == np.float32
    np.testing.assert_allclose(halved, ROWS, rtol=2**-8)
    assert upto.as_embeddings(tensor.half()).rows.dtype == np.float16
    assert upto.as_embeddings(tensor > 0).rows.dtype == bool
    flipped = torch.complex(torch.zeros_like(tensor), tensor).conj().imag
    assert flipped.is_neg()
    np.testing.assert_array_equal(upto.as_embeddings(flipped).rows, -ROWS)


def test_tensors_without_dense_values_are_refused():
    torch = pytest.importorskip("torch")
    assert refused(
        torch.eye(3).to_sparse(), r"^mae is a torch tensor that is sparse: pass its `to_dense"
    )
    assert refused(
        torch.empty(2, 2, device="meta"), "^mae is a torch tensor that is on the meta device"
    )
    assert refused(torch.ones(2, 2) * 1j, "^mae contains complex64 values")
    assert refused(torch.ones(3), "^mae has 1 dimension")
    assert refused(torch.nn.Linear(2, 2), "^mae is a torch Linear: pass an array")


# Data frames


def frame(library, **more):
    table = {name: column.copy() for name, column in zip(NAMES, ROWS.T, strict=True)}
    return pytest.importorskip(library).DataFrame({**table, **more})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_frame_have_the_roles_of_a_table(library):
    run = upto.as_embeddings(frame(library, id=IDS, dose=list("xyzxyz"), batch=[1, 1, 1, 2, 2, 2]))
    np.testing.assert_array_equal(run.rows, ROWS)
    assert (run.features, run.ids.tolist()) == (NAMES, IDS)
    assert {key: values.tolist() for key, values in run.columns.items()} == {
        "dose": list("xyzxyz"),
        "batch": [1, 1, 1, 2, 2, 2],
    }
    chosen = upto.as_embeddings(frame(library, x_0=ROWS[:, 0], x_1=ROWS[:, 1]), key="x_")
    assert chosen.features == ("x_0", "x_1")
    numbered = upto.as_embeddings(frame(library, well=[3, 1, 2, 4, 5, 6]), ids="well")
    assert (numbered.ids.tolist(), numbered.features) == ([3, 1, 2, 4, 5, 6], NAMES)
    kept = upto.as_embeddings(frame(library), columns=["c"])
    assert (kept.features, list(kept.columns)) == (("a", "b"), ["c"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_is_read_as_the_file_it_is_written_to(library, tmp_path):
    pytest.importorskip("pyarrow")
    table = frame(
        library, text=["u", None, "w", "u", "v", "w"], flag=[True, False] * 3, label=[3, 1] * 3
    )
    path = tmp_path / "run.parquet"
    (table.to_parquet if library == "pandas" else table.write_parquet)(path)
    one, other = upto.as_embeddings(table), read_run(path)
    np.testing.assert_array_equal(one.rows, np.asarray(other))
    assert one.features == other.features == NAMES
    assert {key: values.tolist() for key, values in one.columns.items()} == {
        key: values.tolist() for key, values in other.columns.items()
    }


def test_a_frame_of_one_block_is_not_copied():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(ROWS, columns=NAMES)
    assert np.shares_memory(upto.as_embeddings(table).rows, ROWS)
    assert np.shares_memory(upto.as_embeddings(pd.DataFrame(ROWS)).rows, ROWS)
    assert upto.as_embeddings(pd.DataFrame(ROWS)).features == ()


def test_an_index_becomes_ids_unless_it_is_the_default():
    table = frame("pandas")
    assert upto.as_embeddings(table).ids is None
    assert upto.as_embeddings(table.set_axis(IDS)).ids.tolist() == IDS
    assert upto.as_embeddings(table.iloc[::-1]).ids.tolist() == [5, 4, 3, 2, 1, 0]
    assert upto.as_embeddings(table.set_axis(["s"] * 6)).ids.tolist() == ["s"] * 6
    pairs = [("p", number) for number in range(6)]
    pd = pytest.importorskip("pandas")
    several = upto.as_embeddings(table.set_axis(pd.MultiIndex.from_tuples(pairs)))
    assert several.ids.tolist() == [str(pair) for pair in pairs]
    missing = upto.as_embeddings(table.set_axis([None, *IDS[1:]]))
    assert missing.ids.tolist() == ["", *IDS[1:]]
    days = pd.period_range("2020", periods=6, freq="D")
    assert upto.as_embeddings(table.set_axis(days)).ids[0] == "2020-01-01"
    assert upto.as_embeddings(table.set_axis(IDS), ids=range(6)).ids.tolist() == [*range(6)]


def test_types_of_columns_are_joined():
    pd = pytest.importorskip("pandas")
    whole = pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5], "c": np.array([1, 2], "u1")})
    np.testing.assert_array_equal(
        upto.as_embeddings(whole.convert_dtypes()).rows, [[1, 1.5, 1], [2, 2.5, 2]]
    )
    objects = whole.astype({"b": object})
    np.testing.assert_array_equal(upto.as_embeddings(objects).rows, whole)
    pl = pytest.importorskip("polars")
    decimals = pl.DataFrame({"a": [1, 2], "b": ["1.5", "2.5"]}).with_columns(
        pl.col("b").cast(pl.Decimal(10, 2))
    )
    np.testing.assert_array_equal(upto.as_embeddings(decimals).rows, [[1, 1.5], [2, 2.5]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_lists_is_the_embedding(library):
    table = pytest.importorskip(library).DataFrame({"e": ROWS.tolist(), "day": IDS})
    run = upto.as_embeddings(table)
    np.testing.assert_array_equal(run.rows, ROWS)
    assert list(run.columns) == ["day"]
    ragged = pytest.importorskip(library).DataFrame({"e": [[1.0, 2.0], [3.0]]})
    assert refused(
        ragged, "^e of mae has 1 values in row 1 but 2 in row 0: all rows need the same number"
    )


def test_frames_that_cannot_be_runs_are_refused():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    holes = pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, None], dtype="Int64")})
    assert refused(holes, "^mae has 1 missing value in the column 'b': fill or drop")
    assert refused(
        pl.DataFrame({"a": [1.0, None, None]}), "^mae has 2 missing values in the column 'a'"
    )
    assert refused(pd.DataFrame({"a": [1.0, pd.NA]}), "^mae has 1 missing value in the column 'a'")
    assert refused(
        pd.DataFrame({"e": [["x"], ["y"]]}), "^e of mae has <U1 values in row 0, not real"
    )
    assert refused(
        pd.DataFrame({"a": list("xy")}), "^mae has no numeric columns to use as features"
    )
    assert refused(pd.DataFrame({"a": [1j, 2j]}), "column 'a' of mae contains complex128 values")
    assert refused(pd.DataFrame(ROWS, columns=["a", "a", "b"]), "^mae has two columns named 'a'")
    assert refused(
        pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])}), "column 'a' of mae is sparse"
    )
    assert refused(pd.DataFrame(), "^mae has no numeric columns")
    assert refused(
        pl.DataFrame({"a": [1.0]}).lazy(), r"^mae is a polars LazyFrame, .*`collect\(\)`"
    )
    assert refused(pl.Series([1.0]), "^mae is a polars Series, one column: pass a frame")
    assert refused(pd.Series([1.0]), "^mae is a pandas Series, one column: pass a frame")
    assert refused(
        frame("pandas"), "^mae has no column 'well': its columns are a, b, c", ids="well"
    )
    two = pd.DataFrame({"e": ROWS.tolist(), "f": ROWS.tolist()})
    assert refused(
        two, r"^mae holds 2 columns that could be the embedding: e, f. Choose .* key='e'\."
    )


# AnnData


@pytest.fixture
def adata():
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(["u", None, "w", "u", "v", "w"]),
            "count": [1, 2, 3, 4, 5, 6],
            "dose": pd.array([1, None, 3, 4, 5, 6], dtype="Int64"),
            "seen": [True, False] * 3,
            "note": list("xyzxyz"),
        },
        index=IDS,
    )
    found = anndata.AnnData(ROWS, obs=obs, var=pd.DataFrame(index=list(NAMES)))
    found.obsm["X_pca"] = ROWS[:, :2]
    found.layers["raw"] = 2 * ROWS
    return found


@pytest.mark.parametrize("key", ["X", "X_pca", "obsm/X_pca", "layers/raw", "raw"])
def test_an_annotated_object_is_read_as_its_file(adata, key, tmp_path):
    pytest.importorskip("h5py")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    one = upto.as_embeddings(adata, key=key)
    other = read_run(tmp_path / "cells.h5ad", key=key)
    np.testing.assert_array_equal(one.rows, np.asarray(other))
    assert one.features == other.features == (() if "pca" in key else NAMES)
    assert one.ids.tolist() == other.ids.tolist() == IDS
    assert sorted(one.columns) == sorted(other.columns)
    for name, values in other.columns.items():
        np.testing.assert_array_equal(one.columns[name], values, err_msg=name)
        assert one.columns[name].dtype.kind == values.dtype.kind, name


def test_an_annotated_object_shares_its_memory(adata):
    assert np.shares_memory(upto.as_embeddings(adata, key="X").rows, adata.X)


def test_a_view_of_an_annotated_object_is_taken(adata):
    np.testing.assert_array_equal(upto.as_embeddings(adata[::2], key="X_pca").rows, ROWS[::2, :2])


def test_the_arrays_of_an_annotated_object_are_listed(adata):
    assert refused(
        adata,
        r"^mae holds 3 arrays that could be the embedding: X \(6 × 3 float64\), obsm/X_pca "
        r"\(6 × 2 float64\), layers/raw \(6 × 3 float64\)\. Choose one, as in key='X'\.$",
    )
    assert refused(adata, "^mae has no array 'X_umap': it holds X ", key="X_umap")
    sparse = pytest.importorskip("scipy.sparse")
    adata.X = sparse.csr_matrix(ROWS)
    assert refused(adata, "^X of mae is sparse, and embeddings are dense", key="X")
    assert upto.as_embeddings(adata, key="X_pca", ids="note").ids.tolist() == list("xyzxyz")


# xarray, zarr, HDF5 and dask


def test_coordinates_of_an_xarray_are_ids_columns_and_names():
    xr = pytest.importorskip("xarray")
    array = xr.DataArray(
        ROWS,
        dims=["sample", "feature"],
        coords={"sample": IDS, "feature": list(NAMES), "plate": ("sample", [1, 1, 1, 2, 2, 2])},
    )
    run = upto.as_embeddings(array)
    assert np.shares_memory(run.rows, ROWS)
    assert (run.ids.tolist(), run.features) == (IDS, NAMES)
    assert run.columns["plate"].tolist() == [1, 1, 1, 2, 2, 2]
    assert upto.as_embeddings(xr.DataArray(ROWS)).ids is None


def test_other_xarrays_are_refused():
    xr = pytest.importorskip("xarray")
    assert refused(
        xr.DataArray(ROWS[None], dims=list("xyz")), r"^mae is an xarray with 3 dimensions \(x 1"
    )
    assert refused(
        xr.Dataset({"rows": (("x", "y"), ROWS)}), "^mae is an xarray Dataset with the variables"
    )


def test_lazy_arrays_are_read_block_by_block():
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    seen = []

    def load(block):
        seen.append(len(block))
        return block

    lazy = da.from_array(ROWS, chunks=(2, 3)).map_blocks(load, meta=ROWS)
    rows = upto.as_embeddings(lazy).rows
    assert seen == []
    # A cluster of another test would load the blocks elsewhere.
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(rows[2:4], ROWS[2:4])
    assert sum(seen) == 2
    assert refused(lazy[lazy[:, 0] > 0], "^mae is a dask array of unknown shape: call its")


def test_groups_of_arrays_need_a_key(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file["one/rows"], file["two"] = ROWS, 2 * ROWS
        run = upto.as_embeddings(file, key="two")
        np.testing.assert_array_equal(np.asarray(run), 2 * ROWS)
        with pytest.raises(InputError, match=r"holds 2 arrays .* one/rows \(6 × 3 float64\), two"):
            upto.as_embeddings(file)
        rows = file["two"]
    assert refused(rows, "^mae is an h5py Dataset whose file is closed")
    assert refused(file, "^mae is a h5py File that is closed: open it again")
    zarr = pytest.importorskip("zarr")
    group = zarr.group()
    group.create_array("rows", data=ROWS)
    np.testing.assert_array_equal(np.asarray(upto.as_embeddings(group)), ROWS)


# Blocks


@pytest.fixture
def spooled(monkeypatch, tmp_path):
    """Temporary files are made in a folder of their own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "^run has 0 blocks: the iterator is empty or was read before"),
        ([ROWS[:0], ROWS[:0]], "^run has 0 blocks: the iterator is empty or was read before"),
        ([ROWS, ROWS[:0, :2]], "^block 2 of run is empty: its shape is "),
        ([ROWS, ROWS[:, :2]], "^block 2 of run has 2 columns but the first block has 3"),
        ([ROWS, ROWS, ROWS.astype(str)], "^block 3 of run contains <U32 values"),
        ([ROWS, None], "^block 2 of run is None"),
        ([ROWS[0]], "^block 1 of run has 1 dimension"),
        ([ROWS.astype("f4"), ROWS], "^block 2 of run contains float64 values but the first"),
    ],
)
def test_blocks_that_do_not_fit_are_refused_by_number(blocks, message, spooled):
    with pytest.raises(InputError, match=message):
        upto.inspect(iter(blocks))
    gc.collect()
    assert list(spooled.iterdir()) == []


def test_a_list_of_one_array_is_that_array():
    data = pytest.importorskip("torch.utils.data")
    import torch

    rows = torch.tensor(np.tile(ROWS, (5, 1)))
    for loader in (
        data.DataLoader(data.TensorDataset(rows), batch_size=7),
        iter([(rows.numpy(),)]),
        iter([[list(row)] for row in rows.numpy()]),
        iter([[row] for row in rows.numpy()]),
    ):
        run = single_run(loader, "inspect", blocks=True)
        np.testing.assert_array_equal(np.asarray(run), rows)
    pairs = data.DataLoader(data.TensorDataset(rows, rows[:, 0]), batch_size=7)
    with pytest.raises(InputError, match=r"^block 1 of run is a list of 2 arrays: .*batch\[0\]"):
        upto.inspect(pairs)


@pytest.mark.parametrize("empty", [ROWS[:0], [ROWS[:0]]])
def test_blocks_without_rows_are_left_out(empty):
    for blocks in ([empty, ROWS[:2], ROWS[2:]], [ROWS[:2], empty, ROWS[2:], empty]):
        run = single_run(iter(blocks), "inspect", blocks=True)
        np.testing.assert_array_equal(np.asarray(run), ROWS)


def test_blocks_are_never_all_in_memory(spooled):
    def blocks():
        for _ in range(4):
            yield np.random.default_rng(0).normal(size=(50, 3))

    assert upto.inspect(blocks(), ica=False).run.n_samples == 200
    assert list(spooled.iterdir()) == []


def test_blocks_of_a_table_keep_their_columns():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(np.tile(ROWS, (10, 1)), columns=NAMES).assign(id=range(60), day="u")
    found = upto.inspect((table[start : start + 20] for start in (0, 20, 40)), ica=False)
    assert (found.columns, found.has_ids) == (("day",), True)
    turned = table[["b", "a", "c", "id", "day"]]
    with pytest.raises(InputError, match=r"^block 2 of run has the columns b, a, c but the"):
        upto.inspect(iter([table, turned]))


def test_a_full_disk_is_one_sentence(monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(InputError, match=r"^run does not fit in .*No space left.* set TMPDIR"):
        upto.inspect(iter([ROWS]))
