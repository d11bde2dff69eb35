"""Movement of an optimum of a contrast with the rows, for Lemma A.8 and Theorem 2."""

from __future__ import annotations

import math
from dataclasses import dataclass

from upto.core import Constant, InputError, finite_or_none
from upto.theory.contrast_derivatives import ContrastBounds
from upto.theory.valid_numbers import check_number


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedOptimum:
    """Movement of a stationary point: its factors of the error and of its square."""

    linear: float
    quadratic: float
    curvature: float
    bounds: ContrastBounds
    condition: str
    holds: bool | None
    lost: float | None = None

    def value(self, error: float) -> float | None:
        """Return the bound; without curvature there is none, however small the error."""
        if math.isinf(self.linear):
            return None
        return finite_or_none(self.linear * error + self.quadratic * error * error)

    def constants(self) -> tuple[Constant, ...]:
        """List the contrast's bounds and the curvature."""
        lost = Constant(
            symbol="μ lost",
            value=None if self.lost is None else finite_or_none(self.lost),
            meaning="largest loss of curvature between the runs",
        )
        return (
            Constant(
                symbol="G₁",
                value=finite_or_none(self.bounds.first),
                meaning="bound on the contrast's gradient",
            ),
            Constant(
                symbol="G₂",
                value=finite_or_none(self.bounds.second),
                meaning="bound on the contrast's Hessian",
            ),
            Constant(
                symbol="μ",
                value=finite_or_none(self.curvature),
                meaning="curvature of the contrast kept between the runs",
            ),
            *(() if self.lost is None else (lost,)),
        )


def moved_optimum(
    error: float,
    b: float,
    ball: float,
    curvature: float,
    n_dimensions: int,
    bounds: ContrastBounds,
    at_optimum: float | None,
) -> MovedOptimum:
    """Return how far the optimum moves, and whether its curvature is proved to be kept."""
    mu = check_number(curvature, "the curvature")
    kept = None if at_optimum is None else check_number(at_optimum, "the curvature at the optimum")
    if n_dimensions == 1:
        mu = math.inf
    elif mu == math.inf:
        message = (
            f"the curvature of {n_dimensions} components is infinite, but only a single one cannot "
            "rotate: measure it with upto.ica.smallest_curvature."
        )
        raise InputError(message)
    if mu <= 0.0:
        linear = quadratic = math.inf
    elif math.isinf(mu) or b == 0.0:
        # Without a rotation, or rows that it moves, bounds of the contrast do not matter.
        linear, quadratic = 1.0, 0.0
    else:
        linear = 1.0 + b * (bounds.first + bounds.second * b) / mu
        quadratic = b * bounds.second / mu
    words = f"the contrast {bounds.name} keeps a curvature of {mu:.4g}, which must be more than 0"
    if mu <= 0.0:
        return MovedOptimum(
            linear=linear,
            quadratic=quadratic,
            curvature=mu,
            bounds=bounds,
            condition=f"{words}: at zero some components can rotate into each other, below zero "
            "they are not an optimum",
            holds=False,
        )
    holds: bool | None = None
    lost = None
    if math.isinf(mu):
        words, holds = "a single component cannot rotate", True
    elif kept is None or bounds.third is None or not math.isfinite(error):
        words += " while one run is moved into the other, which is not checked here"
    else:
        # Both terms of the Hessian, E[g′(s)(Ωs)²] and E[g(s)ᵀΩ²s] with |Ω| = 1, for components
        # that move by no more than the bound itself.
        rate = bounds.third * ball * ball / 2.0 + 1.5 * bounds.second * ball + bounds.first / 2.0
        moved = linear * error + quadratic * error * error
        lost = rate * moved if moved > 0.0 else 0.0
        left = kept - lost
        holds = True if left >= mu else None
        words += (
            f" while one run is moved into the other; from {kept:.4g} at the optimum it is "
            f"proved to stay above {left:.4g}"
        )
        if holds is None:
            words += ", which does not decide it"
    return MovedOptimum(
        linear=linear,
        quadratic=quadratic,
        curvature=mu,
        bounds=bounds,
        condition=words,
        holds=holds,
        lost=lost,
    )
