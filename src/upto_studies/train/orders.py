"""Order of the rows for each member: a hash of its seed, the epoch and the row.

No state is needed to resume, and every device sorts the same keys into the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import random_stream
from upto.engines.device_rows import load_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Constants of SplitMix64 (Steele, Lea and Flood 2014)."""


class Orders:
    """Rows of each member in the order of an epoch.

    Parameters
    ----------
    seeds
        One per member.
    n_rows
        Number of rows.
    subsets
        Training rows of each member; all by default.
    device
        Device of the orders.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        n_rows: int,
        subsets: Sequence[NDArray[np.int64]] | None,
        device: Any,
    ) -> None:
        torch = load_torch()
        keys = [int(random_stream(seed, "order").integers(2**63)) for seed in seeds]
        self.keys = torch.tensor(keys, dtype=torch.int64, device=device)[:, None]
        if subsets is None:
            self.sizes = np.full(len(seeds), n_rows)
            self.rows: Any = None
            self.spare: Any = None
        else:
            self.sizes = np.array([len(each) for each in subsets])
            padded = np.zeros((len(seeds), self.sizes.max()), dtype=np.int64)
            for row, subset in zip(padded, subsets, strict=True):
                row[: len(subset)] = subset
            self.rows = torch.as_tensor(padded, device=device)
            beyond = np.arange(self.sizes.max()) >= self.sizes[:, None]
            self.spare = torch.as_tensor(beyond, device=device)
        self.positions = torch.arange(int(self.sizes.max()), device=device)

    def epoch(self, epoch: int) -> Any:
        """Return the rows of every member in the order of an epoch; padding is last."""
        torch = load_torch()
        bits = hashed(self.keys, epoch, self.positions)
        if self.spare is not None:
            bits = torch.where(self.spare, torch.iinfo(torch.int64).max, bits)
        order = torch.argsort(bits, dim=1)
        return order if self.rows is None else torch.gather(self.rows, 1, order)

    def select(self, keep: Any) -> None:
        """Keep only some members."""
        self.keys = self.keys[keep]
        self.sizes = self.sizes[keep.cpu().numpy()]
        if self.rows is not None:
            self.rows, self.spare = self.rows[keep], self.spare[keep]


def hashed(keys: Any, epoch: int, positions: Any) -> Any:
    """Return 64 random bits for each key, epoch and position, as signed integers."""
    start = _mixed(keys + _signed((epoch + 1) * _GOLDEN))
    return _mixed(start + (positions + 1) * _signed(_GOLDEN))


def _mixed(values: Any) -> Any:
    """Mix 64 bits; products wrap around on every device."""
    values = (values ^ _shifted(values, 30)) * _signed(_FIRST)
    values = (values ^ _shifted(values, 27)) * _signed(_SECOND)
    return values ^ _shifted(values, 31)


def _shifted(values: Any, n_bits: int) -> Any:
    # Torch shifts arithmetically; the hash needs a logical shift.
    return (values >> n_bits) & ((1 << (64 - n_bits)) - 1)


def _signed(value: int) -> int:
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value
