"""Papers behind scores of codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core.catalogue import sources_of
from upto.core.references import ICA
from upto.disentanglement.catalogue import SCORES

if TYPE_CHECKING:
    from upto.questions.factors.result import FactorsResult


def papers(result: FactorsResult) -> tuple[str, ...]:
    """Return the papers behind the scores, the matching of latents and the forms."""
    ran_ica = any(form.converged is not None for form in result.forms)
    names = [score.name for score in result.scores]
    return *sources_of(SCORES, names), "Kuhn 1955", *([ICA] if ran_ica else [])
