"""How far a decoder is from an isometry."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="lipschitz",
    asks="Measure how far a decoder is from an isometry, and what theory promises.",
    function="upto.assess.geometry.stretching:lipschitz",
    results={"lipschitz": "upto.core.lipschitz:Lipschitz"},
    command="upto.cli.lipschitz:command",
)
