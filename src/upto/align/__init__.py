"""Maps from one run onto another: closed forms, their refinement, and the estimator."""

from upto.align.aligner import Aligner
from upto.align.maps import (
    RANK_TOLERANCE,
    AffineMap,
    fit_map,
    fit_maps,
    nearest_rotation,
    pseudo_inverse,
    row_errors,
)
from upto.align.supremum import smallest_worst_error

__all__ = [
    "RANK_TOLERANCE",
    "AffineMap",
    "Aligner",
    "fit_map",
    "fit_maps",
    "nearest_rotation",
    "pseudo_inverse",
    "row_errors",
    "smallest_worst_error",
]
