"""Check, before anything is read, that the packages of all formats are installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from upto.core.extras import check_extra
from upto.files.request import split_key

if TYPE_CHECKING:
    from collections.abc import Iterable

EXTRA_OF = {
    ".parquet": "tables",
    ".pq": "tables",
    ".h5ad": "anndata",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
    ".lance": "lance",
}
"""The extra that a suffix needs; formats without an entry need none."""


def check_package(path: Path, verb: str = "reading") -> None:
    """Check that the package of a file's format is installed.

    Parameters
    ----------
    path
        The file or zarr folder.
    verb
        What is done with it.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    if (extra := EXTRA_OF.get(path.suffix.lower())) is not None:
        check_extra(extra, f"{verb} {path.name}")


def check_packages(given: Iterable[object]) -> None:
    """Check the packages of all files among what a function was given."""
    for each in given:
        if isinstance(each, str | Path):
            check_package(split_key(each)[0])
