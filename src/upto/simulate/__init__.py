"""Simulated data with ground truth: sources, mixings, screens, sprites and rendered scenes."""

from upto.core import FactorGrid
from upto.simulate.clusters import Clusters, draw_clusters
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
from upto.simulate.regressions import CURVES, Curve, Regression, draw_regression, fit_linear
from upto.simulate.scenes import OBJECTS, render_room, render_studio, room_grid, studio_grid
from upto.simulate.shapes import (
    DSPRITES_OUTLINES,
    SHAPES,
    Outlines,
    dsprites_grid,
    render_dsprites,
)
from upto.simulate.sources import (
    SOURCES,
    Source,
    Sources,
    bimodal,
    draw_ball,
    draw_sources,
    generalised_normal,
    sparse,
    student_t,
)
from upto.simulate.sprites import (
    arc_coordinates,
    draw_sprites,
    flat_coordinates,
    geodesic_distances,
    image_distances,
    image_metric,
    image_stretches,
    pixel_metric,
    render_sprites,
    smoothing_constant,
)
from upto.simulate.warps import ball_inversion, radial_warp, shear_wave, spiral, twist

__all__ = [
    "CONTROL",
    "CURVES",
    "DSPRITES_OUTLINES",
    "GUIDES",
    "MIXINGS",
    "OBJECTS",
    "SCREEN_MIXINGS",
    "SHAPES",
    "SOURCES",
    "Clusters",
    "Curve",
    "FactorGrid",
    "LeakyMixing",
    "LinearMixing",
    "Mixing",
    "Outlines",
    "PlateLayout",
    "Regression",
    "Screen",
    "ScreenEffects",
    "Source",
    "Sources",
    "arc_coordinates",
    "ball_inversion",
    "bimodal",
    "compose",
    "draw_ball",
    "draw_clusters",
    "draw_mixing",
    "draw_regression",
    "draw_screen",
    "draw_sources",
    "draw_sprites",
    "dsprites_grid",
    "fit_linear",
    "flat_coordinates",
    "generalised_normal",
    "geodesic_distances",
    "image_distances",
    "image_metric",
    "image_stretches",
    "leaky_mixing",
    "linear_mixing",
    "pixel_metric",
    "radial_warp",
    "render_dsprites",
    "render_room",
    "render_sprites",
    "render_studio",
    "rigid_mixing",
    "room_grid",
    "shear_wave",
    "smoothing_constant",
    "sparse",
    "spiral",
    "student_t",
    "studio_grid",
    "twist",
]
