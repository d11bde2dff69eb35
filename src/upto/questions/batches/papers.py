"""Papers behind conditions and mixing scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.batch_metrics.mixing.catalogue import MIXING
from upto.core.catalogue import sources_of
from upto.questions.batches.conditions import CONDITIONS, THEN

if TYPE_CHECKING:
    from upto.questions.batches.result import BatchesResult


def papers(result: BatchesResult) -> tuple[str, ...]:
    """Return the papers behind the conditions and the mixing scores."""
    steps = [step for each in result.conditions for step in each.name.split(THEN)]
    mixing = [score.name for score in result.mixing if score.value is not None]
    return *sources_of(CONDITIONS, steps), *sources_of(MIXING, mixing)
