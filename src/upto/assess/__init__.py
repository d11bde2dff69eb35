"""What questions share (reading, splitting, preparing runs), and compare, factors and batches."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from upto.assess.comparing import compare

if TYPE_CHECKING:
    from upto.assess.applying import apply_transform
    from upto.assess.batches.scoring import score_batches
    from upto.assess.factors.scoring import score_factors


__all__ = [
    "apply_transform",
    "compare",
    "score_batches",
    "score_factors",
]


def __getattr__(name: str) -> Any:
    # They bring scikit-learn's estimators, or every measure, which the others do not need.
    homes = {
        "apply_transform": "applying",
        "score_batches": "batches.scoring",
        "score_factors": "factors.scoring",
    }
    if name in homes:
        return getattr(import_module(f"{__name__}.{homes[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
