"""Heat maps of the errors and verdicts of all pairs of runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from upto.core import Group
from upto.report.heat import N_LEVELS, HeatCell
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from upto.core import Agreement, RunSummary
    from upto.questions.compare.matrix import Matrix, Pairs

_MAX_NUMBERED_RUNS = 12

AGREEMENTS: dict[Agreement, tuple[str, str]] = {
    "identical": ("identical numbers", "good"),
    "same": ("same representation", "good"),
    "close": ("close", "good"),
    "image": ("one is part of the other", "fair"),
    "partial": ("partial agreement", "fair"),
    "weak": ("weak agreement", "poor"),
    "chance": ("no better than chance", "poor"),
    "undecided": ("undecided", "fair"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMaps:
    """Heat maps of errors up to the chosen group, and of verdicts."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    groups: tuple[str, ...]
    chosen: int
    errors: tuple[tuple[HeatCell, ...], ...]
    verdicts: tuple[tuple[HeatCell, ...], ...]
    steps: tuple[str, ...]
    freedoms: tuple[tuple[str, int], ...]
    dense: bool


def heat_maps(runs: tuple[RunSummary, ...], pairs: Pairs) -> tuple[HeatMaps, dict[str, Any]]:
    """Return the heat maps and the data that the page's script needs to redraw them."""
    top = max((v for m in pairs.matrices for r in m.error for v in r if v is not None), default=0)
    names = tuple(run.name for run in runs)
    dense = len(runs) > _MAX_NUMBERED_RUNS
    groups = tuple(matrix.name for matrix in pairs.matrices)
    verdicts = [str(group) for row in pairs.up_to for group in row if group is not None]
    common = max(set(verdicts), key=lambda name: (verdicts.count(name), name), default="rigid")
    chosen = groups.index(common) if common in groups else len(groups) - 1
    heat = HeatMaps(
        names=names,
        labels=tuple(tell_apart(names)),
        groups=groups,
        chosen=chosen,
        errors=_heat_cells(pairs.matrices[chosen], top),
        verdicts=tuple(
            tuple(
                HeatCell(text=str(group) if group else "–", level=freedom_level(group))
                for group in row
            )
            for row in pairs.up_to
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
                for m in pairs.matrices
            ],
            "upTo": pairs.up_to,
            "agreement": [
                [AGREEMENTS[cell][0] if cell else None for cell in row] for row in pairs.agreement
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
    """Return the colour level of a verdict, higher for larger groups."""
    if group is None:
        return None
    order = list(Group)
    return order.index(group) * (N_LEVELS - 1) // (len(order) - 1)


def heat_level(error: float | None, top: float) -> int | None:
    """Return the colour level of an error, on a square-root scale to resolve small errors."""
    if error is None:
        return None
    return min(N_LEVELS - 1, int(N_LEVELS * math.sqrt(error / top))) if top > 0 else 0
