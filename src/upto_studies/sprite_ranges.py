"""Deviation from rigidity of encodings of squares with half sides in a range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.manifold import Isomap

from upto.alignment import Aligner
from upto.core import Column, Estimate, Marks, Panel, Promise, Table, random_stream
from upto.core.array_types import Float
from upto.evidence.intervals import mean_intervals
from upto.measures.distances import near_isometry_defect, squared_distances
from upto.theory import (
    conformal_factor,
    lipschitz_from_singular_values,
    rigid_promise,
    rigid_promise_from_defect,
    sprite_promise,
    stitched_defect,
)
from upto_studies.scenes import (
    arc_coordinates,
    draw_sprites,
    flat_coordinates,
    geodesic_distances,
    image_stretches,
)

if TYPE_CHECKING:
    from upto.core import Cell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Range:
    """Measurements for half sides in one range; arrays have one value per sample."""

    smallest: float
    largest: float
    constants: dict[str, float]
    n_outside: int
    arc_defects: Float
    arc_errors: Float
    learned_errors: Float
    learned_promises: Float

    @property
    def diameter(self) -> float:
        """Diameter of the latents."""
        return latent_diameter(self.smallest, self.largest)

    @property
    def promised(self) -> dict[str, float]:
        """Λ of the images in closed form, for each scaling."""
        return {
            scaling: float(sprite_promise(self.smallest, self.largest, scaling=scaling))
            for scaling in ("centred", "smallest", "none")
        }

    @property
    def lipschitz(self) -> float:
        """L of the images and, by coincidence, of arc coordinates, both at their best scale."""
        return self.promised["centred"] - 1

    @property
    def defect_bound(self) -> float:
        """Largest change of a distance by arc coordinates."""
        constant = self.promised["centred"]
        return stitched_defect(constant, constant, diameter=self.diameter)

    @property
    def promise(self) -> Promise:
        """Bound of Theorem 1 for arc coordinates."""
        return rigid_promise(self.lipschitz, n_dimensions=2, diameter=self.diameter)


def measure_range(
    low: float, high: float, *, sigma: float, n_sprites: int, n_repeats: int, seed: int
) -> Range:
    """Measure constants for half sides in one range, and learn latents from exact distances."""
    stretches = image_stretches(np.linspace(low, high, 101), sigma=sigma)
    local = lipschitz_from_singular_values(float(stretches.min()), float(stretches.max()))
    scaled = local.constant("Λ scaled")
    stream = random_stream(seed, "sprite-isometry", f"{low:g}", f"{high:g}")
    centre = math.sqrt(low * high)
    n_outside = 0
    values = []
    for draw in stream.integers(2**31, size=n_repeats).tolist():
        sprites = draw_sprites(n_sprites, smallest=low, largest=high, seed=draw)
        flat = flat_coordinates(sprites)
        distances = geodesic_distances(sprites, smallest=low)
        n_outside += _n_outside(distances, flat, conformal_factor(low), conformal_factor(high))
        # At this scale the largest stretch is the inverse of the smallest.
        scale = conformal_factor(centre)
        arcs = arc_coordinates(sprites, half_side=centre) / scale
        learned = learned_latents(distances / scale, n_neighbours=len(sprites) - 1).embedding_
        promise = rigid_promise_from_defect(
            near_isometry_defect(flat, learned), n_dimensions=2, diameter=latent_diameter(low, high)
        )
        values.append(
            (
                near_isometry_defect(flat, arcs),
                worst_error(arcs, flat, "rigid"),
                worst_error(learned, flat, "rigid"),
                float(promise),
            )
        )
    arc_defects, arc_errors, learned_errors, learned_promises = np.array(values).T
    return Range(
        smallest=low,
        largest=high,
        constants={"centred": scaled, "smallest": scaled**2, "none": float(local)},
        n_outside=n_outside,
        arc_defects=arc_defects,
        arc_errors=arc_errors,
        learned_errors=learned_errors,
        learned_promises=learned_promises,
    )


def learned_latents(distances: Float, *, n_neighbours: int) -> Isomap:
    """Fit Isomap to distances; with all points as neighbours this is classical scaling."""
    return Isomap(
        n_neighbors=n_neighbours, n_components=2, metric="precomputed", eigen_solver="dense"
    ).fit(distances)


def worst_error(learned: Float, latents: Float, up_to: str) -> float:
    """Return the ε of Definition 2 for these rows."""
    return float(Aligner(up_to, norm="supremum").fit(learned, latents).worst_error_)


def latent_diameter(low: float, high: float) -> float:
    """Return the diameter of the latents (p, √2·r)."""
    corners = flat_coordinates([[high - 1, low], [1 - high, high]])
    return math.dist(*corners)


def constants_table(ranges: list[Range]) -> Table:
    """Compare measured constants with their closed forms."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"{each.smallest:g} to {each.largest:g}",
            *(
                number
                for scaling, promised in each.promised.items()
                for number in (each.constants[scaling], promised)
            ),
        )
        for each in ranges
    ]
    return Table(
        title="Squares that move and grow: the constant Λ of their images",
        columns=(
            Column(name="half sides"),
            Column(name="best scale"),
            Column(name="(r₊/r₋)^¼"),
            Column(name="smallest stretch 1"),
            Column(name="(r₊/r₋)^½"),
            Column(name="no scale"),
            Column(name="2√r₊ or 1/(2√r₋)"),
        ),
        rows=tuple(rows),
        caption="Measured at the smallest smoothing, beside the closed form of its limit.",
    )


