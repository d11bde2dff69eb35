"""What a run is like."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="inspect",
    asks="Show what a run is like: shape, rank, spectrum, Gaussianity.",
    function="upto.assess.inspecting:inspect_run",
    results={"inspection": "upto.core.inspection:Inspection"},
    command="upto.cli.inspect:command",
)
