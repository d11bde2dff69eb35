"""Plots as data, before they are drawn in a report or a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from upto.core.short_repr import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks(Record):
    """A named set of points or a line; `low` and `high` are interval ends, or empty."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    kind: Literal["points", "line"] = "points"

    def __post_init__(self) -> None:
        for values in (self.y, self.low or self.y, self.high or self.y):
            if len(values) != len(self.x):
                message = f"{len(self.x)} marks have {len(values)} heights or interval ends"
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel(Record):
    """One plot: marks over two named axes; with `y_zero`, the second starts at zero.

    With `x_names`, the first axis is categorical, at the integers from 1.

    See Also
    --------
    upto.LipschitzResult : Its method `panels` returns some.
    upto.MixtureResult : Its method `panels` returns some.
    upto.StudyResult : Its method `panels` returns some.
    """

    title: str
    x: str
    y: str
    marks: tuple[Marks, ...]
    x_log: bool = False
    y_log: bool = False
    y_zero: bool = False
    x_names: tuple[str, ...] = ()
    caption: str = ""
