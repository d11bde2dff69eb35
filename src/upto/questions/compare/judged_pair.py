"""The relation of two runs on held-out rows, as far as their result needs it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Along, Classes, Group
from upto.core.array_types import Float
from upto.questions.compare.judge import Outcome, judge
from upto.questions.compare.pair import Map
from upto.questions.compare.relation import relate
from upto.questions.compare.verdict import LEVEL
from upto.questions.compare.within_classes import agree_within, only_classes_agree

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.questions.compare.pair import Pair, PairMoments
    from upto.questions.compare.pair_options import Options
    from upto.questions.compare.prediction import Onto


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judged:
    """What is known of a relation on held-out rows, without the matrices it was found by.

    `scores` has the p-value of each map, its R² averaged over directions, and R² of its reverse.
    """

    outcome: Outcome
    maps: dict[str, Map]
    errors: dict[str, Float]
    groups: tuple[Group, ...]
    scores: dict[str, tuple[float | None, float | None, float | None]]
    along: tuple[Along, ...]
    classes: Classes | None


def judge_pair(
    pair: Pair,
    moments: PairMoments,
    options: Options,
    label: str | None,
    classes: NDArray[np.intp] | None,
) -> Judged:
    """Relate two runs and keep what the result needs."""
    relation = relate(pair, moments, options, both_in_full=False)
    forward, backward = relation.forward, relation.backward
    outcome = judge(pair, relation, options)
    inside = None
    if classes is not None and outcome.agreement not in ("identical", "undecided", "chance"):
        inside = agree_within(pair, forward, outcome.up_to, classes, label or "label", options)
        if only_classes_agree(inside, LEVEL) and outcome.agreement in ("same", "close"):
            outcome = replace(outcome, agreement="partial")
    back = backward.candidates
    return Judged(
        outcome=outcome.alone(),
        maps=forward.maps,
        errors=forward.errors,
        groups=tuple(forward.groups),
        scores={
            name: (each.p_value, each.even, back[name].r2 if name in back else None)
            for name, each in forward.candidates.items()
        },
        along=_along(pair, forward, backward, outcome.up_to),
        classes=inside,
    )


def _along(pair: Pair, forward: Onto, backward: Onto, up_to: Group | None) -> tuple[Along, ...]:
    """Return R² along the principal directions of each run, predicted from the other."""
    if up_to is None:
        return ()
    found = []
    for run, onto in ((pair.source, backward), (pair.target, forward)):
        variances = np.square(run.span.widths / run.span.widths[:1])
        if run.is_thin:
            # Its widths are those of a sample.
            variances = np.einsum("ij,ij->j", run.axes, run.everything.scatter @ run.axes)
        shares = variances / variances.sum()
        r2 = onto.groups[up_to].directions
        if len(r2):
            found.append(
                Along(
                    name=run.name,
                    variance=tuple(float(f"{share:.6g}") for share in shares),
                    r2=tuple(float(f"{value:.6g}") for value in r2),
                )
            )
    return tuple(found)
