"""Adversarial test cases of the bounds, some found by hill climbing."""

from upto_studies.trials.case import ROUNDING, Case
from upto_studies.trials.component_cases import perturbed_cases, structure_cases, unmixed_cases
from upto_studies.trials.heads import BY_TYPE, head_cases
from upto_studies.trials.hidden import hidden_cases
from upto_studies.trials.identified import identified_cases
from upto_studies.trials.rigid_cases import near_isometry_cases, stitched_cases
from upto_studies.trials.searched import (
    ELSEWHERE,
    searched_cases,
    searched_structure_cases,
    star_cases,
)
from upto_studies.trials.stretch import (
    isometry_cases,
    network_cases,
    shared_structure_cases,
    sprite_cases,
)
from upto_studies.trials.violations import Looseness, summarise
from upto_studies.trials.white import whitened_cases

__all__ = [
    "BY_TYPE",
    "ELSEWHERE",
    "ROUNDING",
    "Case",
    "Looseness",
    "head_cases",
    "hidden_cases",
    "identified_cases",
    "isometry_cases",
    "near_isometry_cases",
    "network_cases",
    "perturbed_cases",
    "searched_cases",
    "searched_structure_cases",
    "shared_structure_cases",
    "sprite_cases",
    "star_cases",
    "stitched_cases",
    "structure_cases",
    "summarise",
    "unmixed_cases",
    "whitened_cases",
]
