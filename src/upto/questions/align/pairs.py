"""Pairs of an old and a new row of the same sample: fitted ones, and held-out ones to judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Embeddings, Finding, InputError
from upto.core.array_types import Float
from upto.evidence.split import find_keys, hold_out, take_rows
from upto.files import match_rows
from upto.files.survey import place_runs, survey_runs
from upto.measures import diameter

if TYPE_CHECKING:
    from upto.engines.base import Engine

MOST_JUDGED = 20_000
"""Largest number of held-out rows that are searched."""
MOST_FITTED, MOST_VALUES = 50_000, 2**26
"""Largest numbers of fitted rows, and of their values in each space."""
LEAST_PAIRS = 50


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Side:
    """The rows of one model: fitted and judged ones, in memory and in the same order."""

    run: Embeddings
    fitted: Float
    judged: Float
    diameter: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pairs:
    """Matched rows of two models."""

    old: Side
    new: Side
    n_pairs: int
    n_held_out: int
    findings: tuple[Finding, ...]

    @property
    def n_fitted(self) -> int:
        """Number of pairs that maps are fitted to."""
        return len(self.old.fitted)


def find_pairs(
    engine: Engine, old: Embeddings, new: Embeddings, *, held_out: float, metric: str, seed: int
) -> Pairs:
    """Match rows by ids or position, and hold out some at random.

    Raises
    ------
    InputError
        If the rows cannot be matched or used, or are too few.
    """
    runs, findings = match_rows((old, new))
    if runs[0].n_samples < LEAST_PAIRS:
        message = (
            f"{old.name} and {new.name} share {runs[0].n_samples} rows, and at least {LEAST_PAIRS} "
            "are needed to fit a map and judge it: embed more of the same samples with both models."
        )
        raise InputError(message)
    placed = place_runs(engine, runs)
    surveys = survey_runs(engine, placed)
    # Row by row, copies too: then held-out rows are to fitted ones as other rows of the index are,
    # and as dense. Topics held out whole would be searched among too few others.
    keys = find_keys(engine, [run.rows for run in placed], seed, copies_together=False)
    split = hold_out(keys, held_out)
    widest = max(run.n_features for run in placed)
    fitted = split.first_rows(min(MOST_FITTED, max(MOST_VALUES // widest, 1)), 0)
    judged = split.first_rows(MOST_JUDGED, 1)
    sides = []
    for run, found in zip(placed, surveys, strict=True):
        side = Side(
            run=run,
            fitted=take_rows(engine, run.rows, fitted),
            judged=take_rows(engine, run.rows, judged),
            diameter=0.0,
        )
        if metric == "cosine":
            _refuse_zeros(run, side)
        extent = diameter(engine, run.rows, found.mean, side.judged[:2048])
        sides.append(Side(run=run, fitted=side.fitted, judged=side.judged, diameter=extent.value))
    return Pairs(
        old=sides[0],
        new=sides[1],
        n_pairs=runs[0].n_samples,
        n_held_out=split.n_held_out,
        findings=tuple(_about_ids(findings, old, new)),
    )


def _about_ids(findings: tuple[Finding, ...], old: Embeddings, new: Embeddings) -> list[Finding]:
    """Keep what was found about ids, unless only rows of a whole old index have no new row."""
    if old.ids is None or new.ids is None:
        return list(findings)
    known = np.isin(np.asarray(new.ids).astype(str), np.asarray(old.ids).astype(str)).all()
    return [each for each in findings if each.code != "UP006" or not known]


def _refuse_zeros(run: Embeddings, side: Side) -> None:
    count = sum(int(np.count_nonzero(~np.any(rows, axis=1))) for rows in (side.fitted, side.judged))
    if count:
        message = (
            f"{count} of the rows of {run.name} have length zero, and no cosine with any other: "
            "drop them, or choose another metric."
        )
        raise InputError(message)
