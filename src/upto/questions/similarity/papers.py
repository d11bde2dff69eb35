"""Papers behind similarities."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.questions.similarity.result import SimilarityResult


def papers(result: SimilarityResult) -> tuple[str, ...]:
    """Return the papers behind the measures and their p-values."""
    return *(measure.source for measure in result.measures), "Westfall and Young 1993"
