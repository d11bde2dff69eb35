"""Score the similarity of runs by any measures."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="similarity",
    asks="Score every pair of runs by any similarity measures, each with its chance level.",
    function="upto.questions.similarity.question:similarity",
    result="upto.questions.similarity.result:SimilarityResult",
    findings="upto.questions.similarity.findings:RULES",
    command="upto.questions.similarity.command:command",
    page="upto.questions.similarity.page:page",
    figure="upto.questions.similarity.figure:draw",
    papers="upto.questions.similarity.papers:papers",
)
