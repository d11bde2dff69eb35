"""Test whether two runs are related, by maps in both directions.

Maps are tested by distances, to which narrow directions contribute little. So canonical directions
are tested as well, each scaled to unit variance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from upto.evidence.pairings import Close, pairing_p_values
from upto.questions.compare.pair import CONSTANT
from upto.questions.compare.prediction import Onto, map_both_ways
from upto.questions.compare.shared_directions import Canonical, find_canonical

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.questions.compare.pair import Pair, PairMoments
    from upto.questions.compare.pair_options import Options

TESTED_ROWS = 600
"""Maximum number of held-out rows that are re-paired."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Relation:
    """Maps between two runs in both directions, and their canonical directions.

    `p_value` is that of the canonical directions; None if no rows were held out.
    """

    forward: Onto
    backward: Onto
    canonical: Canonical | None = None
    p_value: float | None = None

    def flipped(self) -> Relation:
        """Swap the runs."""
        canonical = None if self.canonical is None else self.canonical.flipped()
        return replace(self, forward=self.backward, backward=self.forward, canonical=canonical)

    def is_beyond(self, level: float) -> bool:
        """Return whether any group, or the canonical directions, beat chance."""
        found = [each.p_value for each in self.forward.groups.values()]
        return any(each is not None and each <= level for each in (*found, self.p_value))


def relate(pair: Pair, moments: PairMoments, options: Options, *, both_in_full: bool) -> Relation:
    """Fit and test maps in both directions; `both_in_full` evaluates the reverse on all rows."""
    # First: beside the maps of wide runs, memory has no room for the decomposition.
    canonical = find_canonical(pair, moments.fitted) if pair.split.n_held_out else None
    forward, backward = map_both_ways(pair, moments, options, both_in_full=both_in_full)
    if canonical is None:
        return Relation(forward=forward, backward=backward)
    untested = Relation(forward=forward, backward=backward, canonical=canonical)
    if _are_in_order(pair):
        return _tested(pair, untested, options)
    return _tested(pair.flipped(), untested.flipped(), options).flipped()


def _are_in_order(pair: Pair) -> bool:
    """Choose the run to permute by content, so that the order of the runs does not matter."""
    if not len(pair.source.paired):
        return True
    first, second = (run.paired[0].tolist() for run in (pair.source, pair.target))
    return bool(first <= second)


def _tested(pair: Pair, relation: Relation, options: Options) -> Relation:
    """Test every map but the constant one on held-out rows that are outliers in neither run.

    A map and its reverse form one test. One outlier shared by both runs would otherwise suffice to
    make unrelated runs significant.
    """
    forward, backward, canonical = relation.forward, relation.backward, relation.canonical
    x, y = pair.source.paired, pair.target.paired
    names = [name for name in forward.maps if name != CONSTANT]
    memory = pair.split.memory
    near = (pair.side(pair.source).near & pair.side(pair.target).near)[:TESTED_ROWS]
    strata = None if pair.paired_strata is None else pair.paired_strata[:TESTED_ROWS]
    tested: dict[int, Float] = {}

    def first(rows: Float) -> Float:
        # Once for each: questions about the same rows share a product.
        return tested.setdefault(id(rows), rows[:TESTED_ROWS])

    def image(onto: Onto, name: str) -> Float:
        # A view would keep the images of all rows.
        return onto.images.of(name)[:TESTED_ROWS].copy()

    questions: list[list[Close]] = []
    for name in names:
        # Innovations are cut off about their medians, which do not turn with the rows.
        if forward.images.is_turn(name) and memory is None:
            rows = first(forward.images.turned(name)), first(forward.images.target(name))
            factors = {(forward.images.factor(name), 1.0), (1.0, backward.images.factor(name))}
            questions.append([Close(*rows, *each) for each in sorted(factors)])
        else:
            ways = (image(forward, name), first(y)), (first(x), image(backward, name))
            questions.append([Close(*each) for each in ways])
    if canonical is not None:
        questions.append([Close(first(canonical.first), first(canonical.second))])
    *of_maps, shared = pairing_p_values(
        questions,
        near=near,
        permutations=options.permutations,
        seed=options.seed,
        memory=memory,
        strata=strata,
    )
    p_values = dict(zip(names, of_maps, strict=True))
    return replace(
        relation,
        forward=forward.tested(p_values),
        backward=backward.tested(p_values),
        p_value=shared,
    )
