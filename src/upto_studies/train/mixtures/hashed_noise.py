"""Noise of each member: a hash of its seed, the epoch or step and the position.

No state is needed to resume, and a member has the same noise alone and beside others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from upto.core import random_stream
from upto.engines.device_rows import load_torch
from upto_studies.train.orders import hashed

if TYPE_CHECKING:
    from collections.abc import Sequence

_BITS = 53
"""Bits of a float64, which its uniform number uses."""


class HashedNoise:
    """Noise of an epoch or step.

    Parameters
    ----------
    seeds
        One per member.
    n_rows, n_values
        Shape of the noise of each member.
    device
        Device of the noise.
    purpose
        Noise of another purpose is independent.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        n_rows: int,
        n_values: int,
        device: Any,
        purpose: str = "latents",
    ) -> None:
        torch = load_torch()
        keys = [int(random_stream(seed, "noise", purpose).integers(2**63)) for seed in seeds]
        self.keys = torch.tensor(keys, dtype=torch.int64, device=device)[:, None]
        self.positions = torch.arange(n_rows * n_values, device=device)
        self.shape = (len(keys), n_rows, n_values)

    def uniform(self, epoch: int) -> Any:
        """Return uniform numbers between 0 and 1 in float64: members × rows × values."""
        torch = load_torch()
        bits = hashed(self.keys, epoch, self.positions)
        # Torch shifts arithmetically; the mask leaves the upper bits.
        whole = (bits >> (64 - _BITS)) & (2**_BITS - 1)
        return ((whole.to(torch.float64) + 0.5) * 2.0**-_BITS).reshape(self.shape)

    def normal(self, epoch: int) -> Any:
        """Return standard normal numbers in float32: members × rows × values."""
        torch = load_torch()
        found = math.sqrt(2.0) * torch.erfinv(2.0 * self.uniform(epoch) - 1.0)
        return found.to(torch.float32)
