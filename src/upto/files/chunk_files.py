"""Find the chunk files of a zarr array, and refuse special files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from upto.core.read_file import check_readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PART = re.compile(r"c|(c\.)?[0-9]+(\.[0-9]+)*")


def chunk_files(folder: Path, counts: Sequence[int]) -> Iterator[Path]:
    """Yield the files whose names are those of chunks, following linked folders.

    Parameters
    ----------
    folder
        Folder of the array.
    counts
        Number of chunks along each axis.
    """
    for path in _files(folder):
        numbers = re.split(r"[./]", path.relative_to(folder).as_posix().removeprefix("c"))
        places = [int(number) for number in numbers if number]
        if len(counts) == 0 or (
            len(places) == len(counts)
            and all(place < count for place, count in zip(places, counts, strict=True))
        ):
            yield path


def _files(folder: Path) -> Iterator[Path]:
    """Yield files that may be chunks; circular links are followed once."""
    pending, seen = [folder], set()
    while pending:
        parent = pending.pop()
        status = parent.stat()
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(parent) as entries:
            for entry in entries:
                if _PART.fullmatch(entry.name) is None:
                    continue
                if entry.is_dir():
                    pending.append(Path(entry.path))
                elif entry.is_file():
                    yield Path(entry.path)


def check_files_below(folder: Path) -> None:
    """Refuse a folder that contains pipes, sockets or devices, on which libraries would block."""
    pending, seen = [(folder, False)], set()
    while pending:
        parent, is_linked = pending.pop()
        with os.scandir(parent) as entries:
            for entry in entries:
                # A link may lead anywhere: behind it, only chunks are checked.
                if is_linked and _PART.fullmatch(entry.name) is None:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    pending.append((Path(entry.path), is_linked))
                elif not entry.is_file(follow_symlinks=False):
                    path = Path(entry.path)
                    check_readable(path)
                    if path.is_dir() and (real := path.resolve()) not in seen:
                        seen.add(real)
                        pending.append((path, True))
