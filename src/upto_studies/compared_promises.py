"""Test the promises of `upto.compare` on pairs of decoders with known constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.questions.compare.question import compare
from upto.questions.compare.result import CompareResult
from upto.simulate import draw_mixing
from upto_studies.trials import Case

if TYPE_CHECKING:
    from upto.core import Promised
    from upto.core.array_types import Float


MAPS = "compared"
COMPONENTS = "compared-components"
"""Statements of cases: maps between runs, and components found by searches."""

# Maps of a ball onto itself, or of the whole space, have convex supports on both sides.
_ROUND = ("radial", "twist", "inversion")
_EVERYWHERE = ("linear", "leaky", "wave")
_KINDS = ("stitched", "scaled", "small", "flat", "isometric")
_ROWS = 120


def compared_cases(rng: np.random.Generator, count: int, dimensions: list[int]) -> list[Case]:
    """Stitch decoders, compare their latent rows, and return promised and measured errors.

    Kinds alternate: unchanged, one run in another unit, both in a unit so small that squares
    underflow, rows in a flat, and decoders that are isometries up to rounding.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of pairs.
    dimensions
        Dimensions to alternate between, each at least 2.
    """
    cases = []
    for number in range(count):
        kind = _KINDS[number % len(_KINDS)]
        n = dimensions[(number // len(_KINDS)) % len(dimensions)]
        first, second, excess = _runs(rng, kind, n)
        result = compare(
            first,
            second,
            lipschitz=excess,
            refits=0,
            permutations=19,
            seed=int(rng.integers(2**31)),
        )
        assert isinstance(result, CompareResult)
        cases += [case for each in result.promised if (case := _case(each, kind, n)) is not None]
    return cases


def _runs(rng: np.random.Generator, kind: str, n: int) -> tuple[Float, Float, tuple[float, float]]:
    """Return two latent runs of the same data, and L of their decoders."""
    family = _EVERYWHERE if rng.random() < 0.5 else _ROUND
    excess = np.exp(rng.uniform(np.log(1e-4), np.log(0.5), size=2))
    if kind == "isometric":
        excess = np.zeros(2)
    first, second = (
        draw_mixing(str(name), n, lipschitz=float(each), seed=int(rng.integers(2**31)))
        for name, each in zip(rng.choice(family, size=2), excess, strict=True)
    )
    rows = rng.uniform(-1.0, 1.0, size=(_ROWS, n)) / np.sqrt(n)
    if kind == "flat":
        rows[:, rng.integers(1, n) :] = 0.0
    images = second.inverse(first(rows))
    if kind == "small":
        # Rescaling the data too leaves the decoders unchanged.
        rows, images = 1e-100 * rows, 1e-100 * images
    if kind == "scaled":
        scale = float(np.exp(rng.uniform(-1.0, 1.0)))
        images = scale * images
        excess[1] = (1.0 + excess[1]) * max(scale, 1.0 / scale) - 1.0
    return rows, images, (float(excess[0]), float(excess[1]))


def _case(promised: Promised, kind: str, n: int) -> Case | None:
    """Return a case; None if nothing was promised or measured, or the theorem does not apply."""
    promise = promised.promise
    if promise.value is None or promised.measured is None or promise.holds is False:
        return None
    reached = promised.measured if promised.at_least is None else promised.at_least
    return Case(
        statement=COMPONENTS if "2" in promise.statement else MAPS,
        kind=f"{kind}, {promise.statement}",
        n_dimensions=n,
        measured=reached,
        bound=promise.value + promised.rounding,
    )
