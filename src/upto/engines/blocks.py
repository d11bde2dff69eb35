"""How engines cut rows: one length for all arguments of a pass, blocks in row order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


def common_length(rows: Sequence[Any]) -> int:
    """Return the number of rows that all arguments of a pass have."""
    lengths = {int(source.shape[0]) for source in rows}
    if len(lengths) != 1:
        message = f"rows of different lengths {sorted(lengths)} cannot be passed over together."
        raise InputError(message)
    return lengths.pop()


def widths_of(rows: Sequence[Any]) -> list[int]:
    """Return the widths of the arguments with two dimensions; vectors count as one column."""
    return [int(source.shape[1]) for source in rows if len(source.shape) == 2] or [1]


def slices_of(n_samples: int, length: int) -> list[slice]:
    """Cut rows into blocks, the last one maybe shorter."""
    return [slice(i, min(i + length, n_samples)) for i in range(0, n_samples, length)]


def check_block_rows(block_rows: int | None) -> None:
    """Refuse blocks without rows."""
    if block_rows is not None and block_rows < 1:
        message = f"block_rows is {block_rows}, but a block has at least one row."
        raise InputError(message)


def no_rows() -> InputError:
    """Return the error of a pass over nothing."""
    return InputError("there are no rows to pass over.")
