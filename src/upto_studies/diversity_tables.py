"""Quantities, tables and plots of the study of too few classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.agreement import over_pairs
from upto_studies.pair_tables import Point, loss_panel, sweep_panel, sweep_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.class_diversity import Settings, Students


def n_differences(settings: Settings, n_classes: int) -> int:
    """Return the number of independent differences of class vectors in general position."""
    return min(n_classes - 1, settings.n_outputs)


def measured_of(settings: Settings, groups: Sequence[Students]) -> dict[str, Estimate]:
    """Return the quantities of ``expected.json`` that the numbers of classes allow."""
    by_number = {each.n_classes: each for each in groups}
    width = settings.n_outputs
    ranks = [
        abs(head.rank - n_differences(settings, each.n_classes))
        for each in groups
        for head in each.heads
    ]
    off = [
        abs(_n_agreeing(settings, each).mean() - n_differences(settings, each.n_classes))
        for each in groups
    ]
    worst = max(groups, key=lambda each: each.divergence.mean())
    least = min(groups, key=lambda each: each.identified.mean())
    measured = {
        "loss over teacher": over_pairs(worst.divergence, low=0.0),
        "ranks off": Estimate(value=float(max(ranks))),
        "directions off": Estimate(value=float(max(off))),
        "mean CCA, most classes": _point(groups[-1]).mean("mean CCA"),
        "mean CCA, fewest classes": _point(groups[0]).mean("mean CCA"),
        "R² of the identified part": over_pairs(least.identified, high=1.0),
    }
    weakest = {number: each.correlations.min(axis=1) for number, each in by_number.items()}
    for name, number in (
        ("weakest direction, enough classes", width + 1),
        ("weakest direction, one class fewer", width),
    ):
        if number in weakest:
            measured[name] = over_pairs(weakest[number], high=1.0)
    if {width, width + 1} <= set(weakest):
        measured["step"] = over_pairs(weakest[width + 1] - weakest[width])
    identified = [each for each in groups if each.n_classes > width]
    if identified:
        values = [np.array([one.r2["affine"] for one in each.of_teacher]) for each in identified]
        measured["R² of the teacher, enough classes"] = over_pairs(
            min(values, key=np.mean), high=1.0
        )
    return measured


def says_of(settings: Settings, measured: dict[str, Estimate]) -> str:
    """Return the result sentence."""
    said = f"representations of {settings.n_outputs} coordinates"
    if "step" in measured:
        fewer = measured["weakest direction, one class fewer"]
        enough = measured["weakest direction, enough classes"]
        said += (
            f" agree along their weakest direction with a canonical correlation of {fewer:.2f} "
            f"for {settings.n_outputs} classes and {enough:.2f} for {settings.n_outputs + 1}, "
            "where the diversity condition begins to hold"
        )
    return (
        f"{said}; the number of directions that agree differs from that of independent "
        f"differences by at most {measured['directions off'].value:.2g}"
    )


def tables_of(settings: Settings, groups: Sequence[Students]) -> tuple[Table, ...]:
    """Return the tables, the most important first."""
    rows: list[tuple[Cell, ...]] = []
    for each in groups:
        conditions = [np.inf if head.condition is None else head.condition for head in each.heads]
        condition = float(np.median(conditions))
        rows.append(
            (
                str(each.n_classes),
                f"{np.mean([head.rank for head in each.heads]):g} of {settings.n_outputs}",
                over_pairs(_n_agreeing(settings, each), low=0.0),
                over_pairs(each.correlations.min(axis=1), high=1.0),
                over_pairs(each.identified, high=1.0),
                over_pairs([one.r2["affine"] for one in each.of_teacher], high=1.0),
                condition if np.isfinite(condition) else None,
                float(np.median([head.smallest_variance for head in each.heads])),
                over_pairs(each.divergence, low=0.0),
            )
        )
    directions = Table(
        title="Directions that agree, and those that the head determines",
        columns=(
            Column(name="classes"),
            Column(name="independent differences"),
            Column(name="directions that agree", spec=".2f"),
            Column(name="weakest correlation", spec=".3f"),
            Column(name="R² of the identified part", spec=".3f"),
            Column(name="R² of the teacher", spec=".3f"),
            Column(name="condition number", spec=".3g"),
            Column(name="smallest variance", spec=".3g"),
            Column(name="divergence", spec=".4f"),
        ),
        rows=tuple(rows),
        caption="A direction agrees with a held-out canonical correlation of "
        f"{settings.agreeing:g} or more. Condition number and smallest variance of the class "
        "vectors are medians over students. Divergence from the teacher is over the information "
        "of the classes about x.",
    )
    caption = "Means over pairs with 95 % intervals; held out unless said otherwise."
    points = {"f": [_point(each) for each in groups]}
    return directions, sweep_table("Agreement of f", "classes", points, caption)


def panels_of(settings: Settings, groups: Sequence[Students]) -> tuple[Panel, ...]:
    """Return the plots, the most important first."""
    numbers = tuple(float(each.n_classes) for each in groups)
    found = [over_pairs(_n_agreeing(settings, each), low=0.0) for each in groups]
    weakest = [over_pairs(each.correlations.min(axis=1), high=1.0) for each in groups]
    known = tuple(float(n_differences(settings, each.n_classes)) for each in groups)
    points = {"f": [_point(each) for each in groups]}
    information = {f"{each.n_classes} classes": each.trained for each in groups}
    return (
        Panel(
            title="Directions of f that agree",
            x="classes",
            y="directions",
            marks=(
                _marks("pairs of students", numbers, found),
                Marks(name="independent differences", x=numbers, y=known, kind="line"),
            ),
            x_log=True,
            y_zero=True,
            caption="Means over pairs with 95 % intervals. Differences of class vectors reach the "
            f"number of coordinates at {settings.n_outputs + 1} classes.",
        ),
        Panel(
            title="The weakest direction of f",
            x="classes",
            y="lowest canonical correlation",
            marks=(_marks("pairs of students", numbers, weakest),),
            x_log=True,
            caption="Held out; means over pairs with 95 % intervals.",
        ),
        sweep_panel("Mean CCA of f", "classes", points, chance="chance", x_log=True),
        sweep_panel(
            "Affine error of f",
            "classes",
            points,
            name="affine error",
            chance="error by chance",
            x_log=True,
        ),
        loss_panel("Training loss", information, "zero", 0.0),
    )


def _marks(name: str, numbers: tuple[float, ...], found: Sequence[Estimate]) -> Marks:
    return Marks(
        name=name,
        x=numbers,
        y=tuple(each.value for each in found),
        low=tuple(each.value if each.low is None else each.low for each in found),
        high=tuple(each.value if each.high is None else each.high for each in found),
    )


def _n_agreeing(settings: Settings, group: Students) -> Float:
    counts: Float = (group.correlations >= settings.agreeing).sum(axis=1).astype(np.float64)
    return counts


def _point(group: Students) -> Point:
    return Point(x=group.n_classes, pairs=group.pairs)
