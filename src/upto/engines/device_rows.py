"""Rows on a torch device: resident, or streamed block by block through pinned memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import MissingExtraError
from upto.engines.blocks import common_length, slices_of

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from numpy.typing import NDArray

    Arrays = Generator[list[Any], None, None]
    Blocks = Generator[tuple[slice, list[Any]], None, None]


@dataclass(frozen=True, slots=True, eq=False)
class DeviceRows:
    """Rows on a device in their original type; slices are host arrays."""

    tensor: Any
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of coordinates."""
        n_samples, width = self.tensor.shape
        return int(n_samples), int(width)

    def __getitem__(self, key: slice) -> NDArray[Any]:
        wanted = range(self.shape[0])[key]
        if wanted.step != 1:
            return self.gather(np.array(wanted, dtype=np.intp))
        return host_array(self.tensor[wanted.start : wanted.stop]).astype(self.dtype)

    def gather(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return the rows at some positions."""
        return host_array(self.pick(index).tensor).astype(self.dtype, copy=False)

    def pick(self, index: NDArray[np.intp]) -> DeviceRows:
        """Return the rows at some positions, on the device."""
        positions = load_torch().from_numpy(np.ascontiguousarray(index)).to(self.tensor.device)
        return DeviceRows(self.tensor[positions], self.dtype)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self[:], dtype=dtype)

    def __repr__(self) -> str:
        n_samples, width = self.shape
        return f"DeviceRows({self.tensor.device}: {n_samples} × {width} {self.dtype})"


def has_room(rows: Any, width: int, dtype: str) -> bool:
    """Return whether rows are on a GPU where their images take at most half of the free memory."""
    if not isinstance(rows, DeviceRows) or rows.tensor.device.type != "cuda":
        return False
    free, _ = load_torch().cuda.mem_get_info(rows.tensor.device)
    return bool(2 * rows.shape[0] * width * np.dtype(dtype).itemsize <= free)


def room_for(rows: Any, shape: tuple[int, int], dtype: str) -> DeviceRows | None:
    """Return room for the images of rows that are on a device, there; None for other rows."""
    if not isinstance(rows, DeviceRows):
        return None
    torch, device = load_torch(), rows.tensor.device
    try:
        return DeviceRows(
            torch.empty(shape, dtype=tensor_type(dtype), device=device), np.dtype(dtype)
        )
    except torch.cuda.OutOfMemoryError:
        return None


def host_array(array: Any) -> NDArray[Any]:
    """Convert an array of any library to NumPy, copying from a device if needed."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def load_torch() -> Any:
    """Import torch, or raise an error with the way to install it."""
    try:
        import torch
    except ImportError:
        what = "the torch engine"
        raise MissingExtraError(what, package="torch", extra="torch") from None
    return torch


class _Namespace:
    """The array namespace of torch, whose new arrays are on one device.

    A device context would do the same, but makes every function of torch several times slower.
    """

    def __init__(self, device: Any) -> None:
        import array_api_compat.torch as xp

        self._xp, self._device = xp, device

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._xp, name)
        if name in _CREATING:
            found = partial(found, device=self._device)
        # Next time it is found without a call.
        setattr(self, name, found)
        return found


_CREATING = ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")


@cache
def namespace_on(device: Any) -> Any:
    """Return the array namespace of torch for a device."""
    return _Namespace(device)


def is_resident(rows: Any, device: Any) -> bool:
    """Return whether rows are on this device."""
    return isinstance(rows, DeviceRows) and bool(rows.tensor.device == device)


def upload(device: Any, rows: Any, length: int) -> DeviceRows:
    """Copy rows to the device in their own type."""
    dtype = np.dtype(rows.dtype)
    tensor = load_torch().empty(tuple(rows.shape), dtype=tensor_type(dtype), device=device)
    with closing(_blocks(device, [rows], length)) as blocks:
        for block, (part,) in blocks:
            tensor[block].copy_(part)
    return DeviceRows(tensor, dtype.newbyteorder("="))


def cast_blocks(device: Any, rows: Sequence[Any], length: int, dtype: str) -> Blocks:
    """Yield the blocks of all rows on the device, two-dimensional ones in `dtype`.

    A block is overwritten when the next one is requested.
    """
    wanted = tensor_type(dtype)
    with closing(_blocks(device, rows, length)) as blocks:
        for block, arrays in blocks:
            yield block, [each.to(wanted) if each.ndim == 2 else each for each in arrays]


