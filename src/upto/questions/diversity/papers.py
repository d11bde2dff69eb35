"""Papers behind the diversity of a head."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.questions.diversity.result import DiversityResult


def papers(_: DiversityResult) -> tuple[str, ...]:
    """Return the paper behind the diversity condition."""
    return ("Roeder et al. 2021",)
