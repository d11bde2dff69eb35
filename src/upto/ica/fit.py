"""ICA fits: several starts searched at once, then a full search from the best."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError
from upto.core.array_types import Float
from upto.engines import algebra_on, row_moments
from upto.ica.components import (
    Unmixing,
    Whiten,
    find_components,
    is_safe_in_single,
    pose,
    whitening_for,
)
from upto.ica.contrasts import Contrast, LogCosh
from upto.ica.restarts import random_starts, restart_many
from upto.ica.search import Solver
from upto.ica.whiten import check_rank_tolerance

if TYPE_CHECKING:
    from upto.engines import Moments
    from upto.engines.base import Engine
    from upto.ica.search import Listener
    from upto.ica.whiten import Whitening


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a fit, named as in `upto.ICA`.

    `turn` is scikit-learn's `tol`, `first` its `w_init`, and with `unit_norm` the squares of each
    source sum to one, as with ``whiten="arbitrary-variance"``.
    """

    n_components: int | float | None = None
    solver: Solver = "auto"
    contrast: Contrast = field(default_factory=LogCosh)
    whiten: Whiten = "unit-variance"
    tolerance: float = 1e-6
    max_iterations: int = 500
    restarts: int = 1
    rank_tolerance: float | None = None
    turn: float | None = None
    unit_norm: bool = False
    first: Float | None = None
    deflation: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        count = self.n_components
        stop = self.tolerance if self.turn is None else self.turn
        numbers = (count or 1, stop, self.max_iterations, self.restarts)
        if not all(isinstance(number, int | float | np.number) for number in numbers):
            message = (
                f"n_components is {count!r}, tolerance {stop!r}, max_iterations "
                f"{self.max_iterations!r} and restarts {self.restarts!r}: all must be numbers."
            )
            raise InputError(message)
        check_rank_tolerance(self.rank_tolerance)
        if count is not None and not (count >= 1 or 0 < count < 1):
            message = f"n_components is {count}: give at least 1, or a fraction of the variance."
            raise InputError(message)
        for name in ("restarts", "max_iterations"):
            number = getattr(self, name)
            if not (number >= 1 and float(number).is_integer()):
                message = f"{name} is {number}: it must be a whole number, at least 1."
                raise InputError(message)
        if not stop >= 0:
            message = f"the tolerance is {stop}: it must not be negative."
            raise InputError(message)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The components, those found from each start, and which of these searches converged.

    Sources are multiplied by `scale`.
    """

    unmixing: Unmixing
    restarted: list[Float]
    converged: NDArray[np.bool_]
    scale: float = 1.0


def fit_components(
    engine: Engine,
    rows: Any,
    settings: Settings,
    *,
    part: Moments | None = None,
    start: Float | None = None,
    listener: Listener | None = None,
) -> Fitted:
    """Search from one start, or from several at once and then from the least Gaussian result."""
    with algebra_on(engine, rows.shape[1]):
        return _fit(engine, rows, settings, part, start, listener)


def _fit(
    engine: Engine,
    rows: Any,
    settings: Settings,
    part: Moments | None,
    start: Float | None,
    listener: Listener | None,
) -> Fitted:
    part = part or row_moments(engine, rows)
    width, count = len(part.mean), settings.n_components
    if count is not None and count > width:
        message = (
            f"{count} components were requested, but rows of {width} coordinates have at most "
            f"{width}."
        )
        raise InputError(message)
    restarted: list[Float] = []
    converged = np.zeros(0, dtype=np.bool_)
    if start is None and (settings.restarts > 1 or settings.first is not None):
        whitening = whitening_for(
            engine,
            rows,
            part,
            whiten=settings.whiten,
            n_components=count,
            rank_tolerance=settings.rank_tolerance,
        )
    if start is None and settings.first is not None:
        start = _started(settings.first, whitening)
    elif start is None and settings.restarts > 1:
        rotations, contrasts, converged = restart_many(
            pose(engine, rows, whitening, settings.contrast, literal=settings.whiten == "none"),
            random_starts(whitening, int(settings.restarts), settings.seed),
            tolerance=settings.tolerance,
            single=is_safe_in_single(whitening),
            listener=None
            if listener is None
            else lambda step, turned: listener(step, turned @ whitening.matrix),
        )
        # A search that cycles is not a good start, but it still counts towards stability.
        kept = converged if converged.any() else np.ones_like(converged)
        restarted = [rotation @ whitening.matrix for rotation in rotations]
        start = restarted[int(np.where(kept, contrasts, -np.inf).argmax())]
    unmixing = find_components(
        engine,
        rows,
        part=part,
        n_components=count,
        whiten=settings.whiten,
        contrast=settings.contrast,
        solver=settings.solver,
        start=start,
        seed=settings.seed,
        tolerance=settings.tolerance,
        turn=settings.turn,
        max_iterations=int(settings.max_iterations),
        rank_tolerance=settings.rank_tolerance,
        deflation=settings.deflation,
        listener=listener,
    )
    scale = 1.0 / np.sqrt(part.weight) if settings.unit_norm else 1.0
    return Fitted(unmixing, restarted, converged, float(scale))


def _started(first: Float, whitening: Whitening) -> Float:
    """Return the components that correspond to scikit-learn's `w_init`.

    It refers to white coordinates by decreasing variance, signed so that the first coordinate of
    the rows increases.
    """
    k = len(whitening.matrix)
    if first.shape != (k, k):
        message = f"w_init has invalid shape {first.shape} -- it should be {(k, k)}."
        raise InputError(message)
    signs = np.ones(k)
    if whitening.is_white:
        signs = np.where(whitening.inverse[0] < 0, -1.0, 1.0)
    started: Float = first @ (signs[:, None] * whitening.matrix)
    return started
