"""Labels and batches that go together: which answers nobody can tell from batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.questions.batches.scores import Task

HALF = 0.5
NEARLY_ALL = 0.8
FEW_SHARED = 10
"""Below so many batches with both sides, no interval of confounded labels covers what it should."""
LEAST_SHARED = 2
"""Below so many batches with both sides, nothing can be compared within batches."""


def is_confounded(task: Task, n_batches: int) -> bool:
    """Tell whether no more than half of the batches have rows of both sides of a question."""
    return task.n_batches <= HALF * n_batches


def is_partly_told(task: Task, n_batches: int) -> bool:
    """Tell whether some batches lack a side, so that rows of different batches are compared."""
    return task.n_batches < NEARLY_ALL * n_batches


def is_untold(task: Task, n_batches: int) -> bool:
    """Tell whether a confounded label meets what it is told from on few batches or none."""
    return is_confounded(task, n_batches) and task.n_batches < FEW_SHARED


def untold(tasks: Sequence[Task], n_batches: int) -> list[Task]:
    """Return the judged labels whose AUROC over all batches may be that of batches."""
    return [task for task in tasks if task.n_folds and is_untold(task, n_batches)]


def are_mostly(marks: Sequence[bool]) -> bool:
    """Tell whether more than half are marked: then the mean of all is one of those."""
    return sum(marks) > HALF * len(marks)


def are_mostly_untold(tasks: Sequence[Task], n_batches: int) -> bool:
    """Tell whether the AUROC of more than half of the judged labels may be that of batches."""
    return are_mostly([is_untold(task, n_batches) for task in tasks if task.n_folds])


def are_mostly_apart(tasks: Sequence[Task], n_batches: int) -> bool:
    """Tell whether more than half of the judged labels hardly meet what they are told from.

    Then no AUROC within batches speaks for the mean of all.
    """
    return are_mostly(
        [
            is_untold(task, n_batches) and task.n_batches < LEAST_SHARED
            for task in tasks
            if task.n_folds
        ]
    )
