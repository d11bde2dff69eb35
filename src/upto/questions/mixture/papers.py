"""Papers behind the identifiability of mixtures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.questions.mixture.result import MixtureResult


def papers(result: MixtureResult) -> tuple[str, ...]:
    """Return the paper of the hierarchy, and those of the measures that were used."""
    found = ["Kivva et al. 2022"]
    if result.stability is not None:
        found.append("Kuhn 1955")
    if any(pair.codes is not None for pair in result.pairs):
        found.append("Hubert and Arabie 1985")
    return tuple(found)
