"""How similar runs are by any measures."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="similarity",
    asks="Score every pair of runs by any measures, each beside what chance gives.",
    function="upto.assess.similarities.measuring:similarity",
    results={"similarities": "upto.core.similarity:Similarities"},
    command="upto.cli.similarity:command",
)
