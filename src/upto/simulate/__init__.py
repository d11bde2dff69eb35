"""Simulated data with ground truth: sources, mixings and screens."""

from upto.simulate.clusters import Clusters, draw_clusters
from upto.simulate.distributions import (
    SOURCES,
    Source,
    bimodal,
    generalised_normal,
    sparse,
    student_t,
)
from upto.simulate.mixings import (
    LeakyMixing,
    LinearMixing,
    Mixing,
    compose,
    leaky_mixing,
    linear_mixing,
    rigid_mixing,
)
from upto.simulate.plate_effects import ScreenEffects
from upto.simulate.plate_layouts import CONTROL, GUIDES, PlateLayout
from upto.simulate.plates import SCREEN_MIXINGS, Screen, draw_screen
from upto.simulate.random_mixings import MIXINGS, draw_mixing
from upto.simulate.sources import Sources, draw_ball, draw_sources
from upto.simulate.twists import spiral, twist
from upto.simulate.warps import ball_inversion, radial_warp, shear_wave

__all__ = [
    "CONTROL",
    "GUIDES",
    "MIXINGS",
    "SCREEN_MIXINGS",
    "SOURCES",
    "Clusters",
    "LeakyMixing",
    "LinearMixing",
    "Mixing",
    "PlateLayout",
    "Screen",
    "ScreenEffects",
    "Source",
    "Sources",
    "ball_inversion",
    "bimodal",
    "compose",
    "draw_ball",
    "draw_clusters",
    "draw_mixing",
    "draw_screen",
    "draw_sources",
    "generalised_normal",
    "leaky_mixing",
    "linear_mixing",
    "radial_warp",
    "rigid_mixing",
    "shear_wave",
    "sparse",
    "spiral",
    "student_t",
    "twist",
]
