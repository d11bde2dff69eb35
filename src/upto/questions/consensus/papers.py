"""Papers behind a consensus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core.references import ICA

if TYPE_CHECKING:
    from upto.questions.consensus.result import ConsensusResult


def papers(result: ConsensusResult) -> tuple[str, ...]:
    """Return the papers behind the alignment of all runs."""
    return ("Gower 1975", f"{ICA}; Kuhn 1955") if result.up_to == "ica" else ("Gower 1975",)
