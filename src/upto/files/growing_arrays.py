"""Growing npy files and zarr folders."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.files.damage import damaged
from upto.files.growth import Gathered, Growing
from upto.files.write_arrays import write_header
from upto.files.write_hierarchies import write_zarr_vectors
from upto.signals import hold_signals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.files.plan import Plan


class GrowingNpy(Growing):
    """One array, whose header is written again if it has fewer rows than were expected."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, plan)
        self._file: IO[bytes] | None = None

    def begin(self) -> None:
        """Write the header."""
        # Without a buffer: what was written is the system's, whatever happens to this process.
        self._file = self.path.open("xb", buffering=0)
        write_header(self._file, self.plan.shape, self.plan.dtype)

    def restore(self) -> None:
        """Cut the file after the settled rows."""
        self._file = self.path.open("rb+", buffering=0)
        # The header leaves room for any number of rows.
        write_header(self._file, self.plan.shape, self.plan.dtype)
        n_bytes = self.settled[0] * self.plan.n_columns * self.plan.dtype.itemsize
        end = self._file.tell() + n_bytes
        if self.path.stat().st_size < end:
            raise InputError(damaged(self.path, "it has fewer rows than were written"))
        self._file.truncate(end)
        self._file.seek(end)
        self.n_rows = self.settled[0]

    def put(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        """Append rows."""
        if self._file is not None and len(rows):
            left = rows.reshape(-1).view(np.uint8).data
            while left:
                left = left[self._file.write(left) :]
            self.n_rows += len(rows)
            self.settled = self.n_rows, int(positions[-1]) + 1

    def finish(self, _left_out: Sequence[int]) -> None:
        """Write the number of rows."""
        if self._file is not None:
            self._file.seek(0)
            write_header(self._file, (self.n_rows, self.plan.n_columns), self.plan.dtype)
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class GrowingZarr(Growing):
    """A group with one array for the rows, written chunk by chunk, and one per vector."""

    def __init__(self, path: Path, plan: Plan) -> None:
        super().__init__(path, plan)
        self._array: Any = None
        # A chunk is written once and as a whole.
        self._gathered = Gathered(self._store, plan.group_rows, plan.n_columns, plan.dtype)

    def begin(self) -> None:
        """Create the array."""
        import zarr

        plan = self.plan
        with hold_signals():
            self._array = zarr.open_group(self.path, mode="w-").create_array(
                plan.prefix,
                shape=plan.shape,
                dtype=plan.dtype,
                chunks=(plan.group_rows, plan.n_columns),
            )

    def restore(self) -> None:
        """Open the array; chunks that are not settled are written again."""
        import zarr

        with hold_signals():
            self._array = zarr.open_group(self.path, mode="r+")[self.plan.prefix]
            self._array.resize(self.plan.shape)
        self.n_rows = self.settled[0]

    def put(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        """Append rows."""
        self._gathered(rows, positions)

    def finish(self, left_out: Sequence[int]) -> None:
        """Write the last chunk and the vectors."""
        import zarr

        self._gathered.finish()
        labels = self.plan.labels(taken=(self.plan.prefix,))
        with hold_signals():
            if self.n_rows < self.plan.shape[0]:
                self._array.resize((self.n_rows, self.plan.n_columns))
            kept = {name: np.delete(values, left_out) for name, values in labels.items()}
            write_zarr_vectors(zarr.open_group(self.path, mode="r+"), kept)

    def close(self) -> None:
        """Do nothing: each chunk is a file of its own."""

    def _store(self, rows: NDArray[Any], positions: NDArray[np.intp]) -> None:
        # Signals are held, or zarr's threads would keep writing to an abandoned file.
        with hold_signals():
            self._array[self.n_rows : self.n_rows + len(rows)] = rows
        self.n_rows += len(rows)
        if len(rows) == self.plan.group_rows:
            self.settled = self.n_rows, int(positions[-1]) + 1
