"""Numbers of Arrow columns as arrays, without pandas, which their own conversion imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def copy_column(column: Any, out: NDArray[Any]) -> None:
    """Copy a column of numbers without missing values.

    Parameters
    ----------
    column
        A chunked array.
    out
        Array of as many values, of any type that holds them.
    """
    start = 0
    for chunk in column.chunks:
        if len(chunk):
            out[start : start + len(chunk)] = np.from_dlpack(chunk)
        start += len(chunk)
