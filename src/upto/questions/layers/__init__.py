"""Which layers of runs have a counterpart."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="layers",
    asks="Compare every layer with every other, each beside what chance gives.",
    function="upto.assess.layers.layering:compare_layers",
    results={"layers": "upto.core.layers:Layers"},
)
