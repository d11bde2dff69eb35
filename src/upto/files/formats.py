"""Registry of readable formats, and functions that read one file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from upto.core import Embeddings, InputError
from upto.files.damage import sentences
from upto.files.folders import is_folder_of_parts, is_lance
from upto.files.packages import check_package
from upto.files.request import Columns, Contents, Request, split_key
from upto.files.signatures import check_exists, check_signature, check_suffix
from upto.files.text_values import check_text, column_of
from upto.printable import spelt_out

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One file format.

    Parameters
    ----------
    suffixes
        File suffixes, in lower case.
    module
        Module of this package that reads it, imported on first use.
    read, labels, columns
        Functions of the module that read a run, a column of labels and all columns; None if the
        format does not support it.
    signature
        Suffix identified by the magic bytes; None for text.
    """

    suffixes: tuple[str, ...]
    module: str
    read: str | None
    labels: str
    columns: str | None = None
    signature: str | None = None


FORMATS = (
    Format(
        suffixes=(".npy",),
        module="npy",
        read="read_npy",
        labels="npy_labels",
        columns="npy_columns",
        signature=".npy",
    ),
    Format(
        suffixes=(".npz",),
        module="npy",
        read="read_npz",
        labels="npz_labels",
        columns="npz_columns",
        signature=".npz",
    ),
    Format(
        suffixes=(".csv", ".tsv"),
        module="delimited",
        read="read_text",
        labels="text_labels",
        columns="text_columns",
    ),
    Format(
        suffixes=(".parquet", ".pq"),
        module="columnar",
        read="read_parquet",
        labels="parquet_labels",
        columns="parquet_columns",
        signature=".parquet",
    ),
    Format(
        suffixes=(".h5ad", ".h5", ".hdf5"),
        module="hierarchies",
        read="read_hierarchy",
        labels="hierarchy_labels",
        columns="hierarchy_columns",
        signature=".h5",
    ),
    Format(
        suffixes=(".zarr",),
        module="hierarchies",
        read="read_hierarchy",
        labels="hierarchy_labels",
        columns="hierarchy_columns",
    ),
    Format(
        suffixes=(".safetensors",),
        module="safetensors_file",
        read="read_safetensors",
        labels="safetensors_labels",
        columns="safetensors_columns",
    ),
    Format(
        suffixes=(".lance",),
        module="lance_tables",
        read="read_lance",
        labels="lance_labels",
        columns="lance_columns",
    ),
    Format(
        suffixes=(".faiss",),
        module="faiss_file",
        read="read_faiss",
        labels="faiss_labels",
        columns="faiss_columns",
    ),
    Format(suffixes=(".txt",), module="delimited", read=None, labels="line_labels"),
)
_PARTS = Format(
    suffixes=(".parquet", ".pq"),
    module="part_files",
    read="read_parts",
    labels="parts_labels",
    columns="parts_columns",
)
"""Folders of parquet files."""


def read_run(
    path: str | Path,
    *,
    key: str | None = None,
    name: str | None = None,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
) -> Embeddings:
    """Read one run from a file or a zarr folder.

    Only the header, the ids and the labels are read at once; rows are read block by block on use,
    except in text tables and compressed archives.

    Parameters
    ----------
    path
        The file, or ``path::key`` for one array in it.
    key
        Array in the file, if not part of the path: an entry of an npz archive, an `obsm` key, a
        dataset or a tensor. For tables, the prefix of the feature columns.
    name
        Name of the run; by default its key or the file name without suffix.
    ids
        Column or entry with one id per row.
    columns
        Columns or entries to keep as labels; by default all that fit.

    Returns
    -------
    Embeddings
        The run.

    Raises
    ------
    InputError
        If the file cannot be read as a run.

    See Also
    --------
    upto.read_runs : Read several.
    upto.as_embeddings : Take an array or a data frame.
    upto.files.read_columns : Read labels or factors.

    Examples
    --------
    >>> import upto
    >>> path = upto.files.bundled_path("cifar_resnets")
    >>> run = upto.read_run(path, key="resnet20")
    >>> run.n_samples, run.n_features, sorted(run.columns)
    (1200, 64, ['label'])
    """
    if isinstance(columns, str):
        columns = (columns,)
    file, inside = split_key(path, key)
    request = Request(
        path=file, key=inside, ids=ids, columns=None if columns is None else tuple(columns)
    )
    with sentences():
        entry = _format(request, [known for known in FORMATS if known.read is not None])
        contents: Contents = getattr(_module(entry), str(entry.read))(request)
        return Embeddings(
            rows=contents.rows,
            name=name if name is not None else short_name(file, inside),
            ids=_checked(file, contents.ids),
            columns=_checked_columns(file, contents.columns),
            origin=str(file) if inside is None else f"{file}::{inside}",
            features=tuple(map(spelt_out, contents.features)),
        )


