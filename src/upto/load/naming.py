"""What the coordinates and the ids of a run are called in its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.load.request import Request, split_key
from upto.load.tables import table_layout

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Names in a table: one for each coordinate, or none, and that of the ids, if it has any."""

    features: tuple[str, ...] = ()
    ids: str | None = None


def names_in(path: str | Path, *, n_features: int) -> Naming:
    """Return what a table calls the coordinates and ids of its run; only its head is read.

    Parameters
    ----------
    path
        The file, or ``path::key``; one that is no table has no such names.
    n_features
        Number of coordinates of the run: a column of lists has one name for all, which is none.
    """
    file, key = split_key(path)
    request = Request(path=file, key=key)
    suffix = file.suffix.lower()
    if suffix in (".parquet", ".pq"):
        from upto.load.columnar import parquet_kinds

        layout = table_layout(request, parquet_kinds(file))
    elif suffix in (".csv", ".tsv"):
        from upto.load.text import text_kinds

        layout = table_layout(request, text_kinds(file))
    else:
        return Naming()
    features = layout.features if len(layout.features) == n_features else ()
    return Naming(features=features, ids=layout.ids)
