"""Rules of the findings of `align`."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP101",
        title="pairs unlike the index",
        severity="warning",
        meaning="At least twice as many rows of the index as of the held-out pairs are far from "
        "every fitted pair.",
        matters="The recall was measured on rows like the pairs. Maps are not judged where the "
        "index has rows and the pairs have none, and flexible maps fail there first.",
        remedy="Draw the rows that are embedded again at random from the index, and align again.",
    ),
    Rule(
        code="UP102",
        title="lengths of rows not carried",
        severity="warning",
        meaning="Rows of the new model differ in length, the metric depends on it, and the lengths "
        "of mapped rows correlate with the true ones by less than 0.9.",
        matters="Under the inner product or the distance, rows that come out too long or too short "
        "are found too often or too rarely, above all among rows that were embedded again.",
        remedy="Use the cosine if the new model allows it; do not mix carried and freshly embedded "
        "rows in one index.",
    ),
    Rule(
        code="UP103",
        title="beyond affine maps",
        severity="note",
        meaning="A nonlinear map finds clearly more of the nearest rows than every affine map.",
        matters="The two models are not the same representation up to an affine map: a linear "
        "probe may find in one what it does not find in the other.",
        remedy="Use the nonlinear map if its recall is enough. It is applied by upto; an affine "
        "map is one product, which any service can do.",
    ),
    Rule(
        code="UP104",
        title="more pairs would help",
        severity="note",
        meaning="The last doubling of the number of pairs raised the recall by more than 0.01, "
        "beyond its error.",
        matters="The recall is limited by the number of rows embedded again, not only by the map.",
        remedy="Embed more rows of the index again, and align again; the curve shows what the "
        "pairs you have were worth.",
    ),
    Rule(
        code="UP105",
        title="recall extrapolated far",
        severity="warning",
        meaning="The index has more than 32 times as many rows as were judged.",
        matters="The recall in an index of that size is an extrapolation from how it fell among "
        "the rows that were searched. Its interval includes how much that varied from doubling to "
        "doubling of the size, not what happens beyond.",
        remedy="Embed more rows of the index again, so that more are held out; or search a sample "
        "of the carried index with queries whose true neighbours you know.",
    ),
    Rule(
        code="UP106",
        title="few queries",
        severity="warning",
        meaning="Fewer than 200 held-out rows are queries.",
        matters="Recalls have wide intervals, and the choice of the map is uncertain.",
        remedy="Embed more rows of the index again, or hold out a larger part.",
    ),
    Rule(
        code="UP107",
        title="no better than the old model",
        severity="warning",
        meaning="The carried index finds no more of the new model's nearest rows than the old "
        "model does, and is not shown to find enough of them.",
        matters="Carrying the index gains nothing over leaving the old model in place.",
        remedy="Keep the old model until everything is embedded again.",
    ),
    Rule(
        code="UP108",
        title="numbers of neighbours left out",
        severity="note",
        meaning="Recall was asked among as many rows as a quarter of the held-out rows or more.",
        matters="Such a recall is high by chance, and says nothing about a larger index.",
        remedy="Embed more rows of the index again, or ask for fewer neighbours.",
    ),
    Rule(
        code="UP109",
        title="mixed index finds less",
        severity="warning",
        meaning="An index of which half is carried and half embedded again finds clearly fewer of "
        "the nearest rows than one that is carried whole.",
        matters="Carried rows and new ones are systematically nearer to or farther from new "
        "queries, so that a search prefers one kind. An index that is embedded again piece by "
        "piece gets worse first.",
        remedy="Keep carried and new rows in two indexes until all are embedded again, and switch "
        "at once.",
    ),
    Rule(
        code="UP110",
        title="pairs left out",
        severity="note",
        meaning="Some matched rows have NaN or infinite values or, under the cosine, length zero, "
        "and bad rows were not to be refused.",
        matters="Maps are neither fitted to these pairs nor judged on them.",
        remedy="Embed these samples again, if they should count.",
    ),
)
