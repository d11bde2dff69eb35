"""Rules of findings about components."""

from __future__ import annotations

from upto.core.rule import Rule

COMPONENT_RULES = (
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
)
