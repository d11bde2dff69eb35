"""Write new coordinates as AnnData: added to a copy of the run's file, or as a new file.

Only h5py is used. In addition to the data, AnnData requires two attributes of every group and
dataset: its encoding and the encoding's version.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.files.safe_hdf5 import open_hdf5
from upto.files.write_hierarchies import create_vector, filler

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from upto.files.plan import Plan, Put

_INDEX = "_index"


@contextmanager
def write_h5ad(plan: Plan) -> Iterator[Put]:
    """Write `obsm["X_…"]` and its metadata into a copy of the run's file, or an empty one."""
    if plan.source is not None:
        shutil.copyfile(plan.source[0], plan.path)
    with open_hdf5(plan.path, new=plan.source is None) as (file, careful):
        with careful():
            if plan.source is None:
                _write_empty(file, plan)
            else:
                _refuse_other_rows(file, plan, plan.source[1])
            array = _add(file, plan)
        yield filler(array, careful)


def _refuse_other_rows(file: Any, plan: Plan, key: str) -> None:
    if key in file and file[key].shape[0] != plan.like.n_samples:
        message = (
            f"the run has {plan.like.n_samples} rows but its AnnData file {file[key].shape[0]}: "
            "write all rows of the file, or write another format."
        )
        raise InputError(message)


def _add(file: Any, plan: Plan) -> Any:
    key = "" if plan.source is None else plan.source[1]
    if plan.mixing is not None and (key == "X" or key.startswith("layers/")):
        name = f"{plan.prefix}_mixing"
        _encode(_replaced(file, "varm", name).create_dataset(name, data=plan.mixing), "array")
    if plan.stored:
        stored = {**plan.stored, "basis": key.removeprefix("obsm/")} if key else plan.stored
        _write_mapping(_replaced(file, "uns", plan.prefix), plan.prefix, stored)
    name = f"X_{plan.prefix}"
    array = _replaced(file, "obsm", name).create_dataset(name, plan.shape, plan.dtype)
    return _encode(array, "array")


def _replaced(file: Any, group: str, name: str) -> Any:
    """Return a group after deleting a name from it."""
    if group not in file:
        return _encode(file.create_group(group), "dict", "0.1.0")
    found = file[group]
    if hasattr(found, "shape"):
        message = (
            f"{group} of this AnnData file is one table, as versions before 0.7 wrote it: read "
            "the file and write it again with a newer AnnData."
        )
        raise InputError(message)
    if name in found:
        del found[name]
    return found


def _write_empty(file: Any, plan: Plan) -> None:
    _encode(file, "anndata", "0.1.0")
    index = plan.like.ids
    if index is None:
        index = np.arange(plan.like.n_samples)
    columns = plan.labels(_INDEX, taken=(_INDEX,))
    columns.pop(_INDEX, None)
    # Slashes in names would create groups.
    _write_frame(
        file, "obs", index, {name.replace("/", "_"): values for name, values in columns.items()}
    )
    _write_frame(file, "var", np.array([], dtype=str), {})
    for group in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
        _encode(file.create_group(group), "dict", "0.1.0")


def _write_frame(
    file: Any, name: str, index: NDArray[Any], columns: Mapping[str, NDArray[Any]]
) -> None:
    import h5py

    group = _encode(file.create_group(name), "dataframe")
    group.attrs["_index"] = _INDEX
    group.attrs.create("column-order", list(columns), dtype=h5py.string_dtype())
    _write_vector(group, _INDEX, index.astype(str))
    for column, values in columns.items():
        _write_vector(group, column, values)


def _write_vector(group: Any, name: str, values: NDArray[Any]) -> None:
    encoding = "string-array" if values.dtype.kind == "U" else "array"
    _encode(create_vector(group, name, values), encoding)


def _write_mapping(parent: Any, name: str, values: Mapping[str, Any]) -> None:
    import h5py

    group = _encode(parent.create_group(name), "dict", "0.1.0")
    for key, value in values.items():
        if isinstance(value, str):
            text = group.create_dataset(key, data=value, dtype=h5py.string_dtype())
            _encode(text, "string")
        elif np.ndim(value):
            _write_vector(group, key, np.asarray(value))
        else:
            _encode(group.create_dataset(key, data=value), "numeric-scalar")


def _encode(item: Any, encoding: str, version: str = "0.2.0") -> Any:
    item.attrs["encoding-type"] = encoding
    item.attrs["encoding-version"] = version
    return item
