"""Arrays in files whose samples are not flat rows, as images are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.load.request import split_key

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def shaped_array(given: str | Path) -> NDArray[Any] | None:
    """Return an array of three axes or more, or nothing where a file holds none to choose.

    Parameters
    ----------
    given
        A `.npy` file, or an `.npz` archive of one array or with ``::key``. Whatever is wrong with a
        file is left to those who read it as rows.
    """
    path, key = split_key(given)
    if path.suffix.lower() not in (".npy", ".npz"):
        return None
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(found, np.ndarray):
            with found:
                names = list(found)
                if key is None and len(names) == 1:
                    (key,) = names
                found = found[key] if key in names else np.empty(0)
    except (OSError, ValueError, EOFError, KeyError):
        return None
    return found if found.ndim > 2 and found.dtype.kind in "fiub" and found.size else None
