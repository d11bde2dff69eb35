"""Bounds of the theorems, with every constant and the conditions under which they hold."""

from upto.theory.changed_distances import isometry_constant, relative_defect
from upto.theory.class_vectors import as_head, centred_rank
from upto.theory.components_test import ComponentsTest
from upto.theory.contrast_derivatives import ContrastBounds, contrast_bounds
from upto.theory.decoder_assumptions import Preimages, check_decoder, find_preimages
from upto.theory.differences import (
    HeadDiversity,
    head_diversity,
    independent_differences,
)
from upto.theory.head_maps import HeadMap, linear_map_between
from upto.theory.hierarchy import Assumption, Identified, stated, what_is_identified
from upto.theory.ica_bounds import ica_promise, unmixing_promise
from upto.theory.isometry import lipschitz_from_isometry, lipschitz_from_singular_values
from upto.theory.leaky_networks import certify_network, leaky_bound
from upto.theory.likelihood import mixture_likelihood, mixture_likelihoods
from upto.theory.piecewise import PiecewiseNetwork, certify_injective
from upto.theory.priors import check_prior, distinct_ratios
from upto.theory.rigid import (
    rigid_mean_promise,
    rigid_mean_promise_from_defect,
    rigid_promise,
    rigid_promise_from_defect,
)
from upto.theory.sprite_surface import (
    conformal_factor,
    position_distance,
    sprite_metric,
    sprite_promise,
    stitched_defect,
)
from upto.theory.spurious import bootstrap_components
from upto.theory.structural import statistical_from_structural, structure_promises
from upto.theory.whitening_bounds import rotation_promise, whitening_promise

__all__ = [
    "Assumption",
    "ComponentsTest",
    "ContrastBounds",
    "HeadDiversity",
    "HeadMap",
    "Identified",
    "PiecewiseNetwork",
    "Preimages",
    "as_head",
    "bootstrap_components",
    "centred_rank",
    "certify_injective",
    "certify_network",
    "check_decoder",
    "check_prior",
    "conformal_factor",
    "contrast_bounds",
    "distinct_ratios",
    "find_preimages",
    "head_diversity",
    "ica_promise",
    "independent_differences",
    "isometry_constant",
    "leaky_bound",
    "linear_map_between",
    "lipschitz_from_isometry",
    "lipschitz_from_singular_values",
    "mixture_likelihood",
    "mixture_likelihoods",
    "position_distance",
    "relative_defect",
    "rigid_mean_promise",
    "rigid_mean_promise_from_defect",
    "rigid_promise",
    "rigid_promise_from_defect",
    "rotation_promise",
    "sprite_metric",
    "sprite_promise",
    "stated",
    "statistical_from_structural",
    "stitched_defect",
    "structure_promises",
    "unmixing_promise",
    "what_is_identified",
    "whitening_promise",
]
