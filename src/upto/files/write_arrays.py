"""Write new coordinates as NumPy and safetensors files."""

from __future__ import annotations

import zipfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from numpy.lib import format as npy_format

from upto.core.tensors import tensors_header

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from upto.files.plan import Plan, Put


@contextmanager
def write_npy(plan: Plan) -> Iterator[Put]:
    """Write one array, without ids and columns."""
    # Not a memory map: a disk that fills up while a mapped page is written ends the process.
    with plan.path.open("xb") as file:
        write_header(file, plan.shape, plan.dtype)
        yield lambda block: file.write(block.data)


@contextmanager
def write_npz(plan: Plan) -> Iterator[Put]:
    """Write an uncompressed archive of array, ids and columns, which can be read by block."""
    with plan.path.open("xb") as file, zipfile.ZipFile(file, "w") as archive:
        for name, values in plan.labels(taken=(plan.prefix,)).items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy_format.write_array(member, values, allow_pickle=False)
        with archive.open(f"{plan.prefix}.npy", "w", force_zip64=True) as member:
            write_header(member, plan.shape, plan.dtype)
            yield lambda block: member.write(block.data)


@contextmanager
def write_safetensors(plan: Plan) -> Iterator[Put]:
    """Write one tensor, without ids and columns, because the format has no text."""
    with plan.path.open("xb") as file:
        file.write(tensors_header({plan.prefix: (plan.dtype, plan.shape)}, {}))
        little = plan.dtype.newbyteorder("<")
        yield lambda block: file.write(block.astype(little, copy=False).data)


def write_header(file: IO[bytes], shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """Write the header of an npy file, which leaves room for a longer shape."""
    header = {
        "descr": npy_format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    npy_format.write_array_header_1_0(file, header)
