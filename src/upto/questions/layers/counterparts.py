"""Arrange scores of all pairs of layers: matrices, closest layers and aligned layers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.measures import calibration
from upto.questions.layers.result import Counterpart, LayerPair, LayerStep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.measures.pair_scores import Scored
    from upto.questions.layers.result import Alignment

Cell = tuple[int, int]
_TIED = 1e-9
"""Tolerance for ties: a layer that changes nothing equals the one before."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sides:
    """Names of two runs and of their layers."""

    first: str
    second: str
    first_layers: tuple[str, ...]
    second_layers: tuple[str, ...]

    @property
    def is_own(self) -> bool:
        """Whether both are the same run."""
        return self.first == self.second

    @property
    def aligned_by(self) -> Alignment:
        """Alignment of the layers."""
        if self.is_own:
            return "next"
        return "name" if {*self.first_layers} == {*self.second_layers} else "depth"

    def beside(self, layer: int) -> int | None:
        """Return the position of the second run's layer aligned with a layer of the first.

        Depth runs from 0 at the first layer to 1 at the last; the layer of a one-layer run has
        depth 1.
        """
        if self.is_own:
            return layer + 1 if layer + 1 < len(self.second_layers) else None
        if self.aligned_by == "name":
            return self.second_layers.index(self.first_layers[layer])
        last = len(self.first_layers) - 1
        depth = layer / last if last else 1.0
        return math.floor(depth * (len(self.second_layers) - 1) + 0.5)


def layer_pair(sides: Sides, scored: Mapping[Cell, Scored], measure: str) -> LayerPair:
    """Arrange the scores of the layers of two runs by one measure.

    Parameters
    ----------
    sides
        The two runs.
    scored
        Score of each pair of layers, by their positions; a symmetric measure of a run with itself
        may contain each pair once.
    measure
        Name of the measure.
    """
    tests = dict(zip(scored, calibration.family_tests([*scored.values()]), strict=True))
    cells = {cell: cell for cell in scored}
    if sides.is_own:
        cells = {(j, i): (i, j) for i, j in scored if (j, i) not in scored} | cells

    def matrix(numbers: Mapping[Cell, float | None]) -> tuple[tuple[float | None, ...], ...]:
        return tuple(
            tuple(
                numbers[cells[i, j]] if (i, j) in cells else None
                for j in range(len(sides.second_layers))
            )
            for i in range(len(sides.first_layers))
        )

    closest, along = [], []
    for layer in range(len(sides.first_layers)):
        row = {j: cells[i, j] for i, j in sorted(cells) if i == layer}
        beside = sides.beside(layer)
        if row:
            closest.append(_closest(layer, row, beside, scored, tests))
        if beside is not None and beside in row:
            cell = row[beside]
            along.append(
                LayerStep(
                    layer=layer,
                    beside=beside,
                    value=calibration.interval(scored[cell]),
                    chance=calibration.chance(scored[cell]),
                    limit=tests[cell].limit,
                    p_value=tests[cell].p_value,
                )
            )
    return LayerPair(
        first=sides.first,
        second=sides.second,
        measure=measure,
        aligned_by=sides.aligned_by,
        value=matrix({cell: each.value for cell, each in scored.items()}),
        limit=matrix({cell: test.limit for cell, test in tests.items()}),
        p_value=matrix({cell: test.p_value for cell, test in tests.items()}),
        closest=tuple(closest),
        along=tuple(along),
    )


def _closest(
    layer: int,
    row: Mapping[int, Cell],
    beside: int | None,
    scored: Mapping[Cell, Scored],
    tests: Mapping[Cell, calibration.FamilyTest],
) -> Counterpart:
    sign = scored[next(iter(row.values()))].measure.oriented(1.0)
    values = {j: sign * scored[cell].value for j, cell in row.items()}
    best = max(values, key=values.__getitem__)
    if beside in values and values[beside] >= values[best] - _TIED:
        best = beside
    halves = sign * np.stack([scored[cell].halves for cell in row.values()])
    share = None
    if halves.shape[1]:
        own = halves[list(row).index(best)]
        share = float(np.mean(own >= halves.max(axis=0) - _TIED))
    return Counterpart(
        layer=layer,
        closest=best,
        value=calibration.interval(scored[row[best]]),
        p_value=tests[row[best]].p_value,
        share=share,
    )
