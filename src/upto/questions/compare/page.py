"""Page section of a comparison: errors per group for two runs, heat maps for more."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from upto.questions.compare.charts import (
    ErrorChart,
    ScatterChart,
    error_chart,
    histogram_chart,
    scatter_chart,
)
from upto.questions.compare.facts import (
    WorstError,
    comparison_facts,
    efficiency_facts,
    headline_fit,
    what_both_hold,
    worst_error,
)
from upto.questions.compare.heat_maps import AGREEMENTS, HeatMaps, heat_maps
from upto.report.markup import Inert
from upto.report.panels import PanelView, panel_views, panels_data
from upto.report.section import Section
from upto.report.table_view import TableView, runs_table, table_view

if TYPE_CHECKING:
    from upto.questions.compare.matrix import Pairs
    from upto.questions.compare.result import CompareResult

_MAX_TABLE_RUNS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PairBody:
    """Data of the template for two runs; missing parts are None or empty."""

    errors: ErrorChart
    spreads: tuple[tuple[str, Inert], ...]
    chosen: str
    panels: tuple[PanelView, ...]
    agreeing: tuple[str, ...]
    promised: tuple[TableView, ...]
    scatter: ScatterChart | None
    scatter_group: str
    scatter_label: str
    worst: WorstError | None
    efficiency: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllPairsBody:
    """Data of the template for three or more runs."""

    heat: HeatMaps


def page(result: CompareResult) -> Section:
    """Return the page section of a comparison."""
    return _pair(result) if result.pairs is None else _all_pairs(result, result.pairs)


def _pair(result: CompareResult) -> Section:
    best = headline_fit(result)
    headline, *others = result.tables()
    n_promised = 2 if result.promised else 0
    promised, others = others[:n_promised], others[n_promised:]
    chosen = next(
        (i for i, f in enumerate(result.fits) if f.up_to is result.up_to and not f.unmixed), None
    )
    scatter = scatter_chart(result.scatter) if result.scatter is not None else None
    panels = panel_views(result.panels())
    data: dict[str, Any] = {"plots": panels_data(panels)} if panels else {}
    if scatter is not None:
        data["scatter"] = {"points": scatter.points, "labels": scatter.labels}
    return Section(
        names=(result.first.name, result.second.name),
        badge=AGREEMENTS[result.agreement] if result.agreement else None,
        facts=comparison_facts(result),
        tables=(table_view(headline, chosen=chosen), *(table_view(table) for table in others)),
        runs=runs_table(result.runs),
        data=data,
        details="All errors in detail",
        body=PairBody(
            promised=tuple(table_view(table) for table in promised),
            errors=error_chart(result),
            spreads=tuple(
                (f.name, histogram_chart(f)) for f in result.fits if f.histogram is not None
            ),
            chosen=best.name if best is not None else "",
            scatter=scatter,
            scatter_group=str(result.scatter.up_to) if result.scatter else "",
            scatter_label=(result.scatter.label or "") if result.scatter else "",
            worst=worst_error(result),
            efficiency=efficiency_facts(result),
            agreeing=what_both_hold(result),
            panels=panels,
        ),
    )


def _all_pairs(result: CompareResult, pairs: Pairs) -> Section:
    heat, data = heat_maps(result.runs, pairs)
    small = len(result.runs) <= _MAX_TABLE_RUNS
    tables = tuple(table_view(table) for table in result.tables()) if small else ()
    omitted = f"Tables of more than {_MAX_TABLE_RUNS} runs are in the JSON only."
    errors = [v for row in pairs.matrices[heat.chosen].error for v in row if v is not None]
    group = heat.groups[heat.chosen]
    agreed = sum(str(cell) == group for row in pairs.up_to for cell in row)
    spread = f"{min(errors):.4f} to {max(errors):.4f}" if errors else ""
    return Section(
        names=tuple(run.name for run in result.runs),
        facts=(
            ("runs", str(len(result.runs)), f"{len(errors)} ordered pairs"),
            (
                "most often up to",
                group if agreed else "none",
                f"{agreed} of {len(errors)} pairs" if agreed else "no pair has a verdict",
            ),
            (f"median error · {group}", f"{median(errors):.4f}" if errors else "–", spread),
            (
                "rows",
                f"{result.n_samples:,}",
                f"{result.n_held_out:,} held out" if result.n_held_out else "none held out",
            ),
        ),
        tables=tables,
        n_shown=0,
        runs=runs_table(result.runs),
        data=data,
        body=AllPairsBody(heat=heat),
        details="Tables of all numbers" if tables else "",
        omitted="" if small else omitted,
    )
