"""The same rows as every kind of thing that can be a run, and cheap calls of every question."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import upto

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ["u", "v", "w"]


def _torch(rows: Any, path: Path) -> Any:
    torch = pytest.importorskip("torch")
    return torch.tensor(rows, requires_grad=True)


def _pandas(rows: Any, path: Path) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows, columns=NAMES)


def _polars(rows: Any, path: Path) -> Any:
    return pytest.importorskip("polars").DataFrame(rows, schema=NAMES)


def _arrow(rows: Any, path: Path) -> Any:
    pa = pytest.importorskip("pyarrow")
    return pa.table({name: column.copy() for name, column in zip(NAMES, rows.T, strict=True)})


def _anndata(rows: Any, path: Path) -> Any:
    anndata = pytest.importorskip("anndata")
    found = anndata.AnnData(rows)
    found.obs_names = [f"sample {number}" for number in range(len(rows))]
    return found


def _xarray(rows: Any, path: Path) -> Any:
    return pytest.importorskip("xarray").DataArray(rows, dims=["sample", "feature"])


def _lazy_xarray(rows: Any, path: Path) -> Any:
    pytest.importorskip("dask.array")
    return _xarray(rows, path).chunk(sample=17)


def _dask(rows: Any, path: Path) -> Any:
    return pytest.importorskip("dask.array").from_array(rows, chunks=(17, 3))


def _zarr(rows: Any, path: Path) -> Any:
    return pytest.importorskip("zarr").array(rows)


def _hdf5(rows: Any, path: Path) -> Any:
    h5py = pytest.importorskip("h5py")
    file = h5py.File(path.with_suffix(".h5"), "w", driver="core", backing_store=False)
    return file.create_dataset("rows", data=rows)


def _file(rows: Any, path: Path) -> Any:
    np.save(path, rows)
    return path


def _map(rows: Any, path: Path) -> Any:
    return np.load(_file(rows, path), mmap_mode="r")


KINDS: dict[str, Callable[[Any, Path], Any]] = {
    "list": lambda rows, path: rows.tolist(),
    "fortran array": lambda rows, path: np.asfortranarray(rows),
    "memory map": _map,
    "path": _file,
    "text path": lambda rows, path: str(_file(rows, path)),
    "Embeddings": lambda rows, path: upto.Embeddings(rows=rows, name=path.stem),
    "torch tensor": _torch,
    "pandas frame": _pandas,
    "polars frame": _polars,
    "arrow table": _arrow,
    "AnnData": _anndata,
    "xarray": _xarray,
    "lazy xarray": _lazy_xarray,
    "dask array": _dask,
    "zarr array": _zarr,
    "HDF5 dataset": _hdf5,
}

LABELS = np.array(["red", "blue"] * 40)
PLATES = np.repeat(["p", "q", "r", "s"], 20)
QUESTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "compare": lambda x, y: upto.compare(
        x, y, labels=LABELS, permutations=19, refits=1, ica=False, up_to="rigid"
    ),
    "similarity": lambda x, y: upto.similarity(
        x, y, measures="linear-cka", within=LABELS, permutations=19, half_samples=0
    ),
    "align": lambda x, y: upto.align(x, y, up_to="rigid", at=(1, 3)),
    "layers": lambda x, y: upto.layers({"a": x, "b": y}, permutations=19, half_samples=0),
    "consensus": lambda x, y: upto.consensus(x, y, permutations=19),
    "unmix": lambda x, y=None: upto.unmix(x, held_out=0),
    "inspect": lambda x, y=None: upto.inspect(x, ica=False),
    "factors": lambda x, y: upto.factors(
        x, {"shade": PLATES}, scores="linear-probe", forms="raw", refits=19, half_samples=0
    ),
    "batches": lambda x, y: upto.batches(
        x, batch=PLATES, label=LABELS, classifier="linear", conditions="base", shuffled=False,
        mixing=False, maps=False, folds=2, concentration=(),
    ),
    "lipschitz": lambda x, y: upto.lipschitz(x, y, n_points=20, directions=2),
    "diversity": lambda x, y: upto.diversity(x),
}  # fmt: skip


def rows_of_two_runs() -> tuple[Any, Any]:
    """Return 80 rows of two related runs."""
    rng = np.random.default_rng(0)
    first = rng.laplace(size=(80, 3))
    return first, first @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + 0.1 * rng.normal(size=(80, 3))


def told(result: Any) -> dict[str, Any]:
    """Return every entry of a result by its path, without times, and without names and ids."""
    found: dict[str, Any] = {}

    def walk(value: Any, path: str) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                if key not in ("provenance", "name", "has_ids", "latents", "outputs", "seconds"):
                    walk(each, f"{path}.{key}")
        elif isinstance(value, list):
            # Some kinds have ids, which the factors then lack (UP020).
            kept = [each for each in value if not _is_of_ids(each)]
            for position, each in enumerate(kept):
                walk(each, f"{path}[{position}]")
        else:
            found[path] = value

    walk(json.loads(result.to_json()), "")
    return found


def _is_of_ids(each: Any) -> bool:
    return isinstance(each, dict) and each.get("code") == "UP020"


def assert_same_answer(result: Any, expected: Any) -> None:
    """Compare two results entry by entry, numbers up to rounding."""
    one, other = told(result), told(expected)
    assert one.keys() == other.keys()
    for path, value in other.items():
        if isinstance(value, float):
            np.testing.assert_allclose(one[path], value, rtol=1e-7, atol=1e-9, err_msg=path)
        else:
            assert one[path] == value, path
