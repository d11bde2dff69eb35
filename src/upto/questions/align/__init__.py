"""Carry rows and indexes from an old model's space to a new one's."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="align",
    asks="Carry rows or an index to a new model's space, and say what retrieval loses.",
    function="upto.questions.align.question:align",
    result="upto.questions.align.result:AlignResult",
    findings="upto.questions.align.findings:RULES",
    command="upto.questions.align.command:command",
    papers="upto.questions.align.papers:papers",
)
