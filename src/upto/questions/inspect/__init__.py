"""Summarise one run."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="inspect",
    asks="Summarise a run: shape, rank, spectrum, Gaussianity.",
    function="upto.questions.inspect.question:inspect",
    result="upto.questions.inspect.result:InspectResult",
    command="upto.questions.inspect.command:command",
    figure="upto.questions.inspect.figure:draw",
)
