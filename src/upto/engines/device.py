"""The torch engine: passes on a GPU, which keeps the rows if they fit, or on the CPU."""

from __future__ import annotations

import math
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.engines.algebra import on_host
from upto.engines.base import block_length
from upto.engines.blocks import check_block_rows, common_length, no_rows, widths_of
from upto.engines.device_rows import (
    DeviceRows,
    cast_blocks,
    host_array,
    is_resident,
    load_torch,
    namespace_on,
    placed_param,
    upload,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Combine, Statistic
    from upto.engines.device_rows import Blocks

_BLOCK_BYTES = 2**28
_RESIDENT_SHARE = 0.6
_SMALL = 100 * 100
"""Values of a matrix below which the host is faster than the way to a device."""
_AT_A_TIME = 2
"""Items whose passes overlap: while the host works on one, the device works on the other."""
_SINGLE_ROWS = 65_536
"""Most rows summed in single precision before sums continue in float64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchEngine:
    """Passes on a CUDA device or the CPU with PyTorch.

    Parameters
    ----------
    device
        Device, e.g. ``"cuda"``, ``"cuda:1"`` or ``"cpu"``; by default the GPU if there is one.
    block_rows
        Rows per block; by default 256 MB on a GPU, and as many as fit the cache on the CPU.
    resident
        Whether `place` keeps rows on the device. By default a GPU keeps them if they take at most
        60 % of its free memory; otherwise they are streamed block by block in every pass.
    allow_tf32
        Whether float32 products may use TF32, which is faster but has three digits.

    See Also
    --------
    upto.ThreadsEngine : The threads of this machine.
    upto.DaskEngine : A cluster.
    upto.engines.Engine : The protocol they follow.

    Notes
    -----
    Blocks are summed in float64 on the device, in row order. Statistics receive torch tensors and
    the namespace ``array_api_compat.torch``; results are host arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rows = np.random.default_rng(0).normal(size=(500, 3))
    >>> result = upto.inspect(rows, ica=False, engine=upto.TorchEngine(device="cpu"))
    >>> result.provenance.engine
    'torch'
    """

    device: str | None = None
    block_rows: int | None = None
    resident: bool | None = None
    allow_tf32: bool = False
    name: str = "torch"

    def __post_init__(self) -> None:
        check_block_rows(self.block_rows)
        chosen_device(self.device)

    def place(self, rows: Any) -> Any:
        """Copy rows to the device in their own type, if they fit."""
        device = chosen_device(self.device)
        if is_resident(rows, device) or not self._keeps(rows, device):
            return rows
        try:
            return upload(device, rows, self._length([rows], "float64", device))
        except load_torch().cuda.OutOfMemoryError:
            if self.resident is None:
                return rows
            what = f"rows of {_described(rows.shape, rows.dtype)},"
            raise _shortage(device, what) from None

    @property
    def is_elsewhere(self) -> bool:
        """Whether the cores of this machine have little to do during a pass."""
        return bool(chosen_device(self.device).type != "cpu")

    @property
    def n_at_a_time(self) -> int:
        """Number of items that are worked on at a time."""
        device = chosen_device(self.device)
        if device.type == "cpu":
            return 1
        _, total = load_torch().cuda.mem_get_info(device)
        # Blocks and white rows of each item need room.
        return _AT_A_TIME if 2 * _free_memory(device) >= total else 1

    @contextmanager
    def beside_others(self, n_items: int) -> Iterator[TorchEngine]:
        """Yield the engine for one of several items, in a thread and on a stream of its own."""
        torch, device = load_torch(), chosen_device(self.device)
        # Rows may still be on their way, on the stream of another thread.
        torch.cuda.synchronize(device)
        stream = torch.cuda.Stream(device)
        with torch.cuda.stream(stream):
            yield self
            stream.synchronize()

    def reduce_blocks(
        self,
        statistic: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        combine: Combine | None = None,
        dtype: str = "float64",
    ) -> tuple[NDArray[Any], ...]:
        """Combine the statistics of all blocks in row order, by default by addition."""
        total: Arrays | None = None
        with self._pass(rows, params, dtype) as (call, blocks):
            for _, arrays in blocks:
                part = call(statistic, arrays)
                if combine is None:
                    total = _started(part) if total is None else _added(total, part)
                else:
                    part = tuple(host_array(array) for array in part)
                    total = part if total is None else combine(total, part)
            if total is None:
                raise no_rows()
            return tuple(host_array(array) for array in total)

    def map_blocks(
        self,
        function: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        out: Any = None,
        dtype: str = "float64",
    ) -> Any:
        """Transform blocks of rows and concatenate the results, on the device if `out` is there."""
        joined: list[NDArray[Any]] = []
        filled = 0
        with self._pass(rows, params, dtype) as (call, blocks):
            for block, arrays in blocks:
                found = call(function, arrays)[0]
                if isinstance(out, DeviceRows):
                    out.tensor[filled : filled + len(found)] = found
                    filled += len(found)
                    continue
                part = host_array(found)
                if out is None:
                    joined.append(part)
                else:
                    out[block] = part
        if out is not None:
            return out
        if not joined:
            raise no_rows()
        return np.concatenate(joined)

    def roughly(self) -> TorchEngine:
        """Return this engine with products of three digits, for steps that are refined later."""
        return replace(self, allow_tf32=True)

    def compute(self, function: Callable[..., Arrays], *arrays: Any) -> tuple[NDArray[Any], ...]:
        """Call ``function(xp, *arrays)`` on the device if the matrices are worth the way."""
        torch, device = load_torch(), chosen_device(self.device)
        if device.type == "cpu" or max(map(np.size, arrays)) < _SMALL:
            return on_host(function, *arrays)
        is_single = any(getattr(array, "dtype", None) == np.float32 for array in arrays)
        try:
            with torch.cuda.device(device):
                placed = [placed_param(array, device) for array in arrays]
                with self._products() if is_single else nullcontext():
                    found = function(namespace_on(device), *placed)
                return tuple(host_array(array) for array in found)
        except (torch.cuda.OutOfMemoryError, torch.linalg.LinAlgError):
            return on_host(function, *arrays)

    @contextmanager
    def _pass(
        self, rows: Sequence[Any], params: Sequence[Any], dtype: str
    ) -> Iterator[tuple[Callable[[Statistic, Sequence[Any]], Arrays], Blocks]]:
        """Yield how a function of a block is called, and the blocks of a pass on the device."""
        torch, device = load_torch(), chosen_device(self.device)
        xp, length = namespace_on(device), self._length(rows, dtype, device)
        try:
            with ExitStack() as stack:
                if device.type == "cuda":
                    stack.enter_context(torch.cuda.device(device))
                blocks = stack.enter_context(closing(cast_blocks(device, rows, length, dtype)))
                placed = [placed_param(param, device) for param in params]

                def call(function: Statistic, arrays: Sequence[Any]) -> Arrays:
                    with self._products():
                        return function(xp, *arrays, *placed)

                yield call, blocks
        except torch.cuda.OutOfMemoryError:
            what = f"blocks of {_described((length, sum(widths_of(rows))), dtype)},"
            raise _shortage(device, what) from None

    @contextmanager
    def _products(self) -> Iterator[None]:
        """Launch products in the precision of this engine, which is a setting of the process."""
        with _launching, float32_products(allow_tf32=self.allow_tf32):
            yield

    def _length(self, rows: Sequence[Any], dtype: str, device: Any) -> int:
        n_samples, widths = common_length(rows), widths_of(rows)
        if self.block_rows is not None:
            return self.block_rows
        if device.type == "cpu":
            return block_length(n_samples, widths)
        memory = int(load_torch().cuda.get_device_properties(device).total_memory)
        size: int = np.dtype(dtype).itemsize
        length = min(_BLOCK_BYTES, memory // 64) // (size * sum(widths))
        if size < 8:
            length = min(length, _SINGLE_ROWS)
        return max(1, min(length, n_samples))

    def _keeps(self, rows: Any, device: Any) -> bool:
        if self.resident is not None or device.type == "cpu":
            return bool(self.resident)
        return _n_bytes(rows.shape, rows.dtype) <= _RESIDENT_SHARE * _free_memory(device)


_launching = RLock()
"""Held by the thread that launches products: they keep the precision they were launched with."""


def chosen_device(name: Any) -> Any:
    """Return a device of torch; by default the GPU if there is one."""
    torch = load_torch()
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name is None:
        name = "cuda" if n_devices else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        message = f"there is no device {str(name)!r}: choose 'cpu', 'cuda' or one such as 'cuda:0'."
        raise InputError(message) from None
    if device.type not in ("cpu", "cuda"):
        message = (
            f"the torch engine runs on 'cpu' and 'cuda', not on {str(device)!r}, which has no "
            "float64: choose one of them."
        )
        raise InputError(message)
    if device.type == "cuda" and (device.index or 0) >= n_devices:
        message = (
            f"torch finds {n_devices} CUDA devices here, and {str(device)!r} is not one: choose "
            "another or device='cpu'."
        )
        raise InputError(message)
    if device.type == "cuda" and device.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return device


def _started(part: Arrays) -> Arrays:
    # A copy: the statistic may have returned a view of its block or a parameter.
    return tuple(_doubled(array, copy=True) for array in part)


def _added(total: Arrays, part: Arrays) -> Arrays:
    return tuple(
        first.add_(second) if hasattr(first, "add_") else first + _doubled(second)
        for first, second in zip(total, part, strict=True)
    )


def _doubled(array: Any, *, copy: bool = False) -> Any:
    torch = load_torch()
    if torch.is_tensor(array):
        return array.to(torch.float64 if array.is_floating_point() else array.dtype, copy=copy)
    host = np.asarray(array)
    return host.astype(np.float64 if host.dtype.kind == "f" else host.dtype, copy=copy)


@contextmanager
def float32_products(*, allow_tf32: bool) -> Iterator[None]:
    """Set the precision of float32 products and convolutions, and restore it on exit."""
    torch = load_torch()
    backends = torch.backends
    if hasattr(backends.cuda.matmul, "fp32_precision"):
        on_gpu = "tf32" if allow_tf32 else "ieee"
        settings = [(each, on_gpu) for each in (backends.cuda.matmul, backends.cudnn.conv)]
        settings += [(each, "ieee") for each in (backends.mkldnn.matmul, backends.mkldnn.conv)]
        before = [(setting, setting.fp32_precision) for setting, _ in settings]
        try:
            for setting, wanted in settings:
                setting.fp32_precision = wanted
            yield
        finally:
            for setting, old in before:
                setting.fp32_precision = old
        return
    old, convolved = torch.get_float32_matmul_precision(), backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("high" if allow_tf32 else "highest")
    backends.cudnn.allow_tf32 = allow_tf32
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(old)
        backends.cudnn.allow_tf32 = convolved


def _shortage(device: Any, what: str) -> InputError:
    room = ""
    if device.type == "cuda":
        _, total = load_torch().cuda.mem_get_info(device)
        room = f", {_free_memory(device) / 2**30:.1f} of whose {total / 2**30:.1f} GiB are free"
    message = (
        f"{what} and their intermediate results do not fit the memory of {device}{room}: pass a "
        "smaller block_rows, or resident=False to stream rows instead of keeping them there."
    )
    return InputError(message)


def _described(shape: Sequence[int], dtype: Any) -> str:
    size = _n_bytes(shape, dtype) / 2**20
    return f"{' × '.join(map(str, shape))} {np.dtype(dtype)} values, {size:.0f} MiB"


def _n_bytes(shape: Sequence[int], dtype: Any) -> int:
    return math.prod(map(int, shape)) * int(np.dtype(dtype).itemsize)


def _free_memory(device: Any) -> int:
    torch = load_torch()
    free, _ = torch.cuda.mem_get_info(device)
    # Memory that torch caches is available too.
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free) + int(cached)
