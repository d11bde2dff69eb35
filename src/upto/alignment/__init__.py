"""Maps from one run onto another: closed forms, their refinement, and the estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.alignment.maps import AffineMap, fit_map, fit_maps, row_errors
from upto.alignment.monotone import MonotoneFit, MonotoneMap, monotone_errors
from upto.alignment.supremum import Refinement, smallest_worst_error

if TYPE_CHECKING:
    from upto.alignment.aligner import Aligner

__all__ = [
    "AffineMap",
    "Aligner",
    "MonotoneFit",
    "MonotoneMap",
    "Refinement",
    "fit_map",
    "fit_maps",
    "monotone_errors",
    "row_errors",
    "smallest_worst_error",
]


def __getattr__(name: str) -> Any:
    # The estimator brings scikit-learn, which takes a second to import and passes do not need.
    if name == "Aligner":
        from upto.alignment.aligner import Aligner

        return Aligner
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
