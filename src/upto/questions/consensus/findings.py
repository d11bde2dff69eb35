"""Rules of findings about what runs share."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP030",
        title="run that does not belong",
        severity="warning",
        meaning="The consensus of the other runs explains nothing of this run on held-out "
        "rows, or no more than of rows drawn at random; or the run is more than twice as wide "
        "as they predict it.",
        matters="The run has no part in the consensus, and its noise is in the mean.",
        remedy="Check that its rows are the same samples in the same order, or pass ids; allow "
        "a scale where runs have different ones (similarity). Else leave the run out.",
    ),
    Rule(
        code="UP031",
        title="few reproducible components",
        severity="warning",
        meaning="Fewer than half of the components of the consensus appear in every run.",
        matters="The others are not identifiable from these runs: another training will not "
        "show them.",
        remedy="Read the components that appear in every run only; use fewer components, more "
        "rows, or leave out runs that do not belong.",
    ),
    Rule(
        code="UP032",
        title="inconsistent matching of components",
        severity="warning",
        meaning="Matched from run to run along a cycle, components do not come back to where "
        "they began: the common matching contradicts more than a tenth of the matches "
        "between two runs.",
        matters="There is no one list of components that all runs share; the consensus mixes "
        "different ones.",
        remedy="Compare up to a rigid motion, or find the groups of runs that agree and make a "
        "consensus of each.",
    ),
)
