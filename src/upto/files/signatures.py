"""Check that a file exists and that its magic bytes match its suffix."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from upto.core import InputError
from upto.core.files import is_zarr
from upto.core.read_file import check_readable
from upto.files.folders import is_folder_of_parts, is_lance
from upto.files.request import listed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_HDF5 = b"\x89HDF\r\n\x1a\n"
_SIGNATURES = (
    (b"\x93NUMPY", "a NumPy array", ".npy"),
    (b"PK\x03\x04", "a zip archive", ".npz"),
    (b"PK\x05\x06", "an empty zip archive", ".npz"),
    (b"PAR1", "a parquet table", ".parquet"),
    (_HDF5, "an HDF5 file", ".h5"),
)
_PACKED = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"(\xb5/\xfd", "zstd"))
_PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib", ".bin")
_REMEDY = "save the embedding as a plain array, with numpy.save or safetensors."


def check_exists(path: Path) -> None:
    """Refuse a path that does not exist, suggesting similar names, or that is not a file."""
    if check_readable(path) is not None:
        return
    folder = path.parent
    if not folder.is_dir():
        message = f"{path} does not exist: the folder {folder} is missing."
        raise InputError(message)
    if path.is_symlink():
        message = f"{path} is a link to {path.readlink()}, which does not exist."
        raise InputError(message)
    names = sorted(entry.name for entry in folder.iterdir())
    close = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(str(folder / name) for name in close)}?" if close else ""
    message = f"{path} does not exist.{hint}"
    raise InputError(message)


def check_suffix(path: Path, known: Iterable[str]) -> None:
    """Refuse pickles, folders that are not zarr, and unknown suffixes."""
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        message = (
            f"{path} is a pickle, which can run any code when it is loaded, so upto never loads "
            f"one: {_REMEDY}"
        )
        raise InputError(message)
    if path.is_dir() and not (is_zarr(path) or is_lance(path) or is_folder_of_parts(path)):
        message = (
            f"{path} is a folder, but not a zarr folder: pass a file in it, or a manifest (.toml) "
            "that lists several."
        )
        raise InputError(message)
    if not path.is_dir() and suffix not in known:
        found = f"ends in {suffix}" if suffix else "has no suffix"
        message = f"{path} {found}, which upto does not read: it reads {listed([*known], 20)}."
        raise InputError(message)


def check_signature(path: Path, expected: str | None) -> None:
    """Refuse a file whose magic bytes do not match its suffix.

    Parameters
    ----------
    path
        The file.
    expected
        Suffix that the magic bytes should match; None for text and other files without them.
    """
    with path.open("rb") as file:
        start = file.read(16)
    if not start:
        message = f"{path} is empty: it has 0 bytes. Copy or save it again."
        raise InputError(message)
    # The length of the header of a safetensors file can look like the start of a pickle.
    if path.suffix.lower() == ".safetensors" and start[2:9] == bytes(6) + b"{":
        return
    if expected == ".h5" and _has_user_block(path):
        return
    found = next((known for known in _SIGNATURES if start.startswith(known[0])), None)
    if found is not None and found[2] == expected:
        return
    if found is not None:
        message = f"{path} is {found[1]}: rename it to {path.with_suffix(found[2]).name}."
        raise InputError(message)
    packed = next((name for mark, name in _PACKED if start.startswith(mark)), None)
    if packed is not None:
        message = f"{path} is compressed with {packed}: decompress it first."
        raise InputError(message)
    if start[0] == 0x80 and start[1] in (2, 3, 4, 5):
        message = (
            f"{path} is a pickle, which can run any code when it is loaded, so upto never loads "
            f"one: {_REMEDY}"
        )
        raise InputError(message)
    if expected is not None:
        kind = next(kind for _, kind, suffix in _SIGNATURES if suffix == expected)
        message = (
            f"{path} does not begin like {kind}: it is damaged or has another format. Copy or "
            "save it again."
        )
        raise InputError(message)


def _has_user_block(path: Path) -> bool:
    """Return whether an HDF5 file starts with a user block, of 512, 1024, ... bytes."""
    size, place = path.stat().st_size, 512
    with path.open("rb") as file:
        while place < size:
            file.seek(place)
            if file.read(len(_HDF5)) == _HDF5:
                return True
            place *= 2
    return False
