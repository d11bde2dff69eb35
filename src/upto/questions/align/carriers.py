"""The maps that an index can be carried by, from the strictest to the most flexible."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment.row_lengths import without_length
from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float

GROUPS = ("identity", "signed-permutation", "rigid", "similarity", "affine")
AFFINE = (*GROUPS, "ridge", "low-rank")
NAMES = (*AFFINE, "kernel", "network")
"""Maps by name, the simplest first."""
PHRASES = {
    "identity": "without a map",
    "signed-permutation": "by a signed permutation",
    "rigid": "by a rigid motion",
    "similarity": "by a similarity",
    "affine": "by an affine map",
    "ridge": "by an affine map with shrinkage",
    "low-rank": "by an affine map of low rank",
    "kernel": "by a kernel map",
    "network": "by a small network",
}
MATRICES = dict.fromkeys(NAMES, 1) | {
    "signed-permutation": 3,
    **dict.fromkeys(("rigid", "similarity", "affine"), 10),
    **dict.fromkeys(("ridge", "low-rank"), 24),
}
"""Square matrices in memory at once when a map of wide runs is fitted both ways, at least.

Some three quarters of what 300 rows of 2,500 columns took; those of kernel and low-rank maps were
not measured."""
LEAST_FOR_FLEXIBLE = 200
"""Fitted pairs from which nonlinear maps are tried."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Carrier:
    """A map of rows onto the new space, and one of new queries back, both fitted."""

    name: str
    forward: Any
    back: Any

    def carried(self, rows: Float) -> Float:
        """Map old rows into the new space, without scaling them to a common length."""
        return without_length(self.forward.map_).predict(rows)  # type: ignore[no-any-return]

    def carried_back(self, rows: Float) -> Float:
        """Map new rows into the old space, without scaling them."""
        return without_length(self.back.map_).predict(rows)  # type: ignore[no-any-return]

    @property
    def n_numbers(self) -> int:
        """Number of numbers that the map stores."""
        _, params = without_length(self.forward.map_).block_function()
        return sum(int(np.size(each)) for each in params)


def names_to_try(up_to: str, *, n_fitted: int, old_width: int, new_width: int) -> tuple[str, ...]:
    """Return the maps to fit.

    Raises
    ------
    InputError
        If there is no map of that name, or it cannot be fitted here.
    """
    if up_to == "auto":
        return tuple(
            name
            for name in NAMES
            if (name != "identity" or old_width == new_width)
            and (name in AFFINE or n_fitted >= LEAST_FOR_FLEXIBLE)
            # A network takes as long as all the others.
            and name != "network"
        )
    if up_to not in NAMES:
        message = f"up_to is {up_to!r}: choose auto or one of {', '.join(NAMES)}."
        raise InputError(message)
    if up_to == "identity" and old_width != new_width:
        message = (
            f"up_to is 'identity', but the old rows have {old_width} coordinates and the new ones "
            f"{new_width}: choose a map that changes the width, such as affine."
        )
        raise InputError(message)
    return (up_to,)


def fit_carrier(
    name: str, old: Float, new: Float, *, seed: int, forward_only: bool = False
) -> Carrier:
    """Fit a map and, unless not needed, one the other way round."""
    make = _makers(seed)[name]
    with warnings.catch_warnings():
        # Too few rows for a map show in its recall.
        warnings.simplefilter("ignore", UserWarning)
        forward = make().fit(old, new)
        back = None if forward_only else make().fit(new, old)
    return Carrier(name=name, forward=forward, back=back)


def _makers(seed: int) -> dict[str, Callable[[], Any]]:
    from upto.alignment import Aligner, KernelAligner, NetworkAligner, RidgeAligner

    given: dict[str, Any] = {"length": "target"}
    return {
        **{name: partial(Aligner, name, **given) for name in GROUPS},
        "ridge": partial(RidgeAligner, **given),
        "low-rank": partial(RidgeAligner, rank="auto", **given),
        "kernel": partial(KernelAligner, random_state=seed, **given),
        "network": partial(NetworkAligner, random_state=seed, **given),
    }
