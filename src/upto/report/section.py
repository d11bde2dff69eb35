"""What a question shows on its page: the records that its template reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from upto.report.table_view import TableView


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A question's part of a page, made from its result.

    Attributes
    ----------
    names
        Names of the runs or of the one thing the result is about.
    facts
        Numbers under the verdict: what, its value, and a detail or nothing.
    tables
        The template shows the first `n_shown`; the others are folded below.
    body
        What the question's template reads as `view.body`.
    data
        What the page's script reads, such as plots for their tooltips.
    badge
        A word on the verdict and its style.
    details
        The line that opens the folded tables; without it they are not shown.
    omitted
        What the page leaves to the JSON of the result.
    headline
        What stands large and what stands below it; the verdict up to its colon, and the rest, by
        default.
    runs
        The table of runs, if it is shown.
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
