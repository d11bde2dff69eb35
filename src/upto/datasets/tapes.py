"""Read the files of a tar archive in sequence, without unpacking it to disk."""

from __future__ import annotations

import tarfile
from functools import partial
from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.core.errors import shortened
from upto.core.read_file import check_readable
from upto.datasets.storage import REMEDY, damaged
from upto.files.damage import damage_reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_LARGEST = 2**28  # bytes of a file; sparse ones may declare any number and store none


def members_of(path: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield the name of each file of an archive, and a function that reads it.

    Raises
    ------
    InputError
        If the archive is damaged, or one of its files is implausibly large.
    """
    check_readable(path)
    archive: Any = None
    try:
        with damage_reported(path, remedy=REMEDY):
            archive = tarfile.open(path)  # noqa: SIM115 - it stays open while its files are read
        while True:
            with damage_reported(path, remedy=REMEDY):
                member = archive.next()
            if member is None:
                return
            if member.isfile():
                yield member.name, partial(_content, path, archive, member)
    finally:
        if archive is not None:
            archive.close()


def _content(path: Path, archive: Any, member: tarfile.TarInfo) -> bytes:
    if member.size > _LARGEST:
        why = f"{shortened(member.name)} has {member.size} bytes"
        raise InputError(damaged(path, why))
    with damage_reported(path, remedy=REMEDY):
        file = archive.extractfile(member)
        content: bytes = file.read()
    return content
