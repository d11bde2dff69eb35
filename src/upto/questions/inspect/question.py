"""Summarise one run: size, rank, spectrum, distances, Gaussianity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import (
    UNRECORDED,
    Finding,
    choose_progress,
    unique_findings,
    with_provenance,
)
from upto.core.arguments import check_whole
from upto.engines import choose_engine
from upto.evidence.held_out_rows import choose_held_out
from upto.evidence.prepare import prepare_run
from upto.files.accept import single_run
from upto.files.survey import place_runs, survey_runs
from upto.ica.gaussianity import CLEAR
from upto.questions.inspect.result import InspectResult
from upto.questions.inspect.text import verdict

if TYPE_CHECKING:
    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.files.accept import Run

HELD_OUT = 0.3
"""Fraction of rows on which components are tested for Gaussianity."""


@with_provenance
def inspect(
    run: Run,
    *,
    ica: bool = True,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> InspectResult:
    """Summarise one run before comparing it with others.

    Parameters
    ----------
    run
        An array, a tensor, a data frame, an AnnData or xarray object, a path or `Embeddings`, as
        `as_embeddings` takes it; or an
        iterator of blocks of rows, which are kept in a temporary file.
    ica
        Whether to fit independent components and test them for Gaussianity.
    seed
        Seed of the random number generator.
    engine
        Engine, as an object or by name.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Raises
    ------
    InputError
        If the run is not valid.
    """
    check_whole(seed=seed)
    engine, progress = choose_engine(engine), choose_progress(progress)
    (embeddings,) = place_runs(engine, [single_run(run, "inspect", blocks=True)])
    with progress.task("inspect", 2) as advance:
        (surveyed,) = survey_runs(engine, [embeddings])
        split, findings = choose_held_out(engine, (embeddings,), HELD_OUT, seed)
        advance(1)
        prepared = prepare_run(
            engine, embeddings, surveyed, split, ica=ica, in_sample=False, seed=seed
        )
        advance(1)
    values = np.maximum(np.linalg.eigvalsh(prepared.everything.scatter)[::-1], 0.0)
    shares = values / values.sum()
    scores = () if prepared.nongaussianity is None else prepared.nongaussianity
    near = int(np.sum(np.asarray(scores) < CLEAR)) if len(scores) else None
    findings += prepared.findings
    if split.n_duplicates:
        message = f"{split.n_duplicates} of {len(embeddings)} rows are duplicates."
        findings.append(Finding(code="UP007", message=message))
    summary = prepared.summary
    dimension = float(1.0 / np.sum(shares**2))
    return InspectResult(
        run=summary,
        dtype=str(np.dtype(embeddings.rows.dtype)),
        has_ids=embeddings.ids is not None,
        columns=tuple(embeddings.columns),
        n_duplicates=split.n_duplicates,
        spectrum=tuple(float(share) for share in shares),
        effective_dimension=dimension,
        nongaussianity=tuple(float(score) for score in scores),
        n_near_gaussian=near,
        verdict=verdict(summary, dimension, near, len(scores), ica=ica),
        findings=unique_findings(findings),
        provenance=UNRECORDED,
    )
