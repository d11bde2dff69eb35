"""Papers behind a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Group
from upto.core.references import ICA

if TYPE_CHECKING:
    from upto.questions.compare.result import CompareResult

_PROCRUSTES = {Group.RIGID, Group.SIMILARITY}
_MATCHED = {Group.SIGNED_PERMUTATION, Group.SIGNED_SIMILARITY, Group.SCALED_PERMUTATION}


def papers(result: CompareResult) -> tuple[str, ...]:
    """Return the papers behind the maps, intervals, tests and bounds of a comparison."""
    matrices = () if result.pairs is None else result.pairs.matrices
    names = {fit.name for fit in result.fits} | {matrix.name for matrix in matrices}
    used = {
        "Schönemann 1966": names & {str(group) for group in _PROCRUSTES},
        "Kuhn 1955": names & {str(group) for group in _MATCHED},
        ICA: any(name.startswith("ica") for name in names),
        "Bădoiu and Clarkson 2003": not all(run.diameter.exact for run in result.runs),
        "Lawson 1961": any(fit.supremum is not None for fit in result.fits),
        "Efron and Tibshirani 1993; Westfall and Young 1993": result.n_held_out,
        "Powers and Størmer 1970; Kiefer and Wolfowitz 1960": result.promised,
    }
    return tuple(source for source, is_used in used.items() if is_used)
