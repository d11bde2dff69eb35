"""How well latents match known factors."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="factors",
    asks="Tell how well latents match known factors, before and after ICA.",
    function="upto.assess.factors.scoring:score_factors",
    results={"factors": "upto.core.factors:Factors"},
    command="upto.cli.factors:command",
)
