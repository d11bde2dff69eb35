"""Papers behind the maps of an alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.questions.align.result import AlignResult

_OF_MAPS = {
    "rigid": "Schönemann 1966",
    "similarity": "Schönemann 1966",
    "signed-permutation": "Kuhn 1955",
}


def papers(result: AlignResult) -> tuple[str, ...]:
    """Return the papers behind the chosen map."""
    found = _OF_MAPS.get(result.chosen)
    return () if found is None else (found,)
