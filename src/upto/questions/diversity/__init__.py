"""Whether a head identifies the representation below it."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="diversity",
    asks="Check whether a head identifies the representation below it.",
    function="upto.assess.diversity_checking:check_diversity",
    results={"diversity": "upto.core.diversity:Diversity"},
    command="upto.cli.diversity:command",
)
