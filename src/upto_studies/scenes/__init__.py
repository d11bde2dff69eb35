"""Image sets rendered from a grid of factors: dSprites outlines, rooms and studios."""

from upto_studies.scenes.outlines import (
    DSPRITES_OUTLINES,
    SHAPES,
    Outlines,
    dsprites_grid,
    render_dsprites,
)
from upto_studies.scenes.rooms import OBJECTS, render_room, render_studio, room_grid, studio_grid
from upto_studies.scenes.sprites import (
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

__all__ = [
    "DSPRITES_OUTLINES",
    "OBJECTS",
    "SHAPES",
    "Outlines",
    "arc_coordinates",
    "draw_sprites",
    "dsprites_grid",
    "flat_coordinates",
    "geodesic_distances",
    "image_distances",
    "image_metric",
    "image_stretches",
    "pixel_metric",
    "render_dsprites",
    "render_room",
    "render_sprites",
    "render_studio",
    "room_grid",
    "smoothing_constant",
    "studio_grid",
]
