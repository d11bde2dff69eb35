"""What a training is given, checked before it starts."""

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
    """Return torch's device of this name."""
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
        # The first product of a backward pass warns that its thread has to find the device first.
        with warnings.catch_warnings(action="ignore"):
            one = torch.ones((1, 1, 1), device=chosen, requires_grad=True)
            torch.bmm(one, one).backward()
    return chosen


def one_for_each(what: str, values: float | Sequence[float], n_members: int) -> Float:
    """Return a number for each member, from one or as many."""
    given = np.asarray(values, dtype=np.float64)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_members):
        message = f"{given.size} {what} for {n_members} members: give one, or one for each."
        raise InputError(message)
    if not np.isfinite(given).all():
        message = f"some {what} are not finite."
        raise InputError(message)
    if given.min() < 0:
        message = f"{what} of {given.min():g} and more are given, but none may be below zero."
        raise InputError(message)
    return np.broadcast_to(given, (n_members,)).copy()


def checked_seeds(seeds: Any) -> tuple[int, ...]:
    """Return the seeds as integers from 0 up."""
    try:
        given = tuple(map(operator.index, seeds))
    except TypeError:
        message = "seeds are a list of whole numbers, one for each member."
        raise InputError(message) from None
    if not given:
        message = "there are 0 seeds: give one for each member."
        raise InputError(message)
    if min(given) < 0:
        message = f"a seed of {min(given)} is given, but none may be below zero."
        raise InputError(message)
    return given


def checked_subsets(subsets: Any, n_members: int, n_rows: int) -> list[NDArray[np.int64]] | None:
    """Return the numbers of the rows each member sees, from numbers or masks."""
    if subsets is None:
        return None
    chosen = [_checked_subset(each, n_rows) for each in subsets]
    if len(chosen) != n_members or min(map(len, chosen)) < 1:
        message = f"{n_members} members need as many subsets, none of them empty."
        raise InputError(message)
    return chosen


def _checked_subset(subset: Any, n_rows: int) -> NDArray[np.int64]:
    given = np.asarray(subset)
    if given.dtype == bool and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size > 0):
        shape = " × ".join(map(str, given.shape)) or "1"
        message = (
            f"a subset of {shape} values of type {given.dtype} is given: name rows by whole "
            f"numbers from 0 to {n_rows - 1}, or by a mask of {n_rows} truth values."
        )
        raise InputError(message)
    if given.size > 0 and (given.min() < 0 or given.max() >= n_rows):
        message = f"subsets hold the numbers of rows, 0 to {n_rows - 1}."
        raise InputError(message)
    return given.astype(np.int64)


def refuse_twins(
    seeds: Sequence[int], leaks: Float, rates: Float, subsets: Sequence[NDArray[np.int64]] | None
) -> None:
    """Refuse two members that differ in nothing."""
    n_of_seed = Counter(seeds)
    seen = set()
    for member, seed in enumerate(seeds):
        if n_of_seed[seed] == 1:
            continue
        shown = None if subsets is None else subsets[member].tobytes()
        settings = (seed, float(leaks[member]), float(rates[member]), shown)
        if settings in seen:
            message = (
                f"{n_of_seed[seed]} members have seed {seed}: two members with one seed and the "
                "same settings are the same model, so give each its own."
            )
            raise InputError(message)
        seen.add(settings)


def checked_rows(what: str, rows: Any, width: int) -> NDArray[Any]:
    """Return finite rows of a width, in float32 or float64."""
    given = np.asarray(rows)
    if given.ndim != 2 or given.shape[1] != width or len(given) == 0:
        shape = " × ".join(map(str, given.shape))
        message = f"the {what} are {shape}, but the network needs rows of {width} values."
        raise InputError(message)
    if given.dtype.kind not in "fiub":
        message = f"the {what} are of type {given.dtype}, but a network needs real numbers."
        raise InputError(message)
    # Torch reads neither the other byte order nor rows that run backwards.
    values = np.ascontiguousarray(given, np.float64 if given.dtype.itemsize == 8 else np.float32)
    n_bad = int(values.size - np.isfinite(values).sum())
    if n_bad:
        message = f"{n_bad} of {given.size} values of the {what} are not finite: remove their rows."
        raise InputError(message)
    return values
