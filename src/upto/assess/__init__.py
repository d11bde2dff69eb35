"""One question, one function, one result."""

from upto.assess.comparing import compare
from upto.assess.inspecting import inspect_run

__all__ = ["compare", "inspect_run"]
