"""Rules of findings about similarities."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP025",
        title="similarity within chance",
        severity="warning",
        meaning="Rows paired at random are as similar by this measure as the true pairs are, "
        "having looked at all pairs of runs.",
        matters="However high the value, it says nothing about these runs: many measures are "
        "far from zero on noise.",
        remedy="Read the calibrated value; check that rows describe the same samples in the "
        "same order; use more rows.",
    ),
    Rule(
        code="UP027",
        title="rows without another in their class",
        severity="note",
        meaning="Rows are paired at random within classes, and some classes have one row, "
        "among the rows that are fitted or among those held out.",
        matters="These rows keep their true partner in every pairing, which makes chance look "
        "more similar than it is. The p-values stay valid.",
        remedy="Join small classes, or hold nothing out.",
    ),
    Rule(
        code="UP039",
        title="far rows that every run has",
        severity="warning",
        meaning="Some rows are more than four times as far out, in every run, as the inner nine "
        "tenths are.",
        matters="A few far rows can make up nearly all of a similarity, so unrelated runs that "
        "share nothing else look alike. They are paired among themselves, so that chance has them "
        "as well: p-values say what the runs share beside them, and values are as without it.",
        remedy="Look at these rows, and score the runs without them.",
    ),
)
