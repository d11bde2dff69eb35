"""Read arrays whose samples are not flat rows, e.g. images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.files.npy import loaded_npz, mapped_npy
from upto.files.request import split_key

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def shaped_array(given: str | Path) -> NDArray[Any] | None:
    """Return an array with three or more axes, or None if the file has no such array.

    Parameters
    ----------
    given
        A `.npy` file, or an `.npz` archive with one array or with ``::key``. Errors are left to the
        readers of rows.
    """
    try:
        path, key = split_key(given)
        if path.suffix.lower() == ".npy":
            found = mapped_npy(path)
        elif path.suffix.lower() == ".npz":
            found = loaded_npz(path, key)
        else:
            return None
    except (InputError, OSError):
        return None
    return found if found.ndim > 2 and found.dtype.kind in "fiub" and found.size else None
