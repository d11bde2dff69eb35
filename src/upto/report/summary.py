"""Summarise results as plain records for the templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from upto.question import question_of_kind, resolve
from upto.report.findings import FindingView, finding_views
from upto.report.markup import Inert, json_block
from upto.report.panels import panel_views, panels_data
from upto.report.section import Section
from upto.report.studies import study_badge, study_facts
from upto.report.table_view import TableView, table_view

if TYPE_CHECKING:
    from upto.core import Result

_MAX_HEADLINE = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A number below the verdict."""

    label: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A result for its page: the section of its question and the parts common to all results."""

    anchor: str
    kind: str
    names: tuple[str, ...]
    verdict: str
    lead: str
    badge: tuple[str, str] | None
    facts: tuple[Fact, ...]
    findings: tuple[FindingView, ...]
    template: str
    body: Any
    tables: tuple[TableView, ...]
    n_shown: int
    details: str
    omitted: str
    runs: TableView | None
    provenance: tuple[tuple[str, str], ...]
    data: Inert


def summarise(result: Result, number: int = 1) -> View:
    """Return the view of a result; without its own section, verdict, tables and panels."""
    question = question_of_kind(result.kind)
    if question is not None and question.page is not None:
        template, section = f"{question.name}/page.html", resolve(question.page)(result)
    else:
        template, section = "plain.html", _plain(result)
    verdict, lead = section.headline or _headline(result.verdict)
    return View(
        anchor=f"result-{number}",
        kind=result.kind,
        names=section.names,
        verdict=verdict,
        lead=lead,
        badge=section.badge,
        facts=tuple(
            Fact(label=label, value=value, detail=more) for label, value, more in section.facts
        ),
        findings=finding_views(result.findings),
        template=template,
        body=section.body,
        tables=section.tables,
        n_shown=section.n_shown,
        details=section.details,
        omitted=section.omitted,
        runs=section.runs,
        provenance=_provenance(result),
        data=json_block(section.data),
    )


def _plain(result: Result) -> Section:
    panels = panel_views(result.panels())
    return Section(
        names=(getattr(result, "name", result.kind),),
        badge=study_badge(result),
        facts=study_facts(result),
        tables=tuple(table_view(table) for table in result.tables()),
        body=panels,
        data={"plots": panels_data(panels)},
    )


def _headline(verdict: str) -> tuple[str, str]:
    head, colon, lead = verdict.partition(": ")
    if colon and " " not in head:  # the name of a run, which stands above the headline
        return _headline(lead[:1].upper() + lead[1:])
    if not colon or len(head) > _MAX_HEADLINE:
        head, stop, lead = verdict.partition(". ")
        return (f"{head}.", lead) if stop else (verdict, "")
    return head, lead[:1].upper() + lead[1:]


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
