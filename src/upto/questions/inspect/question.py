"""Summarise one run: size, rank, spectrum, distances, Gaussianity."""

from __future__ import annotations

from dataclasses import replace
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
from upto.files.survey import place_runs, run_findings, survey_runs
from upto.ica.gaussianity import CLEAR
from upto.questions.inspect.result import InspectResult
from upto.questions.inspect.text import verdict
from upto.questions.inspect.wide_rows import refuse_large, spanned

if TYPE_CHECKING:
    from upto.core import Embeddings, Progress
    from upto.core.array_types import Float
    from upto.engines.base import Engine
    from upto.engines.passes import Survey
    from upto.evidence.prepare import PreparedRun
    from upto.files.accept import Run

_OF_COORDINATES = ("UP001", "UP002", "UP013")
"""Findings that count coordinates."""
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
    r"""Summarise one run before comparing it with others.

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

    Returns
    -------
    InspectResult
        Size, rank, spectrum and Gaussianity of the run.

    Raises
    ------
    InputError
        If the run is not valid.

    See Also
    --------
    upto.InspectResult : What it returns.
    upto.compare : Compare it with other runs.
    upto.unmix : Its independent components.

    Notes
    -----
    With the share :math:`p_j` of the variance along principal direction j, the effective
    dimension is

    .. math::

        d_\text{eff} = \frac{1}{\sum_j p_j^2}

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rows = np.random.default_rng(0).normal(size=(500, 4))
    >>> result = upto.inspect(np.hstack([rows, rows[:, :1]]), ica=False)
    >>> result.run.n_features, result.run.rank
    (5, 4)
    """
    check_whole(seed=seed)
    engine, progress = choose_engine(engine), choose_progress(progress)
    (embeddings,) = place_runs(engine, [single_run(run, "inspect", blocks=True)])
    refuse_large(embeddings)
    with progress.task("inspect", 2) as advance:
        (surveyed,) = survey_runs(engine, [embeddings])
        split, findings = choose_held_out(engine, (embeddings,), HELD_OUT, seed)
        advance(1)
        rotated = spanned(engine, embeddings)
        prepared = prepare_run(
            engine,
            rotated,
            surveyed if rotated is embeddings else survey_runs(engine, [rotated])[0],
            split,
            ica=ica,
            in_sample=False,
            seed=seed,
        )
        if rotated is not embeddings:
            prepared = _in_all_coordinates(prepared, embeddings, surveyed)
        advance(1)
    shares = _shares(prepared, embeddings.n_features)
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


def _shares(prepared: PreparedRun, n_features: int) -> Float:
    """Return the fraction of variance in each principal direction, in decreasing order."""
    if prepared.is_thin:
        # The widths of narrow directions are those of a sample.
        values = np.maximum(np.linalg.eigvalsh(prepared.everything.scatter)[::-1], 0.0)
    else:
        values = np.square(prepared.span.widths)
    shares = np.zeros(n_features)
    shares[: len(values)] = values / values.sum()
    return shares


def _in_all_coordinates(prepared: PreparedRun, run: Embeddings, surveyed: Survey) -> PreparedRun:
    """Describe a run by its own coordinates, not by those that its rows span."""
    n_dead = int((surveyed.low == surveyed.high).sum())
    summary = replace(prepared.summary, n_features=run.n_features, n_dead=n_dead)
    own = run_findings(run, rank=summary.rank, n_dead=n_dead)
    kept = [each for each in prepared.findings if each.code not in _OF_COORDINATES]
    return replace(prepared, summary=summary, findings=(*own, *kept))
