"""Prepare tables for templates: texts, details and sort keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import Column, Estimate, Table

if TYPE_CHECKING:
    from upto.core import Cell, RunSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class CellView:
    """One cell: its text, a detail in small print, and its sort key."""

    text: str
    detail: str = ""
    sort: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """A table for a template; columns of text are `wordy`, the others numeric."""

    title: str
    caption: str
    heads: tuple[str, ...]
    wordy: tuple[bool, ...]
    rows: tuple[tuple[CellView, ...], ...]
    chosen: int | None = None


def runs_table(runs: tuple[RunSummary, ...]) -> TableView:
    """Return a table of the properties of each run."""
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        d = run.diameter
        diameter: Cell = d.value
        if not d.exact:
            diameter = Estimate(value=d.value, low=d.value, high=d.upper)
        rows.append(
            (
                run.name, run.n_samples, run.n_features, run.rank, run.n_dead, diameter,
                d.quantile, run.spread, run.layer, run.seed,
            )
        )  # fmt: skip
    names = ("run", "rows", "coordinates", "rank", "dead", "diameter", "99.9 % of distances")
    heads = (*names, "spread", "layer", "seed")
    keep = [
        index for index, name in enumerate(heads)
        if name not in ("layer", "seed") or any(row[index] is not None for row in rows)
    ]  # fmt: skip
    exact = all(run.diameter.exact for run in runs)
    note = "exact" if exact else "certified bounds [low, high] where the exact value is too costly"
    return table_view(
        Table(
            title="The runs",
            columns=tuple(Column(name=heads[index], spec=".4g") for index in keep),
            rows=tuple(tuple(row[index] for index in keep) for row in rows),
            caption=f"The diameter is the largest distance between two rows ({note}).",
        )
    )


def table_view(table: Table, *, chosen: int | None = None) -> TableView:
    """Prepare a table for a template."""
    rows = tuple(
        tuple(_cell(column, cell) for column, cell in zip(table.columns, row, strict=True))
        for row in table.rows
    )
    return TableView(
        title=table.title,
        caption=table.caption,
        heads=tuple(column.name for column in table.columns),
        wordy=tuple(
            any(row[index].sort is None for row in rows) for index in range(len(table.columns))
        ),
        rows=rows,
        chosen=chosen,
    )


def _cell(column: Column, cell: Cell) -> CellView:
    if cell is None:
        return CellView(text="–", sort="")
    if isinstance(cell, Estimate):
        detail = ""
        if cell.low is not None and cell.high is not None:
            detail = f"[{cell.low:{column.spec}}, {cell.high:{column.spec}}]"
        return CellView(
            text=f"{cell.value:{column.spec}}", detail=detail, sort=repr(float(cell.value))
        )
    if isinstance(cell, str):
        return CellView(text=cell)
    return CellView(text=column.text(cell), sort=repr(float(cell)))
