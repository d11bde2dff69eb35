"""Choose an array in an AnnData or xarray object, or in an open HDF5 or zarr group."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, Rows
from upto.files.annotated import SPARSE, AnnotatedContainer, is_annotated, of_variables
from upto.files.arrays import LazyRows, as_array, is_a, type_of
from upto.files.containers import Container, Entry, problem_of, read_container
from upto.files.damage import damage_reported, quietly
from upto.files.frames import index_ids, is_frame, is_missing
from upto.files.hierarchies import Hierarchy
from upto.files.request import Contents, Request, listed, names_of_coordinates
from upto.files.text_values import column_of, text_array

if TYPE_CHECKING:
    from numpy.typing import NDArray


class AnnotatedObject(Container):
    """An AnnData object: arrays, columns and ids as in the file it would be written to.

    Parameters
    ----------
    adata
        The object.
    name
        Its name, for messages.
    """

    def __init__(self, adata: Any, name: str) -> None:
        super().__init__()
        self._adata, self._name = adata, name
        self._items = {} if adata.X is None else {"X": adata.X}
        for group in ("obsm", "layers"):
            found = getattr(adata, group)
            # A layer without a name is X again.
            self._items |= {f"{group}/{key}": found[key] for key in found if key is not None}
        self.arrays = {key: _entry(item) for key, item in self._items.items()}
        self.ids = str(adata.obs_names.name or "_index")
        self.vectors = dict.fromkeys((*map(str, adata.obs.columns), self.ids), int(adata.n_obs))

    def rows(self, key: str) -> Rows:
        """Return an array without a copy."""
        rows: Rows = as_array(self._items[key], key)
        return rows

    def values(self, name: str) -> NDArray[Any]:
        """Return a column of `obs`, or the names of observations."""
        obs = self._adata.obs
        series = obs.index.to_series() if name == self.ids else obs[name]
        values = np.asarray(series)
        if values.dtype.kind in "fiub":
            return values
        cells = series.tolist()
        if getattr(series.dtype, "kind", "O") in "fiub":
            # A nullable column of numbers.
            return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells])
        texts = ["" if is_missing(cell) else str(cell) for cell in cells]
        return text_array(column_of(self._name, name), texts)

    def features(self, key: str) -> tuple[str, ...]:
        """Return the names of variables if the array is `X` or a layer."""
        if not of_variables(key):
            return ()
        return names_of_coordinates(self._adata.var_names, self.arrays[key].shape[1])


class _OpenGroup(Hierarchy):
    """An open HDF5 or zarr group, whose arrays are not opened again."""

    def rows(self, key: str) -> Rows:
        rows: Rows = self.root[key]
        return rows


def read_annotated_object(adata: Any, request: Request) -> Contents:
    """Read an AnnData object as its file would be read."""
    return read_container(request, AnnotatedObject(adata, str(request.path)))


def is_group(thing: Any) -> bool:
    """Return whether a thing is an open HDF5 file or group, or a zarr group."""
    return is_a(thing, "h5py", "Group") or is_a(thing, "zarr", "Group")


def read_group(group: Any, request: Request) -> Contents:
    """Read an array of an open HDF5 or zarr group."""
    name = request.path
    if is_a(group, "h5py", "Group"):
        if not group:
            message = f"{name} is {type_of(group)} that is closed: open it again, or pass its path."
            raise InputError(message)
        path = Path(group.file.filename)
    else:
        path = Path(str(getattr(group.store, "root", name)))
    with damage_reported(name), quietly():
        if is_annotated(path, group):
            return read_container(request, AnnotatedContainer(path, group, group.__getitem__))
        return read_container(request, _OpenGroup(path, group))


def read_labelled(array: Any, request: Request) -> Contents:
    """Read an xarray.DataArray: coordinates of its first dimension are ids and columns."""
    name = str(request.path)
    if array.ndim != 2:
        sizes = ", ".join(f"{dim} {size}" for dim, size in array.sizes.items())
        message = (
            f"{name} is an xarray with {array.ndim} dimensions ({sizes or 'a scalar'}), but "
            "embeddings have two: stack, pool or select the others first."
        )
        raise InputError(message)
    first, second = array.dims
    is_loaded = getattr(array.variable, "_in_memory", True)
    try:
        rows = as_array(array.to_numpy(), name) if is_loaded else LazyRows(array)
    except (TypeError, ValueError, RuntimeError):
        message = f"{name} is an xarray of {type_of(array.data)}: pass one of plain numbers."
        raise InputError(message) from None
    columns = {
        str(key): np.asarray(coordinate)
        for key, coordinate in array.coords.items()
        if coordinate.dims == (first,) and key != first
    }
    ids = index_ids(array.indexes[first]) if first in array.indexes else None
    names = array.indexes.get(second, ())
    return Contents(
        rows=rows,
        ids=ids,
        columns={key: _as_labels(values, name, key) for key, values in columns.items()},
        features=names_of_coordinates(names, array.shape[1]),
    )


def refuse_many(thing: Any, request: Request) -> None:
    """Refuse an object with several arrays by naming them."""
    names = [str(each) for each in (thing.data_vars if hasattr(thing, "data_vars") else thing.mod)]
    what = "variables" if hasattr(thing, "data_vars") else "modalities"
    example = names[0] if names else "name"
    message = (
        f"{request.path} is {type_of(thing)} with the {what} {listed(names) or '(none)'}: pass one "
        f"of them, as in {type(thing).__name__.lower()}[{example!r}]."
    )
    raise InputError(message)


def _entry(item: Any) -> Entry:
    shape = tuple(int(size) for size in getattr(item, "shape", ()))
    if isinstance(item, np.ndarray):
        # Views of AnnData have the methods of sparse matrices.
        return _dense_entry(shape, item.dtype)
    if is_frame(item):
        return Entry(shape, "data frame", "is a data frame: pass the frame itself.")
    if hasattr(item, "toarray") or hasattr(item, "to_memory") or hasattr(item, "todense"):
        return Entry(shape, "sparse", SPARSE)
    if not hasattr(item, "dtype"):
        return Entry(shape, type(item).__name__, f"is {type_of(item)}: choose a numeric array.")
    return _dense_entry(shape, np.dtype(item.dtype))


def _dense_entry(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Entry:
    if dtype.kind == "O":
        return Entry(shape, "object", "holds Python objects: convert them to numbers.")
    return Entry(shape, str(dtype), problem_of(shape, dtype))


def _as_labels(values: NDArray[Any], name: str, column: str) -> NDArray[Any]:
    if values.dtype.kind in "fiubU":
        return values
    texts = ["" if is_missing(cell) else str(cell) for cell in values.tolist()]
    if values.dtype.kind in "mM":
        texts = ["" if cell == "NaT" else cell for cell in values.astype(str).tolist()]
    return text_array(column_of(name, column), texts)
