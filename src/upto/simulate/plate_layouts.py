"""Plate layouts: the guide in each well of each plate, as in RxRx3-core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream

Integers = NDArray[np.intp]

CONTROL = "EMPTY_control"
"""Treatment name of wells without a guide."""

GUIDES = (
    "CYP11B1_guide_1",
    "EIF3H_guide_1",
    "HCK_guide_1",
    *(f"MTOR_guide_{number}" for number in range(1, 7)),
    *(f"PLK1_guide_{number}" for number in range(1, 7)),
    "SRC_guide_1",
)
"""The sixteen guides in the tables of the paper."""

_N_ROWS, _N_COLUMNS = 32, 48
_N_POSITIONS = _N_ROWS * _N_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class PlateLayout:
    """Experiments, plates and wells, and the assignment of guides to wells.

    Parameters
    ----------
    n_experiments, n_plates, n_wells
        Number of experiments, of plates per experiment, and of wells used of the 1,536 per plate.
    guides
        Names of the guides.
    controls_per_guide
        Number of control wells per well of any one guide.
    control_plates
        Fraction of plates with controls only.
    confounded
        Degree of confounding of guides with plates: at 1, half of the guides are only on plates
        whose first technical factor is above the median and the others only on plates below it;
        at 0, guides are independent of plates. Wells excluded this way become controls.
    fixed_wells
        Whether a well has the same guide on every plate, instead of changing guides.

    See Also
    --------
    draw_screen : Draws a screen in this layout.
    ScreenEffects : Effects of guides and plates.

    Examples
    --------
    >>> from upto.simulate import PlateLayout, draw_screen
    >>> layout = PlateLayout(n_experiments=1, n_plates=3, n_wells=40)
    >>> draw_screen(layout, seed=0).rows.shape
    (120, 32)
    """

    n_experiments: int = 4
    n_plates: int = 9
    n_wells: int = 64
    guides: tuple[str, ...] = GUIDES
    controls_per_guide: float = 16.0
    control_plates: float = 0.1
    confounded: float = 0.0
    fixed_wells: bool = False

    def __post_init__(self) -> None:
        if self.n_experiments < 1 or self.n_plates < 1:
            message = (
                f"{self.n_experiments} experiments of {self.n_plates} plates are too few: use "
                "at least 1 of each."
            )
            raise InputError(message)
        if not 2 <= self.n_wells <= _N_POSITIONS:
            message = f"{self.n_wells} wells are not on a plate: take 2 to {_N_POSITIONS}."
            raise InputError(message)
        if not self.guides or len({*self.guides, CONTROL}) != len(self.guides) + 1:
            message = (
                f"{len(self.guides)} guides are not distinct: give at least 1, each with a unique "
                f"name other than {CONTROL}."
            )
            raise InputError(message)
        if not (np.isfinite(self.controls_per_guide) and self.controls_per_guide > 0):
            message = f"{self.controls_per_guide:g} controls per guide are too few: use above 0."
            raise InputError(message)
        for name in ("control_plates", "confounded"):
            if not 0 <= getattr(self, name) <= 1:
                message = f"{name} of {getattr(self, name):g} is not a fraction: use 0 to 1."
                raise InputError(message)
        least = len(self.guides) if self.fixed_wells else 1
        if self.n_guide_wells < least:
            message = (
                f"{self.n_wells} wells with {self.controls_per_guide:g} controls per guide leave "
                f"{self.n_guide_wells} for {len(self.guides)} guides: use more wells, or "
                "fewer guides or controls."
            )
            raise InputError(message)
        if self.n_control_plates >= self.n_batches:
            message = (
                f"{self.n_control_plates} of {self.n_batches} plates would have controls only: "
                "lower control_plates."
            )
            raise InputError(message)

    @property
    def n_batches(self) -> int:
        """Number of plates in all experiments."""
        return self.n_experiments * self.n_plates

    @property
    def n_control_plates(self) -> int:
        """Number of plates with controls only."""
        return round(self.control_plates * self.n_batches)

    @property
    def n_guide_wells(self) -> int:
        """Number of wells with a guide on every other plate, without confounding."""
        n_guides = len(self.guides)
        return min(
            round(self.n_wells * n_guides / (n_guides + self.controls_per_guide)),
            self.n_wells - 1,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wells:
    """Wells of a layout: batch, position on the plate, and guide (`len(guides)` is control)."""

    layout: PlateLayout
    batch: Integers
    position: Integers
    guide: Integers


def lay_out(layout: PlateLayout, homes: NDArray[np.float64] | None, *, seed: int) -> Wells:
    """Assign guides to wells; `homes` is the batch effect that guides are confounded with."""
    stream = random_stream(seed, "screen", "layout")
    n_guides, n_dealt = len(layout.guides), layout.n_guide_wells
    shape = (layout.n_batches, layout.n_wells)
    guide = np.full(shape, n_guides)
    # Dealing continues from plate to plate, so numbers of wells per guide differ by one at most.
    turn = np.arange(layout.n_batches * n_dealt).reshape(layout.n_batches, n_dealt)
    guide[:, :n_dealt] = (turn[:1] if layout.fixed_wells else turn) % n_guides
    control_plates = stream.permutation(layout.n_batches)[: layout.n_control_plates]
    guide[control_plates] = n_guides
    homes = stream.normal(size=layout.n_batches) if homes is None else homes
    above = homes > np.median(homes)
    away = (guide % 2 == 0) != above[:, None]
    guide[away & (stream.uniform(size=shape) < layout.confounded)] = n_guides
    if layout.fixed_wells:
        wells = stream.permutation(_N_POSITIONS)[: layout.n_wells]
        position = np.broadcast_to(wells, shape)
    else:
        everywhere = np.tile(np.arange(_N_POSITIONS), (layout.n_batches, 1))
        position = stream.permuted(everywhere, axis=1)[:, : layout.n_wells]
    # Wells in plate order, as in files.
    order = np.argsort(position, axis=1)
    return Wells(
        layout=layout,
        batch=np.repeat(np.arange(layout.n_batches), layout.n_wells),
        position=np.take_along_axis(position, order, axis=1).ravel(),
        guide=np.take_along_axis(guide, order, axis=1).ravel(),
    )


def address_of(position: Integers) -> NDArray[Any]:
    """Return the well addresses of positions, ``A01`` to ``AF48``."""
    letters = [
        chr(ord("A") + row) if row < 26 else f"A{chr(ord('A') + row - 26)}"
        for row in range(_N_ROWS)
    ]
    known = np.array(
        [
            f"{letters[row]}{column + 1:02d}"
            for row in range(_N_ROWS)
            for column in range(_N_COLUMNS)
        ]
    )
    return np.asarray(known[position])


def is_edge(position: Integers) -> NDArray[np.bool_]:
    """Return which positions are in the outermost rows and columns of a plate."""
    row, column = np.divmod(position, _N_COLUMNS)
    return np.asarray(
        (row == 0) | (row == _N_ROWS - 1) | (column == 0) | (column == _N_COLUMNS - 1)
    )
