"""Convert whatever users pass as a run to `Embeddings`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from io import IOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError
from upto.files.arrays import TAKEN, as_array, is_a, type_of
from upto.files.formats import read_run
from upto.files.frames import frame_index, has_default_index, is_frame, read_frame
from upto.files.manifest import manifest_of
from upto.files.named_coordinates import refuse_coordinate_of, take_out
from upto.files.object_arrays import (
    is_group,
    read_annotated_object,
    read_group,
    read_labelled,
    refuse_many,
)
from upto.files.packages import check_packages
from upto.files.request import Contents, Request, listed, split_key
from upto.files.run_names import with_distinct_names
from upto.files.runs import read_runs
from upto.files.spool import spool
from upto.files.vectors import as_columns, as_vector, has_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    Run = Embeddings | ArrayLike | str | Path | Any


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def as_embeddings(
    thing: Run,
    *,
    key: str | None = None,
    ids: str | ArrayLike | None = None,
    name: str | None = None,
    columns: Sequence[str] | Mapping[str, ArrayLike] | None = None,
) -> Embeddings:
    """Convert an array, a table, a file or another object with rows to `Embeddings`.

    This is how every question takes its runs. Arrays are not copied where NumPy would not.

    Parameters
    ----------
    thing
        An array or memory map; a torch tensor on any device; an HDF5, zarr or dask array; a data
        frame (pandas, polars, pyarrow and others), whose numeric columns are the coordinates; an
        AnnData object; a two-dimensional `xarray.DataArray`; an open HDF5 or zarr group; a path;
        or `Embeddings`.
    key
        The array to take, e.g. ``"X_pca"`` or ``"obsm/X_pca"`` of AnnData; the prefix of the
        feature columns of a table.
    ids
        One id per row, or the name of a column that has them. By default those of the object: the
        index of an AnnData object, an xarray or, unless it is the default one, a pandas frame.
    name
        Name of the run; by default that of the file, or ``"run"``.
    columns
        Names of the columns to keep as labels, or a mapping (or a data frame) of columns to add;
        by default all columns of the object.

    Raises
    ------
    InputError
        If it cannot be a run.

    See Also
    --------
    upto.Embeddings : What it returns.
    upto.read_run : Read a file.
    upto.compare : Takes the same things.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> upto.as_embeddings(np.eye(3), ids=["a", "b", "c"], columns={"plate": [1, 1, 2]})
    Embeddings(run: 3 × 3, ids, columns plate)
    """
    _check_text(key=key, name=name)
    added = None
    if columns is not None and has_columns(columns):
        added, columns = columns, None
    elif columns is not None:
        columns = _names(columns)
    named = ids if isinstance(ids, str) else None
    is_path = isinstance(thing, str | os.PathLike)
    if is_path:
        found = _from_path(thing, key, named, name, columns)
    elif isinstance(thing, Embeddings):
        found = thing if name is None else replace(thing, name=name)
        if key is not None:
            message = f"key={key!r} chooses an array, but {found.name} is Embeddings: omit it."
            raise InputError(message)
    else:
        request = Request(
            path=Path("run" if name is None else name),
            key=key,
            ids=named,
            columns=columns,
            in_memory=True,
        )
        contents = _read(thing, request)
        found = Embeddings(
            rows=contents.rows,
            name="run" if name is None else name,
            ids=contents.ids,
            columns=contents.columns,
            features=contents.features,
        )
    if is_path or _has_columns(thing):
        # The reader has chosen the columns that were named.
        ids, columns = None if named is not None else ids, None
    own = frame_index(thing)
    return _with(found, ids, columns, added, index=found.ids if own is None else own)


def take_runs(
    runs: Sequence[Run],
    names: Sequence[str] = _ORDINALS,
    *,
    ids: str | Sequence[ArrayLike] | None = None,
) -> tuple[Embeddings, ...]:
    """Convert what users pass to runs with distinct names; a manifest lists several.

    `ids` is the name of a column of every run, or the ids of each run. If a pandas frame has
    integers as its index, the default index of another one counts as ids too: both then name rows
    of the frame that they were taken from.
    """
    check_packages(runs)
    found: list[Embeddings] = []
    counted: list[int] = []
    is_numbered = False
    for position, (run, own) in enumerate(zip(runs, _ids_of_each(ids, len(runs)), strict=True)):
        _refuse_list_of_runs(run)
        if isinstance(run, str | os.PathLike) and isinstance(own, str | None):
            found.extend(read_runs([_path(run)], ids=own))
        elif isinstance(run, str | os.PathLike | Embeddings):
            found.append(as_embeddings(run, ids=own))
        else:
            name = names[position] if position < len(names) else f"run {position + 1}"
            found.append(as_embeddings(run, ids=own, name=name))
            if has_default_index(run) and found[-1].ids is None:
                counted.append(len(found) - 1)
            is_numbered |= _is_numbered(run, found[-1])
    for place in counted if is_numbered else ():
        found[place] = replace(found[place], ids=np.arange(len(found[place])))
    return with_distinct_names(found)


def _refuse_list_of_runs(run: Run) -> None:
    """Raise if several runs were passed as one, in a list."""
    if not isinstance(run, list | tuple) or not run:
        return
    if all(
        isinstance(each, str | os.PathLike | Embeddings) or len(getattr(each, "shape", ())) == 2
        for each in run
    ):
        message = (
            f"{len(run)} runs were passed as one, in a {type(run).__name__}: pass them one by one, "
            "as in upto.compare(*runs)."
        )
        raise InputError(message)


def _ids_of_each(ids: str | Sequence[ArrayLike] | None, count: int) -> Sequence[Any]:
    if isinstance(ids, str | None):
        return (ids,) * count
    if len(ids) != count:
        message = (
            f"ids has {len(ids)} entries for {count} runs: pass a list with the ids of each run, "
            "or the name of a column that every run has."
        )
        raise InputError(message)
    return ids


def _is_numbered(frame: Any, run: Embeddings) -> bool:
    """Return whether the ids of a run are the integers in the index of its pandas frame."""
    index = frame_index(frame)
    if index is None or run.ids is None or getattr(frame.index.dtype, "kind", "O") not in "iu":
        return False
    return np.array_equal(index, run.ids)


def single_run(
    run: Run,
    asker: str,
    *,
    ids: str | ArrayLike | None = None,
    name: str = "run",
    blocks: bool = False,
) -> Embeddings:
    """Take the one run that a function works on.

    Parameters
    ----------
    run
        Anything `as_embeddings` takes.
    asker
        Name of the function, for messages.
    ids
        Ids, or the name of their column.
    name
        Name of a run that has none.
    blocks
        Whether an iterator of blocks is accepted.

    Raises
    ------
    InputError
        If a manifest lists several.
    """
    if is_blocks(run) and blocks:
        blocks_of: Any = run
        found = spool(iter(blocks_of), lambda block, label: as_embeddings(block, name=label), name)
        return found if ids is None else as_embeddings(found, ids=ids)
    if isinstance(run, str | os.PathLike):
        found = _only(read_runs([_path(run)], ids=ids if isinstance(ids, str) else None), asker)
        return found if isinstance(ids, str) else as_embeddings(found, ids=ids)
    return as_embeddings(run, ids=ids, name=None if isinstance(run, Embeddings) else name)


def _only(runs: tuple[Embeddings, ...], asker: str) -> Embeddings:
    if len(runs) != 1:
        message = f"{asker} takes one run, but the manifest lists {len(runs)}: name one of them."
        raise InputError(message)
    return runs[0]


def is_blocks(thing: Any) -> bool:
    """Return whether a thing can only be iterated, like a generator or a data loader."""
    if isinstance(thing, IOBase):
        return False
    if isinstance(thing, Iterator) or is_a(thing, "torch.utils.data", "DataLoader"):
        return True
    # Attributes of the type: those of some objects cannot be read.
    is_more = any(hasattr(type(thing), name) for name in ("__getitem__", "shape", "columns"))
    return isinstance(thing, Iterable) and not isinstance(thing, Collection) and not is_more


def with_column(
    given: str | ArrayLike, runs: tuple[Embeddings, ...], what: str, name: str
) -> tuple[str, tuple[Embeddings, ...]]:
    """Find a column of the first run by name, or add values as a column.

    A coordinate that is named is one no more, in any run.
    """
    if isinstance(given, str):
        runs = tuple(take_out(run, (given,)) for run in runs)
        if given not in runs[0].columns:
            known = listed([*runs[0].columns, *runs[0].features]) or "none"
            message = f"{runs[0].name} has no column {given!r}: its columns are {known}."
            raise InputError(message)
        return given, runs
    first = runs[0]
    values = as_vector(given, len(first), what, of=first.name, ids=first.ids, missing=False)
    refuse_coordinate_of(values, runs, what)
    return name, (replace(first, columns={**first.columns, name: values}), *runs[1:])


def _read(thing: Any, request: Request) -> Contents:
    """Decide what a thing in memory is, and return its rows, ids and columns."""
    name = str(request.path)
    if is_blocks(thing):
        message = (
            f"{name} is {type_of(thing)}, which can be read only once, but its rows are needed "
            "several times: pass one array, e.g. numpy.concatenate(list(blocks)), or a file. Only "
            "unmix and inspect take an iterator of blocks."
        )
        raise InputError(message)
    if is_a(thing, "anndata", "AnnData"):
        return read_annotated_object(thing, request)
    if is_a(thing, "xarray", "Dataset") or is_a(thing, "mudata", "MuData"):
        refuse_many(thing, request)
    if is_group(thing):
        return read_group(thing, request)
    if isinstance(thing, Mapping | set | frozenset):
        message = f"{name} is {type_of(thing)}: pass {TAKEN}."
        raise InputError(message)
    if _has_columns(thing):
        return read_frame(thing, request)
    if request.key is not None:
        message = (
            f"key={request.key!r} chooses among the arrays of an object or file, but {name} is "
            f"{type_of(thing)}, one array: omit it."
        )
        raise InputError(message)
    if is_a(thing, "xarray", "DataArray"):
        return read_labelled(thing, request)
    return Contents(rows=as_array(thing, name))


def _has_columns(thing: Any) -> bool:
    """Return whether ids and labels of a thing are chosen while it is read."""
    if is_a(thing, "anndata", "AnnData") or is_group(thing):
        return True
    return not is_a(thing, "dask.array", "Array") and is_frame(thing)


def _from_path(
    path: Any, key: str | None, ids: str | None, name: str | None, columns: Any
) -> Embeddings:
    if manifest_of(split_key(_path(path))[0]) is None:
        return read_run(_path(path), key=key, ids=ids, name=name, columns=columns)
    chosen = path if key is None else f"{path}::{key}"
    found = _only(read_runs([_path(chosen)]), "as_embeddings")
    return found if name is None else replace(found, name=name)


def _check_text(**given: Any) -> None:
    for what, text in given.items():
        if text is not None and not isinstance(text, str):
            message = f"{what} is {type_of(text)}: pass text."
            raise InputError(message)


def _names(columns: Any) -> tuple[str, ...]:
    is_one = isinstance(columns, str) or not isinstance(columns, Iterable)
    names = (columns,) if is_one else tuple(columns)
    if not all(isinstance(name, str) for name in names):
        message = (
            f"columns is {type_of(columns)}: pass the names of columns, or a mapping from names to "
            "values per row."
        )
        raise InputError(message)
    return tuple(map(str, names))


def _path(given: Any) -> str | Path:
    return given if isinstance(given, str) else Path(given)


def _with(found: Embeddings, ids: Any, kept: Any, added: Any, *, index: Any) -> Embeddings:
    """Set the ids, keep only some columns and add others; pandas objects follow the index."""
    found = take_out(found, (*([ids] if isinstance(ids, str) else []), *(kept or ())))
    if isinstance(ids, str):
        found = replace(found, ids=_column(found, ids))
    elif ids is not None:
        values = as_vector(ids, len(found), "ids", of=found.name, ids=index, missing=False)
        found = replace(found, ids=values)
    if kept is not None:
        found = replace(found, columns={name: _column(found, name) for name in kept})
    if added is not None:
        more = as_columns(added, len(found), "columns", of=found.name, ids=index)
        found = replace(found, columns={**found.columns, **more})
    return found


def _column(run: Embeddings, name: str) -> Any:
    if name not in run.columns:
        known = listed([*run.columns]) or "none"
        message = (
            f"{run.name} has no column {name!r}: its columns are {known}. Pass one value per row "
            "instead of a name."
        )
        raise InputError(message)
    return run.columns[name]
