"""Near-duplicate names, and near-copies of rows across batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.batch_metrics.tasks import can_judge
from upto.batch_metrics.value_names import look_alikes, reads_as_missing
from upto.core import Finding
from upto.evidence.row_dependence import GROUPED, find_near_copies
from upto.evidence.split import find_keys
from upto.files.request import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.batch_metrics.folds import Codes, Mask, Split
    from upto.engines.base import Engine
    from upto.questions.batches.conditions import Rows
    from upto.questions.batches.screen import Screen


def find_look_alikes(screen: Screen) -> list[Finding]:
    """Report labels and batches that differ only in spelling or denote missing values."""
    found = []
    labels = np.unique(screen.labels[screen.labels != ""]).tolist()
    for words, names in ((screen.label_words, labels), (screen.batch_words, list(screen.batches))):
        groups = look_alikes(names)
        control = screen.control if names is labels else None
        # Misspelt controls come first, because they are evaluated as a label.
        groups.sort(key=lambda own: control not in own)
        if groups:
            said = listed([" and ".join(map(repr, own)) for own in groups])
            beside = ""
            if control is not None and control in groups[0]:
                beside = f"; only rows with {control!r} count as controls"
            found.append(
                Finding(code="UP085", message=f"{words} has {said} as separate values{beside}.")
            )
        missing = reads_as_missing(names)
        if missing:
            said = listed([repr(name) for name in missing])
            found.append(
                Finding(code="UP085", message=f"{words} has {said} as a value, not as missing.")
            )
    return found


def near_copies(rows: Rows, screen: Screen, engine: Engine, seed: int) -> Codes:
    """Return rows with near-copies in other batches; controls are also searched separately."""
    looks = [np.arange(min(len(rows), GROUPED))]
    if screen.controls is not None:
        looks.append(np.flatnonzero(screen.controls)[:GROUPED])
    shared = [_shared(rows, index, screen.held, engine, seed) for index in looks]
    return np.unique(np.concatenate(shared))


def find_shared_copies(near: Codes, screen: Screen) -> list[Finding]:
    """Report the number of rows with near-copies in other batches."""
    if not len(near):
        return []
    n_rows = len(screen.held)
    of = f"{n_rows}" if n_rows <= GROUPED else f"the {GROUPED} examined"
    return [
        Finding(
            code="UP086",
            message=f"{len(near)} of {of} rows are nearly equal to a row in another "
            f"{screen.fold_by_words}.",
        )
    ]


def count_copied(
    equal: Mask, near: Codes, screen: Screen, splits: Sequence[Split]
) -> tuple[int, int]:
    """Count evaluated rows with an exact or near copy in another batch, and all evaluated rows.

    Near-copies are searched among the first `GROUPED` rows only, so only those count.
    """
    judged = np.zeros(len(equal), dtype=np.bool_)
    for split in splits:
        for question in screen.questions:
            if can_judge(question, split):
                judged[question.rows] |= split.judging[question.rows]
    judged[GROUPED:] = False
    copied = equal.copy()
    copied[near] = True
    return int(np.sum(copied & judged)), int(judged.sum())


def _shared(rows: Rows, index: Codes, held: Codes, engine: Engine, seed: int) -> Codes:
    """Return rows with near but not exact copies in several held-out groups."""
    own = np.asarray(rows[index], dtype=np.float64)
    if len(own) == 0:
        return index
    keys = find_keys(engine, [own], seed)
    copies = find_near_copies(engine, [own], keys, only_sure=True)
    if copies is None or copies.units is None:
        return index[:0]
    near = _spread_over(copies.units, held[index])
    return index[near & ~_spread_over(keys.equal, held[index])]


def _spread_over(units: Codes, held: Codes) -> Mask:
    """Mark rows whose unit has rows in several held-out groups."""
    least = np.full(int(units.max()) + 1, np.iinfo(np.intp).max, dtype=np.intp)
    most = np.full_like(least, -1)
    np.minimum.at(least, units, held)
    np.maximum.at(most, units, held)
    found: Mask = (least != most)[units]
    return found
