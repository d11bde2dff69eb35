"""Sections of a page: the records that the template of a question reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from upto.report.table_view import TableView


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The part of a page that shows the result of one question.

    Attributes
    ----------
    names
        Names of the runs or of the subject of the result.
    facts
        Numbers below the verdict: label, value, and a detail or an empty string.
    tables
        Tables; the template shows the first `n_shown`, the others are collapsed.
    body
        Record that the question's template reads as `view.body`.
    data
        Data that the page's script reads, e.g. tooltips of plots.
    badge
        A label for the verdict and its style.
    details
        Heading of the collapsed tables; without it they are not shown.
    omitted
        Note on contents that are in the JSON only.
    headline
        Heading and the text below it; by default the verdict up to its colon, and the rest.
    runs
        Table of runs, if shown.
    """

    names: tuple[str, ...]
    facts: tuple[tuple[str, str, str], ...]
    tables: tuple[TableView, ...]
    body: Any
    data: Any
    badge: tuple[str, str] | None = None
    details: str = ""
    omitted: str = ""
    headline: tuple[str, str] | None = None
    runs: TableView | None = None
    n_shown: int = 1
