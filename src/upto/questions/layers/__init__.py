"""Which layers of runs have a counterpart."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="layers",
    asks="Compare every layer with every other, each beside what chance gives.",
    function="upto.questions.layers.question:layers",
    result="upto.questions.layers.result:LayersResult",
    findings="upto.questions.layers.findings:RULES",
    command="upto.questions.layers.command:command",
    page="upto.questions.layers.page:page",
    figure="upto.questions.layers.figure:draw",
)