def read_labels(path: str | Path, column: str | None = None) -> tuple[str, NDArray[Any]]:
    """Read the name and values of a column of labels, one per row.

    Parameters
    ----------
    path
        A table, an npy, npz, HDF5, h5ad, zarr or safetensors file, or a text file with one label
        per line; ``path::column`` selects a column.
    column
        Column, if not part of the path; optional if there is only one.

    Returns
    -------
    tuple of str and ndarray
        Name of the column and its values.

    Raises
    ------
    InputError
        If the file cannot be read or has several columns to choose from.

    See Also
    --------
    upto.files.read_columns : All columns of a file.
    upto.read_run : A run with its labels.

    Examples
    --------
    >>> import upto
    >>> path = upto.files.bundled_path("cifar_resnets")
    >>> name, labels = upto.files.read_labels(f"{path}::label")
    >>> name, len(set(labels))
    ('label', 10)
    """
    file, inside = split_key(path, column)
    request = Request(path=file, key=inside)
    with sentences():
        entry = _format(request, FORMATS)
        name, labels = getattr(_module(entry), entry.labels)(request)
        check_text(column_of(file, name), labels)
    return spelt_out(name), labels


def read_columns(path: str | Path, *, ids: str | None = None) -> Columns:
    """Read all columns of a file, e.g. known factors, with the ids of its rows.

    Parameters
    ----------
    path
        A table; an npz, HDF5, h5ad, zarr or safetensors file, of which the vectors or the columns
        of the only array are read; or an npy file. ``path::key`` selects an array, or the columns
        with this prefix.
    ids
        Column or entry with one id per row.

    Returns
    -------
    Columns
        The columns by name, and the ids of the rows.

    Raises
    ------
    InputError
        If the file cannot be read or its columns are ambiguous.

    See Also
    --------
    upto.files.read_labels : One column.
    upto.factors : Score latents against such columns.
    upto.read_run : A run with its labels.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import upto
    >>> path = f"{tempfile.mkdtemp()}/factors.npz"
    >>> np.savez(path, size=[1.0, 2.0], hue=[0.3, 0.6])
    >>> found = upto.files.read_columns(path)
    >>> {name: values.tolist() for name, values in found.columns.items()}
    {'size': [1.0, 2.0], 'hue': [0.3, 0.6]}
    """
    file, inside = split_key(path)
    request = Request(path=file, key=inside, ids=ids)
    with sentences():
        entry = _format(request, [known for known in FORMATS if known.columns is not None])
    if ids is not None and entry.module == "npy" and file.suffix.lower() == ".npy":
        message = f"{file} holds one array and no ids: store ids in an .npz file or a table."
        raise InputError(message)
    with sentences():
        found: Columns = getattr(_module(entry), str(entry.columns))(request)
        return Columns(ids=_checked(file, found.ids), columns=_checked_columns(file, found.columns))


def short_name(path: Path, key: str | None) -> str:
    """Return the default name of a run: its key, or the file name without suffix."""
    if key is None:
        return path.stem
    last = key.rstrip("/").rpartition("/")[2]
    return last.rstrip("_.-") or last or path.stem


def _checked(path: Path, ids: NDArray[Any] | None) -> NDArray[Any] | None:
    if ids is not None:
        check_text(column_of(path, "ids"), ids)
    return ids


def _checked_columns(path: Path, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    for name, values in columns.items():
        check_text(column_of(path, name), values)
    return {spelt_out(name): values for name, values in columns.items()}


def _format(request: Request, formats: Sequence[Format]) -> Format:
    path = request.path
    check_exists(path)
    known = {suffix: entry for entry in formats for suffix in entry.suffixes}
    check_suffix(path, known)
    entry = known[path.suffix.lower()] if path.suffix.lower() in known else known[".zarr"]
    if path.is_dir():
        if is_folder_of_parts(path):
            entry = _PARTS
        elif not is_lance(path):
            entry = known[".zarr"]
        check_package(path)
        return entry
    for suffix in (".zarr", ".lance"):
        if entry is known[suffix]:
            kind = suffix[1:]
            message = (
                f"{path} is a file, but {kind} is a folder: unpack it, or rename it if not {kind}."
            )
            raise InputError(message)
    check_signature(path, entry.signature)
    check_package(path)
    return entry


def _module(entry: Format) -> Any:
    return import_module(f"upto.files.{entry.module}")
