"""What a page says of a study beside its tables and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import StudyResult

if TYPE_CHECKING:
    from upto.core import Result


def study_badge(result: Result) -> tuple[str, str] | None:
    """Return whether the claims hold, in two words and a colour; None for other results."""
    if not isinstance(result, StudyResult) or not result.n_claims:
        return None
    if result.n_held == result.n_claims:
        return "all claims hold", "good"
    return ("some claims hold", "fair") if result.n_held else ("no claim holds", "poor")


def study_facts(result: Result) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each number under the verdict of a study."""
    if not isinstance(result, StudyResult):
        return ()
    return (
        ("claims that hold", f"{result.n_held} of {result.n_claims}", "in their expected range"),
        ("size", result.size, result.device),
        ("source", result.paper, ""),
    )
