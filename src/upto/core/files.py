"""Atomic writing of files and folders; everything upto writes goes through here."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from upto.core.errors import InputError, reason
from upto.core.read_file import special_kind
from upto.signals import clean_up, hold_signals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LONGEST_STEM = 100
_REMOVALS, _WAIT = 10, 0.05
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def replacing(path: str | Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the folder of `path`; it is renamed to `path` at the end.

    After an exception or a signal, `path` is unchanged and the temporary file is gone. Links are
    followed: their target is replaced and the links stay.

    Parameters
    ----------
    path
        Destination; its parent folder must exist.
    folder
        Whether it is a folder.

    Raises
    ------
    InputError
        If `check_target` refuses the destination.
    """
    target = check_target(path, folder=folder)
    temporary = _beside(target)
    try:
        yield temporary
        _synchronise(temporary)
        if temporary.is_dir():
            _replace_folder(temporary, target)
        else:
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    except BaseException as error:
        clean_up(lambda: _remove(temporary))
        if isinstance(error, OSError) and _lacks_name(error, temporary):
            error.filename = str(path)
        raise


@contextmanager
def write_atomically(path: str | Path, *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file that gets its name only once everything is on disk.

    Parameters
    ----------
    path
        Destination; its folder must exist.
    binary
        Whether to write bytes instead of UTF-8 text.
    """
    mode, encoding, newline = ("xb", None, None) if binary else ("x", "utf-8", "\n")
    with (
        replacing(path) as temporary,
        temporary.open(mode, encoding=encoding, newline=newline) as file,
    ):
        yield file


def write_text_atomically(path: str | Path, text: str) -> None:
    """Write a text file atomically."""
    with write_atomically(path) as file:
        file.write(text)


def check_target(path: str | Path, *, folder: bool = False) -> Path:
    """Check that a file or folder may be written at a path; return the path with links resolved.

    Parameters
    ----------
    path
        Destination.
    folder
        Whether it is a folder.

    Raises
    ------
    InputError
        If the parent folder does not exist or is not writable, or if the path is something that
        must not be replaced: a device, a pipe, a socket, a folder where a file is written or a
        file where a folder is written, or a write-protected file.
    """
    target = real_path(path)
    parent = target.parent
    if not parent.is_dir():
        is_there = "is not a folder" if parent.exists() else "does not exist: make it first"
        message = f"{path} cannot be written: the folder {parent} {is_there}."
        raise InputError(message)
    if not os.access(parent, os.W_OK | os.X_OK):
        message = f"{path} cannot be written: you have no write permission for the folder {parent}."
        raise InputError(message)
    if not target.exists():
        return target
    if (kind := special_kind(target.stat())) is not None:
        message = f"{path} is {kind}, which is never replaced: choose a file name."
    elif target.is_dir() and not folder:
        message = f"{path} is a folder, which would be lost: choose a file name."
    elif folder and not target.is_dir():
        message = f"{path} is a file, not a folder: remove it or choose another name."
    elif not os.access(target, os.W_OK):
        message = f"{path} is write-protected: change its permissions or choose another name."
    else:
        return target
    raise InputError(message)


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Refuse outputs that coincide with inputs or with each other, before any work is done.

    Symbolic and hard links are resolved. Writing a folder replaces its contents, and writing into
    a zarr folder changes the array.

    Parameters
    ----------
    outputs
        Files and folders to write, keyed by option; None is skipped.
    inputs
        Files and folders to read.

    Raises
    ------
    InputError
        If an input or output would be lost.
    """
    named = {option: real_path(path) for option, path in outputs.items() if path is not None}
    for read in inputs:
        source = real_path(read)
        for target in named.values():
            if is_same(source, target) or _is_within(source, target) or _is_part(target, source):
                message = f"{read} is an input: writing the result there would destroy it."
                raise InputError(message)
    for (option, path), (other, place) in combinations(named.items(), 2):
        if is_same(path, place) or _is_within(path, place) or _is_within(place, path):
            message = (
                f"{option} and {other} are the same file, {_shown(path)}: choose different names."
            )
            raise InputError(message)


def real_path(path: str | Path) -> Path:
    """Return the absolute path with links and ``~`` resolved.

    Raises
    ------
    InputError
        If the user after ``~`` is unknown, links form a loop, or the name is invalid.
    """
    try:
        found = Path(path).expanduser().resolve()
        # Only some versions of Python raise an error for links that form a loop.
        if found.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return found
    except (OSError, RuntimeError, ValueError) as error:
        # Before Python 3.13, links that form a loop raise a RuntimeError.
        loop = os.strerror(errno.ELOOP) if isinstance(error, RuntimeError) else None
        why = loop or getattr(error, "strerror", None) or reason(error)
        message = f"{path} is not a usable path ({why}): check its name and the links in it."
        raise InputError(message) from None


def is_same(first: Path, second: Path) -> bool:
    """Return whether two resolved paths are the same file, by name or as hard links."""
    if first == second:
        return True
    return first.exists() and second.exists() and first.samefile(second)


def is_zarr(path: Path) -> bool:
    """Return whether a folder is a zarr array or group."""
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray", ".zmetadata"))


def _is_within(path: Path, folder: Path) -> bool:
    return folder in path.parents


def _is_part(path: Path, source: Path) -> bool:
    """Return whether a path lies inside a zarr folder."""
    return _is_within(path, source) and is_zarr(source)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _lacks_name(error: OSError, temporary: Path) -> bool:
    """Return whether a write error lacks a path the user would recognise."""
    if error.filename is None:
        return error.errno in _NO_ROOM
    return str(error.filename).startswith(str(temporary))


def _replace_folder(new: Path, target: Path) -> None:
    if not target.exists():
        new.rename(target)
        return
    # A folder cannot be renamed onto another: the old one is moved aside and restored on failure.
    old = _beside(target)
    with hold_signals():
        try:
            target.rename(old)
            new.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _beside(target: Path) -> Path:
    # Some writers check the suffix, and a name has at most 255 bytes.
    stem = target.stem.encode(errors="surrogateescape")[:_LONGEST_STEM]
    name = f".{stem.decode(errors='ignore')}.{secrets.token_hex(4)}{target.suffix}"
    return target.with_name(name)


def _synchronise(path: Path) -> None:
    """Flush to disk; a full disk may be reported only now."""
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    for file in files:
        with file.open("rb+") as opened:
            os.fsync(opened.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        # Threads of a library may still be writing to it.
        for _ in range(_REMOVALS):
            shutil.rmtree(path, ignore_errors=True)
            if not path.exists():
                return
            time.sleep(_WAIT)
    else:
        path.unlink(missing_ok=True)
