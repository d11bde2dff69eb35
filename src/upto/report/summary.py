"""What a page says of a result, before it is markup: plain records for the templates."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from upto.core import Batches, Comparison, ComparisonMatrix, Factors
from upto.question import question_of_kind, resolve
from upto.report.batches import (
    BatchesView,
    batches_badge,
    batches_data,
    batches_facts,
    batches_tables,
    batches_view,
)
from upto.report.charts import (
    ErrorChart,
    ScatterChart,
    error_chart,
    histogram_chart,
    scatter_chart,
)
from upto.report.comparisons import (
    Bracket,
    comparison_facts,
    efficiency_facts,
    headline_fit,
    what_both_hold,
    worst_error,
)
from upto.report.factors import (
    FactorsView,
    factors_badge,
    factors_data,
    factors_facts,
    factors_tables,
    factors_verdict,
    factors_view,
)
from upto.report.findings import FindingView, finding_views
from upto.report.heat import AGREEMENTS, Heat, heat_maps
from upto.report.markup import Inert, json_block
from upto.report.panels import PanelView, panel_views, panels_data
from upto.report.studies import study_badge, study_facts
from upto.report.tables import TableView, runs_table, table_view

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upto.core import Result
    from upto.report.section import Section

_MAX_TABLE_RUNS = 24
_MAX_HEADLINE = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A number under the verdict."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A result as its page shows it."""

    anchor: str
    kind: str
    names: tuple[str, ...]
    verdict: str
    lead: str
    badge: tuple[str, str] | None
    facts: tuple[Fact, ...]
    findings: tuple[FindingView, ...]
    tables: tuple[TableView, ...]
    runs: TableView | None
    provenance: tuple[tuple[str, str], ...]
    data: Inert
    promised: tuple[TableView, ...] = ()
    errors: ErrorChart | None = None
    spreads: tuple[tuple[str, Inert], ...] = ()
    chosen: str = ""
    scatter: ScatterChart | None = None
    scatter_group: str = ""
    scatter_label: str = ""
    bracket: Bracket | None = None
    efficiency: tuple[Fact, ...] = ()
    agreeing: tuple[str, ...] = ()
    heat: Heat | None = None
    factors: FactorsView | None = None
    batches: BatchesView | None = None
    panels: tuple[PanelView, ...] = ()
    plain: bool = False
    template: str = ""
    body: Any = None
    details: str = ""
    omitted: str = ""


def summarise(result: Result, number: int = 1) -> View:
    """Say what a page shows of a result; results of a new kind show their verdict and tables."""
    verdict, colon, lead = result.verdict.partition(": ")
    if not colon or len(verdict) > _MAX_HEADLINE:
        verdict, lead = result.verdict, ""
    common: dict[str, Any] = {
        "anchor": f"result-{number}",
        "kind": result.kind,
        "verdict": verdict,
        "lead": lead[:1].upper() + lead[1:],
        "findings": finding_views(result.findings),
        "provenance": _provenance(result),
    }
    question = question_of_kind(result.kind)
    if question is not None and question.page is not None:
        return _section(question.name, resolve(question.page)(result), common)
    if isinstance(result, Comparison):
        return _comparison(result, common)
    if isinstance(result, ComparisonMatrix):
        return _matrix(result, common)
    if isinstance(result, Factors):
        return _factors(result, common)
    if isinstance(result, Batches):
        return _batches(result, common)
    panels = panel_views(result.panels())
    return View(
        **common,
        names=(getattr(result, "name", result.kind),),
        badge=study_badge(result),
        facts=_told(study_facts(result)),
        tables=tuple(table_view(table) for table in result.tables()),
        runs=None,
        data=json_block({"plots": panels_data(panels)}),
        panels=panels,
        plain=True,
    )


def _section(name: str, section: Section, common: dict[str, Any]) -> View:
    return View(
        **common,
        names=section.names,
        badge=section.badge,
        facts=_told(section.facts),
        tables=section.tables,
        runs=None,
        data=json_block(section.data),
        template=f"{name}/page.html",
        body=section.body,
        details=section.details,
        omitted=section.omitted,
    )


