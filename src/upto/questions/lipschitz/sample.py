"""Sample the latents at which a decoder is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Diameter, Embeddings, Finding, InputError, scale_limits
from upto.core.array_types import Float
from upto.evidence.split import Split, split_rows, take_rows
from upto.files import match_rows
from upto.files.accept import take_runs
from upto.files.arrays import as_array
from upto.files.shaped import shaped_array
from upto.files.survey import place_runs, survey_runs
from upto.measures import diameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.engines.base import Engine
    from upto.engines.passes import Survey
    from upto.files.accept import Run


_DIAMETER_ROWS = 2048


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sample:
    """Latents, outputs if given, and the rows sampled from them."""

    runs: tuple[Embeddings, ...]
    split: Split
    rows: NDArray[np.intp]
    points: Float
    shape: tuple[int, ...] | None
    n_dead: int
    extent: Diameter
    findings: tuple[Finding, ...]


def read_sample(
    engine: Engine, latents: Run, outputs: Run | None, *, n_points: int, seed: int
) -> Sample:
    """Read latents, and outputs if given, and sample rows by a hash of their values."""
    flat, shape = _flattened(latents)
    given = [flat] if outputs is None else [flat, _flattened(outputs)[0]]
    found: Sequence[Finding] = ()
    runs = take_runs(given, names=("latents", "outputs"))
    if len(runs) != len(given):
        message = f"there are {len(runs)} runs in place of {len(given)}: name one of the manifest."
        raise InputError(message)
    if outputs is not None:
        runs, found = match_rows(runs)
    placed = place_runs(engine, runs)
    surveyed = survey_runs(engine, placed[:1], at_least=1, varying=False)[0]
    survey_runs(engine, placed[1:], at_least=1, varying=False)
    _refuse_extremes(runs[0], surveyed)
    split = split_rows(engine, [placed[0].rows], 0.0, seed)
    rows = split.order[~split.repeats[split.order]][:n_points]
    sample = take_rows(engine, placed[0].rows, split.order[:_DIAMETER_ROWS])
    return Sample(
        runs=placed,
        split=split,
        rows=rows,
        points=take_rows(engine, placed[0].rows, rows),
        shape=shape,
        n_dead=int((surveyed.low == surveyed.high).sum()),
        extent=diameter(engine, placed[0].rows, surveyed.mean, sample),
        findings=tuple(found),
    )


def _refuse_extremes(run: Embeddings, survey: Survey) -> None:
    """Refuse latents whose squared distances over- or underflow."""
    size = max(float(np.abs(survey.low).max()), float(np.abs(survey.high).max()))
    with np.errstate(over="ignore"):
        spread = float((survey.high - survey.low).max())
    least, most = scale_limits(run.n_samples * run.n_features)
    if size > most or 0.0 < spread < least:
        message = (
            f"the values of {run.name} reach {size:.3g} and differ by at most {spread:.3g}, so "
            "squared distances overflow or underflow: rescale the latents."
        )
        raise InputError(message)


def _flattened(run: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return an array with one row per sample, and the original shape of a sample."""
    if isinstance(run, str | Path):
        run = given if (given := shaped_array(run)) is not None else run
    if isinstance(run, Embeddings) or getattr(run, "ndim", 0) < 3:
        return run, None
    array = np.asarray(as_array(run, "latents"))
    return array.reshape(len(array), -1), array.shape[1:]
