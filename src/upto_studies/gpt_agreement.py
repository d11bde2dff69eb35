"""Agreement of hidden states of two GPTs: SVCCA and errors up to groups, on held-out passages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.alignment.maps import fit_maps
from upto.alignment.residuals import row_errors
from upto.core import Group, random_stream
from upto.engines import ThreadsEngine
from upto.engines.passes import cross_moments
from upto.measures.catalogue import find_measure
from upto.measures.distances import diameter
from upto.measures.kinds import MomentMeasure
from upto.measures.moments import RunMoments, pair_moments, run_moments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float

GROUPS = (Group.RIGID, Group.SIMILARITY, Group.AFFINE)
Basis = Literal["held out", "in sample", "chance, held out", "chance, in sample"]
BASES: tuple[Basis, ...] = ("held out", "in sample", "chance, held out", "chance, in sample")
_QUANTILE_ROWS = 500


class Passages:
    """A split of rows into halves of whole passages, and a pairing of rows by chance.

    Parameters
    ----------
    passages
        Passage of each row; the rows of a passage are consecutive.
    seed
        Seed of the split.
    """

    def __init__(self, passages: NDArray[np.int64], seed: int) -> None:
        names = np.unique(passages)
        order = random_stream(seed, "passages").permutation(names)
        fitted = np.isin(passages, order[: len(names) // 2])
        self.fitted, self.held = np.flatnonzero(fitted), np.flatnonzero(~fitted)

    def half(self, rows: NDArray[np.float32], *, held: bool) -> Float:
        """Return the rows of one half."""
        return rows[self.held if held else self.fitted].astype(np.float64)


class LayerStates:
    """States of one layer of one GPT, with what every comparison of them needs.

    Parameters
    ----------
    rows
        Text by text, equally many of each.
    passages
        Split of the rows.
    positions
        Rows of each text, to subtract the mean of each position; 1 subtracts nothing that a
        comparison sees.
    """

    def __init__(
        self, rows: NDArray[np.float32], passages: Passages, *, positions: int = 1
    ) -> None:
        self.width = rows.shape[1]
        by_text = rows.reshape(-1, positions, self.width)
        self._rows = (by_text - by_text.mean(axis=0)).reshape(rows.shape)
        self._passages = passages

    @cached_property
    def fitted(self) -> Float:
        """Rows that maps and directions are fitted to."""
        return self._passages.half(self._rows, held=False)

    @cached_property
    def held(self) -> Float:
        """Rows of the other passages."""
        return self._passages.half(self._rows, held=True)

    @cached_property
    def moments(self) -> tuple[RunMoments, RunMoments]:
        """Moments of both."""
        return run_moments(self.fitted), run_moments(self.held)

    @cached_property
    def diameter(self) -> float:
        """Largest distance between two rows."""
        rows = np.concatenate([self.fitted, self.held])
        step = max(1, len(rows) // _QUANTILE_ROWS)
        return diameter(ThreadsEngine(), rows, rows.mean(axis=0), rows[::step]).value


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """Scores of two layers, by basis and by name.

    `svcca` has one value for each number of directions that both layers have, `errors` one for
    each group, over the diameter of the target, and `r2` the share of variance explained.
    """

    svcca: dict[Basis, dict[int, float]]
    errors: dict[Basis, dict[str, float]]
    r2: dict[Basis, dict[str, float]]


def pair_scores(
    source: LayerStates, target: LayerStates, directions: Sequence[int], *, errors: bool = True
) -> PairScores:
    """Score two layers on the same rows; the source is mapped onto the target.

    Chance is the same with the rows of the target in a random order. Without
    `errors`, only SVCCA is computed.
    """
    known = [count for count in directions if count <= min(source.width, target.width)]
    svcca: dict[Basis, dict[int, float]] = {}
    found: dict[Basis, dict[str, float]] = {}
    explained: dict[Basis, dict[str, float]] = {}
    for by_chance in (False, True):
        held_out: Basis = "chance, held out" if by_chance else "held out"
        in_sample: Basis = "chance, in sample" if by_chance else "in sample"
        pairs = [
            (x, _shuffled(y) if by_chance else y)
            for x, y in ((source.fitted, target.fitted), (source.held, target.held))
        ]
        fit, held = (
            pair_moments(x, y, x=own, y=other)
            for (x, y), own, other in zip(pairs, source.moments, target.moments, strict=True)
        )
        measures = {count: _svcca(count) for count in known}
        svcca[in_sample] = {count: each.scored(fit, fit) for count, each in measures.items()}
        svcca[held_out] = {count: each.scored(fit, held) for count, each in measures.items()}
        if not errors:
            continue
        engine = ThreadsEngine()
        maps = list(fit_maps(GROUPS, cross_moments(engine, *pairs[0])).values())
        for basis, (x, y) in zip((in_sample, held_out), pairs, strict=True):
            wrong = row_errors(engine, x, y, maps)
            spread = float(((y - y.mean(axis=0)) ** 2).sum())
            found[basis] = _by_group(wrong.mean(axis=0) / target.diameter)
            explained[basis] = _by_group(1 - (wrong**2).sum(axis=0) / spread)
    return PairScores(svcca=svcca, errors=found, r2=explained)


def _shuffled(rows: Float) -> Float:
    return rows[random_stream(0, "paired by chance").permutation(len(rows))]


def _svcca(count: int) -> MomentMeasure:
    # Standardised, as in the notebook of Roeder et al.
    found = find_measure(f"svcca-standardised:{count}")
    assert isinstance(found, MomentMeasure)
    return found


def _by_group(values: Float) -> dict[str, float]:
    return {str(group): float(value) for group, value in zip(GROUPS, values, strict=True)}
