"""Classification tasks: rows of one label against others, on training and test batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.folds import Codes, Mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.batch_metrics.folds import Names, Split

MIN_ROWS = 2
"""Training rows that each side of a task needs; one suffices for testing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """Rows of one label against others: the rows of both sides, and which are perturbed."""

    name: str
    rows: Codes
    perturbed: Mask

    def without(self, left_out: Mask) -> Question:
        """Return the task without some rows."""
        kept = ~left_out[self.rows]
        return replace(self, rows=self.rows[kept], perturbed=self.perturbed[kept])


def ask(
    labels: Names, *, controls: Mask | None = None, names: Sequence[str] | None = None
) -> tuple[Question, ...]:
    """Return the tasks of labels against controls, or against all other labelled rows.

    Parameters
    ----------
    labels
        Label of each row, empty if it has none.
    controls
        Mask of control rows.
    names
        Labels to predict; by default all except those of controls, and only one of two.
    """
    if names is None:
        known = np.unique(labels[labels != ""])
        names = known.tolist()
        if controls is not None:
            names = np.setdiff1d(known, labels[controls]).tolist()
        elif len(names) == 2:
            # Either value against the other is the same task.
            names = names[1:]
    questions = []
    for name in names:
        is_own = labels == name
        others = (labels != "") & ~is_own if controls is None else controls & ~is_own
        rows = np.flatnonzero(is_own | others)
        questions.append(Question(name=name, rows=rows, perturbed=is_own[rows]))
    return tuple(questions)


def can_judge(question: Question, split: Split) -> bool:
    """Return whether both the training and the test rows of a fold have both sides of a task."""
    training, judging = split.training[question.rows], split.judging[question.rows]
    for side in (question.perturbed, ~question.perturbed):
        if np.sum(side & training) < MIN_ROWS or not np.any(side & judging):
            return False
    return True


def places_of(question: Question, chosen: Mask) -> tuple[Codes, Mask]:
    """Return the positions of a task's chosen rows among all chosen rows, and their side."""
    place = np.cumsum(chosen) - 1
    own = chosen[question.rows]
    return place[question.rows[own]], question.perturbed[own]
