"""Write rows block by block, atomically.

Ids and columns are kept under names that `read_run` recognises, in all formats but npy and
safetensors, which store numbers only.
"""

from __future__ import annotations

import errno
import re
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from upto.core import Embeddings, InputError
from upto.core.errors import reason
from upto.core.files import check_outputs, check_target, replacing
from upto.files.folders import PARQUET
from upto.files.hierarchies import ArrayRows
from upto.files.output_formats import IS_FOLDER, OUTPUT_FORMATS, PARTS, OutputFormat, is_parts
from upto.files.packages import check_package
from upto.files.plan import IDS, Plan, Put
from upto.files.request import listed, split_key
from upto.files.rows import BlockRows
from upto.files.runs import listed_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import TracebackType

    from numpy.typing import NDArray

    from upto.files.names import Naming


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def check_output(path: str | Path, *, inputs: Iterable[str | Path] = ()) -> OutputFormat:
    """Check, before any work is done, that rows can and may be written to a path.

    Parameters
    ----------
    path
        The file or zarr folder; its suffix sets the format.
    inputs
        Files that are read, with or without ``::key``. An h5ad file may be both input and output:
        the coordinates are added to a copy, which then replaces it.

    Raises
    ------
    InputError
        If the format is unknown, its library is not installed, the folder does not exist, or an
        input would be destroyed.
    """
    entry = check_format(path)
    target = Path(path).expanduser()
    suffix = target.suffix.lower()
    check_target(target, folder=entry.is_folder)
    if target.is_dir() and not IS_FOLDER[suffix](target):
        kind = f"only {suffix} files" if suffix in PARQUET else suffix[1:]
        message = f"{target} is a folder, but not {kind}, and would be lost: choose another."
        raise InputError(message)
    if suffix != ".h5ad":
        _refuse_inputs(target, inputs)
    return entry


def check_format(path: str | Path) -> OutputFormat:
    """Check that rows can be written in the format of a path; return the format."""
    target = Path(path).expanduser()
    known = {suffix: entry for entry in OUTPUT_FORMATS for suffix in entry.suffixes}
    suffix = target.suffix.lower()
    if suffix not in known:
        found = f"ends in {suffix}" if suffix else "has no suffix"
        message = f"{path} {found}, which upto does not write: end it in {listed([*known], 20)}."
        raise InputError(message)
    check_package(target, "writing")
    return PARTS if is_parts(path) else known[suffix]


def open_writer(
    path: str | Path,
    like: Embeddings,
    n_columns: int,
    *,
    dtype: Literal["float32", "float64"] = "float32",
    prefix: str = "ica",
    inputs: Iterable[str | Path] = (),
    source: str | Path | None = None,
    mixing: NDArray[Any] | None = None,
    stored: Mapping[str, Any] | None = None,
    naming: Naming | None = None,
) -> Writer:
    """Open a file for new coordinates of a run, written atomically.

    Use it in a ``with`` statement and assign blocks in row order, ``writer[start:stop] = block``.
    After an error, an older file of that name is unchanged and no temporary file is left.

    Parameters
    ----------
    path
        The file or zarr folder; its suffix sets the format.
    like
        The run, whose ids and columns are kept.
    n_columns
        Number of new coordinates.
    dtype
        Type of the coordinates in the file.
    prefix
        Name of the array and prefix of table columns; in `obsm`, the name is ``X_prefix``.
    inputs
        Further files that are read and must not be overwritten, except an h5ad file by itself.
    source
        File of the run, as ``path::key``; by default the one its rows are read from. An h5ad
        output is a copy of it with the coordinates added.
    mixing
        For h5ad: matrix that maps the new coordinates back to those of the run, one row for each.
        It is stored in `varm` if the run is `X` or a layer.
    stored
        For h5ad: arrays, numbers and strings to store in ``uns[prefix]``.
    naming
        For tables: names of the coordinates and the ids, instead of the prefix.

    Raises
    ------
    InputError
        If the file cannot or must not be written.
    """
    return Writer(
        *plan_output(
            path,
            like,
            n_columns,
            dtype=dtype,
            prefix=prefix,
            inputs=inputs,
            source=source,
            mixing=mixing,
            stored=stored,
            naming=naming,
        )
    )


def plan_output(
    path: str | Path,
    like: Embeddings,
    n_columns: int,
    *,
    dtype: str,
    prefix: str,
    inputs: Iterable[str | Path] = (),
    source: str | Path | None = None,
    mixing: NDArray[Any] | None = None,
    stored: Mapping[str, Any] | None = None,
    naming: Naming | None = None,
) -> tuple[Plan, OutputFormat]:
    """Return what `open_writer` writes, from its parameters, and in which format."""
    target = Path(path).expanduser()
    inputs = [*inputs, *([like.rows.path] if isinstance(like.rows, BlockRows) else [])]
    entry = check_output(path, inputs=inputs)
    found = _annotated_source(like, source)
    if found is None or found[0].resolve() != target.resolve():
        _refuse_inputs(target, inputs)
    plan = Plan(
        path=target,
        like=like,
        n_columns=n_columns,
        dtype=np.dtype("float32" if target.suffix.lower() == ".faiss" else dtype),
        prefix=prefix,
        source=found,
        mixing=mixing,
        stored=stored or {},
        features=() if naming is None else naming.features,
        ids_name=IDS if naming is None or naming.ids is None else naming.ids,
    )
    return plan, entry


