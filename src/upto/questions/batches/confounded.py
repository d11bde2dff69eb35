"""Confounding of labels with batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.questions.batches.parts import Task

HALF = 0.5
NEARLY_ALL = 0.8
FEW_SHARED = 10
"""Shared batches below which intervals of confounded labels do not reach their coverage."""
LEAST_SHARED = 2
"""Shared batches below which nothing can be compared within batches."""


def is_confounded(task: Task, n_batches: int) -> bool:
    """Return whether at most half of the batches contain both classes of a question."""
    return task.n_batches <= HALF * n_batches


def is_partly_told(task: Task, n_batches: int) -> bool:
    """Return whether some batches lack a class, so that rows are compared across batches."""
    return task.n_batches < NEARLY_ALL * n_batches


def is_untold(task: Task, n_batches: int) -> bool:
    """Return whether a confounded label shares few or no batches with its comparison group."""
    return is_confounded(task, n_batches) and task.n_batches < FEW_SHARED


def untold(tasks: Sequence[Task], n_batches: int) -> list[Task]:
    """Return the evaluated labels whose AUROC across batches may reflect batches alone."""
    return [task for task in tasks if task.n_folds and is_untold(task, n_batches)]


def are_mostly(marks: Sequence[bool]) -> bool:
    """Return whether more than half are true."""
    return sum(marks) > HALF * len(marks)


def are_mostly_untold(tasks: Sequence[Task], n_batches: int) -> bool:
    """Return whether most evaluated labels have an AUROC that may reflect batches alone."""
    return are_mostly([is_untold(task, n_batches) for task in tasks if task.n_folds])


def are_mostly_apart(tasks: Sequence[Task], n_batches: int) -> bool:
    """Return whether most evaluated labels share hardly any batch with their comparison group.

    The AUROC within batches then does not represent the mean over labels.
    """
    return are_mostly(
        [
            is_untold(task, n_batches) and task.n_batches < LEAST_SHARED
            for task in tasks
            if task.n_folds
        ]
    )
