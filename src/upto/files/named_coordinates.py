"""Coordinates that are labels: those chosen by name, and those that equal the values given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError
from upto.core.errors import ArgumentError
from upto.files.rows import BlockRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_EXACT = 2**53
_BLOCK_VALUES = 2**22


class OtherCoordinates(BlockRows):
    """The rows of a file without some of their coordinates.

    Parameters
    ----------
    source
        The rows of the file.
    keep
        Positions of the coordinates that stay.
    """

    def __init__(self, source: BlockRows, keep: NDArray[np.intp]) -> None:
        super().__init__(source.path, (source.shape[0], len(keep)), source.dtype)
        self.source, self.keep = source, keep

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        return self.source[start:stop][:, self.keep]


def take_out(run: Embeddings, names: Iterable[str]) -> Embeddings:
    """Make the coordinates that have these names columns of their run, and no coordinates.

    Parameters
    ----------
    run
        The run; names that its coordinates do not have, or a column has too, are ignored.
    names
        Columns that were chosen as labels, batches or the like.

    Raises
    ------
    InputError
        If no coordinate is left.
    """
    taken = [
        name for name in dict.fromkeys(names) if name in run.features and name not in run.columns
    ]
    if not taken:
        return run
    if len(taken) == run.n_features:
        message = (
            f"{run.name} has no coordinates besides {' and '.join(taken)}: coordinates are its "
            "other numeric columns."
        )
        raise InputError(message)
    places = [run.features.index(name) for name in taken]
    keep = np.delete(np.arange(run.n_features), places)
    if isinstance(run.rows, BlockRows):
        rows: Any = OtherCoordinates(run.rows, keep)
    else:
        rows = np.asarray(run.rows[:])[:, keep]
    values = _coordinates(run, places).T
    found = {name: _whole(name, each, run.name) for name, each in zip(taken, values, strict=True)}
    return replace(
        run,
        rows=rows,
        columns={**run.columns, **found},
        features=tuple(run.features[place] for place in keep),
    )


def refuse_coordinate_of(values: NDArray[Any], runs: Sequence[Embeddings], argument: str) -> None:
    """Refuse values given for the rows of the first run if a coordinate of a run has them too.

    That is a column of a table that was left among its coordinates: it equals the values, or has
    whole numbers of which each stands for one of them.

    Parameters
    ----------
    values
        One value per row of the first run.
    runs
        The runs; the others are looked at if their rows are known to be in the same order.
    argument
        Name of the argument that the values were given for.

    Raises
    ------
    InputError
        If there is such a coordinate.
    """
    first = runs[0]
    for run in runs:
        is_aligned = run.ids is None and first.ids is None and len(run) == len(first)
        place = _place_of(np.asarray(values), run) if run is first or is_aligned else None
        if place is None:
            continue
        if not run.features:
            message = (
                f"coordinate {place} of {run.name}, counted from 0, has the values of {argument} "
                "in every row: leave it out of the rows."
            )
            raise InputError(message)
        name = run.features[place]
        message = (
            f"the column {name!r} of {run.name} is one of its coordinates, and has the values of "
            f"{argument} in every row: pass {argument}={name!r} instead of values, or leave the "
            "column out."
        )
        raise ArgumentError(message, **{argument: name})


def _place_of(values: NDArray[Any], run: Embeddings) -> int | None:
    """Return the position of the first coordinate that says the value of every row."""
    is_number = values.dtype.kind in "fiub"
    codes = np.unique(values if is_number else values.astype(str), return_inverse=True)[1]
    numbers = values.astype(np.float64) if is_number else None
    count = int(codes.max()) + 1
    # Where hardly a value repeats, any coordinate could stand for it.
    repeats = 2 * count <= len(codes)
    if count < 2 or (numbers is None and not repeats):
        return None
    # Two different values rule out almost all coordinates, without a pass over the rows.
    size = max(_BLOCK_VALUES // run.n_features, 16)
    other = int(np.argmax(codes != codes[0]))
    starts = (0,) if other < size else (0, other)
    index = np.concatenate([np.arange(len(codes))[start : start + size] for start in starts])
    block = np.concatenate([np.asarray(run.rows[start : start + size]) for start in starts])
    known = None if numbers is None else numbers[index]
    for place in _telling(block, codes[index], known, repeats=repeats).tolist():
        rows = _coordinates(run, [place])
        if len(_telling(rows, codes, numbers, repeats=repeats)):
            return int(place)
    return None


def _telling(
    rows: NDArray[Any], codes: NDArray[Any], numbers: NDArray[Any] | None, *, repeats: bool
) -> NDArray[np.intp]:
    """Return the positions of the coordinates that are the numbers, or one number for each code."""
    rows = rows.astype(np.float64, copy=False)
    tells = np.zeros(rows.shape[1], dtype=bool)
    if numbers is not None:
        tells |= (rows == numbers[:, None]).all(axis=0)
    if repeats:
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        low, high = (each.reduceat(rows[order], starts) for each in (np.minimum, np.maximum))
        is_one = (low == high) & (low == np.floor(low))
        tells |= is_one.all(axis=0) & (np.diff(np.sort(low, axis=0), axis=0) > 0).all(axis=0)
    return np.flatnonzero(tells)


def _coordinates(run: Embeddings, places: Sequence[int]) -> NDArray[Any]:
    """Return some coordinates of all rows."""
    size = max(_BLOCK_VALUES // run.n_features, 1)
    starts = range(0, len(run), size)
    return np.concatenate([np.asarray(run.rows[at : at + size])[:, places] for at in starts])


def _whole(name: str, values: NDArray[Any], of: str) -> NDArray[Any]:
    """Return whole numbers as integers, as they were in their table."""
    if values.dtype.kind != "f" or not np.all(values == np.floor(values)):
        return values
    if np.abs(values).max() >= _EXACT:
        message = (
            f"the column {name!r} of {of} has numbers of more than 15 digits, which are not exact "
            "among coordinates: pass its values, or make it text."
        )
        raise InputError(message)
    return values.astype(np.int64)
