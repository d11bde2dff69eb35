"""Simulated plate screens in the layout of RxRx3-core, with known factors.

Every well has independent factors of variance one. Guides shift biological factors, plates shift
technical ones, and the observed rows are a mixing of all of them with noise. So it is known which
components carry biology, which carry plates, and how well the best transform can do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Embeddings, InputError, random_stream
from upto.core.array_types import Float
from upto.simulate.mixings import LinearMixing, Mixing, orthonormal_rows, rigid_mixing
from upto.simulate.plate_effects import (
    ScreenEffects,
    axes_of,
    check_size,
    draw_plate_effects,
    drawn_by_plate,
    move_factors,
)
from upto.simulate.plate_layouts import CONTROL, PlateLayout, address_of, lay_out
from upto.simulate.random_mixings import MIXINGS, draw_mixing
from upto.simulate.sources import draw_sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.simulate.distributions import Source
    from upto.simulate.plate_layouts import Wells

Array = NDArray[Any]

SCREEN_MIXINGS = ("none", "rigid", "principal", *MIXINGS)
"""Names of the mixings of `draw_screen`."""

_BLOCK = 8192


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Screen:
    """A simulated screen with its ground truth, drawn by `draw_screen`.

    Parameters
    ----------
    rows
        Observed rows, one per well.
    experiment_name, plate, batch, address
        Location of each well; plate numbers restart in every experiment, batches do not.
    treatment, is_control
        Guide of each well or ``EMPTY_control``, and whether it is the latter.
    factors
        Factors of each well, including the effects of guides and plates.
    effects
        Effect sizes, and the numbers of biological and technical factors.
    guides, shifts
        Guides, and the shift of every factor by each, one row per guide.
    batches, offsets
        Batches, and the offset of every factor in each, one row per batch.
    mixing
        Map from factors to rows, before noise and plate effects on rows.

    See Also
    --------
    draw_screen : Returns it.
    """

    rows: Array
    experiment_name: Array
    plate: Array
    batch: Array
    address: Array
    treatment: Array
    is_control: NDArray[np.bool_]
    factors: Array
    effects: ScreenEffects
    guides: tuple[str, ...]
    shifts: Float
    batches: Array
    offsets: Float
    mixing: Mixing

    @property
    def biological(self) -> tuple[int, ...]:
        """Factors shifted by guides."""
        return self.effects.biological

    @property
    def technical(self) -> tuple[int, ...]:
        """Factors shifted by plates."""
        return self.effects.technical

    @property
    def shared(self) -> tuple[int, ...]:
        """Factors shifted by both."""
        return tuple(sorted({*self.biological} & {*self.technical}))

    def axes_of(self, guide: str) -> tuple[int, ...]:
        """Return the factors that a guide shifts or scales.

        Raises
        ------
        InputError
            If the screen has no such guide.
        """
        if guide not in self.guides:
            message = f"there is no guide {guide!r}: choose one of {', '.join(self.guides)}."
            raise InputError(message)
        return axes_of(self.guides.index(guide), self.effects)

    def embeddings(self, *, name: str = "screen") -> Embeddings:
        """Return the observed rows as a run, with the columns of RxRx3-core's metadata."""
        return self._embeddings(self.rows, name)

    def factor_embeddings(self, *, name: str = "factors") -> Embeddings:
        """Return the factors as a run: the output of a perfect transform."""
        return self._embeddings(self.factors, name)

    def _embeddings(self, rows: Array, name: str) -> Embeddings:
        gene = np.array([each.partition("_guide")[0] for each in (*self.guides, CONTROL)])
        numbers = {each: number for number, each in enumerate((*self.guides, CONTROL))}
        which = np.array([numbers[each] for each in self.treatment.tolist()])
        columns = {
            "experiment_name": self.experiment_name,
            "plate": self.plate,
            "batch": self.batch,
            "address": self.address,
            "gene": gene[which],
            "treatment": self.treatment,
            "is_control": self.is_control,
        }
        ids = np.strings.add(np.strings.add(self.batch, "_"), self.address)
        return Embeddings(rows=rows, name=name, ids=ids, columns=columns)


