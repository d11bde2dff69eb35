"""Pairs of an old and a new row of the same sample: fitted ones, and held-out ones to judge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, Finding, InputError
from upto.core.array_types import Float
from upto.core.errors import ArgumentError
from upto.evidence.split import find_keys, hold_out, take_rows
from upto.files import match_rows
from upto.files.request import listed
from upto.files.survey import place_runs, survey_runs
from upto.measures import diameter
from upto.transforms.bad_rows import flaws
from upto.transforms.carry import without_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.engines.base import Arrays, Engine
    from upto.transforms.bad_rows import BadRows

MOST_JUDGED = 20_000
"""Largest number of held-out rows that are searched."""
MOST_FITTED, MOST_VALUES = 50_000, 2**26
"""Largest numbers of fitted rows, and of their values in each space."""
LEAST_PAIRS = 50
_NAMED = 5


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
    engine: Engine,
    old: Embeddings,
    new: Embeddings,
    *,
    held_out: float,
    metric: str,
    bad_rows: BadRows = "refuse",
    seed: int,
) -> Pairs:
    """Match rows by ids or position, leave out bad ones, and hold out some at random.

    Raises
    ------
    InputError
        If the rows cannot be matched or used, or are too few.
    """
    runs, findings = match_rows((old, new))
    placed = place_runs(engine, runs)
    kept, left_out = _without_bad(engine, runs, placed, bad_rows, directed=metric == "cosine")
    if left_out:
        runs, placed = kept, place_runs(engine, kept)
    if runs[0].n_samples < LEAST_PAIRS:
        message = (
            f"{old.name} and {new.name} share {runs[0].n_samples} rows, and at least {LEAST_PAIRS} "
            "are needed to fit a map and judge it: embed more of the same samples with both models."
        )
        raise InputError(message)
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
        rows = take_rows(engine, run.rows, judged)
        extent = diameter(engine, run.rows, found.mean, rows[:2048])
        sides.append(
            Side(
                run=run,
                fitted=take_rows(engine, run.rows, fitted),
                judged=rows,
                diameter=extent.value,
            )
        )
    return Pairs(
        old=sides[0],
        new=sides[1],
        n_pairs=runs[0].n_samples,
        n_held_out=split.n_held_out,
        findings=(*_about_ids(findings, old, new), *left_out),
    )


def _about_ids(findings: tuple[Finding, ...], old: Embeddings, new: Embeddings) -> list[Finding]:
    """Keep what was found about ids, unless only rows of a whole old index have no new row."""
    if old.ids is None or new.ids is None:
        return list(findings)
    known = np.isin(np.asarray(new.ids).astype(str), np.asarray(old.ids).astype(str)).all()
    return [each for each in findings if each.code != "UP006" or not known]


def _without_bad(
    engine: Engine,
    runs: tuple[Embeddings, ...],
    placed: tuple[Embeddings, ...],
    policy: BadRows,
    *,
    directed: bool,
) -> tuple[tuple[Embeddings, ...], list[Finding]]:
    """Leave out pairs of which a row is not finite or, if rows are directed, has no direction."""
    found = [np.flatnonzero(_bad(engine, run, directed=directed)).tolist() for run in placed]
    bad = sorted({row for each in found for row in each})
    if not bad:
        return runs, []
    said = "; ".join(
        f"{run.name} has {len(each)} row{'s' * (len(each) > 1)} {flaws(directed=directed)}: "
        f"{_listed(run, each)}"
        for run, each in zip(runs, found, strict=True)
        if each
    )
    if policy == "refuse":
        message = (
            f"{said}. Repair them, or pass bad_rows='drop' to leave out "
            f"{'this pair' if len(bad) == 1 else f'these {len(bad)} pairs'}."
        )
        raise ArgumentError(message, bad_rows="drop")
    message = f"{len(bad)} of {runs[0].n_samples} pairs, because {said}."
    if len(bad) == runs[0].n_samples:
        message = f"no pair is left: {said}."
        raise InputError(message)
    kept = tuple(without_rows(run, bad) for run in runs)
    return kept, [Finding(code="UP110", message=message)]


def _bad(engine: Engine, run: Embeddings, *, directed: bool) -> NDArray[np.bool_]:
    flagged = engine.map_blocks(partial(_flag, directed=directed), run.rows)
    return np.asarray(flagged)[:, 0] > 0


def _flag(xp: Any, x: Any, *, directed: bool) -> Arrays:
    """Return 1 for each row that is not finite or, if rows are directed, is zero."""
    is_bad = ~xp.all(xp.isfinite(x), axis=1)
    if directed:
        is_bad = is_bad | xp.all(x == 0, axis=1)
    return (xp.astype(is_bad, xp.float32)[:, None],)


def _listed(run: Embeddings, rows: list[int]) -> str:
    known = [f"row {row}" if run.ids is None else f"id {run.ids[row]}" for row in rows[:_NAMED]]
    return listed(known, _NAMED) + (f" and {len(rows) - _NAMED} more" if rows[_NAMED:] else "")
