"""Test whether a head identifies the representation below it."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="diversity",
    asks="Test whether a head identifies the representation below it.",
    function="upto.questions.diversity.question:diversity",
    result="upto.questions.diversity.result:DiversityResult",
    command="upto.questions.diversity.command:command",
    papers="upto.questions.diversity.papers:papers",
)
