"""Papers behind similarities of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core.catalogue import sources_of
from upto.measures.catalogue import MEASURES

if TYPE_CHECKING:
    from upto.questions.layers.result import LayersResult


def papers(result: LayersResult) -> tuple[str, ...]:
    """Return the papers behind the measures and their p-values."""
    names = [measure.name for measure in result.measures]
    return *sources_of(MEASURES, names), "Westfall and Young 1993"
