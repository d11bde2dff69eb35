"""Folders that are one run: zarr, Lance tables, and parquet files side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PARQUET = (".parquet", ".pq")


def is_lance(path: Path) -> bool:
    """Return whether a folder is a Lance table."""
    return path.suffix.lower() == ".lance" and (path / "_versions").is_dir()


def is_folder_of_parts(path: Path) -> bool:
    """Return whether a folder named as a parquet file holds such files, and no others."""
    return path.suffix.lower() in PARQUET and path.is_dir() and bool(part_paths(path))


def part_paths(folder: Path) -> list[Path]:
    """Return the parquet files of a folder in the order of their names; none if it has others.

    As elsewhere, names that begin with a dot or an underscore, such as ``_SUCCESS``, do not count.
    """
    found = [each for each in folder.iterdir() if not each.name.startswith((".", "_"))]
    if any(each.suffix.lower() not in PARQUET or each.is_dir() for each in found):
        return []
    return sorted(found)
