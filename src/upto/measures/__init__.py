"""Pure functions from arrays to numbers, and the catalogue of similarity measures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from upto.measures.distances import (
    EXACT_WORK,
    diameter,
    distance_quantile,
    near_isometry_defect,
    squared_distances,
)
from upto.measures.efficiency import ica_efficiency

if TYPE_CHECKING:
    from upto.measures.alignment import minibatch_linear_cka
    from upto.measures.catalogue import MEASURES, find_measure, find_measures
    from upto.measures.densities import Mixture, fit_mixture, l2_inner, push_forward
    from upto.measures.density_matching import DensityMatch, affine_l2_distance, match_densities
    from upto.measures.kinds import Change, Measure, MomentMeasure, RelationMeasure
    from upto.measures.moments import PairMoments, RunMoments, pair_moments, run_moments
    from upto.measures.udr import udr_scores

_HOMES = {
    "MEASURES": "catalogue",
    "Change": "kinds",
    "DensityMatch": "density_matching",
    "Measure": "kinds",
    "Mixture": "densities",
    "MomentMeasure": "kinds",
    "PairMoments": "moments",
    "RelationMeasure": "kinds",
    "RunMoments": "moments",
    "affine_l2_distance": "density_matching",
    "find_measure": "catalogue",
    "find_measures": "catalogue",
    "fit_mixture": "densities",
    "l2_inner": "densities",
    "match_densities": "density_matching",
    "minibatch_linear_cka": "alignment",
    "pair_moments": "moments",
    "push_forward": "densities",
    "run_moments": "moments",
    "udr_scores": "udr",
}

__all__ = [
    "EXACT_WORK",
    "MEASURES",
    "Change",
    "DensityMatch",
    "Measure",
    "Mixture",
    "MomentMeasure",
    "PairMoments",
    "RelationMeasure",
    "RunMoments",
    "affine_l2_distance",
    "diameter",
    "distance_quantile",
    "find_measure",
    "find_measures",
    "fit_mixture",
    "ica_efficiency",
    "l2_inner",
    "match_densities",
    "minibatch_linear_cka",
    "near_isometry_defect",
    "pair_moments",
    "push_forward",
    "run_moments",
    "squared_distances",
    "udr_scores",
]


def __getattr__(name: str) -> Any:
    # Whoever wants a diameter need not wait for every measure.
    if name in _HOMES:
        return getattr(import_module(f"upto.measures.{_HOMES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
