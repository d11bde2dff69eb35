"""Report section on batches and labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from upto.questions.batches.carried_chart import CarriedMap, carried_map
from upto.questions.batches.condition_chart import (
    ConditionChart,
    condition_chart,
    differences_to_base,
    interval_text,
    tone_of,
    word_of,
)
from upto.questions.batches.embedding_maps import MapsView, maps_data, maps_view
from upto.questions.batches.result import BASE
from upto.report.markup import counted, shorten
from upto.report.section import Section
from upto.report.table_view import CellView, TableView, table_view

if TYPE_CHECKING:
    from upto.core import Estimate
    from upto.questions.batches.parts import ConditionScore, Reading
    from upto.questions.batches.result import BatchesResult

_MAX_TABLE_ROWS = 300
_MAX_TABLE_CELLS = 2000
_FEW_BATCHES, _BATCHES_PREDICT = "UP081", "UP078"
_READINGS: tuple[Reading, ...] = ("ratio", "difference", "normalised")
_SIDES = {"batch": "batches mix", "biology": "labels separate", "total": "both (weighted)"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchesBody:
    """Parts of the section; parts that the result lacks are None or empty."""

    chart: ConditionChart
    scheme: str
    tasks: TableView | None
    concentrations: TableView | None
    carried: CarriedMap | None
    maps: MapsView | None
    mixing: TableView | None
    repeats: tuple[str, ...]


def page(result: BatchesResult) -> Section:
    """Return the report section of a result."""
    tables, omitted = batches_tables(result)
    return Section(
        names=(result.name,),
        badge=batches_badge(result),
        facts=batches_facts(result),
        tables=tables,
        body=batches_body(result),
        data=batches_data(result),
        details="Tables of all folds, batches, labels and components",
        n_shown=0,
        omitted=omitted,
    )


def batches_body(result: BatchesResult) -> BatchesBody:
    """Draw the conditions, components and maps, and build the tables."""
    return BatchesBody(
        chart=condition_chart(result),
        scheme=_scheme(result),
        tasks=tasks_table(result),
        concentrations=concentration_table(result),
        carried=carried_map(result),
        maps=maps_view(result),
        mixing=mixing_table(result),
        repeats=_repeats(result),
    )


def batches_data(result: BatchesResult) -> dict[str, Any]:
    """Return the data for the page's tooltips."""
    carried, maps = carried_map(result), maps_data(result)
    data: dict[str, Any] = {}
    if carried is not None:
        data["carried"] = carried.points
    if maps is not None:
        data["batches"] = maps
    return data


def batches_badge(result: BatchesResult) -> tuple[str, str] | None:
    """Return whether any condition is a gain over base, if any was compared with it.

    Few batches leave the result undecided, because no gain could have been detected.
    """
    tones = {tone_of(found) for found in differences_to_base(result).values()}
    if not tones:
        return None
    codes = {finding.code for finding in result.findings}
    if result.leak.has_many_copies:
        return "held-out rows are copies", "fair"
    if _BATCHES_PREDICT in codes:
        return "batches predict the label", "fair"
    if "gain" in tones:
        return "gain on held-out batches", "good"
    if tones == {"loss"}:
        return "loss on held-out batches", "poor"
    if "open" in tones or _FEW_BATCHES in codes:
        return "undecided", "fair"
    return "no gain on held-out batches", "fair"


