"""Store blocks of rows in a temporary file, so that they can be read several times."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError
from upto.core.errors import reason
from upto.files.arrays import type_of
from upto.files.request import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def spool(blocks: Iterator[Any], take: Callable[[Any, str], Embeddings], name: str) -> Embeddings:
    """Write blocks one by one to a temporary file without a name, and map it to memory.

    The file is gone as soon as the rows are no longer used, also after an error.

    Parameters
    ----------
    blocks
        Blocks of rows with equally many columns, or lists of one such block, as a `DataLoader`
        yields them; blocks without rows are left out.
    take
        Function that converts a block with a name to `Embeddings`.
    name
        Name of the run.

    Raises
    ------
    InputError
        If there is no block, or one does not fit the first.
    """
    parts: list[Embeddings] = []
    n_rows, width = 0, None
    with tempfile.TemporaryFile(prefix="upto-") as file:
        for number, given in enumerate(blocks, start=1):
            label = f"block {number} of {name}"
            block = _only(given, label)
            shape: tuple[int, ...] = getattr(block, "shape", ())
            if len(shape) == 2:
                width = shape[1] if width is None else width
                if shape[0] == 0 and shape[1] == width:
                    continue
            part = take(block, label)
            if parts:
                _check(part, parts[0])
            dtype = np.dtype((parts or [part])[0].rows.dtype)
            try:
                file.write(np.ascontiguousarray(part, dtype=dtype).data)
            except OSError as error:
                message = (
                    f"{name} does not fit in {tempfile.gettempdir()} ({reason(error)}, after "
                    f"{n_rows} rows): set TMPDIR to a larger disk, or write the blocks to a file."
                )
                raise InputError(message) from None
            n_rows += part.n_samples
            # Only ids and columns are kept in memory.
            nothing = np.zeros(1, dtype=dtype)
            parts.append(replace(part, rows=np.broadcast_to(nothing, tuple(part.rows.shape))))
        if not parts:
            message = f"{name} has 0 blocks: the iterator is empty or was read before."
            raise InputError(message)
        file.flush()
        first = parts[0]
        shape = (n_rows, first.n_features)
        rows = np.memmap(file, np.dtype(first.rows.dtype), "r", 0, shape)
    ids = [np.asarray(part.ids) for part in parts if part.ids is not None]
    shared = [key for key in first.columns if all(key in part.columns for part in parts)]
    return Embeddings(
        rows=rows,
        name=name,
        ids=np.concatenate(ids) if len(ids) == len(parts) else None,
        columns={key: np.concatenate([part.columns[key] for part in parts]) for key in shared},
        features=first.features,
    )


def _only(block: Any, label: str) -> Any:
    """Return the array of a block that is a list of one, as data loaders yield them."""
    if not isinstance(block, list | tuple):
        return block
    if not any(len(getattr(each, "shape", ())) > 1 for each in block):
        # Rows.
        return block
    if len(block) > 1:
        message = (
            f"{label} is {type_of(block)} of {len(block)} arrays: pass a generator that picks one "
            "of them, e.g. `(batch[0] for batch in loader)`."
        )
        raise InputError(message)
    return block[0]


def _check(part: Embeddings, first: Embeddings) -> None:
    if part.n_features != first.n_features:
        message = (
            f"{part.name} has {part.n_features} columns but the first block has "
            f"{first.n_features}: all blocks need the same columns."
        )
        raise InputError(message)
    if part.features != first.features:
        message = (
            f"{part.name} has the columns {listed(part.features, 6)} but the first block has "
            f"{listed(first.features, 6)}: all blocks need the same columns."
        )
        raise InputError(message)
    if not np.can_cast(part.rows.dtype, first.rows.dtype, "safe"):
        message = (
            f"{part.name} contains {part.rows.dtype} values but the first block "
            f"{first.rows.dtype}: convert all blocks to one type."
        )
        raise InputError(message)
