"""What all runs share."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="consensus",
    asks="Find the space all runs share, and which components appear in every run.",
    function="upto.assess.agreement.agreeing:consensus",
    results={"consensus": "upto.core.consensus:Consensus"},
)
