"""Score how well latents match known factors, before and after ICA."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="factors",
    asks="Do latents match known factors, before and after ICA?",
    function="upto.questions.factors.question:factors",
    result="upto.questions.factors.result:FactorsResult",
    findings="upto.questions.factors.findings:RULES",
    command="upto.questions.factors.command:command",
    page="upto.questions.factors.page:page",
    figure="upto.questions.factors.figure:draw",
    papers="upto.questions.factors.papers:papers",
)
