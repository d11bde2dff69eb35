"""Rules of the findings of `similarity`."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP025",
        title="similarity within chance",
        severity="warning",
        meaning="By this measure, rows paired at random are as similar as the true pairs, "
        "after adjustment for all pairs of runs.",
        matters="However high the value, it is no evidence of similarity: many measures are "
        "far from zero on noise.",
        remedy="Report the calibrated value; check that rows describe the same samples in the "
        "same order; use more rows.",
    ),
    Rule(
        code="UP027",
        title="rows alone in their class",
        severity="note",
        meaning="Rows are re-paired within classes, and some classes have only one row among the "
        "fitted or among the held-out rows.",
        matters="These rows keep their true partner in every re-pairing, which raises the chance "
        "level. The p-values stay valid.",
        remedy="Merge small classes, or hold out no rows.",
    ),
    Rule(
        code="UP039",
        title="outliers shared by all runs",
        severity="warning",
        meaning="In every run, some rows are more than four times as far out as the inner nine "
        "tenths.",
        matters="A few outliers can account for nearly all of a similarity, so unrelated runs that "
        "share nothing else look alike. Outliers are re-paired among themselves and so are part of "
        "the chance level: p-values test what the runs share apart from them; values are "
        "unaffected.",
        remedy="Inspect these rows, and score the runs without them.",
    ),
)
