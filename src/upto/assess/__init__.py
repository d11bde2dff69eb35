"""One question, one function, one result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.assess.comparing import compare
from upto.assess.inspecting import inspect_run

if TYPE_CHECKING:
    from upto.assess.unmixing import apply_transform, unmix_run

__all__ = ["apply_transform", "compare", "inspect_run", "unmix_run"]


def __getattr__(name: str) -> Any:
    # It brings scikit-learn's estimators, which the others do not need.
    if name in ("apply_transform", "unmix_run"):
        from upto.assess import unmixing

        return getattr(unmixing, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
