"""Section 3.3.1 and Appendix A.6: nearly isometric images of a moving and growing square."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta
from sklearn.manifold import Isomap

from upto.core import Column, Estimate, InputError, Marks, Panel, Table
from upto.theory import (
    conformal_factor,
    sprite_metric,
)
from upto_studies.outcome import Outcome, Work
from upto_studies.rates import power_rate
from upto_studies.scenes import (
    draw_sprites,
    flat_coordinates,
    geodesic_distances,
    image_distances,
    image_metric,
    image_stretches,
    pixel_metric,
    smoothing_constant,
)
from upto_studies.sprite_ranges import (
    constants_table,
    error_panel,
    errors_table,
    latent_diameter,
    learned_latents,
    measure_range,
    worst_error,
)

if TYPE_CHECKING:
    from upto.core import Cell
    from upto.core.array_types import Float

Length = Annotated[float, Meta(gt=0.0)]
HalfSide = Annotated[float, Meta(gt=0.0, lt=1.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Sizes, smoothing and number of squares."""

    half_sides: Annotated[list[HalfSide], Meta(min_length=2)]
    sigmas: Annotated[list[Length], Meta(min_length=2)]
    n_pixels: Annotated[int, Meta(ge=8)]
    pixel_sigma: Length
    n_positions: Annotated[int, Meta(ge=3)]
    smallest: Annotated[list[HalfSide], Meta(min_length=2)]
    largest: Annotated[list[HalfSide], Meta(min_length=2)]
    n_sprites: Annotated[int, Meta(ge=4)]
    n_repeats: Annotated[int, Meta(ge=2)]
    n_images: Annotated[int, Meta(ge=8)]
    n_neighbours: Annotated[int, Meta(ge=2)]
    image_sigma: Length
    image_smallest: HalfSide
    image_largest: HalfSide


def run(settings: Settings, work: Work) -> Outcome:
    """Compare images of squares with their closed forms, and learn their latents."""
    if len(settings.smallest) != len(settings.largest):
        message = (
            f"{len(settings.smallest)} smallest and {len(settings.largest)} largest half sides do "
            "not form ranges: give equally many of both."
        )
        raise InputError(message)
    bounds = list(zip(settings.smallest, settings.largest, strict=True))
    with work.progress.task("measuring sprites", len(bounds) + 3) as advance:
        metric, metric_table, metric_panel = _metric(settings)
        advance(1)
        moving, moving_table, speed_panel = _moving(settings)
        advance(1)
        ranges = []
        for low, high in bounds:
            ranges.append(
                measure_range(
                    low,
                    high,
                    sigma=min(settings.sigmas),
                    n_sprites=settings.n_sprites,
                    n_repeats=settings.n_repeats,
                    seed=work.seed,
                )
            )
            advance(1)
        images, image_table = _images(settings, work.seed)
        advance(1)
    worst = {
        f"constant-{scaling}": Estimate(
            value=max(
                (each.constants[scaling] / each.promised[scaling] for each in ranges), key=_off
            )
        )
        # With a smallest stretch of one, the constant is the square of that at the best scale.
        for scaling in ("centred", "none")
    }
    measured = {
        **metric,
        **moving,
        **worst,
        "pairs-outside": Estimate(value=float(sum(each.n_outside for each in ranges))),
        "stitched-defect": _largest([each.arc_defects / each.defect_bound for each in ranges]),
        "rigid-error": _largest([each.arc_errors / float(each.promise) for each in ranges]),
        "learned-error": _largest([each.learned_errors / each.learned_promises for each in ranges]),
        "error-growth": power_rate(
            [each.lipschitz for each in ranges],
            np.column_stack([each.learned_errors / each.diameter for each in ranges]),
        ),
        **images,
    }
    return Outcome(
        measured=measured,
        says=(
            f"the position of a moving square is found to {moving['position-error']:.1g} of its "
            f"range, the constant of growing ones is {worst['constant-centred']:.4f} of its closed "
            f"form, and latents learned from images alone are within {images['image-error']:.2g} "
            "of the diameter"
        ),
        tables=(
            moving_table,
            constants_table(ranges),
            errors_table(ranges, work.seed),
            image_table,
            metric_table,
        ),
        panels=(metric_panel, speed_panel, error_panel(ranges, work.seed)),
    )


