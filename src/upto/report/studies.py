"""Badge and facts of a study on its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import StudyResult

if TYPE_CHECKING:
    from upto.core import Result


def study_badge(result: Result) -> tuple[str, str] | None:
    """Return a short label, and its style, for whether the paper's claims hold.

    None for other results, and for studies without claims of a paper.
    """
    if not isinstance(result, StudyResult) or not result.claims.total:
        return None
    claims = result.claims
    if claims.held == claims.total:
        return "the paper's claims hold", "good"
    if claims.held:
        return "some of the paper's claims hold", "fair"
    return "none of the paper's claims holds", "poor"


def study_facts(result: Result) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each number below the verdict of a study."""
    if not isinstance(result, StudyResult):
        return ()
    counted = (
        ("the paper's claims borne out", result.claims),
        ("our expectations met", result.expectations),
    )
    return (
        *(
            (label, str(tally), f"{tally.before} fixed before any run" if tally.total else "")
            for label, tally in counted
        ),
        ("size", result.size, result.device),
        ("source", result.paper, ""),
    )