def batches_facts(result: BatchesResult) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each headline number."""
    folds = counted(len(result.folds), "fold")
    if result.scheme == "one-trains":
        folds = "one training batch at a time"
    judged = len(result.judged)
    asked = len(result.tasks)
    control = "one versus all others"
    if result.control is not None:
        control = f"versus {shorten(result.control, 24)}"
    return (
        *_score_facts(result),
        ("batches", f"{len(result.batches):,}", f"{folds}; held out as a whole"),
        (
            "labels evaluated",
            f"{judged:,}" if judged == asked else f"{judged:,} of {asked:,}",
            control,
        ),
        ("rows", f"{result.n_samples:,}", counted(result.n_features, "column")),
    )


def tasks_table(result: BatchesResult) -> TableView | None:
    """Return the AUROC of each label under each condition, if there are several labels."""
    if len(result.judged) < 2:
        return None
    totals = {(score.condition, score.task): score for score in result.scores}
    room = max(1, _MAX_TABLE_CELLS // len(result.conditions))
    shown = result.judged[: min(room, _MAX_TABLE_ROWS)]
    left = len(result.judged) - len(shown)
    rows = [
        (
            CellView(text=task),
            *(_score_cell(totals.get((each.name, task))) for each in result.conditions),
        )
        for task in shown
    ]
    note = "AUROC on held-out batches with its standard error over folds."
    if left:
        note += f" In the JSON only: {counted(left, 'more label')}."
    return TableView(
        title="AUROC of each label",
        caption=note,
        heads=(shorten(result.label, 40), *(each.title for each in result.conditions)),
        wordy=(True, *(False for _ in result.conditions)),
        rows=tuple(rows),
    )


def concentration_table(result: BatchesResult) -> TableView | None:
    """Return how much better the most used columns predict than the others."""
    if not result.concentrations:
        return None
    percents = sorted({found.percent for found in result.concentrations})
    values = {
        (found.condition, found.percent, found.reading): found.value
        for found in result.concentrations
    }
    columns = [(percent, reading) for percent in percents for reading in _READINGS]
    return TableView(
        title="Concentration in the top columns",
        caption="The most used columns (top) compared with the rest. ratio: AUROC of the top "
        "divided by that of the rest, minus 1; difference: top minus rest; normalised: 1 − (rest "
        "− 0.5) / (top − 0.5). Columns are ranked on training rows only.",
        heads=("condition", *(f"{reading}, top {percent:g} %" for percent, reading in columns)),
        wordy=(True, *(False for _ in columns)),
        rows=tuple(
            (
                CellView(text=condition.title),
                *(_estimate_cell(values.get((condition.name, *column))) for column in columns),
            )
            for condition in result.conditions
        ),
    )


def mixing_table(result: BatchesResult) -> TableView | None:
    """Return mixing scores below the AUROC on held-out batches.

    Scores are the rows because they outnumber the conditions.
    """
    if not result.mixing:
        return None
    sides = {found.name: (found.title, found.side) for found in result.mixing}
    values = {(found.condition, found.name): found.value for found in result.mixing}
    totals = {score.condition: score.auroc for score in result.scores if score.task is None}
    names = [condition.name for condition in result.conditions]
    held_out = (
        CellView(text="held-out AUROC"),
        CellView(text="labels transfer"),
        *(_estimate_cell(totals.get(name)) for name in names),
    )
    return TableView(
        title="Mixing scores and held-out AUROC",
        caption="Mixing scores are in sample: each condition is scored on the rows it was fitted "
        "to, as in other tools. An embedding of noise mixes batches perfectly; choose by the "
        f"held-out AUROC.{_unscored(result)}",
        heads=("score", "high if", *(condition.title for condition in result.conditions)),
        wordy=(True, True, *(False for _ in names)),
        rows=(
            held_out,
            *(
                (
                    CellView(text=title),
                    # The mean of each side is a total, but rewards only its own side.
                    CellView(text=_SIDES.get(score, _SIDES[side])),
                    *(_number_cell(values.get((name, score))) for name in names),
                )
                for score, (title, side) in sides.items()
            ),
        ),
        chosen=0,
    )


def _unscored(result: BatchesResult) -> str:
    """List the reasons for missing values, each once."""
    why = dict.fromkeys(
        f"{shorten(found.title, 40)}: {shorten(found.says, 120)}"
        for found in result.mixing
        if found.value is None and found.says
    )
    return f" Without a value: {'; '.join(why)}." if why else ""


def batches_tables(result: BatchesResult) -> tuple[tuple[TableView, ...], str]:
    """Return the detail tables, folds first, and a note on omitted rows."""
    tables, omitted = [folds_table(result)], len(result.folds) > _MAX_TABLE_ROWS
    shown = (len(result.judged) > 1) + bool(result.concentrations) + bool(result.mixing)
    # Labels, concentrations and mixing, which follow the first table, are shown elsewhere.
    first, *others = result.tables()
    for table in (first, *others[shown:]):
        wide = len(table.columns) * len(table.rows) > _MAX_TABLE_CELLS
        room = _MAX_TABLE_CELLS // len(table.columns) if wide else _MAX_TABLE_ROWS
        room = min(room, _MAX_TABLE_ROWS)
        omitted |= len(table.rows) > room
        tables.append(table_view(replace(table, rows=table.rows[:room])))
    words = (
        f"Tables show at most {_MAX_TABLE_ROWS} rows, and wide ones fewer; the others are in the "
        "JSON only."
    )
    return tuple(tables), words if omitted else ""


def folds_table(result: BatchesResult) -> TableView:
    """Return the numbers of training and held-out batches and rows in each fold."""
    heads = ("fold", "training batches", "training rows", "held-out batches", "held-out rows")
    return TableView(
        title="Folds",
        caption=f"Training and held-out rows share no value of {shorten(result.fold_by, 60)}.",
        heads=heads,
        wordy=tuple(False for _ in heads),
        rows=tuple(
            tuple(
                CellView(text=f"{number:,}", sort=str(number))
                for number in (
                    place,
                    fold.n_training_batches,
                    fold.n_training,
                    fold.n_held_out_batches,
                    fold.n_held_out,
                )
            )
            for place, fold in enumerate(result.folds[:_MAX_TABLE_ROWS])
        ),
    )


def _scheme(result: BatchesResult) -> str:
    way = f"{counted(len(result.folds), 'fold')} of batches"
    if result.scheme == "one-trains":
        way = "trained on one batch at a time, tested on all others"
    fitted = "training rows only"
    if result.fit == "all":
        fitted = "all rows, including held-out ones"
    return f"{way}; conditions are fitted to {fitted}; classifier: {shorten(result.classifier, 60)}"


def _score_facts(result: BatchesResult) -> list[tuple[str, str, str]]:
    titles = {condition.name: shorten(condition.title, 32) for condition in result.conditions}
    totals = {score.condition: score.auroc for score in result.scores if score.task is None}
    others = {name: auroc for name, auroc in totals.items() if name != BASE and auroc is not None}
    facts = []
    if BASE in totals:
        facts.append((f"AUROC, {titles[BASE]}", *_value(totals[BASE])))
    if others:
        best = max(others, key=lambda name: others[name].value)
        facts.append((f"AUROC, {titles[best]}", *_value(others[best])))
        found = differences_to_base(result).get(best)
        if found is not None:
            words = [interval_text(found.value, "+.3f"), word_of(found)]
            detail = ", ".join(word for word in words if word)
            facts.append((f"{titles[best]} minus base", f"{found.value.value:+.3f}", detail))
    return facts


def _value(value: Estimate | None) -> tuple[str, str]:
    return ("–", "no fold could be evaluated") if value is None else (
        f"{value.value:.3f}",
        interval_text(value),
    )  # fmt: skip


def _repeats(result: BatchesResult) -> tuple[str, ...]:
    leak = result.leak
    wells, rows = leak.n_repeated_wells, leak.n_repeated_rows
    return (
        f"{counted(wells, 'well')} repeated within a batch" if wells else "no duplicate wells",
        f"{counted(rows, 'row')} with identical values in several batches"
        if rows
        else "no row repeated in another batch",
    )


def _score_cell(score: ConditionScore | None) -> CellView:
    if score is None or score.auroc is None:
        return CellView(text="–", sort="")
    error = "" if score.standard_error is None else f"± {score.standard_error:.3f}"
    value = score.auroc.value
    return CellView(text=f"{value:.3f}", detail=error, sort=f"{value:.6g}")


def _estimate_cell(value: Estimate | None) -> CellView:
    return _number_cell(None if value is None else value.value)


def _number_cell(number: float | None) -> CellView:
    if number is None:
        return CellView(text="–", sort="")
    # Avoids "-0.000", which would look like a negative value.
    return CellView(text=f"{round(number, 3) + 0.0:.3f}", sort=f"{number:.6g}")
