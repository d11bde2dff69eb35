"""Rules of the findings of `consensus`."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP030",
        title="run that does not belong",
        severity="warning",
        meaning="On held-out rows, the consensus of the other runs explains none of this run, or "
        "no more than of rows drawn at random; or the run is more than twice as wide as they "
        "predict.",
        matters="The run does not share the consensus, and its noise enters the mean.",
        remedy="Check that its rows are the same samples in the same order, or pass ids; use "
        "similarity if runs have different scales. Otherwise exclude the run.",
    ),
    Rule(
        code="UP031",
        title="few reproducible components",
        severity="warning",
        meaning="Fewer than half of the components of the consensus appear in every run.",
        matters="The other components are not identifiable from these runs: another training run "
        "will not reproduce them.",
        remedy="Interpret only the components that appear in every run; use fewer components, more "
        "rows, or exclude runs that do not belong.",
    ),
    Rule(
        code="UP032",
        title="inconsistent matching of components",
        severity="warning",
        meaning="Matching components from run to run along a cycle does not return to the start: "
        "the common matching contradicts more than a tenth of the matches between two runs.",
        matters="The runs do not share a single set of components; the consensus mixes "
        "different ones.",
        remedy="Use a consensus up to a rigid motion, or find groups of runs that agree and "
        "compute a consensus of each.",
    ),
)
