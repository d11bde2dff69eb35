"""One small run, saved by the libraries people use."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

N_SAMPLES, N_FEATURES = 37, 5


@pytest.fixture(scope="session")
def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N_SAMPLES, N_FEATURES)).astype(np.float32)


def save_npy(folder: Path, values: np.ndarray) -> str:
    np.save(folder / "run.npy", values)
    return str(folder / "run.npy")


def save_fortran_npy(folder: Path, values: np.ndarray) -> str:
    np.save(folder / "fortran.npy", np.asfortranarray(values))
    return str(folder / "fortran.npy")


def save_big_endian_npy(folder: Path, values: np.ndarray) -> str:
    np.save(folder / "big.npy", values.astype(">f4"))
    return str(folder / "big.npy")


def save_npz(folder: Path, values: np.ndarray) -> str:
    np.savez(folder / "stored.npz", emb=values, other=values[:, :2])
    return f"{folder / 'stored.npz'}::emb"


def save_compressed_npz(folder: Path, values: np.ndarray) -> str:
    np.savez_compressed(folder / "packed.npz", emb=values)
    return str(folder / "packed.npz")


def save_csv(folder: Path, values: np.ndarray) -> str:
    lines = [",".join(f"feature_{i}" for i in range(values.shape[1]))]
    lines += [",".join(str(float(cell)) for cell in row) for row in values]
    (folder / "run.csv").write_text("\n".join(lines) + "\n")
    return str(folder / "run.csv")


def save_parquet(folder: Path, values: np.ndarray) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({f"feature_{i}": column for i, column in enumerate(values.T)})
    pq.write_table(table, folder / "run.parquet", row_group_size=10)
    return str(folder / "run.parquet")


def save_list_parquet(folder: Path, values: np.ndarray) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"label": list(range(len(values))), "emb": list(values)})
    pq.write_table(table, folder / "lists.parquet", row_group_size=10)
    return str(folder / "lists.parquet")


def save_fixed_list_parquet(folder: Path, values: np.ndarray) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
    pq.write_table(pa.table({"emb": lists}), folder / "fixed.parquet", row_group_size=10)
    return str(folder / "fixed.parquet")


def save_hdf5(folder: Path, values: np.ndarray) -> str:
    import h5py

    with h5py.File(folder / "run.h5", "w") as file:
        file.create_dataset("deep/emb", data=values, chunks=(8, values.shape[1]))
    return str(folder / "run.h5")


def save_h5ad(folder: Path, values: np.ndarray) -> str:
    import anndata

    adata = anndata.AnnData(np.zeros((len(values), 1), dtype=np.float32))
    adata.obsm["X_emb"] = values
    adata.write_h5ad(folder / "run.h5ad")
    return f"{folder / 'run.h5ad'}::X_emb"


def save_zarr(folder: Path, values: np.ndarray, zarr_format: int) -> str:
    import zarr

    path = folder / f"run{zarr_format}.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    group.create_array("emb", data=values, chunks=(8, values.shape[1]))
    return str(path)


def save_zarr2(folder: Path, values: np.ndarray) -> str:
    return save_zarr(folder, values, 2)


def save_zarr3(folder: Path, values: np.ndarray) -> str:
    return save_zarr(folder, values, 3)


def save_bare_zarr(folder: Path, values: np.ndarray) -> str:
    import zarr

    zarr.create_array(folder / "bare.zarr", data=values, chunks=(8, values.shape[1]))
    return str(folder / "bare.zarr")


def save_safetensors(folder: Path, values: np.ndarray) -> str:
    from safetensors.numpy import save_file

    save_file({"emb": values, "ids": np.arange(len(values))}, folder / "run.safetensors")
    return str(folder / "run.safetensors")


def write_safetensors(path: Path, dtype: str, shape: tuple[int, ...], data: bytes) -> None:
    """Write what NumPy has no type for, by the format's own definition."""
    entry = {"dtype": dtype, "shape": list(shape), "data_offsets": [0, len(data)]}
    header = json.dumps({"emb": entry}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


IN_BLOCKS = (
    save_npy,
    save_fortran_npy,
    save_big_endian_npy,
    save_npz,
    save_parquet,
    save_list_parquet,
    save_fixed_list_parquet,
    save_hdf5,
    save_h5ad,
    save_zarr2,
    save_zarr3,
    save_bare_zarr,
    save_safetensors,
)
AT_ONCE = (save_compressed_npz, save_csv)


@pytest.fixture(params=IN_BLOCKS, ids=lambda save: save.__name__.removeprefix("save_"))
def block_file(request, tmp_path, values) -> str:
    return request.param(tmp_path, values)


@pytest.fixture(params=IN_BLOCKS + AT_ONCE, ids=lambda save: save.__name__.removeprefix("save_"))
def any_file(request, tmp_path, values) -> str:
    return request.param(tmp_path, values)


@pytest.fixture
def savers():
    return {save.__name__.removeprefix("save_"): save for save in IN_BLOCKS}


@pytest.fixture
def raw_safetensors():
    return write_safetensors
