"""Read and write FAISS indexes that hold their vectors as they are, block by block.

A flat index is a header and the vectors; an index with ids wraps it. FAISS loads an index as a
whole and trusts its header, so neither reading nor writing goes through it.
"""

from __future__ import annotations

import struct
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from upto.core import InputError
from upto.core.errors import shortened
from upto.files.damage import damage_reported, damaged
from upto.files.declared import check_promised
from upto.files.request import Columns, Contents, Request
from upto.files.rows import StoredRows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.files.plan import Plan, Put

    Metric = Literal["inner product", "L2"]

_FLAT = (b"IxFI", b"IxF2", b"IxFl")
_WITH_IDS = (b"IxMp", b"IxM2")
_HEADER = struct.Struct("<iqqq?i")
"""Width, number of rows, two unused numbers, whether it is trained, and the metric."""
_UNUSED = 2**20
_METRICS: dict[Metric, tuple[bytes, int]] = {"inner product": (b"IxFI", 0), "L2": (b"IxF2", 1)}
_OTHER_METRICS = 2
_FLOAT, _ID = np.dtype("<f4"), np.dtype("<i8")
_SAME_LENGTH = 1e-3
"""Largest relative difference of the lengths of rows that count as normalised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    shape: tuple[int, int]
    vectors: int
    ids: int | None


def read_faiss(request: Request) -> Contents:
    """Read the vectors of a flat index by block, and its ids at once."""
    path = request.path
    if request.key is not None or request.columns or request.ids is not None:
        message = (
            f"{path} is a FAISS index, which holds vectors and their ids only: pass other columns "
            "separately."
        )
        raise InputError(message)
    layout = _layout(path)
    rows = StoredRows(path, layout.vectors, layout.shape, _FLOAT)
    return Contents(rows=rows, ids=_ids(path, layout))


def faiss_labels(request: Request) -> tuple[str, NDArray[Any]]:
    """Read the ids of an index."""
    ids = _ids(request.path, _layout(request.path))
    if ids is None:
        message = f"{request.path} holds vectors only: give a file with labels."
        raise InputError(message)
    return "id", ids


def faiss_columns(request: Request) -> Columns:
    """Read the vectors of an index as columns, numbered from 0."""
    contents = read_faiss(request)
    rows = np.asarray(contents.rows[:])
    return Columns(
        ids=contents.ids,
        columns={f"{request.path.stem}_{number}": column for number, column in enumerate(rows.T)},
    )


def _layout(path: Path) -> _Layout:
    size = path.stat().st_size
    with path.open("rb") as file, damage_reported(path):
        mark = file.read(4)
        counted = None
        if mark in _WITH_IDS:
            counted = _header(file)
            mark = file.read(4)
        if mark not in _FLAT:
            kind = shortened(mark.decode("latin-1"), 8)
            message = (
                f"{path} is a FAISS index of the kind {kind!r}, of which upto reads flat ones only "
                "(IndexFlat, also in an IndexIDMap), which hold vectors as they are: write the "
                "vectors, as from its reconstruct_n, to .npy or an IndexFlat."
            )
            raise InputError(message)
        shape = _header(file)
        (n_numbers,) = struct.unpack("<Q", file.read(8))
        vectors = file.tell()
        if n_numbers != shape[0] * shape[1] or counted not in (None, shape):
            why = f"its header gives {shape[0]} × {shape[1]} numbers, but {n_numbers} follow"
            raise InputError(damaged(path, why))
        check_promised(path, shape, _FLOAT, size - vectors)
        end = vectors + n_numbers * _FLOAT.itemsize
        if counted is None:
            return _Layout(shape=shape, vectors=vectors, ids=None)
        file.seek(end)
        (n_ids,) = struct.unpack("<Q", file.read(8))
        if n_ids != shape[0]:
            raise InputError(damaged(path, f"it has {n_ids} ids for {shape[0]} rows"))
        check_promised(path, (n_ids,), _ID, size - end - 8)
        return _Layout(shape=shape, vectors=vectors, ids=end + 8)


def _header(file: IO[bytes]) -> tuple[int, int]:
    width, n_rows, _, _, _, metric = _HEADER.unpack(file.read(_HEADER.size))
    if metric >= _OTHER_METRICS:
        file.read(4)
    if width < 1 or n_rows < 0:
        message = f"its header gives {n_rows} rows of {width} numbers"
        raise ValueError(message)
    return n_rows, width


def _ids(path: Path, layout: _Layout) -> NDArray[Any] | None:
    if layout.ids is None:
        return None
    found = np.fromfile(path, _ID, layout.shape[0], offset=layout.ids)
    return found.astype(np.int64, copy=False)


@contextmanager
def write_faiss(plan: Plan, metric: Metric | None = None) -> Iterator[Put]:
    """Write a flat index of the vectors, and of the ids if there are any.

    Parameters
    ----------
    plan
        What to write.
    metric
        How rows are compared; by default by inner product if all have the same length, and else
        by distance.
    """
    ids = _whole_numbers(plan)
    lengths = [np.inf, 0.0]
    with plan.path.open("xb") as file:
        _write_headers(file, plan, metric or "L2", ids)

        def put(block: NDArray[Any]) -> None:
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            squares = squares[np.isfinite(squares)]
            lengths[0] = min(lengths[0], squares.min(initial=np.inf))
            lengths[1] = max(lengths[1], squares.max(initial=0.0))
            file.write(block.astype(_FLOAT, copy=False).data)

        yield put
        if ids is not None:
            file.write(struct.pack("<Q", len(ids)))
            file.write(ids.astype(_ID).data)
        if metric is None and lengths[0] > (1 - _SAME_LENGTH) ** 2 * lengths[1]:
            file.seek(0)
            _write_headers(file, plan, "inner product", ids)


def _write_headers(file: IO[bytes], plan: Plan, metric: Metric, ids: NDArray[Any] | None) -> None:
    n_rows, width = plan.shape
    mark, number = _METRICS[metric]
    header = _HEADER.pack(width, n_rows, _UNUSED, _UNUSED, 1, number)
    if ids is not None:
        file.write(b"IxM2" + header)
    file.write(mark + header + struct.pack("<Q", n_rows * width))


def _whole_numbers(plan: Plan) -> NDArray[np.int64] | None:
    """Return the ids as integers, the only ones that FAISS stores."""
    ids = plan.like.ids
    if ids is None:
        return None
    given = np.asarray(ids)
    try:
        found = given.astype(np.int64)
        is_same = np.array_equal(found.astype(str), given.astype(str))
    except (TypeError, ValueError, OverflowError):
        is_same = False
    if not is_same:
        message = (
            f"{plan.like.name} has ids that are not integers, such as {shortened(given[0], 20)!r}, "
            "which a FAISS index cannot store: number the rows, or write .lance or .parquet."
        )
        raise InputError(message)
    return found
