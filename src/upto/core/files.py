"""Files and folders that are written whole or not at all: the one way in which upto writes."""

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
from upto.core.read import special_kind
from upto.signals import clean_up, hold_signals

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_LONGEST_STEM = 100
_REMOVALS, _WAIT = 10, 0.05
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def replacing(path: str | Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a name beside `path` to write a file or a folder at; it becomes `path` at the end.

    An exception or a signal leaves whatever was at `path` as it was, and nothing beside it. Links
    are written through: what they lead to is replaced, and they stay.

    Parameters
    ----------
    path
        Where the file or folder shall be; the folder it is in must exist.
    folder
        Whether it is a folder.

    Raises
    ------
    InputError
        If nothing may be written there, as `check_target` says.
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
    """Open a file that takes its name only once everything is on the disk.

    Parameters
    ----------
    path
        Where the file shall be; its folder must exist.
    binary
        Whether to write bytes and not UTF-8 text.
    """
    mode, encoding, newline = ("xb", None, None) if binary else ("x", "utf-8", "\n")
    with (
        replacing(path) as temporary,
        temporary.open(mode, encoding=encoding, newline=newline) as file,
    ):
        yield file


def write_text_atomically(path: str | Path, text: str) -> None:
    """Write a text file that is never seen half written."""
    with write_atomically(path) as file:
        file.write(text)


def check_target(path: str | Path, *, folder: bool = False) -> Path:
    """Refuse a place where no file or folder can or may be written; return what links lead to.

    Parameters
    ----------
    path
        Where the file or folder shall be.
    folder
        Whether it is a folder.

    Raises
    ------
    InputError
        If the folder it is in does not exist or cannot be written to, or if something is there that
        must not be replaced: a device, a pipe, a socket, a folder in place of a file or a file in
        place of a folder, or a write-protected file.
    """
    target = real_path(path)
    parent = target.parent
    if not parent.is_dir():
        is_there = "is not a folder" if parent.exists() else "does not exist: make it first"
        message = f"{path} cannot be written: the folder {parent} {is_there}."
        raise InputError(message)
    if not os.access(parent, os.W_OK | os.X_OK):
        message = f"{path} cannot be written: you have no right to write to the folder {parent}."
        raise InputError(message)
    if not target.exists():
        return target
    if (kind := special_kind(target.stat())) is not None:
        message = f"{path} is {kind}, which is never replaced: choose the name of a file."
    elif target.is_dir() and not folder:
        message = f"{path} is a folder, which would be lost: choose the name of a file."
    elif folder and not target.is_dir():
        message = f"{path} is a file and not a folder: remove it or choose another name."
    elif not os.access(target, os.W_OK):
        message = f"{path} is write-protected: change that or choose another name."
    else:
        return target
    raise InputError(message)


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Iterable[str | Path]) -> None:
    """Refuse outputs that are inputs, or each other, before any work is done.

    Links and hard links are seen through. A folder that is written replaces what is in it, and what
    is written into a zarr folder changes it.

    Parameters
    ----------
    outputs
        Files and folders that will be written, by the option that names each; None is left out.
    inputs
        Files and folders that are read.

    Raises
    ------
    InputError
        If one of them would be lost.
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
                f"{option} and {other} are one file, {_shown(path)}: give each a name of its own."
            )
            raise InputError(message)


def real_path(path: str | Path) -> Path:
    """Return the absolute path that links and ``~`` lead to, or say why there is none.

    Raises
    ------
    InputError
        If the user after ``~`` is unknown, links lead in a circle, or the name cannot be one.
    """
    try:
        found = Path(path).expanduser().resolve()
        # Where links lead in a circle, only some versions of Python raise anything.
        if found.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return found
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or reason(error)
        message = f"{path} is not a usable path ({why}): check its name and where links lead."
        raise InputError(message) from None


def is_same(first: Path, second: Path) -> bool:
    """Tell whether two resolved paths are one file, by name or as hard links."""
    if first == second:
        return True
    return first.exists() and second.exists() and first.samefile(second)


def is_zarr(path: Path) -> bool:
    """Tell whether a folder is a zarr array or group."""
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray", ".zmetadata"))


def _is_within(path: Path, folder: Path) -> bool:
    return folder in path.parents


def _is_part(path: Path, source: Path) -> bool:
    """Tell whether a path is a part of an array that is a folder; other folders just contain it."""
    return _is_within(path, source) and is_zarr(source)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _lacks_name(error: OSError, temporary: Path) -> bool:
    """Tell whether an error of writing says nothing a user knows about where it happened."""
    if error.filename is None:
        return error.errno in _NO_ROOM
    return str(error.filename).startswith(str(temporary))


def _replace_folder(new: Path, target: Path) -> None:
    if not target.exists():
        new.rename(target)
        return
    # A folder cannot be renamed onto another: the old one steps aside and comes back on failure.
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
    # Some writers look at the suffix, and a name has at most 255 bytes.
    stem = target.stem.encode(errors="surrogateescape")[:_LONGEST_STEM]
    name = f".{stem.decode(errors='ignore')}.{secrets.token_hex(4)}{target.suffix}"
    return target.with_name(name)


def _synchronise(path: Path) -> None:
    """Wait for the disk, which may tell only now that it is full."""
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    for file in files:
        with file.open("rb+") as opened:
            os.fsync(opened.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        # A library's own threads may still write to it.
        for _ in range(_REMOVALS):
            shutil.rmtree(path, ignore_errors=True)
            if not path.exists():
                return
            time.sleep(_WAIT)
    else:
        path.unlink(missing_ok=True)
