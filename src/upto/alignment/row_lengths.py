"""Maps whose images have one Euclidean length, as embeddings of unit norm have."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from upto.core.array_types import Float, Index
    from upto.engines.base import Arrays, Engine, Statistic

SPREAD = 1e-3
"""Largest difference of lengths, over their mean, of rows that have one length."""


class FittedMap(Protocol):
    """A map of rows, fitted: what estimators, files and passes need of it."""

    @property
    def target_mean(self) -> Float:
        """Mean of the target, as wide as the images."""
        ...

    def predict(self, rows: Any) -> Any:
        """Map rows in memory."""
        ...

    def block_function(self) -> tuple[Statistic, tuple[Any, ...]]:
        """Return the function of a block of rows, for passes, and its params."""
        ...

    def of_columns(self, places: Index) -> FittedMap:
        """Return the map of rows whose column i is the map's source coordinate ``places[i]``."""
        ...

    def linear(self) -> Float | None:
        """Return the linear part, None if the map is not affine."""
        ...

    def exact_inverse(self) -> FittedMap:
        """Return the inverse map, or raise an InputError."""
        ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LengthMap:
    """A map followed by scaling every image to one length; zero vectors stay zero."""

    map: FittedMap
    length: float

    @property
    def target_mean(self) -> Float:
        """Mean of the target."""
        return self.map.target_mean

    def predict(self, rows: Any) -> Any:
        """Map rows in memory."""
        return _scaled(np, self.map.predict(rows), self.length)

    def block_function(self) -> tuple[Statistic, tuple[Any, ...]]:
        """Return the function of a block of rows, for passes, and its params."""
        function, params = self.map.block_function()
        return partial(_scaled_block, function=function), (self.length, *params)

    def of_columns(self, places: Index) -> LengthMap:
        """Return the map of rows whose column i is the map's source coordinate ``places[i]``."""
        return replace(self, map=self.map.of_columns(places))

    def linear(self) -> None:
        """Return None: scaling to one length is not affine."""

    def exact_inverse(self) -> FittedMap:
        """Refuse: rows of different lengths have one image.

        Raises
        ------
        InputError
            Always.
        """
        message = (
            f"the fitted map scales rows to the length {self.length:.6g} and has no inverse: fit "
            "one in the other direction, or without length."
        )
        raise InputError(message)


def with_length(fitted: FittedMap, length: float | None) -> FittedMap:
    """Return a map whose images have a length; the map itself if that is None."""
    return fitted if length is None else LengthMap(map=fitted, length=length)


def without_length(fitted: FittedMap) -> FittedMap:
    """Return a map before its images are scaled."""
    return fitted.map if isinstance(fitted, LengthMap) else fitted


def check_length(length: Any) -> None:
    """Refuse what is neither None, ``"target"`` nor a positive number."""
    if length is None or (isinstance(length, str) and length == "target"):
        return
    is_number = isinstance(length, numbers.Real) and not isinstance(length, bool)
    if not is_number or not math.isfinite(length) or length <= 0:
        message = f"length is {length!r}: give None, 'target' or a positive number."
        raise InputError(message)


def chosen_length(engine: Engine, target: Any, length: float | str | None) -> float | None:
    """Return the length of images: the given one, or that of the target's rows if they have one."""
    if length is None or not isinstance(length, str):
        return None if length is None else float(length)
    lengths: Float = engine.map_blocks(_lengths, target)
    mean = float(lengths.mean())
    # False for rows of zeros too.
    return mean if float(np.ptp(lengths)) <= SPREAD * mean and mean > 0 else None


def _lengths(xp: Any, x: Any) -> Arrays:
    return (xp.sqrt(xp.linalg.vecdot(x, x)),)


def _scaled_block(xp: Any, x: Any, length: float, *params: Any, function: Statistic) -> Arrays:
    return (_scaled(xp, function(xp, x, *params)[0], length),)


def _scaled(xp: Any, rows: Any, length: float) -> Any:
    norms = xp.sqrt(xp.linalg.vecdot(rows, rows))
    return rows * (length / xp.where(norms > 0, norms, xp.ones_like(norms)))[:, None]
