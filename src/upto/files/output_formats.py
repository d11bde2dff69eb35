"""Registry of the formats that are written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from upto.core.files import is_zarr
from upto.files.folders import PARQUET, is_folder_of_parts, is_lance

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFormat:
    """One output format.

    Parameters
    ----------
    suffixes
        File suffixes, in lower case.
    module, write
        Module of this package and its function that writes the format.
    grows
        Its class that writes what can be continued after an interrupt, as ``module:class``.
    is_folder
        Whether it is a folder.
    keeps
        What it has room for besides the coordinates.
    """

    suffixes: tuple[str, ...]
    module: str
    write: str
    grows: str | None = None
    is_folder: bool = False
    keeps: Literal["ids and columns", "ids", "nothing"] = "ids and columns"


OUTPUT_FORMATS = (
    OutputFormat(
        suffixes=(".npy",),
        module="write_arrays",
        write="write_npy",
        grows="growable_arrays:GrowingNpy",
        keeps="nothing",
    ),
    OutputFormat(suffixes=(".npz",), module="write_arrays", write="write_npz"),
    OutputFormat(suffixes=(".csv", ".tsv"), module="write_tables", write="write_text"),
    OutputFormat(suffixes=(".parquet", ".pq"), module="write_tables", write="write_parquet"),
    OutputFormat(suffixes=(".h5ad",), module="write_annotated", write="write_h5ad"),
    OutputFormat(suffixes=(".h5", ".hdf5"), module="write_hierarchies", write="write_hdf5"),
    OutputFormat(
        suffixes=(".zarr",),
        module="write_hierarchies",
        write="write_zarr",
        grows="growable_arrays:GrowingZarr",
        is_folder=True,
    ),
    OutputFormat(
        suffixes=(".safetensors",),
        module="write_arrays",
        write="write_safetensors",
        keeps="nothing",
    ),
    OutputFormat(
        suffixes=(".lance",),
        module="growable_tables",
        write="write_lance",
        grows="growable_tables:GrowingLance",
        is_folder=True,
    ),
    OutputFormat(suffixes=(".faiss",), module="faiss_file", write="write_faiss", keeps="ids"),
)
PARTS = OutputFormat(
    suffixes=(".parquet/",),
    module="growable_tables",
    write="write_parts",
    grows="growable_tables:GrowingParts",
    is_folder=True,
)
"""A folder of parquet files."""

IS_FOLDER: dict[str, Callable[[Path], bool]] = {
    ".zarr": is_zarr,
    ".lance": is_lance,
    **dict.fromkeys(PARQUET, is_folder_of_parts),
}
"""Whether a folder is what is written under a suffix."""


def is_parts(path: str | Path) -> bool:
    """Return whether a parquet output is a folder of files: its name ends in ``/``, or it is one.

    Examples
    --------
    >>> is_parts("carried.parquet/"), is_parts("carried.parquet")
    (True, False)
    """
    target = Path(path).expanduser()
    if target.suffix.lower() not in PARQUET:
        return False
    return str(path).endswith(("/", os.sep)) or is_folder_of_parts(target)


def is_folder(path: str | Path) -> bool:
    """Return whether rows that are written to a path make a folder."""
    suffix = Path(path).suffix.lower()
    return is_parts(path) or any(
        suffix in each.suffixes and each.is_folder for each in OUTPUT_FORMATS
    )
