"""Rows of a run that cannot be mapped, and what is done with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from upto.core import InputError
from upto.core.errors import ArgumentError, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core import Embeddings

BadRows = Literal["refuse", "drop", "keep"]
"""Refuse a run with such rows, leave them out, or write them as NaN."""

_NAMED = 10


def check_bad_rows(policy: object) -> None:
    """Refuse an unknown policy."""
    if policy not in get_args(BadRows):
        message = f'bad_rows={policy!r} is none of "refuse", "drop" and "keep": pass one of them.'
        raise ArgumentError(message, bad_rows=policy)


def refuse_overflow(run: Embeddings, bad: Sequence[int], dtype: str) -> None:
    """Refuse finite rows whose images are beyond the range of the output."""
    first, last = bad[0], bad[-1] + 1
    rows = np.asarray(run.rows[first:last], dtype=np.float64)
    # Bad for another reason: not finite, or without a direction.
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(rows).all(axis=1) & rows.any(axis=1))
    row = next((row for row in bad if finite[row - first]), None)
    if row is not None:
        message = (
            f"the image of {_named(run, row)} of {run.name} is beyond the range of {dtype}: "
            "rescale the run, or store it in float64."
        )
        raise InputError(message)


def refuse_bad_rows(run: Embeddings, bad: Sequence[int], *, directed: bool) -> None:
    """Refuse a run with rows that are not finite, naming the first of them."""
    message = (
        f"{run.name} has {_counted(bad)} {flaws(directed=directed)}: {_listed(run, bad, 3)}. "
        "Repair them, or pass bad_rows='drop' to leave them out or bad_rows='keep' for rows of NaN."
    )
    raise ArgumentError(message, bad_rows=["drop", "keep"])


def describe_bad_rows(
    run: Embeddings, bad: Sequence[int], policy: BadRows, *, directed: bool
) -> str:
    """Return a note on what was done with rows that are not finite."""
    done = "left out" if policy == "drop" else "written as NaN"
    return (
        f"{_counted(bad)} of {run.name} {flaws(directed=directed)} "
        f"{'was' if len(bad) == 1 else 'were'} {done}: {_listed(run, bad, _NAMED)}"
    )


def flaws(*, directed: bool) -> str:
    """Return what is wrong with bad rows."""
    return "with NaN or infinite values" + (" or of length zero" if directed else "")


def _counted(bad: Sequence[int]) -> str:
    return f"{len(bad)} row{'' if len(bad) == 1 else 's'}"


def _listed(run: Embeddings, bad: Sequence[int], limit: int) -> str:
    more = f" and {len(bad) - limit} more" if len(bad) > limit else ""
    return ", ".join(_named(run, row) for row in bad[:limit]) + more


def _named(run: Embeddings, row: int) -> str:
    known = "" if run.ids is None else f" (id {shortened(run.ids[row], 20)})"
    return f"row {row}{known}"
