"""Pure functions from arrays to numbers."""

from upto.measure.distances import (
    EXACT_WORK,
    diameter,
    distance_quantile,
    near_isometry_defect,
    squared_distances,
)
from upto.measure.efficiency import ica_efficiency

__all__ = [
    "EXACT_WORK",
    "diameter",
    "distance_quantile",
    "ica_efficiency",
    "near_isometry_defect",
    "squared_distances",
]
