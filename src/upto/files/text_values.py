"""Check ids, labels and names read as text: their length and their characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.errors import shortened
from upto.files.declared import memory_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LEAST_BOUND, _MOST_BOUND = 2**28, 2**31
_LAST_CHARACTER = 0x10FFFF
_BYTES_PER_CHARACTER = 4


def text_array(where: object, cells: list[str]) -> NDArray[Any]:
    """Return cells as an array of text, in which each takes the space of the longest.

    Parameters
    ----------
    where
        The file and the column in it.
    cells
        One text per row.

    Raises
    ------
    InputError
        If one long cell would make the array too large.
    """
    longest = max(map(len, cells), default=0)
    share = max(_LEAST_BOUND, min(_MOST_BOUND, memory_size() // 8))
    if longest * len(cells) * _BYTES_PER_CHARACTER > max(
        share, 64 * sum(map(len, cells)) * _BYTES_PER_CHARACTER
    ):
        row = next(row for row, cell in enumerate(cells) if len(cell) == longest)
        message = (
            f"{where} has {longest} characters in row {row}, too many for a label or an id of "
            f"{len(cells)} rows: shorten them, or leave the column out."
        )
        raise InputError(message)
    return np.array(cells, dtype=str)


def check_text(where: object, values: NDArray[Any]) -> None:
    """Refuse text with invalid characters, as in damaged files."""
    if values.dtype.kind != "U" or not values.size:
        return
    codes = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("=")).view(np.uint32)
    wrong = codes[(codes > _LAST_CHARACTER) | ((codes >> 11) == 0x1B)]
    if wrong.size:
        message = (
            f"{where} has text with code {wrong[0]}, which is not a character: it is damaged. "
            "Copy or save it again."
        )
        raise InputError(message)


def column_of(path: object, name: str) -> str:
    """Return the name of a column with its file."""
    return f"{path}::{shortened(name)}"
