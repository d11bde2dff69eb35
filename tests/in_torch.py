"""An engine whose algebra runs in torch on the CPU, as it would on a GPU."""

from __future__ import annotations

from typing import Any

from upto.engines import ThreadsEngine
from upto.engines.device_rows import host_array, namespace_on, placed_param


class InTorch(ThreadsEngine):
    """The threads engine, with the algebra of a GPU."""

    is_elsewhere = True

    def compute(self, function: Any, *arrays: Any) -> tuple[Any, ...]:
        """Call a function of matrices in the namespace of torch."""
        import torch

        device = torch.device("cpu")
        found = function(namespace_on(device), *(placed_param(each, device) for each in arrays))
        return tuple(host_array(each) for each in found)
