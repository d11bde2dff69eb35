"""Measure how far a decoder is from an isometry."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="lipschitz",
    asks="Measure how far a decoder is from an isometry, with the bounds theory gives.",
    function="upto.questions.lipschitz.question:lipschitz",
    result="upto.questions.lipschitz.result:LipschitzResult",
    findings="upto.questions.lipschitz.findings:RULES",
    command="upto.questions.lipschitz.command:command",
    papers="upto.questions.lipschitz.papers:papers",
)
