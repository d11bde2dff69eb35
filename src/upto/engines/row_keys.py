"""Keys of rows: hashes of their values, which choices use instead of the position of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import random_stream
from upto.engines.array_functions import bits_of, is_torch
from upto.engines.device_rows import host_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine


def row_keys(engine: Engine, rows: Any, seed: int) -> NDArray[np.uint64]:
    """Hash every row to 64 bits."""
    draws = random_stream(seed, "row keys").integers(
        2**63, size=rows.shape[1], dtype=np.uint64, endpoint=False
    )
    multipliers = (draws * 2 + 1).view(np.int64)
    keys: NDArray[np.int64] = engine.map_blocks(_hash_rows, rows, params=(multipliers,))
    return mixed_keys(keys.view(np.uint64))


def _hash_rows(xp: Any, x: Any, multipliers: Any) -> Arrays:
    # Adding zero makes -0 into 0; integers wrap around.
    bits = bits_of(x + 0.0)
    # The low bits of low-precision floats are zero: fold the high bits onto them.
    folded = bits ^ ((bits >> 32) & 0xFFFFFFFF)
    factors = multipliers if is_torch(bits) else host_array(multipliers)
    return ((folded * factors).sum(axis=1),)


def mixed_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return keys whose bits depend on all bits of the given ones."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
