"""Agreement of pairs of members along a sweep: estimates, a table and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.agreement import Agreement, agreement_of, over_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.train.softmax_members import TrainedMembers

CCA = "mean-cca"

COLUMNS: dict[str, Callable[[Agreement], float]] = {
    "mean CCA": lambda each: each.measures[CCA],
    "in sample": lambda each: each.measures_in_sample[CCA],
    "chance": lambda each: each.measures_chance.get(CCA, np.nan),
    "affine error": lambda each: each.held_out["affine"],
    "error in sample": lambda each: each.in_sample["affine"],
    "error by chance": lambda each: each.chance["affine"],
    "R²": lambda each: each.r2["affine"],
}
"""Numbers of a pair in tables; held out where not said otherwise."""


def limits_of(name: str) -> dict[str, float]:
    """Return the range of one of `COLUMNS`, to which its interval is clipped."""
    return {"low": 0.0} if "error" in name else {"high": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """All pairs at one point of a sweep: a step, a number of images, a width."""

    x: float
    pairs: tuple[Agreement, ...]

    def values(self, name: str) -> Float:
        """Return one of `COLUMNS` for every pair."""
        return np.array([COLUMNS[name](pair) for pair in self.pairs])

    def mean(self, name: str) -> Estimate:
        """Return the mean over pairs, with an interval."""
        return over_pairs(self.values(name), **limits_of(name))


def compared_pairs(rows: NDArray[Any], *, seed: int) -> tuple[Agreement, ...]:
    """Compare members two by two: the first with the second, the third with the fourth.

    Parameters
    ----------
    rows
        Members × rows × values.
    seed
        Seed of splits and chance levels.
    """
    values = np.asarray(rows, dtype=np.float64)
    return tuple(
        agreement_of(values[k], values[k + 1], seed=seed) for k in range(0, len(values) - 1, 2)
    )


def gain(first: Point, last: Point, name: str = "mean CCA") -> Estimate:
    """Return the mean over pairs of the change from one point to another."""
    return over_pairs(last.values(name) - first.values(name))


def order(points: Sequence[Point], name: str = "mean CCA") -> Estimate:
    """Return the rank correlation with the sweep, the mean over pairs.

    A pair without any change has a correlation of zero.
    """
    values = np.array([point.values(name) for point in points])
    found = [_rank_correlation([point.x for point in points], own) for own in values.T]
    return over_pairs(found, low=-1.0, high=1.0)


def sweep_table(title: str, x: str, sides: Mapping[str, Sequence[Point]], caption: str) -> Table:
    """Return the numbers of every point, means over pairs with intervals."""
    rows: list[tuple[Cell, ...]] = [
        (side, f"{point.x:g}", *(point.mean(name) for name in COLUMNS))
        for side, points in sides.items()
        for point in points
    ]
    heads = (Column(name="of"), Column(name=x))
    return Table(
        title=title,
        columns=(*heads, *(Column(name=name, spec=".3f") for name in COLUMNS)),
        rows=tuple(rows),
        caption=caption,
    )


def sweep_panel(
    title: str,
    x: str,
    sides: Mapping[str, Sequence[Point]],
    *,
    name: str = "mean CCA",
    chance: str | None = None,
    x_log: bool = False,
    caption: str = "",
) -> Panel:
    """Plot one of `COLUMNS` with its intervals over a sweep, and its chance level as lines."""
    marks = []
    for side, points in sides.items():
        means = [point.mean(name) for point in points]
        marks.append(
            Marks(
                name=side,
                x=tuple(point.x for point in points),
                y=tuple(each.value for each in means),
                low=tuple(each.value if each.low is None else each.low for each in means),
                high=tuple(each.value if each.high is None else each.high for each in means),
            )
        )
        if chance is not None:
            levels = tuple(point.mean(chance).value for point in points)
            marks.append(
                Marks(name=f"{side}, chance", x=marks[-1].x, y=levels, kind="line"),
            )
    return Panel(
        title=title,
        x=x,
        y=name,
        marks=tuple(marks),
        x_log=x_log,
        y_zero=True,
        caption=caption or "Means over pairs of seeds with 95 % intervals, on held-out rows.",
    )


def loss_panel(
    title: str, trained: Mapping[str, TrainedMembers], reference: str, level: float
) -> Panel:
    """Plot the mean training loss over members, and a reference."""
    marks = [
        Marks(
            name=name,
            x=tuple(map(float, each.steps)),
            y=tuple(map(float, each.losses.mean(axis=1))),
            kind="line",
        )
        for name, each in trained.items()
    ]
    ends = (min(each.x[0] for each in marks), max(each.x[-1] for each in marks))
    marks.append(Marks(name=reference, x=ends, y=(level, level), kind="line"))
    return Panel(
        title=title,
        x="step",
        y="cross-entropy, nats",
        marks=tuple(marks),
        y_zero=True,
        caption="Training losses, means over members and over a hundredth of the steps.",
    )


def _rank_correlation(x: Sequence[float], y: Float) -> float:
    ranks = [rankdata(each) - (len(y) + 1) / 2 for each in (x, y)]
    scale = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float(ranks[0] @ ranks[1]) / scale if scale > 0 else 0.0
