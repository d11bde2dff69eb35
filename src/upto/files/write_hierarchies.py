"""Write new coordinates as HDF5 files and zarr folders, with ids and columns as vectors."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from upto.files.plan import Grouped
from upto.files.safe_hdf5 import open_hdf5
from upto.signals import hold_signals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from upto.files.plan import Plan, Put
    from upto.files.safe_hdf5 import Careful


@contextmanager
def write_hdf5(plan: Plan) -> Iterator[Put]:
    """Write an HDF5 file with one dataset for the rows and one per vector."""
    with open_hdf5(plan.path, new=True) as (file, careful):
        with careful():
            for name, values in plan.labels(taken=(plan.prefix,)).items():
                create_vector(file, name, values)
            array = file.create_dataset(plan.prefix, plan.shape, plan.dtype)
        yield filler(array, careful)


@contextmanager
def write_zarr(plan: Plan) -> Iterator[Put]:
    """Write a zarr group with one array for the rows and one per vector."""
    import zarr

    with hold_signals():
        group = zarr.open_group(plan.path, mode="w-")
        write_zarr_vectors(group, plan.labels(taken=(plan.prefix,)))
        chunks = (plan.group_rows, plan.n_columns)
        array = group.create_array(plan.prefix, shape=plan.shape, dtype=plan.dtype, chunks=chunks)
    # A chunk is written at once: filling it in parts would read and compress it again each time.
    # Signals are held, or zarr's threads would keep writing to an abandoned file.
    grouped = Grouped(filler(array, hold_signals), plan)
    yield grouped
    grouped.finish()


def filler(array: Any, careful: Careful = nullcontext) -> Put:
    """Return a function that writes consecutive blocks into an array.

    Parameters
    ----------
    array
        Array in the file.
    careful
        Function that returns the context in which to write.
    """
    written = 0

    def put(block: NDArray[Any]) -> None:
        nonlocal written
        with careful():
            array[written : written + len(block)] = block
        written += len(block)

    return put


def write_zarr_vectors(group: Any, vectors: Mapping[str, NDArray[Any]]) -> None:
    """Write numbers or text as arrays of a zarr group."""
    for name, values in vectors.items():
        if values.dtype.kind == "U":
            made = group.create_array(name, shape=values.shape, dtype=str, overwrite=True)
            made[:] = values.astype(object)
        else:
            group.create_array(name, data=values, overwrite=True)


def create_vector(group: Any, name: str, values: NDArray[Any]) -> Any:
    """Create an HDF5 dataset of numbers or of variable-length text."""
    import h5py

    if values.dtype.kind != "U":
        return group.create_dataset(name, data=values)
    return group.create_dataset(name, data=values.astype(object), dtype=h5py.string_dtype())
