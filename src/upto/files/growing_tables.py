"""Growing folders of parquet files, and Lance tables."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from upto.files.growth import Gathered, Growing, written_whole
from upto.files.write_tables import storage_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from upto.files.plan import Plan, Put

VECTOR = "vector"
"""Name of the column of lists, which vector databases expect."""

_PART_BYTES = 2**29
_FRAGMENT_BYTES = 2**27
"""Bytes of a parquet file, and of a piece of a Lance table, which is gathered in memory."""


class _Table(Growing):
    """Rows as one column of lists, beside ids and columns."""

    def __init__(self, path: Path, plan: Plan) -> None:
        import pyarrow as pa

        super().__init__(path, plan)
        self._labels = plan.labels(plan.ids_name, taken=(VECTOR,))
        item = pa.field("item", pa.from_numpy_dtype(plan.dtype), nullable=self._nullable)
        kinds = [(name, pa.array(values[:1]).type) for name, values in self._labels.items()]
        lists = pa.field(VECTOR, pa.list_(item, plan.n_columns), nullable=self._nullable)
        self._schema = pa.schema([*kinds, lists])

    _nullable = False

    def _table(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> Any:
        import pyarrow as pa

        field = self._schema.field(VECTOR)
        values = pa.array(rows.reshape(-1))
        vectors = pa.FixedSizeListArray.from_arrays(values, type=field.type)
        labels = [pa.array(each[positions]) for each in self._labels.values()]
        return pa.Table.from_arrays([*labels, vectors], schema=self._schema)


class GrowingParts(_Table):
    """Parquet files side by side: each is whole, and settled, when the next one begins."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, plan)
        self._gathered = Gathered(self._store, plan.group_rows, plan.n_columns, plan.dtype)
        self._writer: Any = None
        self._room = 0

    def begin(self) -> None:
        """Make the folder."""
        self.path.mkdir()

    def restore(self) -> None:
        """Delete the file that was not whole."""
        for each in self.path.iterdir():
            if each.name not in self.pieces:
                each.unlink()
        self.n_rows = self.settled[0]

    def put(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        """Append rows."""
        self._gathered(rows, positions)

    def finish(self, _left_out: Sequence[int]) -> None:
        """Write the last file."""
        self._gathered.finish()
        self.close()

    def close(self) -> None:
        """Close the last file."""
        if self._writer is not None:
            writer, self._writer = self._writer, None
            writer.close()

    def _store(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        import pyarrow.parquet as pq

        name = f"part-{len(self.pieces):06}.parquet"
        if self._writer is None:
            storage = storage_of([*self._labels])
            self._writer = pq.ParquetWriter(self.path / name, self._schema, **storage)
            self._room = _PART_BYTES
        self._writer.write_table(self._table(rows, positions), row_group_size=len(rows))
        self.n_rows += len(rows)
        self._room -= rows.nbytes
        if self._room <= 0:
            self.close()
            self.pieces.append(name)
            self.settled = self.n_rows, int(positions[-1]) + 1


class GrowingLance(_Table):
    """Pieces of a Lance table, which become a table in the end."""

    # Lance stores whether values are missing anyway, and its clients expect that they can be.
    _nullable = True

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, plan)
        length = max(_FRAGMENT_BYTES // (plan.n_columns * plan.dtype.itemsize), 1)
        length = min(length, plan.shape[0])
        self._gathered = Gathered(self._store, length, plan.n_columns, plan.dtype)

    def begin(self) -> None:
        """Make the folder."""
        self.path.mkdir()

    def restore(self) -> None:
        """Delete pieces that were not whole, and a table that was not published."""
        known = {file["path"] for piece in self.pieces for file in piece["files"]}
        for each in self.path.iterdir():
            if each.name != "data":
                shutil.rmtree(each)
                continue
            for file in each.iterdir():
                if file.name not in known:
                    file.unlink()
        self.n_rows = self.settled[0]

    def put(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        """Append rows."""
        self._gathered(rows, positions)

    def finish(self, _left_out: Sequence[int]) -> None:
        """Make a table of the pieces."""
        import lance

        self._gathered.finish()
        pieces = [lance.FragmentMetadata.from_json(_text(piece)) for piece in self.pieces]
        lance.LanceDataset.commit(
            str(self.path), lance.LanceOperation.Overwrite(self._schema, pieces)
        )

    def close(self) -> None:
        """Do nothing: each piece is a file of its own."""

    def _store(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        from lance.fragment import write_fragments

        table = self._table(rows, positions)
        found = write_fragments(table, str(self.path), schema=self._schema, mode="create")
        self.pieces += [each.to_json() for each in found]
        self.n_rows += len(rows)
        self.settled = self.n_rows, int(positions[-1]) + 1


def write_parts(plan: Plan) -> AbstractContextManager[Put]:
    """Write a folder of parquet files."""
    return written_whole(GrowingParts(plan.path, plan))


def write_lance(plan: Plan) -> AbstractContextManager[Put]:
    """Write a Lance table."""
    return written_whole(GrowingLance(plan.path, plan))


def _text(piece: Any) -> str:
    import json

    return json.dumps(piece)
