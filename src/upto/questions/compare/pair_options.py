"""Validated options of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from upto.core import Group, InputError
from upto.core.arguments import check_fraction, check_not_negative, check_whole


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
        check_whole(permutations=self.permutations, refits=self.refits, seed=self.seed)
        check_fraction(held_out=self.held_out)
        check_not_negative(tolerance=self.tolerance)
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
