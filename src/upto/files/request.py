"""Requests to file readers, and what they return."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from upto.core import InputError, Rows
from upto.core.errors import shortened
from upto.core.read_file import expanded

if TYPE_CHECKING:
    from collections.abc import Iterable

ID_NAMES = ("id", "ids", "sample_id", "well_id", "index")
"""Names of columns or entries used as ids by default, in order of preference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for one run.

    Parameters
    ----------
    path
        The file or zarr folder.
    key
        Array in the file; for a table, the prefix of the feature columns.
    ids
        Column or entry with one id per row.
    columns
        Columns or entries to keep as labels; None keeps all that fit.
    in_memory
        Whether `path` is the name of an object in memory.
    """

    path: Path
    key: str | None = None
    ids: str | None = None
    columns: tuple[str, ...] | None = None
    in_memory: bool = False

    def item(self, key: str) -> str:
        """Return the name of one array or column, for a message."""
        return f"{key} of {self.path}" if self.in_memory else f"{self.path}::{key}"

    def choice(self, key: str) -> str:
        """Return how a user chooses an array or column, for a message."""
        return f"key={key!r}" if self.in_memory else f"{self.path}::{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Columns of a file, one value per row, and the ids of the rows, if any."""

    ids: NDArray[Any] | None
    columns: dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Rows, ids, columns and names of coordinates that a reader found."""

    rows: Rows
    ids: NDArray[Any] | None = None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    features: tuple[str, ...] = ()


def names_of_coordinates(names: Iterable[object], width: int) -> tuple[str, ...]:
    """Return the names of coordinates, or none if they are missing, repeated or only numbers.

    Examples
    --------
    >>> names_of_coordinates(["x", "y"], 2), names_of_coordinates(range(2), 2)
    (('x', 'y'), ())
    """
    found = tuple(map(str, names))
    is_named = len(set(found)) == len(found) == width
    # The numbers of a table without a header are positions, not names.
    return found if is_named and not all(name.isdecimal() for name in found) else ()


def split_key(path: str | Path, key: str | None = None) -> tuple[Path, str | None]:
    """Split ``path::key``; the key may be passed separately instead.

    Examples
    --------
    >>> split_key("runs.npz::first")
    (PosixPath('runs.npz'), 'first')
    """
    if path == "":
        message = "the path is empty: pass the path of a file."
        raise InputError(message)
    whole = expanded(path)
    text, mark, inside = str(whole).partition("::")
    if not mark or os.path.exists(whole):  # noqa: PTH110 - Path.exists fails on some names
        return whole, key
    if not text or not inside:
        message = f"{path} has no {'key after' if text else 'path before'} `::`: write path::key."
        raise InputError(message)
    if key is not None and key != inside:
        message = f"{path} names the key {inside!r} but key is {key!r}: pass only one of them."
        raise InputError(message)
    return Path(text), inside


def listed(names: list[str] | tuple[str, ...], limit: int = 12, *, longest: int = 40) -> str:
    """Join names for a message, only the first few if they are many or long.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    shown: list[str] = []
    for name in names[:limit]:
        shown.append(shortened(name, longest))
        if sum(map(len, shown)) > 3 * longest:
            break
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")
