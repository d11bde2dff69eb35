"""Plots as data: what a result draws, before it is a page or a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Points or a line of one name; `low` and `high` are the ends of intervals, or empty."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    kind: Literal["points", "line"] = "points"

    def __post_init__(self) -> None:
        for values in (self.y, self.low or self.y, self.high or self.y):
            if len(values) != len(self.x):
                message = f"{len(self.x)} marks have {len(values)} heights or ends of intervals"
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One plot: marks over two named axes; `y_zero` lets the second start at zero.

    Where `x_names` are given, the first axis is a list of things: the whole numbers from 1 up.
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