def _metric(settings: Settings) -> tuple[dict[str, Estimate], Table, Panel]:
    """Compare the metric of smoothed images with pixels and with its limit."""
    sides, sigmas = np.array(settings.half_sides), np.array(settings.sigmas)
    sprites = np.column_stack([0.1 * sides, sides])
    pixels = pixel_metric(sprites, n_pixels=settings.n_pixels, sigma=settings.pixel_sigma)
    on_grid = _diagonals(pixels) / _diagonals(image_metric(sides, sigma=settings.pixel_sigma))
    limits = _diagonals(np.array([sprite_metric(side) for side in settings.half_sides]))
    # One row per smoothing, one column per half side.
    smoothed = [_diagonals(image_metric(sides, sigma=sigma)) for sigma in settings.sigmas]
    ratios = np.array(smoothed) / limits
    below, above = 1 - ratios[..., 0], ratios[..., 1] - 1
    measured = {
        "pixels": Estimate(value=float(np.abs(on_grid - 1).max())),
        "cross-term": Estimate(value=float(np.abs(pixels[:, 0, 1] / pixels[:, 0, 0]).max())),
        "position-rate": power_rate(sigmas, np.abs(below).mean(axis=1)),
        "size-rate": power_rate(sigmas, np.abs(above).mean(axis=1)),
        "position-coefficient": Estimate(value=float((below * sides / sigmas[:, None]).mean())),
        "size-coefficient": Estimate(value=float((above * sides / sigmas[:, None]).mean())),
    }
    rows: list[tuple[Cell, ...]] = [
        (sigma, side, *ratios[i, j].tolist())
        for i, sigma in enumerate(settings.sigmas)
        for j, side in enumerate(settings.half_sides)
    ]
    table = Table(
        title="The metric of smoothed images over its limit diag(4r, 8r)",
        columns=(
            Column(name="smoothing", spec=".4g"),
            Column(name="half side", spec=".4g"),
            Column(name="moving", spec=".6f"),
            Column(name="growing", spec=".6f"),
        ),
        rows=tuple(rows),
    )
    relative = (sigmas[:, None] / sides).ravel()
    order = np.argsort(relative)
    x = tuple(relative[order].tolist())
    panel = Panel(
        title="The metric reaches its limit",
        x="smoothing over half side",
        y="relative distance from the limit",
        marks=(
            Marks(name="moving", x=x, y=tuple(np.abs(below).ravel()[order].tolist())),
            Marks(name="growing", x=x, y=tuple(np.abs(above).ravel()[order].tolist())),
        ),
        x_log=True,
        y_log=True,
    )
    return measured, table, panel


