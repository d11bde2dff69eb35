"""Names of batches and labels: one string per value, independent of how a table stored it."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

MISSING = frozenset(("None", "nan", "NaT", "<NA>"))
"""String forms of missing values of Python, NumPy and pandas."""

_WORDS_OF_NONE = frozenset(
    ("na", "nan", "n/a", "#n/a", "none", "null", "nil", "missing", "unknown")
)
"""Common words for a missing value in tables."""

_MARKS = ".,;:!'\"`()[]{}"
"""Punctuation that may surround a name without being part of it."""
_JOINTS = re.compile(r"(?<=\w)(?:[\s_/;:|-]+|(?<!\d)[.,]+|[.,]+(?!\d))+(?=\w)|\s+")
"""Separators of words; a point between digits belongs to a number."""


def as_names(values: Any) -> NDArray[np.str_]:
    """Return values as strings; missing values are empty, and integers have no decimal point.

    A column of integers becomes one of floats if a value is missing; the batch is the same.

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
    """Return the names that differ only in spelling.

    Case, spaces, separators, leading zeros, punctuation at the ends, full-width forms and
    zero-width characters are ignored. Signs are not: CD4, CD4+ and CD4- are three names.

    Examples
    --------
    >>> look_alikes(["DMSO", " dmso", "drug", "plate_1", "Plate 01", "plate 2"])
    [(' dmso', 'DMSO'), ('Plate 01', 'plate_1')]
    >>> look_alikes(["cat", "cat.", "a/b", "a b", "A-1", "A1", "CD4+", "CD4-", "1.5", "15"])
    [('A-1', 'A1'), ('a b', 'a/b'), ('cat', 'cat.')]
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
    none = {_plain(word) for word in _WORDS_OF_NONE}
    return [name for name in sorted(set(names)) if _plain(name) in none]


def _plain(name: str) -> str:
    shown = "".join(sign for sign in name if unicodedata.category(sign) != "Cf")
    text = unicodedata.normalize("NFKC", shown).casefold().strip().strip(_MARKS).strip()
    words = _JOINTS.split(text)
    joined = " ".join(re.sub(r"^0+(?=\d)", "", word) for word in words)
    # A letter and a number need no separator: A-1 and A1 are the same.
    return re.sub(r"(?<=[^\W\d]) (?=\d)", "", joined)
