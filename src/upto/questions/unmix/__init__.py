"""Fit the independent components of a run."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="unmix",
    asks="Fit the independent components of a run and write them to a file.",
    function="upto.questions.unmix.question:unmix",
    result="upto.questions.unmix.result:UnmixResult",
    findings="upto.questions.unmix.findings:RULES",
    command="upto.questions.unmix.command:command",
    page="upto.questions.unmix.page:page",
    figure="upto.questions.unmix.figure:draw",
    papers="upto.questions.unmix.papers:papers",
)
