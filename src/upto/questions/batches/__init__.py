"""Compare transforms by how well labels transfer to unseen batches."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="batches",
    asks="Which transform lets labels transfer to unseen batches?",
    function="upto.questions.batches.question:batches",
    result="upto.questions.batches.result:BatchesResult",
    findings="upto.questions.batches.findings:RULES",
    command="upto.questions.batches.command:command",
    page="upto.questions.batches.page:page",
    figure="upto.questions.batches.figure:draw",
    papers="upto.questions.batches.papers:papers",
)
