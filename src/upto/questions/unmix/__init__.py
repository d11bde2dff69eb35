"""The independent components of a run."""

from __future__ import annotations

from upto.question import Question

QUESTION = Question(
    name="unmix",
    asks="Find the independent components of a run and write them to a file.",
    function="upto.assess.unmixing:unmix_run",
    results={"unmixed": "upto.core.unmixed:Unmixed"},
    command="upto.cli.unmix:command",
)
