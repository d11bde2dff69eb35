"""Names of the coordinates and ids of a run in its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.files.request import Request, names_of_coordinates, split_key
from upto.files.tables import table_layout

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Names of the coordinates in a table, or none, and of the ids, if any."""

    features: tuple[str, ...] = ()
    ids: str | None = None


def names_in(path: str | Path, *, n_features: int) -> Naming:
    """Return the names of coordinates and ids in a table, reading only its beginning.

    Parameters
    ----------
    path
        The file, or ``path::key``; files that are not tables have no names.
    n_features
        Number of coordinates of the run; a column of lists does not name them.
    """
    file, key = split_key(path)
    request = Request(path=file, key=key)
    suffix = file.suffix.lower()
    if suffix in (".parquet", ".pq"):
        from upto.files.columnar import parquet_kinds

        layout = table_layout(request, parquet_kinds(file))
    elif suffix in (".csv", ".tsv"):
        from upto.files.delimited import text_kinds

        layout = table_layout(request, text_kinds(file))
    else:
        return Naming()
    return Naming(features=names_of_coordinates(layout.features, n_features), ids=layout.ids)
