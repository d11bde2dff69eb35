"""Validated options of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from upto.core import Group, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `compare`; `one_way` evaluates only the map of first onto second."""

    up_to: Group | str | None = None
    held_out: float
    tolerance: float = 0.05
    permutations: int = 199
    refits: int = 5
    ica: bool = True
    seed: int
    one_way: bool = False

    def __post_init__(self) -> None:
        if self.up_to is not None and self.up_to not in tuple(Group):
            message = f"{self.up_to!r} is not a group: choose one of {', '.join(Group)}."
            raise InputError(message)
        for name in ("permutations", "refits", "seed"):
            if not isinstance(getattr(self, name), int | np.integer):
                message = f"{name} is {getattr(self, name)!r}, but it must be a whole number."
                raise InputError(message)
        for name in ("held_out", "tolerance"):
            value = getattr(self, name)
            if not isinstance(value, float | int | np.number) or not np.isfinite(value):
                message = f"{name} is {value!r}, but it must be a finite number."
                raise InputError(message)
        if not 0 <= self.held_out < 1:
            message = f"held_out is {self.held_out}, but it must be a fraction from 0 to below 1."
            raise InputError(message)
        for name in ("tolerance", "refits", "seed"):
            if getattr(self, name) < 0:
                message = f"{name} is {getattr(self, name)}, but it must not be negative."
                raise InputError(message)
        if self.permutations < 19:
            message = f"permutations is {self.permutations}, but a 5 % level needs at least 19."
            raise InputError(message)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups to fit, strictest first."""
        if self.up_to is None:
            return tuple(Group)
        freest = Group(self.up_to)
        return tuple(group for group in Group if freest.contains(group))
