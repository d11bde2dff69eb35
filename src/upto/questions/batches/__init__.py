"""Which transform lets labels transfer to new batches."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="batches",
    asks="Tell which transform lets labels transfer to batches never seen.",
    function="upto.assess.batches.scoring:score_batches",
    results={"batches": "upto.core.batches:Batches"},
    command="upto.cli.batches:command",
)
