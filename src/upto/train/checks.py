"""What a training is given, checked before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.engines.feeding import load_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Float = NDArray[np.float64]


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
    return np.broadcast_to(given, (n_members,)).copy()


def checked_rows(what: str, rows: Any, width: int) -> NDArray[Any]:
    """Return finite rows of a width, in float32 or float64."""
    given = np.asarray(rows)
    if given.ndim != 2 or given.shape[1] != width or len(given) == 0:
        shape = " × ".join(map(str, given.shape))
        message = f"the {what} are {shape}, but the network needs rows of {width} values."
        raise InputError(message)
    if given.dtype not in (np.float32, np.float64):
        given = given.astype(np.float32)
    n_bad = int(given.size - np.isfinite(given).sum())
    if n_bad:
        message = f"{n_bad} of {given.size} values of the {what} are not finite: remove their rows."
        raise InputError(message)
    return given
