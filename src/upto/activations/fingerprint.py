"""Fingerprints of models and batches, by which an interrupted recording knows its own again."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from upto.activations.inputs import import_torch

_MOST_VALUES = 2**16
_PIECE = 2**24


def model_fingerprint(model: Any) -> str:
    """Return a digest of the names and types of all modules and of what they save.

    Parameters
    ----------
    model
        The module.
    """
    torch = import_torch()
    found = blake2b(digest_size=16)
    for name, module in model.named_modules():
        found.update(f"{name} {type(module).__qualname__}\n".encode(errors="backslashreplace"))
    # Buffers that are not saved may change from batch to batch.
    for name, value in model.state_dict().items():
        found.update(f"{name} ".encode(errors="backslashreplace"))
        if isinstance(value, torch.Tensor) and not torch.nn.parameter.is_lazy(value):
            _add_tensor(found, value, None)
    return found.hexdigest()


def batch_fingerprint(batch: Any) -> int:
    """Return a digest of a batch: of all its numbers if they are few, else evenly spaced ones.

    Hashing every pixel would take longer than the forward pass of a GPU.

    Parameters
    ----------
    batch
        Tensors and arrays, in lists, tuples and dictionaries.
    """
    found = blake2b(digest_size=8)
    _add(found, batch)
    return int.from_bytes(found.digest(), "little")


def _add(found: Any, value: Any) -> None:
    if isinstance(value, Mapping):
        for name, each in value.items():
            found.update(f"{name!r}:".encode(errors="backslashreplace"))
            _add(found, each)
    elif isinstance(value, list | tuple):
        found.update(f"{len(value)} of ".encode())
        for each in value:
            _add(found, each)
    elif isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
        _add_tensor(found, import_torch().from_numpy(np.ascontiguousarray(value)), _MOST_VALUES)
    elif isinstance(value, import_torch().Tensor):
        _add_tensor(found, value, _MOST_VALUES)
    elif isinstance(value, str | bytes | int | float | np.generic | np.ndarray | None):
        shown = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        found.update(f"{shown!r},".encode(errors="backslashreplace"))
    else:
        found.update(f"{type(value).__qualname__},".encode())


def _add_tensor(found: Any, tensor: Any, most: int | None) -> None:
    torch = import_torch()
    found.update(f"{tuple(tensor.shape)} {tensor.dtype}:".encode())
    if tensor.is_meta or tensor.layout != torch.strided:
        return
    flat = tensor.detach().reshape(-1)
    if most is not None:
        # An odd step does not stay in one column of an image.
        flat = flat[:: (-(-len(flat) // most)) | 1]
    for start in range(0, len(flat), _PIECE):
        piece = flat[start : start + _PIECE].cpu().contiguous()
        found.update(piece.view(torch.uint8).numpy().data)
