"""The engine protocol: algorithms are a few passes over rows, then d×d algebra on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from upto.core import Rows

    Arrays = tuple[Any, ...]
    Statistic = Callable[..., Arrays]
    """``statistic(xp, *blocks, *params)`` returns small arrays and must not modify its blocks."""
    Combine = Callable[[Arrays, Arrays], Arrays]
    """An associative function of two partial results, in row order."""


class Engine(Protocol):
    """Stores rows and runs passes over them.

    Statistics and functions are written once against the array API: they receive the namespace
    `xp`, one block of each `rows` argument, then the `params`, which an engine places once for all
    blocks. They are module-level functions (or partials of them), so an engine can send them to
    another process. Two-dimensional blocks are cast to `dtype`; vectors are unchanged.

    See Also
    --------
    upto.ThreadsEngine : The threads of this machine.
    upto.TorchEngine : A GPU.
    upto.DaskEngine : A cluster.
    """

    @property
    def name(self) -> str:
        """Name of the engine on the command line."""
        ...

    def place(self, rows: Rows) -> Any:
        """Move rows to where the passes read them."""
        ...

    def reduce_blocks(
        self,
        statistic: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        combine: Combine | None = None,
        dtype: str = "float64",
    ) -> tuple[NDArray[Any], ...]:
        """Combine the statistics of all blocks in row order, by default by addition."""
        ...

    def map_blocks(
        self,
        function: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        out: Any = None,
        dtype: str = "float64",
    ) -> Any:
        """Transform blocks of rows and concatenate the results.

        The first array that the function returns is kept; it may have fewer rows than the block,
        so a function can also select. With `out`, any object that supports
        ``out[start:stop] = block``, such as a file, blocks are written there and `out` is returned.
        """
        ...


def add(first: Arrays, second: Arrays) -> Arrays:
    """Add partial sums."""
    return tuple(a + b for a, b in zip(first, second, strict=True))


def block_length(n_samples: int, widths: Sequence[int], target_bytes: int = 2**20) -> int:
    """Return the number of rows per block such that a float64 block fits the cache.

    At least 512 rows keep matrix products of wide runs efficient; at most 65,536 keep narrow data
    parallel.
    """
    width = max(1, max(widths))
    return int(min(max(target_bytes // (8 * width), 512), 65_536, max(n_samples, 1)))
