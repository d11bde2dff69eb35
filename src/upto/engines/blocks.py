"""Split the rows of a pass into blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence


def common_length(rows: Sequence[Any]) -> int:
    """Return the number of rows, which must be the same for all arguments of a pass."""
    lengths = {int(source.shape[0]) for source in rows}
    if len(lengths) != 1:
        message = f"the arguments of a pass have {sorted(lengths)} rows: pass equally many."
        raise InputError(message)
    return lengths.pop()


def widths_of(rows: Sequence[Any]) -> list[int]:
    """Return the widths of the two-dimensional arguments, or [1] if there are only vectors."""
    return [int(source.shape[1]) for source in rows if len(source.shape) == 2] or [1]


def slices_of(n_samples: int, length: int) -> list[slice]:
    """Split rows into blocks; the last may be shorter."""
    return [slice(i, min(i + length, n_samples)) for i in range(0, n_samples, length)]


def check_block_rows(block_rows: int | None) -> None:
    """Refuse blocks without rows."""
    if block_rows is not None and block_rows < 1:
        message = f"block_rows is {block_rows}: pass at least 1."
        raise InputError(message)


def no_rows() -> InputError:
    """Return the error for a pass over no rows."""
    return InputError("there are no rows to pass over.")