def _moving(settings: Settings) -> tuple[dict[str, Estimate], Table, Panel]:
    """Move squares of one size: path lengths of images are proportional to distances of p."""
    sigma, finest = settings.image_sigma, min(settings.sigmas)
    steps = sigma / np.array([20.0, 40.0, 80.0])
    errors, lengths = [], []
    for side in settings.half_sides:
        positions = np.linspace(side - 1, 1 - side, settings.n_positions)
        sprites = np.column_stack([positions, np.full(len(positions), side)])
        distances = image_distances(sprites, sigma=sigma) / math.sqrt(smoothing_constant(sigma))
        isomap = Isomap(
            n_neighbors=None,
            radius=1.5 * distances[0, 1],
            n_components=1,
            metric="precomputed",
            eigen_solver="dense",
        ).fit(distances)
        lengths.append(float(isomap.dist_matrix_[0, -1] / (positions[-1] - positions[0])))
        errors.append(
            worst_error(isomap.embedding_, positions[:, None], "similarity") / np.ptp(positions)
        )
    side = settings.half_sides[0]
    moved = np.column_stack([steps, np.full(len(steps), side)])
    speeds = image_stretches(settings.half_sides, sigma=finest)[:, 0]
    smoothed = image_stretches(settings.half_sides, sigma=sigma)[:, 0]
    measured = {
        "position-error": Estimate(value=float(max(errors))),
        "path-length": Estimate(
            value=max((float(a / b) for a, b in zip(lengths, smoothed, strict=True)), key=_off)
        ),
        "speed-exponent": power_rate(settings.half_sides, speeds),
        "hard-exponent": power_rate(steps, image_distances([[0.0, side]], moved, sigma=0.0)),
        "smoothed-exponent": power_rate(steps, image_distances([[0.0, side]], moved, sigma=sigma)),
    }
    limits = [conformal_factor(side) for side in settings.half_sides]
    rows: list[tuple[Cell, ...]] = [
        (side, length, float(closed), float(speed), limit, 2 * side, float(error))
        for side, length, closed, speed, limit, error in zip(
            settings.half_sides, lengths, smoothed, speeds, limits, errors, strict=True
        )
    ]
    table = Table(
        title="Squares that move: length along the images for a unit of p",
        columns=(
            Column(name="half side r", spec=".4g"),
            Column(name=f"shortest paths, smoothing {sigma:g}", spec=".5f"),
            Column(name="closed form of those", spec=".5f"),
            Column(name=f"closed form, smoothing {finest:g}", spec=".5f"),
            Column(name="limit 2√r", spec=".5f"),
            Column(name="2r", spec=".5f"),
            Column(name="error of p over its range", spec=".2g"),
        ),
        rows=tuple(rows),
        caption="A public summary of the paper prints 2r where we derive 2√r.",
    )
    sides = tuple(settings.half_sides)
    panel = Panel(
        title="How fast images change",
        x="half side r",
        y="length for a unit of p",
        marks=(
            Marks(name=f"smoothing {finest:g}", x=sides, y=tuple(map(float, speeds))),
            Marks(name="2√r", x=sides, y=tuple(limits), kind="line"),
            Marks(name="2r", x=sides, y=tuple(2 * side for side in sides), kind="line"),
        ),
        x_log=True,
        y_log=True,
    )
    return measured, table, panel


def _images(settings: Settings, seed: int) -> tuple[dict[str, Estimate], Table]:
    """Learn latents only from distances of neighbouring images."""
    low, high = settings.image_smallest, settings.image_largest
    sigma = settings.image_sigma
    sprites = draw_sprites(settings.n_images, smallest=low, largest=high, seed=seed)
    exact = geodesic_distances(sprites, smallest=low)
    images = image_distances(sprites, sigma=sigma) / math.sqrt(smoothing_constant(sigma))
    isomap = learned_latents(images, n_neighbours=settings.n_neighbours)
    above = np.triu_indices(len(sprites), 1)
    ratios = isomap.dist_matrix_[above] / exact[above]
    low_ratio, middle, high_ratio = np.quantile(ratios, [0.025, 0.5, 0.975]).tolist()
    flat = flat_coordinates(sprites)
    error = worst_error(isomap.embedding_, flat, "similarity") / latent_diameter(low, high)
    table = Table(
        title="Latents from neighbouring images alone",
        columns=(
            Column(name="images"),
            Column(name="smoothing", spec=".4g"),
            Column(name="shortest paths over closed form, middle 95 %", spec=".4f"),
            Column(name="error over diameter", spec=".4f"),
        ),
        rows=(
            (
                settings.n_images,
                sigma,
                Estimate(value=middle, low=low_ratio, high=high_ratio),
                error,
            ),
        ),
    )
    return {"geodesics": Estimate(value=middle), "image-error": Estimate(value=error)}, table


def _diagonals(matrices: Float) -> Float:
    return np.diagonal(matrices, axis1=1, axis2=2)


def _off(ratio: float) -> float:
    return abs(math.log(ratio))


def _largest(values: list[Float]) -> Estimate:
    return Estimate(value=max(float(each.max()) for each in values))