def _blocks(device: Any, rows: Sequence[Any], length: int) -> Blocks:
    blocks = slices_of(common_length(rows), length)
    streamed = [source for source in rows if not is_resident(source, device)]
    feed = _from_host if device.type == "cpu" else _through_pinned_memory
    with closing(feed(device, streamed, blocks)) as fed:
        for block, arrays in zip(blocks, fed, strict=True):
            others = iter(arrays)
            every = [
                source.tensor[block] if is_resident(source, device) else next(others)
                for source in rows
            ]
            yield block, every


def _from_host(device: Any, rows: Sequence[Any], blocks: Sequence[slice]) -> Arrays:
    for block in blocks:
        yield [_shared(source[block], source.dtype) for source in rows]


def _through_pinned_memory(device: Any, rows: Sequence[Any], blocks: Sequence[slice]) -> Arrays:
    """Read and copy each block in another thread while the GPU processes the previous one."""
    if not rows:
        yield from ([] for _ in blocks)
        return
    torch = load_torch()
    length = max((block.stop - block.start for block in blocks), default=0)
    working, copying = torch.cuda.current_stream(device), torch.cuda.Stream(device)
    buffers = [_Buffer(device, rows, length) for _ in range(2)]
    # Earlier work may still be reading the memory they reuse.
    copying.wait_stream(working)
    try:
        with ThreadPoolExecutor(1) as pool:
            filling = [pool.submit(buffers[0].fill, rows, block, copying) for block in blocks[:1]]
            for number, block in enumerate(blocks):
                buffer, other = buffers[number % 2], buffers[1 - number % 2]
                filling.pop().result()
                working.wait_event(buffer.copied)
                for following in blocks[number + 1 : number + 2]:
                    filling.append(pool.submit(other.fill, rows, following, copying))
                yield [there[: block.stop - block.start] for there in buffer.there]
                buffer.used.record(working)
    finally:
        # Even after an error, this memory must not be reused before the copies end.
        working.wait_stream(copying)


class _Buffer:
    """A block of every source in pinned host memory and on the device."""

    def __init__(self, device: Any, rows: Sequence[Any], length: int) -> None:
        torch = load_torch()
        self.here, self.there = [], []
        for source in rows:
            shape, dtype = (length, *source.shape[1:]), tensor_type(source.dtype)
            self.here.append(torch.empty(shape, dtype=dtype, device="cpu", pin_memory=True))
            self.there.append(torch.empty(shape, dtype=dtype, device=device))
        # The reading thread waits for the copies without spinning.
        self.copied, self.used = torch.cuda.Event(blocking=True), torch.cuda.Event()

    def fill(self, rows: Sequence[Any], block: slice, copying: Any) -> None:
        """Read a block and start copying it, each as soon as its buffer is free."""
        size = block.stop - block.start
        self.copied.synchronize()
        for source, here in zip(rows, self.here, strict=True):
            _copy(here[:size].numpy(), source[block])
        with load_torch().cuda.stream(copying):
            copying.wait_event(self.used)
            for here, there in zip(self.here, self.there, strict=True):
                there[:size].copy_(here[:size], non_blocking=True)
            self.copied.record(copying)


def _copy(here: NDArray[Any], block: Any) -> None:
    """Copy a block in several threads: one is slower than the way to a device."""
    length = -(-len(here) // _COPIERS)
    if here.nbytes < _LARGE:
        length = max(1, len(here))

    def copy(part: slice) -> None:
        np.copyto(here[part], block[part], casting="same_kind")

    parts = slices_of(len(here), length)
    if len(parts) == 1:
        copy(parts[0])
        return
    with ThreadPoolExecutor(_COPIERS) as pool:
        for done in pool.map(copy, parts):
            assert done is None


_COPIERS, _LARGE = 8, 2**22
"""Threads that copy a block, and its size in bytes from which they do."""


def placed_param(param: Any, device: Any) -> Any:
    """Move an array parameter of a statistic to the device; other objects are unchanged."""
    if isinstance(param, np.generic):
        return param.item()
    if not isinstance(param, np.ndarray):
        return param
    if param.ndim == 2 and param.flags.f_contiguous:
        # Transposed there: a copy in the other order takes longer than the way.
        return _shared(param.T, param.dtype).to(device).T
    return _shared(param, param.dtype).to(device)


def tensor_type(dtype: Any) -> Any:
    """Return the torch type of a NumPy type."""
    return _shared(np.empty(0), dtype).dtype


def _shared(array: Any, dtype: Any) -> Any:
    """Return an array as a tensor, without a copy where possible."""
    native = np.dtype(dtype).newbyteorder("=")
    if native == np.longdouble:
        native = np.dtype(np.float64)
    return load_torch().from_numpy(np.require(np.asarray(array), native, ["C", "A", "W"]))
