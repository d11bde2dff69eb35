"""The formats upto reads, one entry each, and the functions that read one file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from upto.core import Embeddings, InputError
from upto.files.damage import sentences
from upto.files.request import Columns, Contents, Request, split_key
from upto.files.signatures import check_exists, check_signature, check_suffix
from upto.files.texts import check_text, column_of
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
        How its files end, in small letters.
    module
        The module of this package that reads it, imported when it is needed.
    read, labels, columns
        The functions there that read a run, a column of labels and all columns; None where the
        format cannot hold that.
    signature
        The suffix that the first bytes of such a file stand for, None for text.
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
        module="arrays",
        read="read_npy",
        labels="npy_labels",
        columns="npy_columns",
        signature=".npy",
    ),
    Format(
        suffixes=(".npz",),
        module="arrays",
        read="read_npz",
        labels="npz_labels",
        columns="npz_columns",
        signature=".npz",
    ),
    Format(
        suffixes=(".csv", ".tsv"),
        module="text",
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
        module="tensors",
        read="read_safetensors",
        labels="safetensors_labels",
        columns="safetensors_columns",
    ),
    Format(suffixes=(".txt",), module="text", read=None, labels="line_labels"),
)


def read_run(
    path: str | Path,
    *,
    key: str | None = None,
    name: str | None = None,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
) -> Embeddings:
    """Read one run from a file or a zarr folder.

    Only the header, the ids and the labels are read; rows are read block by block when they are
    used, but for text tables and compressed archives.

    Parameters
    ----------
    path
        The file, or ``path::key`` for one array inside it.
    key
        The array inside the file, if the path does not say it: an entry of an npz archive, an
        `obsm` key, a dataset, a tensor. For tables, what the feature columns begin with.
    name
        What to call the run; by default its key or the file's name without the suffix.
    ids
        The column or entry with one id for each row.
    columns
        The columns or entries to keep as labels; by default every one that fits.

    Raises
    ------
    InputError
        If the file cannot be read as a run; the message says why and what to do.
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
        )


def read_labels(path: str | Path, column: str | None = None) -> tuple[str, NDArray[Any]]:
    """Read labels, one for each row, with their name.

    Parameters
    ----------
    path
        A table, an npy, npz, HDF5, h5ad, zarr or safetensors file, or a text file of one label a
        line; ``path::column`` chooses a column.
    column
        The column, if the path does not say it. It may be left out where there is only one.

    Raises
    ------
    InputError
        If the file cannot be read or has several columns to choose from.
    """
    file, inside = split_key(path, column)
    request = Request(path=file, key=inside)
    with sentences():
        entry = _format(request, FORMATS)
        name, labels = getattr(_module(entry), entry.labels)(request)
        check_text(column_of(file, name), labels)
    return spelt_out(name), labels


def read_columns(path: str | Path, *, ids: str | None = None) -> Columns:
    """Read all columns of a file, such as known factors, with the ids of its rows.

    Parameters
    ----------
    path
        A table, whose columns are meant; an npz, HDF5, h5ad, zarr or safetensors file, whose
        vectors are, or the columns of its only array; or an npy file. ``path::key`` chooses an
        array, or what the names of columns begin with.
    ids
        The column or entry with one id for each row.

    Raises
    ------
    InputError
        If the file cannot be read or it is not clear what its columns are.
    """
    file, inside = split_key(path)
    request = Request(path=file, key=inside, ids=ids)
    with sentences():
        entry = _format(request, [known for known in FORMATS if known.columns is not None])
    if ids is not None and entry.module == "arrays" and file.suffix.lower() == ".npy":
        message = f"{file} holds one array and no ids: keep ids in an .npz file or a table."
        raise InputError(message)
    with sentences():
        found: Columns = getattr(_module(entry), str(entry.columns))(request)
        return Columns(ids=_checked(file, found.ids), columns=_checked_columns(file, found.columns))


def short_name(path: Path, key: str | None) -> str:
    """Return the shortest name of a run: its key, else its file's name without the suffix."""
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
    if path.is_dir():
        return known[".zarr"]
    entry = known[path.suffix.lower()]
    if entry is known[".zarr"]:
        message = f"{path} is a file, but zarr is a folder: unpack it, or rename it if it is not."
        raise InputError(message)
    check_signature(path, entry.signature)
    return entry


def _module(entry: Format) -> Any:
    return import_module(f"upto.files.{entry.module}")
