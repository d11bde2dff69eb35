"""Rules of findings about the components of a run."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP008",
        title="narrow directions dropped",
        severity="note",
        meaning="Rows vary along some directions, but by less than the precision of their numbers "
        "tells from rounding, or than the rank tolerance that was asked for.",
        matters="There are fewer components than dimensions, and what lies in these directions is "
        "in none of them.",
        remedy="Save the run in double precision, or subtract a mean that is large beside what "
        "varies; where you gave a rank tolerance, give a smaller one, or none.",
    ),
    Rule(
        code="UP021",
        title="order or sign of components not settled",
        severity="note",
        meaning="The rule for order or sign decides between components on less than rounding.",
        matters="Another machine or start may exchange these components or flip their signs; "
        "what they are is not in question.",
        remedy="Match components by their correlation when you compare such files.",
    ),
    Rule(
        code="UP022",
        title="unstable components",
        severity="warning",
        meaning="Some components are not found again from other starts or in resampled rows, "
        "or some starts did not converge. All starts count.",
        matters="They depend on the start or on single rows: another run will not show them.",
        remedy="Keep the stable components, use more rows, or ask for fewer components.",
    ),
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
