"""Whether two runs are related at all: one test of the pair, by maps of both directions.

Maps are judged by distances, which narrow directions hardly change. So the directions that the runs
seem to share are tested beside them, each at unit variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.evidence.pairings import are_near, pairing_p_values
from upto.questions.compare.pair import CONSTANT
from upto.questions.compare.prediction import Onto, map_back, map_onto
from upto.questions.compare.shared_directions import Canonical, find_canonical

if TYPE_CHECKING:
    from upto.questions.compare.options import Options
    from upto.questions.compare.pair import Pair, PairMoments

TESTED_ROWS = 600
"""Held-out rows whose pairing is permuted, at most."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Relation:
    """Maps from one run onto the other and back, and the directions they seem to share.

    `p_value` is that of these directions; None where nothing was held out.
    """

    forward: Onto
    backward: Onto
    canonical: Canonical | None
    p_value: float | None

    def flipped(self) -> Relation:
        """Exchange the runs."""
        return Relation(
            forward=self.backward,
            backward=self.forward,
            canonical=None if self.canonical is None else self.canonical.flipped(),
            p_value=self.p_value,
        )

    def is_beyond(self, level: float) -> bool:
        """Say whether some group, or what is shared, is beyond chance."""
        found = [each.p_value for each in self.forward.groups.values()]
        return any(each is not None and each <= level for each in (*found, self.p_value))


def relate(pair: Pair, moments: PairMoments, options: Options, *, both_in_full: bool) -> Relation:
    """Map the runs onto each other and test the maps; the way back on some rows or on all."""
    forward = map_onto(pair, moments, options)
    if both_in_full:
        backward = map_onto(pair.flipped(), moments.flipped(), options)
    else:
        backward = map_back(pair, moments, options)
    if pair.split.n_held_out == 0:
        return Relation(forward=forward, backward=backward, canonical=None, p_value=None)
    canonical = find_canonical(pair, moments.fitted)
    untested = Relation(forward=forward, backward=backward, canonical=canonical, p_value=None)
    if _are_in_order(pair):
        return _tested(pair, untested, options)
    return _tested(pair.flipped(), untested.flipped(), options).flipped()


def _are_in_order(pair: Pair) -> bool:
    """Say which run is permuted by what it holds, and not by who comes first."""
    if not len(pair.source.paired):
        return True
    first, second = (run.paired[0].tolist() for run in (pair.source, pair.target))
    return bool(first <= second)


def _tested(pair: Pair, relation: Relation, options: Options) -> Relation:
    """Test every map but the constant one on held-out rows that are far in neither run.

    A map and the one that leads back are one question. A far row that both runs have would
    otherwise be enough to tell unrelated runs from chance.
    """
    forward, backward, canonical = relation.forward, relation.backward, relation.canonical
    x, y = pair.source.paired, pair.target.paired
    names = [name for name in forward.predictions if name != CONSTANT]
    questions = [
        [(forward.predictions[name], y), (x, backward.predictions[name])] for name in names
    ]
    if canonical is not None:
        questions.append([(canonical.first, canonical.second)])
    strata = pair.paired_strata
    *of_maps, shared = pairing_p_values(
        [[(a[:TESTED_ROWS], b[:TESTED_ROWS]) for a, b in each] for each in questions],
        near=(are_near(x) & are_near(y))[:TESTED_ROWS],
        permutations=options.permutations,
        seed=options.seed,
        memory=pair.split.memory,
        strata=None if strata is None else strata[:TESTED_ROWS],
    )
    p_values = dict(zip(names, of_maps, strict=True))
    return Relation(
        forward=forward.tested(p_values),
        backward=backward.tested(p_values),
        canonical=canonical,
        p_value=shared,
    )
