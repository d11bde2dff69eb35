"""Test whether the latents of a model with a mixture prior are identifiable."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="mixture",
    asks="Test what a mixture prior identifies, and how stable its components are.",
    function="upto.questions.mixture.question:mixture",
    result="upto.questions.mixture.result:MixtureResult",
    findings="upto.questions.mixture.findings:RULES",
    command="upto.questions.mixture.command:command",
    papers="upto.questions.mixture.papers:papers",
)
