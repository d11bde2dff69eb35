"""Errors of each form of the latents to the true factors up to each group (Definition 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import Embeddings, Group
from upto.core.array_types import Float
from upto.engines import blas_threads_for
from upto.engines.base import Engine
from upto.evidence.pairings import PAIRED_ROWS
from upto.evidence.prepare import PreparedRun, prepare_run
from upto.evidence.split import Split, split_rows
from upto.files.survey import survey_runs
from upto.questions.compare.chance_level import chance_rows
from upto.questions.compare.detail import compare_in_detail
from upto.questions.compare.pair import Pair
from upto.questions.compare.pair_options import Options
from upto.questions.factors.parts import Structure, StructureFit
from upto.questions.factors.text import structure_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Finding, Progress
    from upto.questions.compare.result import CompareResult
    from upto.questions.factors.forms import Formed
    from upto.questions.factors.truth import Factor


MIN_COMPLETE = 10
"""Fewest complete rows for a fit."""
PASSED_ON = ("UP001", "UP010", "UP015", "UP017")
"""Findings of `compare` that also apply to latents and factors."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Truth:
    """Numeric factors, each with unit variance, on the rows where all of them are known.

    All forms share `split`, the held-out rows; `width`, which determines the number of shuffled
    rows; and the prepared truth.
    """

    names: tuple[str, ...]
    complete: NDArray[np.bool_]
    values: Float
    split: Split
    width: int
    prepared: PreparedRun
    engine: Engine
    options: Options

    def explained(self, latents: Float) -> dict[str, float | None]:
        """Return the held-out R² of each factor predicted by an affine map of all latents."""
        held = self.split.parts == 1
        if not held.any():
            return dict.fromkeys(self.names)
        rows = latents[self.complete]
        rows = np.column_stack([rows - rows.mean(axis=0), np.ones(len(rows))])
        maps = np.linalg.lstsq(rows[~held], self.values[~held], rcond=1e-10)[0]
        left = np.square(self.values[held] - rows[held] @ maps).sum(axis=0)
        total = np.square(self.values[held] - self.values[held].mean(axis=0)).sum(axis=0)
        return {
            name: float(1.0 - lost / all_) if all_ > 0.0 else None
            for name, lost, all_ in zip(self.names, left, total, strict=True)
        }


def options_for(held_out: float, seed: int) -> Options:
    """Return validated options for errors to the truth; the others are those of `compare`."""
    return Options(up_to=Group.AFFINE, held_out=held_out, ica=False, seed=seed, one_way=True)


def find_truth(
    factors: Sequence[Factor], latents: Float, *, options: Options, engine: Engine
) -> Truth | None:
    """Return the numeric factors as a run; None without any or with too few rows."""
    numbers = [factor for factor in factors if factor.in_truth]
    if not numbers:
        return None
    complete = np.logical_and.reduce([factor.known for factor in numbers])
    values = np.column_stack([factor.values[complete] for factor in numbers])
    if len(values) < MIN_COMPLETE or np.any(values.min(axis=0) == values.max(axis=0)):
        return None
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    width = max(latents.shape[1], len(numbers))
    split = split_rows(engine, [latents[complete], values], options.held_out, options.seed)
    return Truth(
        names=tuple(factor.name for factor in numbers),
        complete=complete,
        values=values,
        split=split,
        width=width,
        prepared=_prepared(engine, values, "factors", split, width, options.seed),
        engine=engine,
        options=options,
    )


def measure_structure(
    formed: Formed, truth: Truth, progress: Progress
) -> tuple[Structure, tuple[Finding, ...]] | None:
    """Return the errors of a form to the truth; None if its latents are constant."""
    latents = formed.latents[truth.complete]
    if np.all(latents.min(axis=0) == latents.max(axis=0)):
        return None
    name = f"latents {formed.form.name}"
    with blas_threads_for(truth.width):
        source = _prepared(
            truth.engine, latents, name, truth.split, truth.width, truth.options.seed
        )
        pair = Pair(engine=truth.engine, source=source, target=truth.prepared, split=truth.split)
        found = compare_in_detail(pair, truth.options, progress, None, None)
    return _structure(formed, found, truth.names), tuple(
        finding for finding in found.findings if finding.code in PASSED_ON
    )


def _prepared(
    engine: Engine, rows: Any, name: str, split: Split, width: int, seed: int
) -> PreparedRun:
    run = Embeddings(rows=engine.place(rows), name=name)
    (surveyed,) = survey_runs(engine, [run])
    return prepare_run(
        engine,
        run,
        surveyed,
        split,
        ica=False,
        in_sample=True,
        sample_rows=chance_rows(width),
        paired_rows=PAIRED_ROWS,
        seed=seed,
    )


def _structure(formed: Formed, found: CompareResult, names: Sequence[str]) -> Structure:
    fits = tuple(
        StructureFit(
            up_to=fit.up_to,
            error=fit.error,
            in_sample=fit.in_sample.mean.value,
            chance=fit.chance.mean.value if fit.chance else None,
            p_value=fit.p_value,
            r2=(fit.held_out or fit.in_sample).r2,
            supremum=fit.supremum,
        )
        for fit in found.fits
    )
    chosen = next((fit for fit in fits if fit.up_to is found.up_to), None)
    return Structure(
        form=formed.form.name,
        up_to=found.up_to,
        agreement=found.agreement or "undecided",
        verdict=structure_verdict(
            formed.form.name,
            found.agreement or "undecided",
            chosen,
            names=names,
            converged=formed.converged,
        ),
        fits=fits,
    )
