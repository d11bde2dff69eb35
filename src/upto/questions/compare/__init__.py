"""Compare runs: the group up to which they are the same representation, and the error."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="compare",
    asks="Are runs the same representation, up to which group, and with what error?",
    function="upto.questions.compare.question:compare",
    result="upto.questions.compare.result:CompareResult",
    findings="upto.questions.compare.findings:RULES",
    command="upto.questions.compare.command:command",
    page="upto.questions.compare.page:page",
    figure="upto.questions.compare.figure:draw",
    papers="upto.questions.compare.papers:papers",
)
