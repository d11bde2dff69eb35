"""Whether runs are the same representation, up to what."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="compare",
    asks="Tell whether runs are the same representation, up to what, with what error.",
    function="upto.assess.comparing:compare",
    results={
        "comparison": "upto.core.comparison:Comparison",
        "comparison-matrix": "upto.core.comparison_matrix:ComparisonMatrix",
    },
    command="upto.cli.compare:command",
)
