"""Papers behind the bounds for a decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.questions.lipschitz.result import LipschitzResult


def papers(result: LipschitzResult) -> tuple[str, ...]:
    """Return the papers behind the bounds, if there are any."""
    return ("Powers and Størmer 1970; Kiefer and Wolfowitz 1960",) if result.promises else ()