def _comparison(result: Comparison, common: dict[str, Any]) -> View:
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
    return View(
        **common,
        names=(result.first.name, result.second.name),
        badge=AGREEMENTS[result.agreement],
        facts=_told(comparison_facts(result)),
        tables=(table_view(headline, chosen=chosen), *(table_view(table) for table in others)),
        runs=runs_table((result.first, result.second)),
        data=json_block(data),
        promised=tuple(table_view(table) for table in promised),
        errors=error_chart(result),
        spreads=tuple((f.name, histogram_chart(f)) for f in result.fits if f.histogram is not None),
        chosen=best.name if best is not None else "",
        scatter=scatter,
        scatter_group=str(result.scatter.up_to) if result.scatter else "",
        scatter_label=(result.scatter.label or "") if result.scatter else "",
        bracket=worst_error(result),
        efficiency=_told(efficiency_facts(result)),
        agreeing=what_both_hold(result),
        panels=panels,
    )


def _matrix(result: ComparisonMatrix, common: dict[str, Any]) -> View:
    heat, data = heat_maps(result)
    small = len(result.runs) <= _MAX_TABLE_RUNS
    tables = tuple(table_view(table) for table in result.tables()) if small else ()
    omitted = f"Tables of more than {_MAX_TABLE_RUNS} runs are left to the JSON of the result."
    errors = [v for row in result.matrices[heat.chosen].error for v in row if v is not None]
    group = heat.groups[heat.chosen]
    agreed = sum(str(cell) == group for row in result.up_to for cell in row)
    facts = (
        Fact(label="runs", value=str(len(result.runs)), detail=f"{len(errors)} ordered pairs"),
        Fact(
            label="most often up to",
            value=group if agreed else "none",
            detail=f"{agreed} of {len(errors)} pairs" if agreed else "no pair has a verdict",
        ),
        Fact(
            label=f"median error · {group}",
            value=f"{median(errors):.4f}" if errors else "–",
            detail=f"{min(errors):.4f} to {max(errors):.4f}" if errors else "",
        ),
        Fact(
            label="rows",
            value=f"{result.n_samples:,}",
            detail=f"{result.n_held_out:,} held out" if result.n_held_out else "none held out",
        ),
    )
    return View(
        **common,
        names=tuple(run.name for run in result.runs),
        badge=None,
        facts=facts,
        tables=tables,
        runs=runs_table(result.runs),
        data=json_block(data),
        heat=heat,
        omitted="" if small else omitted,
    )


def _factors(result: Factors, common: dict[str, Any]) -> View:
    verdict, lead = factors_verdict(result)
    tables, omitted = factors_tables(result)
    return View(
        **common | {"verdict": verdict, "lead": lead},
        names=(result.name,),
        badge=factors_badge(result),
        facts=_told(factors_facts(result)),
        tables=tables,
        runs=None,
        data=json_block(factors_data(result)),
        factors=factors_view(result),
        omitted=omitted,
    )


def _batches(result: Batches, common: dict[str, Any]) -> View:
    tables, omitted = batches_tables(result)
    return View(
        **common,
        names=(result.name,),
        badge=batches_badge(result),
        facts=_told(batches_facts(result)),
        tables=tables,
        runs=None,
        data=json_block(batches_data(result)),
        batches=batches_view(result),
        omitted=omitted,
    )


def _told(facts: Iterable[tuple[str, str, str]]) -> tuple[Fact, ...]:
    return tuple(Fact(label=label, value=value, detail=detail) for label, value, detail in facts)


def _provenance(result: Result) -> tuple[tuple[str, str], ...]:
    origin = result.provenance
    versions = ", ".join(f"{name} {version}" for name, version in origin.versions.items())
    return (
        ("call", origin.call),
        ("seed", str(origin.seed)),
        ("engine", origin.engine),
        ("seconds", f"{origin.seconds:.3g}"),
        ("versions", versions),
    )
