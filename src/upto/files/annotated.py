"""Read the AnnData layout in HDF5 or zarr: matrices in `X`, `obsm`, `layers`; columns in `obs`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, Rows
from upto.files.attributes import text_attribute
from upto.files.containers import Container, Entry
from upto.files.damage import PICKLED, damaged
from upto.files.heaps import read_vector
from upto.files.request import names_of_coordinates
from upto.files.stored import check_stored
from upto.files.text_values import column_of, text_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

SPARSE = (
    "is sparse, and embeddings are dense: choose a dense array of obsm, or save "
    "`adata.obsm['X_dense'] = adata.X.toarray()` and choose that."
)
"""Why a sparse matrix cannot be an embedding."""


class AnnotatedContainer(Container):
    """An AnnData file: `obs` contains the columns, and its index the ids.

    Parameters
    ----------
    path, root
        The file and its open root group.
    open_rows
        Function that returns the block reader of an array by key.
    """

    def __init__(self, path: Path, root: Any, open_rows: Callable[[str], Rows]) -> None:
        super().__init__()
        self.path, self._root, self._open_rows = path, root, open_rows
        for key in self._matrix_keys():
            item = root[key]
            if hasattr(item, "shape"):
                self.arrays[key] = Entry.of(item.shape, item.dtype)
            elif "indptr" in item:
                shape = tuple(int(size) for size in item.attrs.get("shape", ()))
                self.arrays[key] = Entry(shape, "sparse", SPARSE)
        obs = root.get("obs")
        if obs is None or hasattr(obs, "shape"):
            self._obs: dict[str, Any] = {}
            return
        index = text_attribute(path, obs, "_index", "_index")
        self._obs = {name: obs[name] for name in obs if name != "__categories"}
        lengths = {name: _length(item) for name, item in self._obs.items()}
        self.vectors = {name: length for name, length in lengths.items() if length is not None}
        self.ids = index if index in self.vectors else None

    def _matrix_keys(self) -> list[str]:
        keys = ["X"] if "X" in self._root else []
        for group in ("obsm", "layers"):
            if group in self._root:
                keys += [f"{group}/{name}" for name in sorted(self._root[group])]
        return keys

    def rows(self, key: str) -> Rows:
        """Return the block reader of `X` or of an array of `obsm` or `layers`."""
        return self._open_rows(key)

    def features(self, key: str) -> tuple[str, ...]:
        """Return the names of variables if the array is `X` or a layer."""
        table = self._root.get("var")
        if not of_variables(key) or table is None or hasattr(table, "shape"):
            return ()
        index = text_attribute(self.path, table, "_index", "_index")
        if index not in table:
            return ()
        names = decoded(table[index], self.path, f"var/{index}")
        return names_of_coordinates(names, self.arrays[key].shape[1])

    def values(self, name: str) -> NDArray[Any]:
        """Return a column of `obs` with categories decoded."""
        item = self._obs[name]
        old = self._root["obs"].get("__categories")
        if old is not None and name in old:
            labels = decoded(old[name], self.path, name)
            return _categories(labels, decoded(item, self.path, name), self.path, name)
        return decoded(item, self.path, name)


def of_variables(key: str) -> bool:
    """Return whether the columns of a matrix are the variables of AnnData."""
    return key == "X" or key.startswith("layers/")


def is_annotated(path: Path, root: Any) -> bool:
    """Return whether a group is marked as written by AnnData."""
    if hasattr(root, "shape"):
        return False
    return text_attribute(path, root, "encoding-type", "") == "anndata"


def decoded(item: Any, path: Path, name: str) -> NDArray[Any]:
    """Read a vector from HDF5, zarr or AnnData as numbers or text.

    Parameters
    ----------
    item
        An array, or a group of arrays that form one column.
    path, name
        The file and the column in it.
    """
    if hasattr(item, "shape"):
        refuse_pickle(item)
        check_stored(path, name, item)
        values = read_vector(item)
        return _text(values, path, name) if values.dtype.kind in "OST" else values
    if "codes" in item:
        labels = decoded(item["categories"], path, f"{name}/categories")
        return _categories(labels, decoded(item["codes"], path, name), path, name)
    values = decoded(item["values"], path, name)
    missing = decoded(item["mask"], path, f"{name}/mask").astype(bool)
    if missing.shape != values.shape:
        raise InputError(
            damaged(path, f"{name}: {len(values)} values but a mask of {len(missing)}")
        )
    return _masked(values, missing)


def refuse_pickle(array: Any) -> None:
    """Refuse a zarr array whose codecs would unpickle data."""
    metadata = getattr(array, "metadata", None)
    if metadata is None:
        return
    described = metadata.to_dict()
    steps = [described.get(step) for step in ("filters", "compressor", "codecs")]
    if "pickle" in json.dumps(steps, default=repr).lower():
        message = f"{array.name.strip('/')} {PICKLED}"
        raise InputError(message)


def _text(values: NDArray[Any], path: Path, name: str) -> NDArray[Any]:
    cells = values.tolist()
    texts = [cell.decode() if isinstance(cell, bytes) else str(cell) for cell in cells]
    return text_array(column_of(path, name), texts)


def _categories(
    categories: NDArray[Any], codes: NDArray[Any], path: Path, name: str
) -> NDArray[Any]:
    if not len(categories):
        return np.full(len(codes), "", dtype=str)
    wrong = np.flatnonzero(codes >= len(categories))
    if len(wrong):
        why = f"{name}: row {wrong[0]} has category {codes[wrong[0]]} of {len(categories)}"
        raise InputError(damaged(path, why))
    return _masked(categories[np.maximum(codes, 0)], codes < 0)


def _masked(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[Any]:
    if not missing.any():
        return values
    if values.dtype.kind == "U":
        return np.where(missing, "", values)
    return np.where(missing, np.nan, values.astype(np.float64))


def _length(item: Any) -> int | None:
    for part in ("codes", "values"):
        if not hasattr(item, "shape") and part in item:
            return int(item[part].shape[0])
    if hasattr(item, "shape") and len(item.shape) == 1 and item.dtype.names is None:
        return int(item.shape[0])
    return None
