"""Effects of guides, plates and plate edges on the factors of a screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError, random_stream
from upto.simulate.plate_layouts import is_edge

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.simulate.plate_layouts import PlateLayout, Wells


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenEffects:
    """Effects of guides and plates on the factors, in standard deviations of a factor.

    Parameters
    ----------
    n_biological, n_technical, n_shared
        Number of factors shifted by guides, by plates, and by both.
    n_axes
        Number of biological factors each guide shifts; guides take them in turn.
    shift
        Size of the shift of a guide along each of its factors, up or down.
    spread
        Logarithm of the scale a guide applies to the variation of its factors.
    plate_offset
        Standard deviation of the plate offsets of each technical factor.
    plate_scale
        Standard deviation of the logarithm of the plate scales of each technical factor.
    experiment_share
        Fraction of the variance of both that is shared by all plates of an experiment.
    edge
        Shift of wells on the edge of a plate along the first technical factor.
    observed_offset, observed_scale
        The same as `plate_offset` and `plate_scale`, for every observed coordinate after mixing.

    See Also
    --------
    draw_screen : Draws a screen with these effects.
    PlateLayout : Layout of the plates.

    Examples
    --------
    >>> from upto.simulate import ScreenEffects, draw_screen
    >>> screen = draw_screen(effects=ScreenEffects(n_biological=2, n_technical=3), seed=0)
    >>> screen.biological, screen.technical
    ((0, 1), (2, 3, 4))
    """

    n_biological: int = 4
    n_technical: int = 4
    n_shared: int = 0
    n_axes: int = 1
    shift: float = 1.0
    spread: float = 0.0
    plate_offset: float = 1.0
    plate_scale: float = 0.2
    experiment_share: float = 0.5
    edge: float = 0.0
    observed_offset: float = 0.0
    observed_scale: float = 0.0

    def __post_init__(self) -> None:
        if self.n_biological < 1 or self.n_technical < 0:
            message = (
                f"{self.n_biological} biological and {self.n_technical} technical factors are too "
                "few: use at least 1 biological one and 0 or more technical ones."
            )
            raise InputError(message)
        if not 0 <= self.n_shared <= min(self.n_biological, self.n_technical):
            message = (
                f"{self.n_shared} factors cannot be both of {self.n_biological} biological and "
                f"{self.n_technical} technical ones: share between 0 and "
                f"{min(self.n_biological, self.n_technical)}."
            )
            raise InputError(message)
        if not 1 <= self.n_axes <= self.n_biological:
            message = (
                f"a guide cannot move {self.n_axes} of {self.n_biological} biological factors: "
                f"let it move 1 to {self.n_biological}."
            )
            raise InputError(message)
        if not 0 <= self.experiment_share <= 1:
            message = (
                f"an experiment cannot have {self.experiment_share:g} of the variance of plates: "
                "give a fraction from 0 to 1."
            )
            raise InputError(message)
        for name in ("plate_offset", "plate_scale", "observed_offset", "observed_scale"):
            check_size(name, getattr(self, name))
        for name in ("shift", "spread", "edge"):
            check_finite(name, getattr(self, name))
        if self.edge and not self.n_technical:
            message = (
                f"an edge effect of {self.edge:g} needs a technical factor: set n_technical to 1 "
                "or more."
            )
            raise InputError(message)

    @property
    def biological(self) -> tuple[int, ...]:
        """Factors shifted by guides."""
        return tuple(range(self.n_biological))

    @property
    def technical(self) -> tuple[int, ...]:
        """Factors shifted by plates."""
        first = self.n_biological - self.n_shared
        return tuple(range(first, first + self.n_technical))


def draw_plate_effects(
    layout: PlateLayout, effects: ScreenEffects, n_factors: int, seed: int
) -> tuple[Float, Float]:
    """Return the offset and scale of every factor in every batch."""
    offsets = np.zeros((layout.n_batches, n_factors))
    scales = np.ones((layout.n_batches, n_factors))
    columns = list(effects.technical)
    shape = (layout.n_batches, len(columns))
    drawn = drawn_by_plate(layout, effects, shape, seed, "factors")
    offsets[:, columns] = effects.plate_offset * drawn[0]
    scales[:, columns] = np.exp(effects.plate_scale * drawn[1])
    return offsets, scales


def drawn_by_plate(
    layout: PlateLayout, effects: ScreenEffects, shape: tuple[int, int], seed: int, of: str
) -> Float:
    """Draw two standard normal values per batch and column, in part shared by the experiment."""
    stream = random_stream(seed, "screen", "plates", of)
    own = stream.normal(size=(2, *shape))
    common = stream.normal(size=(2, layout.n_experiments, shape[1]))
    common = np.repeat(common, layout.n_plates, axis=1)
    share = effects.experiment_share
    return np.asarray(np.sqrt(share) * common + np.sqrt(1 - share) * own)


def move_factors(
    factors: Float,
    wells: Wells,
    layout: PlateLayout,
    effects: ScreenEffects,
    offsets: Float,
    scales: Float,
    seed: int,
) -> Float:
    """Apply guide, plate and edge effects in place; return the shifts of the guides."""
    stream = random_stream(seed, "screen", "guides")
    # The last row is the control, with no shift.
    shifts = np.zeros((len(layout.guides) + 1, factors.shape[1]))
    stretches = np.zeros_like(shifts)
    for guide in range(len(layout.guides)):
        axes = list(axes_of(guide, effects))
        shifts[guide, axes] = effects.shift * stream.choice([-1.0, 1.0], size=len(axes))
        stretches[guide, axes] = effects.spread
    for column in sorted({*effects.biological, *effects.technical}):
        factors[:, column] *= np.exp(
            stretches[wells.guide, column] + np.log(scales[wells.batch, column])
        )
        factors[:, column] += shifts[wells.guide, column] + offsets[wells.batch, column]
    if effects.edge:
        factors[:, effects.technical[0]] += effects.edge * is_edge(wells.position)
    return shifts


def axes_of(guide: int, effects: ScreenEffects) -> tuple[int, ...]:
    """Return the factors shifted by a guide, given its number."""
    first = guide * effects.n_axes
    return tuple(sorted((first + each) % effects.n_biological for each in range(effects.n_axes)))


def check_size(name: str, value: float) -> None:
    """Refuse a negative number."""
    check_finite(name, value)
    if value < 0:
        message = f"{name} of {value:g} is below zero: take 0 or more."
        raise InputError(message)


def check_finite(name: str, value: float) -> None:
    """Refuse a number that is not finite."""
    if not np.isfinite(value):
        message = f"{name} of {value:g} is not a finite number: take one that is."
        raise InputError(message)
