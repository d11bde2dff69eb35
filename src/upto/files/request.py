"""What is asked of a file, and what a reader hands back."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from upto.core import InputError, Rows
from upto.core.errors import shortened
from upto.core.read import expanded

ID_NAMES = ("id", "ids", "sample_id", "well_id", "index")
"""Names that make a column or entry the ids when none is asked for, the first found wins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run as it was asked for.

    Parameters
    ----------
    path
        The file or zarr folder.
    key
        The array inside it; for a table the first letters of the feature columns.
    ids
        The column or entry with one id for each row.
    columns
        The columns or entries to keep as labels; None keeps every one that fits.
    """

    path: Path
    key: str | None = None
    ids: str | None = None
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Columns of a file, one value a row, and the ids of the rows where it has them."""

    ids: NDArray[Any] | None
    columns: dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a reader found."""

    rows: Rows
    ids: NDArray[Any] | None = None
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)


def split_key(path: str | Path, key: str | None = None) -> tuple[Path, str | None]:
    """Split ``path::key``; a key may also be given beside the path, but not twice.

    Examples
    --------
    >>> split_key("runs.npz::first")
    (PosixPath('runs.npz'), 'first')
    """
    whole = expanded(path)
    text, mark, inside = str(whole).partition("::")
    if not mark or os.path.exists(whole):  # noqa: PTH110 - Path.exists fails on some names
        return whole, key
    if not text or not inside:
        message = f"{path} has no {'key after' if text else 'path before'} `::`: write path::key."
        raise InputError(message)
    if key is not None and key != inside:
        message = f"{path} names the key {inside!r} but key is {key!r}: give one of them."
        raise InputError(message)
    return Path(text), inside


def listed(names: list[str] | tuple[str, ...], limit: int = 12, *, longest: int = 40) -> str:
    """Write names as a sentence needs them, the first few if they are many or long.

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
