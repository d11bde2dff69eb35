"""Find and read files of published screens and recordings in a user's folder."""

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
    """Return the data folder of this study, or that of ``UPTO_DATA``.

    Raises
    ------
    InputError
        If there is none, with `how` to get the data.
    """
    if data is not None:
        return data
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        message = f"the data do not come with upto: {how}, and give the folder as --data."
        raise InputError(message)
    return Path(named).expanduser()


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of these files that exists in a folder or its subfolders."""
    for name in names:
        for path in (folder / name, *sorted(folder.glob(f"*/{name}"))):
            if path.is_file():
                return path
    return None


def read_arrays(
    path: Path, wanted: Sequence[str], *, sha256: str | None, how: str
) -> dict[str, NDArray[Any]]:
    """Read arrays of an ``.npz`` file with a known checksum, without unpickling.

    Raises
    ------
    InputError
        If the checksum differs, or an array is missing.
    """
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 is not None and found != sha256:
        message = (
            f"{path} has the SHA-256 {found[:12]}…, not {sha256[:12]}…, so it is another file or "
            f"damaged: {how}."
        )
        raise InputError(message)
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in wanted}
    except (OSError, KeyError, ValueError) as error:
        message = f"{path} does not contain the arrays {', '.join(wanted)} ({error}): {how}."
        raise InputError(message) from None
