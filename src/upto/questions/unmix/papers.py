"""Papers behind independent components."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.questions.unmix.result import UnmixResult

_SOLVERS = {"fastica": "Hyvärinen 1999", "picard": "Ablin et al. 2018"}


def papers(result: UnmixResult) -> tuple[str, ...]:
    """Return the papers behind the solvers that ran."""
    ran = [step.solver for step in result.trace] or [result.solver]
    return tuple(_SOLVERS[each] for each in dict.fromkeys(ran) if each in _SOLVERS)
