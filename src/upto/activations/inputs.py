"""Inputs in the batches of a data loader, and calls of a module on them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from upto.core import InputError, MissingExtraError


class ModuleCall:
    """Call of a module on its input, or on the dictionary entries its `forward` names.

    Parameters
    ----------
    model
        The module.
    """

    def __init__(self, model: Any) -> None:
        self._names = set(inspect.signature(model.forward).parameters)

    def __call__(self, model: Any, inputs: Any) -> Any:
        """Call the module."""
        if not isinstance(inputs, Mapping):
            return model(inputs)
        named = {name: value for name, value in inputs.items() if name in self._names}
        return model(**(named or inputs))


def import_torch(purpose: str = "recording layers") -> Any:
    """Import torch, or raise an error that names the extra to install.

    Parameters
    ----------
    purpose
        Purpose, for the error message.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtraError(purpose, package="torch", extra="torch") from None
    return torch


def may_shuffle(batches: Any) -> bool:
    """Return whether a data loader may change the order of its rows between passes."""
    import_torch()
    from torch.utils import data

    # An iterable dataset decides its own order; its sampler is ignored.
    if isinstance(getattr(batches, "dataset", None), data.IterableDataset):
        return False
    sampler: Any = getattr(batches, "batch_sampler", None)
    if sampler is None:
        sampler = getattr(batches, "sampler", None)
    # A subclass may draw batches in any order.
    while type(sampler) is data.BatchSampler:
        sampler = sampler.sampler
    if isinstance(sampler, data.DistributedSampler):
        return bool(sampler.shuffle)
    keeps_order = data.SequentialSampler | list | tuple | range | None
    return not isinstance(sampler, keeps_order)


def input_of(batch: Any) -> Any:
    """Return the part of a batch that a module is called on."""
    while isinstance(batch, list | tuple) and len(batch):
        batch = batch[0]
    return batch


def entry_of(batch: Any, where: str | int) -> Any:
    """Return an entry of a batch by its name or position."""
    try:
        return batch[where]
    except (KeyError, IndexError, TypeError):
        message = f"a batch of type {type(batch).__name__} has no entry {where!r} to take ids from."
        raise InputError(message) from None


def count_rows(inputs: Any) -> int:
    """Return the number of samples of an input."""
    tensor = first_tensor(inputs)
    if tensor is None or tensor.ndim == 0:
        message = (
            f"a batch of type {type(inputs).__name__} has no tensor of samples: give tensors, "
            "tuples whose first entry is the input, or dictionaries of tensors."
        )
        raise InputError(message)
    return int(tensor.shape[0])


def on_device(batch: Any, device: Any) -> Any:
    """Return a batch with its tensors on a device."""
    if isinstance(batch, np.ndarray):
        return import_torch().from_numpy(batch).to(device)
    if isinstance(batch, Mapping):
        return {name: on_device(value, device) for name, value in batch.items()}
    if isinstance(batch, list | tuple) and not hasattr(batch, "_fields"):
        return type(batch)(on_device(value, device) for value in batch)
    return batch.to(device) if hasattr(batch, "to") else batch


def first_tensor(output: Any) -> Any:
    """Return the first tensor of a module's input or output, or None."""
    if isinstance(output, import_torch().Tensor):
        return output
    if isinstance(output, Mapping):
        values: Iterable[Any] = output.values()
    elif isinstance(output, list | tuple):
        values = output
    elif is_dataclass(output):
        values = (getattr(output, field.name) for field in fields(output))
    else:
        return None
    return next((found for each in values if (found := first_tensor(each)) is not None), None)
