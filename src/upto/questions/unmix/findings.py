"""Findings about the components of a run."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP008",
        title="narrow directions dropped",
        severity="note",
        meaning="The variance along some directions is within rounding error of the stored "
        "numbers, or below the rank tolerance that was set.",
        matters="There are fewer components than dimensions, and no component contains these "
        "directions.",
        remedy="Save the run in double precision, or subtract a mean that is large compared with "
        "the variation; if you set a rank tolerance, lower or drop it.",
    ),
    Rule(
        code="UP021",
        title="order or sign of components not settled",
        severity="note",
        meaning="The rule that fixes order or sign is decided by rounding error.",
        matters="Another machine or start may swap these components or flip their signs; the "
        "components themselves are not affected.",
        remedy="Match components by correlation when you compare such files.",
    ),
    Rule(
        code="UP022",
        title="unstable components",
        severity="warning",
        meaning="Some components are not recovered from other starts or in resampled rows, or "
        "some starts did not converge. All starts count.",
        matters="They depend on the start or on single rows: another run will not reproduce them.",
        remedy="Keep the stable components, use more rows, or fit fewer components.",
    ),
    Rule(
        code="UP029",
        title="components not shown to be identifiable",
        severity="warning",
        meaning="Some components are not recovered in two disjoint parts of the rows, or cannot be "
        "distinguished from Gaussian ones; nor are they shown to be defined only up to rotation.",
        matters="They may be sources that need more rows, or mixtures specific to these rows: "
        "another sample, or another training, need not reproduce them.",
        remedy="Interpret only the identifiable components. Use more rows, at least 50 per "
        "component, or fit fewer components.",
    ),
    Rule(
        code="UP033",
        title="rows that depend on their neighbours",
        severity="warning",
        meaning="Neighbouring rows are correlated along a leading principal component, by more "
        "than four standard errors and more than 0.05, or rows up to 30 apart by more than five.",
        matters="Dependent rows carry less information: the effective sample size is smaller. "
        "Standard errors are widened accordingly, and rows are split in whole blocks.",
        remedy="Nothing for a time series or a trajectory. If the order is meaningless, e.g. rows "
        "sorted by class, shuffle the rows first.",
    ),
)
