"""Compare the layers of runs."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="layers",
    asks="Compare every layer of each run with every layer of the others, with chance levels.",
    function="upto.questions.layers.question:layers",
    result="upto.questions.layers.result:LayersResult",
    findings="upto.questions.layers.findings:RULES",
    command="upto.questions.layers.command:command",
    page="upto.questions.layers.page:page",
    figure="upto.questions.layers.figure:draw",
    papers="upto.questions.layers.papers:papers",
)
