"""Checks of the arguments of a training."""

from __future__ import annotations

import operator
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.engines.device_rows import load_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float


def checked_device(device: str) -> Any:
    """Return the torch device of this name."""
    torch = load_torch()
    try:
        chosen = torch.device(device)
    except RuntimeError:
        message = f"there is no device {device!r}: choose cpu or cuda."
        raise InputError(message) from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        message = "torch finds no CUDA device here: choose device cpu."
        raise InputError(message)
    if chosen.type == "cuda":
        # The first backward pass in a thread warns that it must initialise the device.
        with warnings.catch_warnings(action="ignore"):
            one = torch.ones((1, 1, 1), device=chosen, requires_grad=True)
            torch.bmm(one, one).backward()
    return chosen


def one_for_each(what: str, values: float | Sequence[float], n_members: int) -> Float:
    """Return one number per member, from a single number or a sequence."""
    given = np.asarray(values, dtype=np.float64)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_members):
        message = f"{given.size} {what} for {n_members} members: give one, or one per member."
        raise InputError(message)
    if not np.isfinite(given).all():
        message = f"some {what} are not finite."
        raise InputError(message)
    if given.min() < 0:
        message = f"the smallest of the {what} is {given.min():g}: none may be negative."
        raise InputError(message)
    return np.broadcast_to(given, (n_members,)).copy()


def checked_seeds(seeds: Any) -> tuple[int, ...]:
    """Return the seeds as non-negative integers."""
    try:
        given = tuple(map(operator.index, seeds))
    except TypeError:
        message = "seeds must be a list of integers, one per member."
        raise InputError(message) from None
    if not given:
        message = "there are 0 seeds: give one per member."
        raise InputError(message)
    if min(given) < 0:
        message = f"the smallest seed is {min(given)}: none may be negative."
        raise InputError(message)
    return given


def checked_subsets(subsets: Any, n_members: int, n_rows: int) -> list[NDArray[np.int64]] | None:
    """Return the indices of the training rows of each member, from indices or masks."""
    if subsets is None:
        return None
    chosen = [_checked_subset(each, n_rows) for each in subsets]
    if len(chosen) != n_members or min(map(len, chosen)) < 1:
        message = f"{n_members} members need as many non-empty subsets: give one per member."
        raise InputError(message)
    return chosen


def _checked_subset(subset: Any, n_rows: int) -> NDArray[np.int64]:
    given = np.asarray(subset)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size > 0):
        shape = " × ".join(map(str, given.shape)) or "1"
        message = (
            f"a subset has {shape} values of type {given.dtype}: select rows by integers from 0 "
            f"to {n_rows - 1}, or by a boolean mask of {n_rows} values."
        )
        raise InputError(message)
    if given.size > 0 and (given.min() < 0 or given.max() >= n_rows):
        message = f"subsets contain row indices outside the range: give 0 to {n_rows - 1}."
        raise InputError(message)
    return given.astype(np.int64)


def refuse_twins(
    seeds: Sequence[int], leaks: Float, rates: Float, subsets: Sequence[NDArray[np.int64]] | None
) -> None:
    """Raise an error if two members are identical."""
    n_of_seed = Counter(seeds)
    seen = set()
    for member, seed in enumerate(seeds):
        if n_of_seed[seed] == 1:
            continue
        shown = None if subsets is None else subsets[member].tobytes()
        settings = (seed, float(leaks[member]), float(rates[member]), shown)
        if settings in seen:
            message = (
                f"{n_of_seed[seed]} members have seed {seed} and the same settings, so they are "
                "the same model: give each its own seed."
            )
            raise InputError(message)
        seen.add(settings)


def checked_rows(what: str, rows: Any, width: int) -> NDArray[Any]:
    """Return finite rows of the given width, in float32 or float64."""
    given = np.asarray(rows)
    if given.ndim != 2 or given.shape[1] != width or len(given) == 0:
        shape = " × ".join(map(str, given.shape))
        message = f"the {what} are {shape}, but the network needs rows of {width} values."
        raise InputError(message)
    if given.dtype.kind not in "fiub":
        message = f"the {what} have type {given.dtype}, but a network needs real numbers."
        raise InputError(message)
    # Torch supports neither swapped byte order nor negative strides.
    values = np.ascontiguousarray(given, np.float64 if given.dtype.itemsize == 8 else np.float32)
    n_bad = int(values.size - np.isfinite(values).sum())
    if n_bad:
        message = f"{n_bad} of {given.size} values of the {what} are not finite: remove their rows."
        raise InputError(message)
    return values
