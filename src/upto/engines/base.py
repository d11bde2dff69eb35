"""The engine protocol: every algorithm is a few passes over rows, then d×d algebra on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from upto.core import Rows

    Arrays = tuple[Any, ...]
    Statistic = Callable[..., Arrays]
    """``statistic(xp, *blocks, *params)`` returns small arrays; it must not change its blocks."""
    Combine = Callable[[Arrays, Arrays], Arrays]
    """An associative function of two partial results, the earlier rows first."""


class Engine(Protocol):
    """Where rows live and how passes over them run.

    Statistics and functions are written once against the array API: they get the namespace `xp`,
    one block of each `rows` argument, then the `params`, which an engine places once for all
    blocks. They are module-level functions (or partials of them), so an engine may send them to
    another process. Blocks with two dimensions arrive in `dtype`; vectors arrive as they are.
    """

    @property
    def name(self) -> str:
        """What the engine is called on the command line."""
        ...

    def place(self, rows: Rows) -> Any:
        """Put rows where the passes will read them."""
        ...

    def reduce_blocks(
        self,
        statistic: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        combine: Combine | None = None,
        dtype: str = "float64",
    ) -> tuple[NDArray[Any], ...]:
        """Combine the statistics of all blocks, in row order; they are added by default."""
        ...

    def map_blocks(
        self,
        function: Statistic,
        *rows: Any,
        params: Sequence[Any] = (),
        out: Any = None,
        dtype: str = "float64",
    ) -> Any:
        """Transform blocks of rows and join the results along the rows.

        The first array the function returns is kept; it may have fewer rows than the block, so a
        function can also select. With `out`, blocks are written there as they come and `out` is
        returned: any object that takes ``out[start:stop] = block``, such as a file.
        """
        ...


def add(first: Arrays, second: Arrays) -> Arrays:
    """Add partial sums."""
    return tuple(a + b for a, b in zip(first, second, strict=True))


def block_length(n_samples: int, widths: Sequence[int], target_bytes: int = 2**20) -> int:
    """Choose how many rows make a block whose float64 rows fit the cache.

    At least 512 rows keep the products of wide runs efficient; at most 65,536 keep narrow data
    parallel.
    """
    width = max(1, max(widths))
    return int(min(max(target_bytes // (8 * width), 512), 65_536, max(n_samples, 1)))
