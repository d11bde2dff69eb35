"""Names of batches and labels: one text for each value, whichever way a table wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISSING = frozenset(("None", "nan", "NaT", "<NA>"))
"""What missing values of Python, NumPy and pandas are written as."""


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