def draw_screen(
    layout: PlateLayout | None = None,
    effects: ScreenEffects | None = None,
    *,
    n_features: int = 32,
    n_factors: int | None = None,
    sources: str | Source | Sequence[str | Source] = "laplace",
    mixing: str | Mixing = "rigid",
    lipschitz: float = 1.0,
    noise: float = 0.1,
    dtype: Any = np.float64,
    seed: int,
) -> Screen:
    """Draw a screen with known factors.

    Parameters
    ----------
    layout
        Layout of the plates; by default 4 experiments of 9 plates of 64 wells.
    effects
        Effects of guides and plates on the factors.
    n_features, n_factors
        Number of observed coordinates, and of the factors they are mixed from; equal by default.
    sources
        Distribution of the factors, as in `draw_sources`; ICA cannot recover ``gaussian`` ones.
    mixing
        ``none``: every factor is a coordinate, i.e. axis-aligned. ``rigid``: a random rotation;
        apart from guide and plate effects, all directions have the same variance.
        ``principal``: factors of different variances, then a rotation, so that principal
        components are the factors. One of `MIXINGS` with constant 1 + `lipschitz`: ``linear`` is
        a random matrix, the others are nonlinear. Or any `Mixing`.
    lipschitz
        L, where 1 + L is the bi-Lipschitz constant of ``principal`` and of `MIXINGS`.
    noise
        Standard deviation of the noise on every coordinate.
    dtype
        ``float64`` or ``float32``.
    seed
        Seed of the random number generator.

    Returns
    -------
    Screen
        The rows with their columns, and the truth behind them.

    Raises
    ------
    InputError
        If factors, features or mixing do not fit each other, or a number is out of range.

    See Also
    --------
    PlateLayout : Layout of the plates.
    ScreenEffects : Effects of guides and plates.
    upto.batches : The question that screens are drawn for.
    upto.corrections.BiologyComponents : A correction that keeps biological components.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.simulate import draw_screen
    >>> screen = draw_screen(seed=0)
    >>> screen.rows.shape, screen.biological, screen.technical
    ((2304, 32), (0, 1, 2, 3), (4, 5, 6, 7))
    >>> run = screen.embeddings()
    >>> run.columns["batch"][0], run.columns["treatment"][screen.is_control][0]
    (np.str_('gene-001_1'), np.str_('EMPTY_control'))
    """
    layout = PlateLayout() if layout is None else layout
    effects = ScreenEffects() if effects is None else effects
    n_factors = _check_widths(n_features, n_factors, effects)
    check_size("noise", noise)
    if np.dtype(dtype) not in (np.dtype(np.float64), np.dtype(np.float32)):
        message = f"rows of {np.dtype(dtype)} cannot be drawn: take float64 or float32."
        raise InputError(message)
    mixed = _mixing(mixing, n_factors, n_features, lipschitz, seed)
    offsets, scales = draw_plate_effects(layout, effects, n_factors, seed)
    homes = offsets[:, effects.technical[0]] if effects.technical else None
    wells = lay_out(layout, homes, seed=seed)
    factors = draw_sources(sources, len(wells.batch), n_factors, seed=seed).rows
    shifts = move_factors(factors, wells, layout, effects, offsets, scales, seed)
    rows = _observe(factors, wells, mixed, effects, noise=noise, dtype=dtype, seed=seed)
    numbers = np.arange(layout.n_batches)
    experiments = np.array([f"gene-{each + 1:03d}" for each in range(layout.n_experiments)])
    batches = np.array(
        [f"{experiments[each // layout.n_plates]}_{each % layout.n_plates + 1}" for each in numbers]
    )
    names = np.array([*layout.guides, CONTROL])
    return Screen(
        rows=rows,
        experiment_name=experiments[wells.batch // layout.n_plates],
        plate=wells.batch % layout.n_plates + 1,
        batch=batches[wells.batch],
        address=address_of(wells.position),
        treatment=names[wells.guide],
        is_control=wells.guide == len(layout.guides),
        factors=np.asarray(factors, dtype=dtype),
        effects=effects,
        guides=layout.guides,
        shifts=shifts[:-1],
        batches=batches,
        offsets=offsets,
        mixing=mixed,
    )


def _observe(
    factors: Float,
    wells: Wells,
    mixing: Mixing,
    effects: ScreenEffects,
    *,
    noise: float,
    dtype: Any,
    seed: int,
) -> Array:
    stream = random_stream(seed, "screen", "noise")
    shape = (wells.layout.n_batches, mixing.n_out)
    drawn = drawn_by_plate(wells.layout, effects, shape, seed, "rows")
    offsets, scales = effects.observed_offset * drawn[0], np.exp(effects.observed_scale * drawn[1])
    moves = bool(effects.observed_offset or effects.observed_scale)
    rows = np.empty((len(factors), mixing.n_out), dtype=dtype)
    for start in range(0, len(factors), _BLOCK):
        part = slice(start, start + _BLOCK)
        block = mixing(factors[part])
        if moves:
            block = block * scales[wells.batch[part]] + offsets[wells.batch[part]]
        rows[part] = block
        if noise:
            rows[part] += noise * stream.standard_normal(size=block.shape, dtype=dtype)
    return rows


def _mixing(
    kind: str | Mixing, n_factors: int, n_features: int, lipschitz: float, seed: int
) -> Mixing:
    if isinstance(kind, Mixing):
        if (kind.n_in, kind.n_out) != (n_factors, n_features):
            message = (
                f"the mixing maps {kind.n_in} coordinates to {kind.n_out}, not {n_factors} factors "
                f"to {n_features} features: make the widths match."
            )
            raise InputError(message)
        return kind
    if kind not in SCREEN_MIXINGS:
        message = f"there is no mixing {kind!r}: choose one of {', '.join(SCREEN_MIXINGS)}."
        raise InputError(message)
    if kind == "rigid":
        return rigid_mixing(n_factors, n_out=n_features, seed=seed)
    if kind in MIXINGS:
        # Rows of unit-variance factors have about this norm.
        radius = float(np.sqrt(n_factors))
        return draw_mixing(
            kind, n_factors, n_out=n_features, lipschitz=lipschitz, radius=radius, seed=seed
        )
    check_size("lipschitz", lipschitz)
    matrix = np.eye(n_factors, n_features)
    stretches = np.ones(n_factors)
    if kind == "principal":
        stream = random_stream(seed, "screen", "principal")
        stretches = stream.permutation(np.geomspace(1 + lipschitz, 1 / (1 + lipschitz), n_factors))
        matrix = orthonormal_rows(stream, n_factors, n_features)
    largest = float(max(stretches.max(), 1 / stretches.min()))
    return LinearMixing(
        n_in=n_factors,
        n_out=n_features,
        lipschitz=largest - 1,
        attained=True,
        keeps_balls=largest == 1,
        matrix=stretches[:, None] * matrix,
        translation=np.zeros(n_features),
    )


def _check_widths(n_features: int, n_factors: int | None, effects: ScreenEffects) -> int:
    n_factors = n_features if n_factors is None else n_factors
    moved = len({*effects.biological, *effects.technical})
    if n_factors < moved:
        message = (
            f"{n_factors} factors are fewer than the {moved} that guides and plates shift: use "
            f"{moved} or more, or fewer biological and technical ones."
        )
        raise InputError(message)
    if n_features < n_factors:
        message = (
            f"{n_features} features cannot represent {n_factors} factors: use {n_factors} or more."
        )
        raise InputError(message)
    return n_factors