class Writer:
    """An open file that takes blocks of rows in row order.

    Parameters
    ----------
    plan
        What to write, and the final destination.
    entry
        The format.
    check
        Function that is called with what was written, before it gets its name.
    """

    def __init__(
        self, plan: Plan, entry: OutputFormat, check: Callable[[Path], object] | None = None
    ) -> None:
        self._check = check
        self.shape = plan.shape
        self.dtype = plan.dtype
        self.n_written = 0
        self._plan = plan
        self._entry = entry
        self._stack = ExitStack()
        self._put: Put | None = None

    def __enter__(self) -> Self:
        with self._reported():
            self._put = self._stack.enter_context(self._opened())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._put = None
        if kind is None:
            with self._reported():
                self._stack.close()
        else:
            # Closing a file that could not be written fails again: report the first error.
            with suppress(Exception):
                self._stack.__exit__(kind, error, trace)

    def __setitem__(self, key: slice, block: NDArray[Any]) -> None:
        start, stop, _ = key.indices(self.shape[0])
        try:
            with np.errstate(over="raise"):
                rows = np.ascontiguousarray(block, dtype=self.dtype)
        except FloatingPointError:
            message = (
                f"{self._plan.path} was not written: some values of rows {start} to {stop} are "
                f"beyond the range of {self.dtype}. Rescale the run, or store it in float64."
            )
            raise InputError(message) from None
        if (
            self._put is None
            or start != self.n_written
            or rows.shape != (stop - start, *self.shape[1:])
        ):
            message = (
                f"rows {start} to {stop} of shape {rows.shape} cannot be written after "
                f"{self.n_written} of {self.shape[0]} rows of {self.shape[1]} coordinates: write "
                "them once, in row order, while the file is open."
            )
            raise InputError(message)
        with self._reported():
            self._put(rows)
        self.n_written = stop

    @contextmanager
    def _opened(self) -> Iterator[Put]:
        write = getattr(import_module(f"upto.files.{self._entry.module}"), self._entry.write)
        with replacing(self._plan.path, folder=self._entry.is_folder) as temporary:
            with write(replace(self._plan, path=temporary)) as put:
                yield put
                if self.n_written < self.shape[0]:
                    message = (
                        f"{self._plan.path} was not written: only {self.n_written} of "
                        f"{self.shape[0]} rows were passed."
                    )
                    raise InputError(message)
            if self._check is not None:
                self._check(temporary)

    @contextmanager
    def _reported(self) -> Iterator[None]:
        with failures_reported(self._plan.path, lambda: (self.n_written, self.shape[0])):
            yield


@contextmanager
def failures_reported(
    path: Path, written: Callable[[], tuple[int, int]], kept: Callable[[], str] = str
) -> Iterator[None]:
    """Turn errors of libraries that write a file into one sentence.

    Parameters
    ----------
    path
        The output.
    written
        Function that returns the number of rows that were written, and of all rows.
    kept
        Function that returns what becomes of rows that were written before the disk was full.
    """
    try:
        yield
    except InputError:
        raise
    except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
        # Libraries raise these when a write fails or they cannot store a name or a text.
        rows = "{} of {} rows".format(*written())
        if _is_full(error):
            message = (
                f"{path} could not be written: the disk was full after {rows}. Free some "
                f"space {kept() or 'or write to another disk'}."
            )
        else:
            why = reason(getattr(error, "strerror", None) or error)
            message = (
                f"{path} could not be written after {rows} ({why}): correct that, or write "
                "another format or to another folder."
            )
        raise InputError(message) from None


def _annotated_source(like: Embeddings, source: str | Path | None) -> tuple[Path, str] | None:
    if source is not None:
        path, key = split_key(source)
        rows = like.rows
        key = key or (rows.key if isinstance(rows, ArrayRows) else "")
    elif isinstance(like.rows, ArrayRows):
        path, key = like.rows.path, like.rows.key
    else:
        return None
    return (path, key) if path.suffix.lower() == ".h5ad" and path.is_file() else None


def _refuse_inputs(target: Path, inputs: Iterable[str | Path]) -> None:
    check_outputs({"": target}, [run.path for each in inputs for run in listed_in(each)])


def _is_full(error: BaseException) -> bool:
    """Return whether a disk was full; HDF5 and Lance only mention the system's error number."""
    number = getattr(error, "errno", None)
    if number is None and (told := re.search(r"(?:errno = |os error )(\d+)", str(error))):
        number = int(told[1])
    return number in _FULL
