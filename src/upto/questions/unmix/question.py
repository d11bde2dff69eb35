"""Fit the independent components of a run and test which are identifiable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import (
    UNRECORDED,
    Embeddings,
    Estimate,
    Finding,
    choose_progress,
    unique_findings,
    with_provenance,
)
from upto.core.arguments import check_fraction, check_whole
from upto.engines import choose_engine, moments
from upto.evidence.held_out_rows import units_of_copies
from upto.evidence.identify import Identified, identify
from upto.evidence.serial import SerialDependence, alternating_blocks, serial_dependence
from upto.evidence.split import Split, find_keys, hold_out, take_rows
from upto.files import check_output
from upto.files.accept import single_run
from upto.files.survey import place_runs, refuse_wide, run_findings, survey_runs
from upto.ica import ICA
from upto.ica.checkpoint import Checkpoint
from upto.ica.fit import Fitted, Settings, fit_components
from upto.questions.unmix.result import Component, UnmixResult
from upto.questions.unmix.text import remarks, verdict
from upto.transforms.apply import write_transformed
from upto.transforms.save import check_transform_path, save_transform

if TYPE_CHECKING:
    from upto.core import Progress, TraceStep
    from upto.core.array_types import Float
    from upto.engines import Moments
    from upto.engines.base import Engine
    from upto.files.accept import Run


SERIAL_ROWS, SERIAL_BYTES = 2**16, 2**27
"""Limits on the first rows tested for serial dependence: their number and size in memory."""
MATRICES = 13
"""Square matrices in memory at once when a wide run is unmixed."""


@with_provenance
def unmix(
    run: Run,
    *,
    output: str | Path | None = None,
    save: str | Path | None = None,
    n_components: int | float | None = None,
    solver: Any = "auto",
    contrast: Any = "logcosh",
    whiten: Any = "unit-variance",
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    rank_tolerance: float | None = None,
    restarts: int = 1,
    bootstraps: int = 0,
    held_out: float = 0.5,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> UnmixResult:
    """Fit the independent components of a run and test which of them are identifiable.

    The components are fitted to all rows. ICA is then fitted to two disjoint parts of the rows,
    each from another start, and the components of one part are tested on the other: whether they
    are recovered there, are Gaussian, or are defined only up to a rotation with others.

    Parameters
    ----------
    run
        An array, a tensor, a data frame, an AnnData or xarray object, a path or `Embeddings`, as
        `as_embeddings` takes it; or an iterator of blocks of rows, which are kept in a temporary
        file.
    output
        File for the components of every row, with the run's ids and columns.
    save
        File for the fitted transform; read it with `upto.load_transform`.
    n_components
        Number of components, or the fraction of the variance to keep; all by default.
    solver, contrast, whiten, tolerance, max_iterations, rank_tolerance
        Passed to `upto.ICA`.
    restarts
        Number of random starts; two or more give the `stability` of each component.
    bootstraps
        Number of fits to resampled rows; `stability` is the lower of the two indices.
    held_out
        Fraction of rows in the second of the two parts; 0 skips the tests.
    checkpoint
        File in which the state of the fit is saved; removed on completion.
    resume
        Whether to continue from the checkpoint.
    seed
        Seed of the random number generator.
    engine
        Engine, as an object or by name.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    UnmixResult
        The components, and which of them are identifiable.

    Raises
    ------
    InputError
        If the run is not valid, or a file cannot be written.

    See Also
    --------
    upto.UnmixResult : What it returns.
    upto.ICA : The same fit as an estimator.
    upto.consensus : Components that appear in every run.
    upto.inspect : Rank, spectrum and Gaussianity of a run.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> sources = np.random.default_rng(0).laplace(size=(2000, 3))
    >>> result = upto.unmix(sources @ [[2, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> result.n_identifiable
    3
    """
    check_fraction(held_out=held_out)
    check_whole(bootstraps=bootstraps, seed=seed)
    engine, progress = choose_engine(engine), choose_progress(progress)
    inputs = [run] if isinstance(run, str | Path) else []
    if output is not None:
        check_output(output, inputs=inputs)
    if save is not None:
        check_transform_path(save)
    embeddings = single_run(run, "unmix", blocks=True)
    width = embeddings.n_features
    refuse_wide(f"unmixing {width} columns", width, MATRICES)
    ica = ICA(
        n_components,
        solver=solver,
        contrast=contrast,
        whiten=whiten,
        tolerance=tolerance,
        max_iterations=max_iterations,
        rank_tolerance=rank_tolerance,
        restarts=restarts,
        random_state=seed,
    )
    settings = ica.settings()
    keeper = Checkpoint(
        checkpoint,
        f"{embeddings.n_samples}×{embeddings.n_features}, n_components={n_components}, "
        f"contrast={settings.contrast.name}, whiten={whiten}",
    )
    start = keeper.read() if resume else None
    (placed,) = place_runs(engine, [embeddings])
    (surveyed,) = survey_runs(engine, [placed])
    rows = placed.rows
    keys = find_keys(engine, [rows], seed)
    units, of_copies = units_of_copies(engine, [rows], keys)
    split = hold_out(keys, held_out, units=units)
    serial = _serial_dependence(engine, rows, split)
    if serial.is_clear and split.n_held_out:
        blocks = alternating_blocks(embeddings.n_samples, serial.length, held_out)
        split = replace(split, parts=blocks)
    first_part, second_part = moments(engine, rows, surveyed.mean, split.parts)
    everything = first_part + second_part
    fitted = _fit(engine, rows, settings, everything, start, keeper, progress)
    keeper.write()
    identified = identify(
        engine,
        rows,
        fitted,
        settings,
        split=split,
        time=serial.time,
        bootstraps=bootstraps,
        progress=progress,
    )
    ica.keep(fitted)
    if embeddings.features:
        ica.feature_names_in_ = np.array(embeddings.features, dtype=object)
    if output is not None:
        write_transformed(engine, rows, embeddings, ica, output, inputs)
    if save is not None:
        save_transform(save, ica)
    keeper.remove()
    n_dead = int((surveyed.low == surveyed.high).sum())
    findings = run_findings(embeddings, rank=fitted.unmixing.rank, n_dead=n_dead) + of_copies
    if serial.is_clear:
        which = "neighbouring rows" if serial.lag == 1 else f"rows {serial.lag} apart"
        message = (
            f"{which} of {embeddings.name} correlate by {serial.correlation:.2f}: "
            f"the effective sample size of {embeddings.n_samples} rows is about "
            f"{embeddings.n_samples / serial.time:.0f}."
        )
        findings.append(Finding(code="UP033", message=message))
    return _result(
        embeddings,
        fitted,
        identified,
        settings,
        n_held_out=split.n_held_out,
        n_bootstraps=bootstraps,
        part=everything,
        findings=findings,
    )


def _serial_dependence(engine: Engine, rows: Any, split: Split) -> SerialDependence:
    """Estimate the serial dependence of the first rows in their order, without duplicates."""
    limit = min(SERIAL_ROWS, SERIAL_BYTES // (8 * int(rows.shape[1])))
    return serial_dependence(take_rows(engine, rows, np.flatnonzero(~split.repeats)[:limit]))


def _fit(
    engine: Engine,
    rows: Any,
    settings: Settings,
    part: Any,
    start: Float | None,
    keeper: Checkpoint,
    progress: Progress,
) -> Fitted:
    with progress.task("find components", settings.max_iterations) as advance:

        def listen(step: TraceStep, components: Float) -> None:
            advance(1)
            keeper.see(step, components)

        try:
            fitted = fit_components(engine, rows, settings, part=part, start=start, listener=listen)
        except KeyboardInterrupt:
            keeper.write()
            raise
    if fitted.unmixing.interrupted:
        keeper.write()
        raise KeyboardInterrupt
    return fitted


def _result(
    embeddings: Embeddings,
    fitted: Fitted,
    identified: Identified,
    settings: Settings,
    *,
    n_held_out: int,
    n_bootstraps: int,
    part: Moments,
    findings: list[Finding],
) -> UnmixResult:
    unmixing = fitted.unmixing
    # Without whitening, components do not have unit variance.
    own = np.vecdot(unmixing.components @ part.scatter, unmixing.components) / part.weight
    carried = own * np.sum(unmixing.mixing**2, axis=0) / part.total_variance
    home = {i: n for n, group in enumerate(identified.subspaces, 1) for i in group}
    k = len(unmixing.components)
    stability, judged = identified.stability, identified.judged
    unknown = np.full(k, np.nan)
    z = unknown if identified.z is None else identified.z
    again = unknown if judged is None else judged.again.similarity
    components = tuple(
        Component(
            nongaussianity=identified.estimate(i),
            z=None if np.isnan(z[i]) else float(z[i]),
            variance=float(carried[i]),
            stability=None if stability is None else float(stability[i]),
            subspace=home.get(i),
            found_again=None if np.isnan(again[i]) else float(again[i]),
            state=None if judged is None else judged.states[i],
        )
        for i in range(k)
    )
    n_identifiable = None
    if judged is not None and unmixing.converged:
        n_identifiable = judged.states.count("identifiable")
    curvature = identified.curvature
    return UnmixResult(
        name=embeddings.name,
        n_samples=embeddings.n_samples,
        n_features=embeddings.n_features,
        n_held_out=n_held_out,
        rank=unmixing.rank,
        solver=settings.solver,
        contrast=settings.contrast.name,
        whiten=settings.whiten,
        # A resumed fit is not restarted.
        n_restarts=settings.restarts if fitted.restarted else 1,
        n_bootstraps=n_bootstraps,
        converged=unmixing.converged,
        n_iterations=unmixing.n_iterations,
        n_passes=unmixing.n_passes,
        components=components,
        subspaces=identified.subspaces,
        n_identifiable=n_identifiable,
        curvature=None if curvature is None else Estimate(value=curvature.value),
        curvature_identifiable=None if curvature is None else curvature.identifiable,
        trace=unmixing.steps,
        verdict=verdict(embeddings.name, k, identified, converged=unmixing.converged),
        findings=unique_findings([*findings, *remarks(embeddings.name, fitted, identified)]),
        provenance=UNRECORDED,
    )
