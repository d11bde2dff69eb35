"""Heat maps of a matrix of comparisons: which step of the colour scale each pair has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from upto.core import Group
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Agreement, ComparisonMatrix, Matrix

_MAX_NUMBERED_RUNS = 12
N_LEVELS = 10

AGREEMENTS: dict[Agreement, tuple[str, str]] = {
    "identical": ("identical numbers", "good"),
    "same": ("same representation", "good"),
    "close": ("close", "good"),
    "image": ("one is a part of the other", "fair"),
    "partial": ("partial agreement", "fair"),
    "weak": ("weak agreement", "poor"),
    "chance": ("no better than chance", "poor"),
    "undecided": ("undecided", "fair"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One ordered pair of runs: the text of the cell and its step of the colour scale."""

    text: str
    level: int | None
    beyond: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """The heat maps of a matrix: errors up to the chosen group, and the verdicts."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    chosen: int
    errors: tuple[tuple[HeatCell, ...], ...]
    verdicts: tuple[tuple[HeatCell, ...], ...]
    steps: tuple[str, ...]
    freedoms: tuple[tuple[str, int], ...]
    dense: bool


def heat_maps(result: ComparisonMatrix) -> tuple[Heat, dict[str, Any]]:
    """Return the heat maps of a matrix and what the page's script needs to redraw them."""
    top = max((v for m in result.matrices for r in m.error for v in r if v is not None), default=0)
    names = tuple(run.name for run in result.runs)
    dense = len(result.runs) > _MAX_NUMBERED_RUNS
    groups = tuple(matrix.name for matrix in result.matrices)
    verdicts = [str(group) for row in result.up_to for group in row if group is not None]
    common = max(set(verdicts), key=lambda name: (verdicts.count(name), name), default="rigid")
    chosen = groups.index(common) if common in groups else len(groups) - 1
    heat = Heat(
        names=names,
        labels=tuple(tell_apart(names)),
        groups=groups,
        chosen=chosen,
        errors=_heat_cells(result.matrices[chosen], top),
        verdicts=tuple(
            tuple(
                HeatCell(text=str(group) if group else "–", level=freedom_level(group))
                for group in row
            )
            for row in result.up_to
        ),
        steps=tuple(f"{top * (step / N_LEVELS) ** 2:.3g}" for step in range(N_LEVELS + 1)),
        freedoms=tuple((str(group), freedom_level(group) or 0) for group in Group),
        dense=dense,
    )
    data = {
        "heat": {
            "names": [shorten(name) for name in names],
            "top": top,
            "levels": N_LEVELS,
            "groups": [
                {"name": m.name, "error": _rounded(m.error), "r2": _rounded(m.r2), "p": m.p_value}
                for m in result.matrices
            ],
            "upTo": result.up_to,
            "agreement": [
                [AGREEMENTS[cell][0] if cell else None for cell in row] for row in result.agreement
            ],
        }
    }
    return heat, data


def _rounded(rows: tuple[tuple[float | None, ...], ...]) -> list[list[float | None]]:
    return [[None if cell is None else float(f"{cell:.5g}") for cell in row] for row in rows]


def _heat_cells(matrix: Matrix, top: float) -> tuple[tuple[HeatCell, ...], ...]:
    return tuple(
        tuple(
            HeatCell(text="–" if cell is None else f"{cell:.3f}", level=heat_level(cell, top))
            for cell in row
        )
        for row in matrix.error
    )


def freedom_level(group: Group | None) -> int | None:
    """Return the step of the colour scale of a verdict: the freer the group, the later."""
    if group is None:
        return None
    order = list(Group)
    return order.index(group) * (N_LEVELS - 1) // (len(order) - 1)


def heat_level(error: float | None, top: float) -> int | None:
    """Return the step of the colour scale; its root keeps small errors apart."""
    if error is None:
        return None
    return min(N_LEVELS - 1, int(N_LEVELS * math.sqrt(error / top))) if top > 0 else 0


def colour_ends(
    values: Sequence[float],
    *,
    low: float | None,
    high: float | None,
    closer: Literal["higher", "lower"],
) -> tuple[float, float]:
    """Return the values that are drawn palest, far apart, and darkest, as close as can be."""
    low = min(values, default=0.0) if low is None else low
    high = max(values, default=0.0) if high is None else high
    if closer == "lower":
        return high, low
    # What a similarity says below zero is no less than nothing.
    return (max(low, 0.0) if high > 0 else low), high


def closeness_level(value: float | None, far: float, near: float) -> int | None:
    """Return the step of the colour scale between the two ends, whichever is larger."""
    if value is None:
        return None
    share = (value - far) / (near - far) if near != far else 0.0
    return min(max(int(N_LEVELS * share), 0), N_LEVELS - 1)
