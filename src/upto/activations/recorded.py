"""Folder of a recording: one file per layer, and the manifest that lists them.

The number of rows is known only after the last batch. Files therefore grow, and their headers,
which leave room for any number of rows, are rewritten at the end.
"""

from __future__ import annotations

import json
import os
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy_format

from upto.core import Embeddings, InputError
from upto.core.files import check_target, real_path, write_text_atomically
from upto.files.formats import read_run
from upto.files.manifest import MANIFEST, listed_runs
from upto.files.write import open_writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_MARK = "# Recorded by upto; another recording into this folder replaces what is listed here.\n"
_LONGEST_NAME = 120
_COPIED_ROWS = 4096


class GrowingArray:
    """An `.npy` file to which blocks of rows are appended.

    Parameters
    ----------
    path
        File to create, which must not exist, or to continue.
    n_columns
        Number of coordinates.
    dtype
        dtype in the file.
    n_rows
        Number of rows to continue after; None creates the file.

    Raises
    ------
    InputError
        If the file has fewer rows than it is to be continued after.
    """

    def __init__(
        self, path: Path, n_columns: int, dtype: np.dtype[Any], n_rows: int | None = None
    ) -> None:
        self.path = path
        self.shape = (n_rows or 0, n_columns)
        self.dtype = dtype
        header = self._header()
        if n_rows is None:
            with path.open("xb") as file:
                file.write(header)
            return
        n_bytes = len(header) + n_rows * n_columns * dtype.itemsize
        if not path.is_file() or path.stat().st_size < n_bytes:
            message = f"{path} has fewer than the {n_rows} rows recorded: pass resume=False."
            raise InputError(message)
        # The rows of a batch that was not finished are in some files only.
        os.truncate(path, n_bytes)

    def read(self) -> NDArray[Any]:
        """Return all rows."""
        offset = len(self._header())
        return np.fromfile(self.path, self.dtype, offset=offset).reshape(self.shape)

    def flush(self) -> None:
        """Make sure that the rows are on disk."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())

    def append(self, rows: NDArray[Any]) -> None:
        """Append rows."""
        # Opened for each block, because a model may have more layers than the limit of open files.
        with self.path.open("ab") as file:
            file.write(np.ascontiguousarray(rows, dtype=self.dtype).data)
        self.shape = (self.shape[0] + len(rows), self.shape[1])

    def finish(self) -> None:
        """Write the number of rows into the header."""
        with self.path.open("rb+") as file:
            file.write(self._header())

    def _header(self) -> bytes:
        header = BytesIO()
        entries = {
            "descr": npy_format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": self.shape,
        }
        # NumPy pads the header so that the first axis can grow without moving the numbers.
        npy_format.write_array_header_1_0(header, entries)
        return header.getvalue()


class RecordedLayers:
    """Growing files of a recording.

    Parameters
    ----------
    folder
        Folder of the files.
    dtype
        dtype of the files.
    """

    def __init__(self, folder: Path, dtype: np.dtype[Any]) -> None:
        self._folder = folder
        self._dtype = dtype
        self._arrays: dict[str, GrowingArray] = {}
        self._ids: list[NDArray[Any]] = []

    def append(self, rows: dict[str, NDArray[Any]]) -> None:
        """Append the rows of a batch to the file of each layer."""
        if not self._arrays:
            stems = file_names([*rows])
            self._arrays = {
                layer: GrowingArray(
                    self._folder / f"{stems[layer]}.npy", block.shape[1], self._dtype
                )
                for layer, block in rows.items()
            }
        for layer, block in rows.items():
            array = self._arrays[layer]
            if block.shape[1] != array.shape[1]:
                message = (
                    f"the layer {layer} has {block.shape[1]} values per row after "
                    f"{array.shape[0]} rows of {array.shape[1]}: pool it with mean, or give "
                    "inputs of one size."
                )
                raise InputError(message)
            array.append(block)

    def restore(self, widths: Mapping[str, int], n_rows: int) -> None:
        """Continue the files of an interrupted recording after some rows."""
        stems = file_names([*widths])
        self._arrays = {
            layer: GrowingArray(self._folder / f"{stems[layer]}.npy", width, self._dtype, n_rows)
            for layer, width in widths.items()
        }

    @property
    def widths(self) -> dict[str, int]:
        """Number of coordinates of each layer."""
        return {layer: array.shape[1] for layer, array in self._arrays.items()}

    def flush(self) -> None:
        """Make sure that all rows are on disk."""
        for array in self._arrays.values():
            array.flush()

    def add_ids(self, values: Any, n_rows: int) -> None:
        """Store the ids of a batch."""
        ids = np.asarray(values.cpu() if hasattr(values, "cpu") else values)
        if ids.shape != (n_rows,):
            message = f"a batch of {n_rows} rows has ids of shape {ids.shape}: give one per row."
            raise InputError(message)
        self._ids.append(ids)

    def finish(self, ids: NDArray[Any] | None) -> dict[str, str]:
        """Finish the files and return the file name of each layer."""
        if not self._arrays:
            message = "there are no batches: the iterable is empty, or already exhausted."
            raise InputError(message)
        for array in self._arrays.values():
            array.finish()
        if self._ids:
            ids = np.concatenate(self._ids)
        if ids is None:
            return {layer: array.path.name for layer, array in self._arrays.items()}
        (n_rows,) = {array.shape[0] for array in self._arrays.values()}
        if ids.shape != (n_rows,):
            message = f"there are {n_rows} rows but ids of shape {ids.shape}: give one per row."
            raise InputError(message)
        # The files without ids stay until all is done: an interrupted recording can continue them.
        return {layer: _with_ids(array, ids) for layer, array in self._arrays.items()}


def check_folder(folder: Path) -> None:
    """Raise an error if a folder is not writable or contains more than a recording.

    Parameters
    ----------
    folder
        Folder of the recording.
    """
    check_target(folder, folder=True)
    if not folder.is_dir():
        return
    manifest, ours = folder / MANIFEST, set()
    # Files listed in a manifest that upto did not write must not be replaced.
    if manifest.is_file() and manifest.read_bytes().startswith(_MARK.encode()):
        ours = {real_path(manifest), *(real_path(run.path) for run in listed_runs(manifest))}
    others = [each.name for each in sorted(folder.iterdir()) if real_path(each) not in ours]
    if others:
        message = (
            f"{folder} contains {len(others)} other files, such as {others[0]}, which would be "
            "lost: choose another folder."
        )
        raise InputError(message)


def check_listing(name: Any, seed: Any, layers: Iterable[str]) -> None:
    """Raise an error for names or seeds that a manifest cannot represent.

    Parameters
    ----------
    name
        Name of the run.
    seed
        Training seed.
    layers
        Names of the layers.
    """
    if not isinstance(name, str):
        message = f"the name of the run is {name!r}, not a string: give it a name."
        raise InputError(message)
    if seed is not None and (not isinstance(seed, int | np.integer) or isinstance(seed, bool)):
        message = f"the seed is {seed!r}: give an integer."
        raise InputError(message)
    for what, text in (("run", name), *(("layer", layer) for layer in layers)):
        try:
            text.encode()
        except UnicodeEncodeError:
            message = f"the {what} is named {text!r}, which cannot be encoded as UTF-8: rename it."
            raise InputError(message) from None


def write_listing(
    path: Path,
    files: Mapping[str, str],
    *,
    name: str,
    seed: int | None,
    left_out: Mapping[str, str],
) -> None:
    """Write the manifest of a recording.

    Parameters
    ----------
    path
        The manifest.
    files
        File of each layer, relative to the manifest, in the order of layers.
    name
        Name of the run.
    seed
        Training seed.
    left_out
        Reasons why layers were skipped, written as comments.
    """
    parts = [
        f"# {_escaped(f'{layer} was left out: {reason}.')}\n" for layer, reason in left_out.items()
    ]
    for layer, file in files.items():
        lines = ["[[run]]", f"name = {_quoted(name)}", f"layer = {_quoted(layer)}"]
        lines += [f"path = {_quoted(file)}"]
        lines += [] if seed is None else [f"seed = {int(seed)}"]
        parts.append("\n".join(lines) + "\n")
    write_text_atomically(path, "\n".join([_MARK, *parts]))


def file_names(layers: Sequence[str]) -> dict[str, str]:
    """Return a name without suffix for the file of each layer, safe on every system.

    Examples
    --------
    >>> file_names(["encoder.0", "a/b", "A/B"])
    {'encoder.0': 'encoder.0', 'a/b': 'a_b', 'A/B': 'A_B-2'}
    """
    taken: set[str] = set()
    names: dict[str, str] = {}
    for layer in layers:
        stem = re.sub(r"[^A-Za-z0-9._-]", "_", layer)[-_LONGEST_NAME:]
        free, number = stem, 2
        # Some file systems are case-insensitive.
        while free.lower() in taken:
            free, number = f"{stem}-{number}", number + 1
        taken.add(free.lower())
        names[layer] = free
    return names


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Return text escaped for a quoted string or a comment, on one line."""
    # JSON strings are valid TOML except for this one character.
    escaped = json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")
    return escaped.encode(errors="backslashreplace").decode()


def _with_ids(array: GrowingArray, ids: NDArray[Any]) -> str:
    """Store ids with the rows in an `.npz` file, because `.npy` cannot hold them."""
    rows = read_run(array.path).rows
    like = Embeddings(rows=rows, ids=ids)
    path = array.path.with_name(f"{array.path.name.removesuffix('.npy')}.npz")
    with open_writer(
        path,
        like,
        array.shape[1],
        dtype="float64" if array.dtype.itemsize == 8 else "float32",
        prefix="rows",
    ) as writer:
        for start in range(0, len(like), _COPIED_ROWS):
            stop = min(start + _COPIED_ROWS, len(like))
            writer[start:stop] = rows[start:stop]
    return path.name
