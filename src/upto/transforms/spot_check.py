"""Read some carried rows back from their file, and compare them with the map of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.errors import ArgumentError, UptoError, reason, shortened
from upto.engines import compute
from upto.files.read_back import read_back

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from upto.core import Embeddings
    from upto.core.array_types import Float, Index
    from upto.files.plan import Plan
    from upto.transforms.kinds import Map

_PLACES = 20
"""Rows are read in as many runs of neighbours: a format may have to decode thousands for one."""

_ULPS = 4.0
_OTHER_ORDER = 1e4
"""Rounding of the output, and of sums of other blocks, over that of the last digit of each source
coordinate."""


def check_verify(verify: object) -> None:
    """Refuse a number of rows that is none."""
    if not isinstance(verify, int | np.integer) or isinstance(verify, bool) or verify < 0:
        message = f"verify={verify!r} is no number of rows: pass 0 or more."
        raise ArgumentError(message, verify=verify)


def check_written(
    plan: Plan, path: Path, run: Embeddings, mapping: Map, *, left_out: list[int], n_checked: int
) -> bool:
    """Compare random rows of an output with the map of the source; return whether any were.

    Parameters
    ----------
    plan, path
        What was written, and where it is now.
    run, mapping
        The source and the map.
    left_out
        Positions of the rows of the source that are not in the output.
    n_checked
        Number of rows.

    Raises
    ------
    InputError
        If a row differs by more than rounding, or cannot be read.
    """
    if not n_checked:
        return True
    try:
        found = read_back(plan, path)
    except UptoError as error:
        message = f"{plan.path} cannot be read back, and was removed: {reason(error)}."
        raise InputError(message) from None
    if found is None:
        return False
    n_rows = run.n_samples - len(left_out)
    if found.rows.shape != (n_rows, plan.n_columns):
        size = " × ".join(map(str, found.rows.shape))
        message = (
            f"{plan.path} reads as {size} instead of {n_rows} × {plan.n_columns} numbers, and was "
            "removed: try another format or another disk."
        )
        raise InputError(message)
    dropped = np.asarray(left_out, dtype=np.intp)
    for start, stop in _places(n_rows, n_checked):
        rows = _positions(start, stop, dropped)
        _compare(plan, run, mapping, rows, found, slice(start, stop))
    return True


def _places(n_rows: int, n_checked: int) -> Iterator[tuple[int, int]]:
    """Yield spans of rows; the first and the last row are among them."""
    if 2 * n_checked > n_rows:
        length, starts = min(n_rows, 10_000), np.arange(0, n_rows, min(n_rows, 10_000))
    else:
        count = min(_PLACES, n_checked)
        length = -(-n_checked // count)
        # A stratum for each, so that no large part of a file is left unseen.
        edges = np.linspace(0, n_rows, count + 1).astype(np.intp)
        starts = np.random.default_rng(0).integers(edges[:-1], edges[1:] - length + 1)
        starts[0], starts[-1] = 0, n_rows - length
    for start in starts:
        yield int(start), min(int(start) + length, n_rows)


def _positions(start: int, stop: int, dropped: Index) -> Index:
    """Return the positions in the source of rows of the output."""
    kept = np.arange(start, stop, dtype=np.intp)
    if not len(dropped):
        return kept
    # As many rows were left out before row k as dropped positions, less their rank, are up to k.
    return kept + np.searchsorted(dropped - np.arange(len(dropped)), kept, side="right")


def _compare(
    plan: Plan, run: Embeddings, mapping: Map, rows: Index, found: Embeddings, place: slice
) -> None:
    first = int(rows[0])
    block = np.asarray(run.rows[first : int(rows[-1]) + 1])
    source = np.asarray(block, dtype=np.float64)[rows - first]
    finite = np.isfinite(source).all(axis=1)
    written = np.asarray(found.rows[place], dtype=np.float64)
    wanted = np.full(written.shape, np.nan)
    slack = np.zeros(written.shape)
    if finite.any():
        wanted[finite] = _mapped(mapping, source[finite])
        slack[finite] = _rounding(mapping, source[finite], wanted[finite], plan.dtype)
    is_same = np.abs(written - wanted) <= slack
    is_same |= np.isnan(written) & np.isnan(wanted)
    wrong = np.flatnonzero(~is_same.all(axis=1))
    if len(wrong):
        row, column = int(wrong[0]), int(np.flatnonzero(~is_same[wrong[0]])[0])
        message = (
            f"{plan.path} was removed: coordinate {column} of row {rows[row]} of {run.name} reads "
            f"back as {written[row, column]:.9g} instead of {wanted[row, column]:.9g}: check the "
            "disk, and that nothing else writes to the source or the output."
        )
        raise InputError(message)
    if run.ids is None or found.ids is None:
        return
    ids, kept = np.asarray(run.ids)[rows].astype(str), found.ids[place].astype(str)
    wrong = np.flatnonzero(ids != kept)
    if len(wrong):
        row = int(wrong[0])
        message = (
            f"{plan.path} was removed: row {rows[row]} of {run.name} has the id "
            f"{shortened(ids[row], 30)!r}, which reads back as {shortened(kept[row], 30)!r}: write "
            "another format, or other ids."
        )
        raise InputError(message)


def _mapped(mapping: Map, source: Float) -> Float:
    function, params = mapping.block_function()
    found: Float = compute(function, source, *params)[0]
    return found


def _rounding(mapping: Map, source: Float, wanted: Float, dtype: np.dtype[Any]) -> Float:
    """Return how far rounding may move each number of some images.

    What the last digits of the source do to an image bounds what another order of summation does,
    whatever the map.
    """
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=source.shape)
    eps = np.finfo(np.float64).eps
    moved = np.abs(_mapped(mapping, source * (1 + 2 * eps * signs)) - wanted).max(axis=1)
    size = np.abs(wanted)
    room: Float = _OTHER_ORDER * (moved[:, None] + eps * size)
    room += _ULPS * float(np.finfo(dtype).eps) * size + float(np.finfo(dtype).tiny)
    return room
