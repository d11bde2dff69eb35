"""Files and folders that take the place of older ones only once they are whole."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a name beside `path` to write a file or a folder at; it becomes `path` at the end.

    An exception leaves whatever was at `path` as it was, and nothing beside it.
    """
    # Behind a link, the file is replaced and the link stays.
    target = path.resolve()
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
    except BaseException:
        _remove(temporary)
        raise


def _replace_folder(new: Path, target: Path) -> None:
    if not target.exists():
        new.rename(target)
        return
    # A folder cannot be renamed onto another: the old one steps aside and comes back on failure.
    old = _beside(target)
    try:
        target.rename(old)
        new.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    try:
        shutil.rmtree(old, ignore_errors=True)
    finally:
        # Even if the first attempt was interrupted.
        shutil.rmtree(old, ignore_errors=True)


def _beside(target: Path) -> Path:
    # Some writers look at the suffix.
    return target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")


def _synchronise(path: Path) -> None:
    """Wait for the disk, which may tell only now that it is full."""
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    for file in files:
        with file.open("rb+") as opened:
            os.fsync(opened.fileno())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
