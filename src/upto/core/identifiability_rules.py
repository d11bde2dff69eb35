"""Rules of findings about what of a run's components is identifiable."""

from __future__ import annotations

from upto.core.rule import Rule

IDENTIFIABILITY_RULES = (
    Rule(
        code="UP029",
        title="components not shown to be identifiable",
        severity="warning",
        meaning="Some components are not found again in two parts of the rows that share none, or "
        "cannot be told from Gaussian ones; nor is it known that they can turn.",
        matters="They may be sources that so few rows do not settle, or mixtures that only these "
        "rows have: another sample, or another training, need not show them.",
        remedy="Read the components that are identifiable. Use more rows, at least 50 for each "
        "component, or ask for fewer components.",
    ),
    Rule(
        code="UP033",
        title="rows that depend on their neighbours",
        severity="warning",
        meaning="Neighbouring rows are correlated along a leading principal component, by more "
        "than four standard errors and more than 0.05, or rows up to 30 apart by more than five.",
        matters="Such rows repeat each other: they are worth fewer than they are. Standard errors "
        "are widened accordingly, and parts of the rows are made of whole blocks of them.",
        remedy="Nothing is needed for a time series or a trajectory. Where the order means "
        "nothing, as in rows sorted by class, shuffle the rows first.",
    ),
)
