"""Convert arrays and tensors of any library to NumPy, or to rows that are read block by block."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, Rows
from upto.core.errors import reason, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

TAKEN = (
    "an array, a tensor, a data frame, an AnnData or xarray object, a path or Embeddings, with one "
    "row per sample"
)
"""What can be a run, for messages."""


class LazyRows:
    """Rows of a lazy array (dask, xarray), computed block by block on access."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.shape = tuple(int(size) for size in source.shape)
        self.dtype = np.dtype(source.dtype)

    def __getitem__(self, key: slice) -> NDArray[Any]:
        return np.asarray(self.source[key])

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self[:], dtype=dtype, copy=copy)


def is_a(thing: Any, module: str, name: str) -> bool:
    """Return whether a thing is an instance of a class, without importing its module."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(thing, kind)


def type_of(thing: Any) -> str:
    """Return the type of a thing, with its article, for a message."""
    if thing is None:
        return "None"
    kind = type(thing)
    package = kind.__module__.partition(".")[0].lstrip("_")
    name = kind.__name__ if package in ("builtins", "__main__") else f"{package} {kind.__name__}"
    return f"{'an' if name[0] in 'aeioxAEIO' else 'a'} {shortened(name)}"


def as_array(given: Any, name: str, taken: str = TAKEN) -> Any:
    """Return an array of any kind as a NumPy array without a copy if possible, or as lazy rows.

    Shape and dtype are not checked.

    Parameters
    ----------
    given
        An array, a tensor, nested lists, or anything that NumPy can convert.
    name, taken
        Name of the run or argument, and what it could be, for messages.

    Raises
    ------
    InputError
        If it is sparse, masked, ragged or not an array.
    """
    if isinstance(given, np.ma.MaskedArray):
        return _unmasked(given, name)
    if isinstance(given, np.ndarray):
        return given if isinstance(given, np.memmap) else np.asarray(given)
    if is_a(given, "torch", "Tensor"):
        return _from_tensor(given, name)
    if is_a(given, "dask.array", "Array"):
        if any(map(np.isnan, given.shape)):
            message = (
                f"{name} is a dask array of unknown shape: call its `compute_chunk_sizes()` first."
            )
            raise InputError(message)
        return LazyRows(given)
    if is_a(given, "h5py", "Dataset") and not given:
        message = (
            f"{name} is an h5py Dataset whose file is closed: open it again, or pass its path."
        )
        raise InputError(message)
    if hasattr(given, "toarray") or is_a(given, "sparse", "SparseArray"):
        message = f"{name} is {type_of(given)}, which is sparse: pass it as a dense array."
        raise InputError(message)
    if hasattr(given, "__cuda_array_interface__") and hasattr(given, "get"):
        given = given.get()
    elif _is_source(given):
        return given
    return _small_floats(_converted(given, name, taken))


def _is_source(given: Any) -> bool:
    """Return whether slices are blocks, as of an HDF5 dataset, a zarr array or a file's reader."""
    if hasattr(given, "__array_namespace__") or not isinstance(given, Rows):
        return False
    return isinstance(given.dtype, np.dtype)


def _converted(given: Any, name: str, taken: str) -> NDArray[Any]:
    try:
        if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
            return np.from_dlpack(given)
        found = np.asarray(given)
    except Exception as error:  # noqa: BLE001 - any library may fail to convert its own objects
        if isinstance(given, list | tuple):
            message = f"{name} is not an array: its rows differ in length or kind."
        else:
            message = (
                f"{name} is {type_of(given)} that NumPy cannot convert ({reason(error)}): pass "
                f"{taken}."
            )
        raise InputError(message) from None
    if found.ndim == 0:
        message = f"{name} is {type_of(given)}: pass {taken}."
        raise InputError(message)
    return found


def _unmasked(given: Any, name: str) -> NDArray[Any]:
    count = int(np.ma.getmaskarray(given).sum())
    if count:
        message = f"{name} has {count} masked values: remove or fill them first."
        raise InputError(message)
    return np.asarray(np.ma.getdata(given))


def _small_floats(array: NDArray[Any]) -> NDArray[Any]:
    """Return bfloat16 and float8, which NumPy does not know, as float32."""
    is_small = array.dtype.name.startswith(("bfloat16", "float8_", "float6_", "float4_"))
    return array.astype(np.float32) if is_small else array


def _from_tensor(tensor: Any, name: str) -> NDArray[Any]:
    problems = {
        "is_nested": "is nested, its rows differ in length: pad or pool them first",
        "is_meta": "is on the meta device and holds no values: compute it first",
        "is_sparse": "is sparse: pass its `to_dense()`",
        "is_quantized": "is quantised: pass its `dequantize()`",
    }
    for flag, problem in problems.items():
        if getattr(tensor, flag, False):
            message = f"{name} is a torch tensor that {problem}."
            raise InputError(message)
    if "strided" not in str(tensor.layout):
        message = f"{name} is a torch tensor that {problems['is_sparse']}."
        raise InputError(message)
    try:
        plain = tensor.detach().cpu().resolve_conj().resolve_neg()
        if plain.is_floating_point() and plain.element_size() < 4 and _dtype(plain) != "float16":
            # NumPy has no bfloat16 and no float8.
            plain = plain.float()
        array: NDArray[Any] = plain.numpy()
    except (RuntimeError, TypeError) as error:
        message = f"{name} is a torch tensor that has no values in memory ({reason(error)})."
        raise InputError(message) from None
    return array


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
