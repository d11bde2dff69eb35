"""Read a written output as the run that it was meant to be."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings
from upto.files.formats import read_labels, read_run
from upto.files.growable_tables import VECTOR

if TYPE_CHECKING:
    from pathlib import Path

    from upto.files.plan import Plan

_MOST_TEXT = 2**26
"""Most bytes of a text table that is read back: it is read as a whole."""


def read_back(plan: Plan, path: Path) -> Embeddings | None:
    """Return the rows of an output and their ids, if the format has them; None if it is large text.

    Parameters
    ----------
    plan
        What was written.
    path
        Where it is now.
    """
    suffix = path.suffix.lower()
    ids_name = None if plan.like.ids is None else plan.ids_name
    if suffix in (".npy", ".safetensors", ".faiss"):
        return read_run(path)
    if suffix == ".h5ad":
        return read_run(path, key=f"obsm/X_{plan.prefix}")
    if suffix in (".npz", ".h5", ".hdf5", ".zarr"):
        return read_run(path, key=plan.prefix)
    if suffix in (".csv", ".tsv"):
        return _text(plan, path) if path.stat().st_size <= _MOST_TEXT else None
    ids = None if ids_name is None else read_labels(path, ids_name)[1]
    return Embeddings(rows=_columns(plan, path), ids=ids)


def _columns(plan: Plan, path: Path) -> Any:
    """Return the rows of a table, whatever the names of its columns."""
    if path.suffix.lower() == ".lance":
        from upto.files.lance_tables import LanceRows

        return LanceRows(path, (VECTOR,))
    if path.is_dir():
        from upto.files.part_files import rows_of_parts

        return rows_of_parts(path, (VECTOR,))
    from upto.files.columnar import ParquetRows

    return ParquetRows(path, tuple(plan.names))


def _text(plan: Plan, path: Path) -> Embeddings:
    # Cells of rows that were kept as NaN are missing ones to the reader of tables.
    with path.open(encoding="utf-8", newline="") as file:
        _, *lines = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    ids = None if plan.like.ids is None else np.array([cells[0] for cells in lines])
    numbers = [cells[-plan.n_columns :] for cells in lines]
    return Embeddings(rows=np.array(numbers, dtype=plan.dtype), ids=ids)