def errors_table(ranges: list[Range], seed: int) -> Table:
    """Compare measured defects and errors with their bounds."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"{each.smallest:g} to {each.largest:g}",
            _mean(each.arc_defects / each.diameter, seed),
            each.defect_bound / each.diameter,
            _mean(each.arc_errors / each.diameter, seed),
            float(each.promise) / each.diameter,
            "nothing" if each.promise.is_vacuous else "something",
            _mean(each.learned_errors / each.diameter, seed),
            float((each.learned_promises / each.diameter).mean()),
        )
        for each in ranges
    ]
    return Table(
        title="How far encodings of the images are from (p, √2·r), over its diameter",
        columns=(
            Column(name="half sides"),
            Column(name="defect of arc coordinates", spec=".3g"),
            Column(name="at most", spec=".3g"),
            Column(name="their rigid error", spec=".3g"),
            Column(name="promised by Theorem 1", spec=".3g"),
            Column(name="which says"),
            Column(name="rigid error, learned", spec=".3g"),
            Column(name="promised by its defect", spec=".3g"),
        ),
        rows=tuple(rows),
        caption="Learned: classical scaling of exact distances along the images.",
    )


def error_panel(ranges: list[Range], seed: int) -> Panel:
    """Plot errors and bounds over the constant of the images."""
    constants = tuple(each.lipschitz for each in ranges)

    def marks(name: str, errors: list[Float]) -> Marks:
        means = [
            _mean(values / each.diameter, seed) for values, each in zip(errors, ranges, strict=True)
        ]
        known = [each for each in means if each.low is not None and each.high is not None]
        return Marks(
            name=name,
            x=constants,
            y=tuple(each.value for each in means),
            low=tuple(float(each.low or 0.0) for each in known),
            high=tuple(float(each.high or 0.0) for each in known),
        )

    return Panel(
        title="Nearly isometric images give nearly rigid latents",
        x="L = (r₊/r₋)^¼ - 1",
        y="worst rigid error over diameter",
        marks=(
            marks("arc coordinates", [each.arc_errors for each in ranges]),
            marks("learned", [each.learned_errors for each in ranges]),
            Marks(
                name="promised by Theorem 1",
                x=constants,
                y=tuple(float(each.promise) / each.diameter for each in ranges),
                kind="line",
            ),
        ),
        x_log=True,
        y_log=True,
    )


def _n_outside(distances: Float, flat: Float, low: float, high: float) -> int:
    """Count the pairs whose distance is not between two multiples of the planar distance."""
    above = np.triu_indices(len(flat), 1)
    ratios = distances[above] / np.sqrt(squared_distances(flat, flat)[above])
    return int(((ratios < low * (1 - 1e-6)) | (ratios > high * (1 + 1e-6))).sum())


def _mean(values: Float, seed: int) -> Estimate:
    (estimate,) = mean_intervals(values[:, None], seed)
    return estimate
