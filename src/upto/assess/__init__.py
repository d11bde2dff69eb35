"""One question, one function, one result."""

from upto.assess.compare import compare

__all__ = ["compare"]
