"""Find the space that runs share."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="consensus",
    asks="Find the space that all runs share, and the components that appear in every run.",
    function="upto.questions.consensus.question:consensus",
    result="upto.questions.consensus.result:ConsensusResult",
    findings="upto.questions.consensus.findings:RULES",
    command="upto.questions.consensus.command:command",
    page="upto.questions.consensus.page:page",
    figure="upto.questions.consensus.figure:draw",
    papers="upto.questions.consensus.papers:papers",
)
