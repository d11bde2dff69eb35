"""Tables and plots for studies of held-out batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Column, Marks, Panel, Table
from upto_studies.held_out_plates import (
    FOUR,
    PAPER_AUROC,
    PAPER_CONCENTRATION,
    PAPER_SPARSITY,
    TURNED,
    Setup,
    auroc,
    gain,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.core import Cell, Estimate
    from upto.questions.batches.parts import Reading
    from upto.questions.batches.result import BatchesResult
    from upto_studies.held_out_plates import Question

TITLES = {"base": "Base", "pca": "PCA", "ica": "PCA + ICA", "random": "PCA + Rand"}


def questions_table(asked: Mapping[str, Question], found: Mapping[str, BatchesResult]) -> Table:
    """Return the AUROC of every condition for every question, with its baselines."""
    rows: list[tuple[Cell, ...]] = []
    for name, result in found.items():
        for condition in result.conditions:
            score = result.score(condition.name)
            rows.append(
                (
                    asked[name].says,
                    condition.title,
                    score.auroc,
                    None if condition.name == "base" else gain(result, condition.name, "base"),
                    _value(score.within),
                    _value(score.shuffled),
                    _value(score.sparsity),
                )
            )
    return Table(
        title="AUROC on batches never seen",
        columns=(
            Column(name="question"),
            Column(name="condition"),
            Column(name="AUROC", spec=".3f"),
            Column(name="less base", spec="+.3f"),
            Column(name="within batches", spec=".3f"),
            Column(name="shuffled labels", spec=".3f"),
            Column(name="sparsity", spec=".3f"),
        ),
        rows=tuple(rows),
        caption="Questions with controls judge half of the controls of each batch; the others "
        "correct it. Intervals are over folds.",
    )


def paper_table(result: BatchesResult, quick: Mapping[str, float]) -> Table:
    """Return the paper's four conditions next to its means, which are from other data."""
    rows: list[tuple[Cell, ...]] = []
    for name in FOUR:
        score = result.score(name)
        rows.append(
            (
                TITLES[name],
                score.auroc,
                quick[name],
                PAPER_AUROC[name],
                _value(score.sparsity),
                PAPER_SPARSITY[name],
                _concentration(result, name, 25.0),
                PAPER_CONCENTRATION[name],
            )
        )
    return Table(
        title="Beside the paper's Tables 3 and 4",
        columns=tuple(
            Column(name=name, spec=".3f")
            for name in (
                "condition",
                "AUROC",
                "quick look",
                "paper's AUROC",
                "sparsity",
                "paper's sparsity",
                "concentration",
                "paper's concentration",
            )
        ),
        rows=tuple(rows),
        caption="The paper's values are means over 16 guides of OpenPhenom on RxRx3-core: other "
        "data, of which only the order can be compared. Concentration is the ratio of AUROCs at "
        "25 % of the columns, less 1. The quick look was a script of ours before this study.",
    )


def tasks_table(result: BatchesResult) -> Table:
    """Return the AUROC of the paper's conditions for every label."""
    return Table(
        title=f"AUROC of each {result.label} on {result.fold_by} never seen",
        columns=(
            Column(name=result.label),
            *(Column(name=TITLES[name], spec=".3f") for name in FOUR),
        ),
        rows=tuple((task, *(auroc(result, name, task) for name in FOUR)) for task in result.judged),
    )


def concentration_table(result: BatchesResult) -> Table:
    """Return the concentration of the paper's conditions in three definitions, as in Table 7."""
    percents = list(dict.fromkeys(found.percent for found in result.concentrations))
    readings: tuple[Reading, ...] = ("ratio", "difference", "normalised")
    return Table(
        title="Concentration: the most used columns against the rest",
        columns=(
            Column(name="condition"),
            *(
                Column(name=f"{reading}, {percent:g} %", spec=".3f")
                for reading in readings
                for percent in percents
            ),
        ),
        rows=tuple(
            (
                result.condition(name).title,
                *(
                    result.concentration(name, percent, reading).value
                    for reading in readings
                    for percent in percents
                ),
            )
            for name in FOUR
        ),
    )


def sweep_table(found: Mapping[Setup, BatchesResult], n_rows: int) -> Table:
    """Return the AUROC over the number of directions, the classifier and the fitted rows."""
    rows: list[tuple[Cell, ...]] = []
    for setup, result in found.items():
        width = result.condition("pca").n_components
        rows.append(
            (
                setup.classifier,
                "training rows" if setup.fit == "training" else "all rows",
                width,
                n_rows / width,
                *(auroc(result, name) for name in TURNED),
                gain(result, "ica", "random"),
            )
        )
    return Table(
        title="How many directions are kept",
        columns=(
            Column(name="classifier"),
            Column(name="fitted to"),
            Column(name="directions"),
            Column(name="rows for each", spec=".0f"),
            *(Column(name=TITLES[name], spec=".3f") for name in TURNED),
            Column(name="ICA - Rand", spec="+.3f"),
        ),
        rows=tuple(rows),
        caption="A linear classifier on whitened rows does not see a rotation: what differs "
        "between the three is what trees make of the axes.",
    )


def sweep_panel(found: Mapping[Setup, BatchesResult], base: Estimate | None) -> Panel:
    """Return the AUROC of trees over the number of directions."""
    chosen = [
        (result.condition("pca").n_components, result)
        for setup, result in found.items()
        if (setup.classifier, setup.fit) == ("boosted", "training")
    ]
    chosen.sort(key=lambda each: each[0])
    widths = tuple(float(width) for width, _ in chosen)
    marks = [
        # Offset, so that intervals do not overlap.
        _marks(
            TITLES[name],
            [(width * 1.05**number, auroc(result, name)) for width, result in chosen],
        )
        for number, name in enumerate(TURNED, start=-1)
    ]
    if base is not None:
        level = (base.value,) * len(widths)
        marks.append(Marks(name="Base", x=widths, y=level, kind="line"))
    return Panel(
        title="Trees on whitened rows",
        x="directions kept",
        y="AUROC on batches never seen",
        marks=tuple(marks),
        x_log=True,
    )


def conditions_panel(title: str, found: Mapping[str, BatchesResult]) -> Panel:
    """Return the AUROC of every condition, one set of marks per result."""
    titles: dict[str, str] = {}
    for result in found.values():
        titles |= {each.name: each.title for each in result.conditions}
    place = {name: float(number) for number, name in enumerate(titles, start=1)}
    return Panel(
        title=title,
        x="condition",
        y="AUROC on batches never seen",
        marks=tuple(
            _marks(
                name,
                [
                    (
                        place[each.name] + 0.15 * (number - (len(found) - 1) / 2),
                        auroc(result, each.name),
                    )
                    for each in result.conditions
                ],
            )
            for number, (name, result) in enumerate(found.items())
        ),
        x_names=tuple(titles.values()),
    )


def _concentration(result: BatchesResult, name: str, percent: float) -> Estimate | None:
    known = {each.percent for each in result.concentrations}
    return result.concentration(name, percent).value if percent in known else None


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _marks(name: str, values: list[tuple[float, Estimate | None]]) -> Marks:
    known = [(x, value) for x, value in values if value is not None]
    return Marks(
        name=name,
        x=tuple(x for x, _ in known),
        y=tuple(value.value for _, value in known),
        low=tuple(value.value if value.low is None else value.low for _, value in known),
        high=tuple(value.value if value.high is None else value.high for _, value in known),
    )
