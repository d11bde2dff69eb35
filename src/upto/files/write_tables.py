"""Write new coordinates as text and parquet tables."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.files.plan import Grouped
from upto.files.tables import METADATA_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from upto.files.plan import Plan, Put

_LINES = 2000


@contextmanager
def write_text(plan: Plan) -> Iterator[Put]:
    """Write a text table: the ids, the columns, one column per coordinate."""
    labels = plan.labels(plan.ids_name, taken=plan.features)
    delimiter = "\t" if plan.path.suffix.lower() == ".tsv" else ","
    with plan.path.open("x", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        table.writerow([*map(_heading, labels), *plan.names])
        written = 0

        def put(block: NDArray[Any]) -> None:
            nonlocal written
            for start in range(0, len(block), _LINES):
                part = block[start : start + _LINES]
                cells = [
                    values[written : written + len(part)].tolist() for values in labels.values()
                ]
                written += len(part)
                table.writerows(zip(*cells, *_cells(part), strict=True))

        yield put


@contextmanager
def write_parquet(plan: Plan) -> Iterator[Put]:
    """Write a parquet table, one row group at a time, with ids and columns as columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = plan.labels(plan.ids_name, taken=plan.features)
    columns = {name: pa.array(values) for name, values in labels.items()}
    kind = pa.from_numpy_dtype(plan.dtype)
    schema = pa.schema(
        [(name, values.type) for name, values in columns.items()]
        + [(name, kind) for name in plan.names]
    )
    with (
        plan.path.open("xb") as file,
        pq.ParquetWriter(file, schema, **storage_of([*columns])) as writer,
    ):
        written = 0

        def put(group: NDArray[Any]) -> None:
            nonlocal written
            kept = [values.slice(written, len(group)) for values in columns.values()]
            written += len(group)
            # Columns that lie in memory one after the other are not copied again, one by one.
            parts = map(pa.array, np.ascontiguousarray(group.T))
            writer.write_table(pa.table([*kept, *parts], schema=schema))

        grouped = Grouped(put, plan)
        yield grouped
        grouped.finish()


def storage_of(labels: list[str]) -> dict[str, Any]:
    """Return the options of a parquet writer, given the names of ids and columns.

    Only these are compressed: coordinates hardly get smaller, and take several times as long.
    """
    return {
        "use_dictionary": labels,
        "compression": dict.fromkeys(labels, "snappy") if labels else "none",
        "write_statistics": labels,
    }


def _cells(block: NDArray[Any]) -> Iterator[list[str]]:
    """Format each column with enough digits to restore its numbers exactly."""
    for column in block.T:
        if block.dtype == np.float32:
            yield [f"{value:.9g}" for value in column.tolist()]
        else:
            yield [repr(value) for value in column.tolist()]


def _heading(name: str) -> str:
    """Prefix names that are numbers, so that the header is not mistaken for values."""
    try:
        float(name or "0")
    except ValueError:
        return name
    return f"{METADATA_PREFIX}{name}"
