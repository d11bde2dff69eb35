"""Files of published screens and recordings, found in the folder a user names."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.datasets.read import DATA_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def data_folder(data: Path | None, how: str) -> Path:
    """Return the folder that was named for this study, or for all by ``UPTO_DATA``.

    Raises
    ------
    InputError
        If none was named, with `how` to get the data.
    """
    if data is not None:
        return data
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        message = f"the data do not come with upto: {how}, and name the folder as --data."
        raise InputError(message)
    return Path(named).expanduser()


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of the files there is, in a folder or in one of its folders."""
    for name in names:
        for path in (folder / name, *sorted(folder.glob(f"*/{name}"))):
            if path.is_file():
                return path
    return None


def read_arrays(
    path: Path, wanted: Sequence[str], *, sha256: str | None, how: str
) -> dict[str, NDArray[Any]]:
    """Read arrays of an ``.npz`` file that is known by its checksum; nothing is unpickled.

    Raises
    ------
    InputError
        If the file is another one, or lacks an array.
    """
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 is not None and found != sha256:
        message = (
            f"{path} has the SHA-256 {found[:12]}… and not {sha256[:12]}…: it is another file or "
            f"is damaged; {how}."
        )
        raise InputError(message)
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in wanted}
    except (OSError, KeyError, ValueError) as error:
        message = f"{path} does not hold the arrays {', '.join(wanted)} ({error}): {how}."
        raise InputError(message) from None
