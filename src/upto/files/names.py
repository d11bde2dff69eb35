"""Names of the coordinates and ids of a run in its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from upto.files.damage import damage_reported
from upto.files.hierarchies import ArrayRows
from upto.files.request import Request, split_key
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
    features = layout.features if len(layout.features) == n_features else ()
    if all(name.isdecimal() for name in features):
        # The numbers of a table without a header are positions, not names.
        features = ()
    return Naming(features=features, ids=layout.ids)


def variables_of(rows: Any) -> tuple[str, ...]:
    """Return the names of variables if the rows are `X` or a layer of an h5ad file."""
    if not isinstance(rows, ArrayRows) or rows.path.suffix.lower() != ".h5ad":
        return ()
    if rows.key != "X" and not rows.key.startswith("layers/"):
        return ()
    import h5py

    from upto.files.annotated import decoded
    from upto.files.attributes import text_attribute

    with damage_reported(rows.path), h5py.File(rows.path, "r") as root:
        table = root.get("var")
        if table is None or hasattr(table, "shape"):
            return ()
        index = text_attribute(rows.path, table, "_index", "_index")
        if index not in table:
            return ()
        names = tuple(str(name) for name in decoded(table[index], rows.path, f"var/{index}"))
    # AnnData numbers variables that have no names.
    named = len(set(names)) == rows.shape[1] == len(names)
    return names if named and not all(name.isdecimal() for name in names) else ()
