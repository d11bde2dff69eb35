"""Names of batches and labels: one text for each value, whichever way a table wrote it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MISSING = frozenset(("None", "nan", "NaT", "<NA>"))
"""What missing values of Python, NumPy and pandas are written as."""

_WORDS_OF_NONE = frozenset(
    ("na", "nan", "n/a", "#n/a", "none", "null", "nil", "missing", "unknown")
)
"""What people write into a table where there is no value."""


def as_names(values: Any) -> NDArray[np.str_]:
    """Return values as texts; a missing one is empty, and a whole number has no point.

    A column of whole numbers turns into one with a point wherever a row lacks its number: the batch
    is the same.

    Examples
    --------
    >>> as_names([1.0, 2.0, float("nan")]).tolist()
    ['1', '2', '']
    """
    array = np.asarray(values)
    if array.dtype.kind in "fOMm":
        texts = [_as_name(value) for value in array.ravel()]
        return np.array(texts, dtype=np.str_).reshape(array.shape)
    return array.astype(np.str_)


def _as_name(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value)
    return "" if text in MISSING and not isinstance(value, str) else text


def look_alikes(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the names that differ by capitals, spaces, joints or zeros before a number only.

    Examples
    --------
    >>> look_alikes(["DMSO", " dmso", "drug", "plate_1", "Plate 01", "plate 2"])
    [(' dmso', 'DMSO'), ('Plate 01', 'plate_1')]
    """
    alike: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        alike.setdefault(_plain(name), []).append(name)
    return [tuple(own) for own in alike.values() if len(own) > 1]


def reads_as_missing(names: Iterable[str]) -> list[str]:
    """Return the names that are words for a missing value.

    Examples
    --------
    >>> reads_as_missing(["drug", "NA", "nan "])
    ['NA', 'nan ']
    """
    return [name for name in sorted(set(names)) if _plain(name) in _WORDS_OF_NONE]


def _plain(name: str) -> str:
    words = re.split(r"(?<=\w)[\s_-]+(?=\w)|\s+", name.strip().casefold())
    return " ".join(re.sub(r"^0+(?=\d)", "", word) for word in words)
