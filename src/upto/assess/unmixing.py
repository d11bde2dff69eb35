"""The independent components of a run, written to a file and explained."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.assess.applying import single_run, write_transformed
from upto.assess.components import MIN_JUDGED_ROWS, Identified, identify
from upto.assess.coordinates import coordinate_names
from upto.assess.prepare import place_runs, run_findings, survey_runs
from upto.assess.split import split_rows
from upto.core import (
    Component,
    Embeddings,
    Estimate,
    Finding,
    Provenance,
    SilentProgress,
    Unmixed,
    library_versions,
    unique_findings,
)
from upto.engines import choose_engine, moments
from upto.load import check_output
from upto.unmix import ICA
from upto.unmix.checkpoint import Checkpoint
from upto.unmix.fitting import Fitted, Settings, fit_components
from upto.unmix.gaussianity import CLEAR
from upto.unmix.saving import (
    check_transform_path,
    save_transform,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.assess.comparing import Run
    from upto.core import Progress, TraceStep
    from upto.engines import Moments
    from upto.engines.base import Engine

    Float = NDArray[np.float64]

UNSTABLE = 0.8
"""Stability below which a component counts as unstable."""


def unmix_run(
    run: Run,
    *,
    output: str | Path | None = None,
    transform: str | Path | None = None,
    components: int | float | None = None,
    solver: Any = "auto",
    contrast: Any = "logcosh",
    whiten: Any = "unit-variance",
    tolerance: float = 1e-6,
    max_iterations: int = 500,
    rank_tolerance: float | None = None,
    restarts: int = 1,
    bootstraps: int = 0,
    held_out: float = 0.2,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | None = None,
) -> Unmixed:
    """Find the independent components of a run and say which of them are identifiable.

    The components are fitted to all rows. Whether they are Gaussian or can turn into each other is
    judged on held-out rows, with components fitted again without these.

    Parameters
    ----------
    run
        An array, a path or `Embeddings`.
    output
        File to write the components of every row to, with the run's ids and columns.
    transform
        File to save the fitted transform to; `upto.load_transform` reads it.
    components
        Components to find: a number, or the share of the variance they shall reach; all by default.
    solver, contrast, whiten, tolerance, max_iterations, rank_tolerance
        As of `upto.ICA`.
    restarts
        Starts to search from; with more than one, `stability` says how often a component is found.
    bootstraps
        Fits on resampled rows; `stability` is the lower of what starts and these say.
    held_out
        Fraction of the rows on which the components are judged; 0 leaves them unjudged.
    checkpoint
        File that keeps the search while it runs, and is removed when all is done.
    resume
        Continue from the checkpoint.
    seed
        Seed of every random choice.
    engine
        Engine of the passes, as an object or by name.
    progress
        What long work reports to.

    Raises
    ------
    InputError
        If the run cannot be used as given, or a file cannot be written.
    """
    started = time.perf_counter()
    engine, progress = choose_engine(engine), progress or SilentProgress()
    embeddings = single_run(run)
    inputs = [run] if isinstance(run, str | Path) else []
    if output is not None:
        check_output(output, inputs=inputs)
    if transform is not None:
        check_transform_path(transform)
    ica = ICA(
        components,
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
        f"{embeddings.n_samples}×{embeddings.n_features}, components={components}, "
        f"contrast={settings.contrast.name}, whiten={whiten}",
    )
    start = keeper.read() if resume else None
    (placed,) = place_runs(engine, [embeddings])
    (surveyed,) = survey_runs(engine, [placed])
    rows = placed.rows
    split = split_rows(engine, [rows], held_out, seed)
    fitted_part, held_out_part = moments(engine, rows, surveyed.mean, split.parts)
    everything = fitted_part + held_out_part
    fitted = _fit(engine, rows, settings, everything, start, keeper, progress)
    keeper.write()
    identified = identify(
        engine,
        rows,
        fitted,
        settings,
        split=split,
        part=fitted_part,
        bootstraps=bootstraps,
        progress=progress,
    )
    ica.keep(fitted)
    if names := coordinate_names(run, embeddings):
        ica.feature_names_in_ = np.array(names, dtype=object)
    if output is not None:
        write_transformed(engine, rows, embeddings, ica, output, inputs)
    if transform is not None:
        save_transform(transform, ica)
    keeper.remove()
    n_dead = int((surveyed.low == surveyed.high).sum())
    findings = run_findings(embeddings, rank=fitted.unmixing.rank, n_dead=n_dead)
    return _result(
        embeddings,
        fitted,
        identified,
        settings,
        n_held_out=split.n_held_out,
        n_bootstraps=bootstraps,
        part=everything,
        findings=findings,
        provenance=Provenance(
            call=f"upto.unmix_run({embeddings.name}, components={components}, solver={solver!r}, "
            f"contrast={settings.contrast.name!r}, whiten={whiten!r}, restarts={restarts}, "
            f"bootstraps={bootstraps}, held_out={held_out:g}, seed={seed})",
            seed=seed,
            engine=engine.name,
            seconds=time.perf_counter() - started,
            versions=library_versions(),
        ),
    )


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
    provenance: Provenance,
) -> Unmixed:
    unmixing = fitted.unmixing
    # Without whitening components have variances of their own.
    own = np.vecdot(unmixing.components @ part.scatter, unmixing.components) / part.weight
    carried = own * np.sum(unmixing.mixing**2, axis=0) / part.total_variance
    home = {i: n for n, group in enumerate(identified.subspaces, 1) for i in group}
    k = len(unmixing.components)
    stability = identified.stability
    z = np.full(k, np.nan) if identified.z is None else identified.z
    components = tuple(
        Component(
            nongaussianity=identified.nongaussianity[i] if identified.nongaussianity else None,
            z=None if np.isnan(z[i]) else float(z[i]),
            variance=float(carried[i]),
            stability=None if stability is None else float(stability[i]),
            subspace=home.get(i),
        )
        for i in range(k)
    )
    curvature = identified.curvature
    return Unmixed(
        name=embeddings.name,
        n_samples=embeddings.n_samples,
        n_features=embeddings.n_features,
        n_held_out=n_held_out,
        rank=unmixing.rank,
        solver=settings.solver,
        contrast=settings.contrast.name,
        whiten=settings.whiten,
        # A search that was continued has not started again.
        n_restarts=settings.restarts if fitted.restarted else 1,
        n_bootstraps=n_bootstraps,
        converged=unmixing.converged,
        n_iterations=unmixing.n_iterations,
        n_passes=unmixing.n_passes,
        components=components,
        subspaces=identified.subspaces,
        n_identifiable=k - len(home),
        curvature=None if curvature is None else Estimate(value=curvature.value),
        curvature_identifiable=None if curvature is None else curvature.identifiable,
        trace=unmixing.steps,
        verdict=_verdict(embeddings.name, k, len(home), identified, converged=unmixing.converged),
        findings=unique_findings(
            [*findings, *_findings(embeddings.name, fitted, identified, n_held_out)]
        ),
        provenance=provenance,
    )


def _verdict(name: str, k: int, turning: int, identified: Identified, *, converged: bool) -> str:
    ended = "" if converged else " The search did not converge."
    has = f"{name} has {k} component{'' if k == 1 else 's'}"
    if identified.unjudged is not None:
        return f"{has}, not judged: {identified.unjudged}.{ended}"
    if not converged:
        return f"{has}, but the search did not converge: what is identifiable is not known."
    if turning == 0:
        return f"{has}, all identifiable up to order and sign."
    groups = len(identified.subspaces)
    where = "one subspace" if groups == 1 else f"{groups} subspaces"
    return f"{has}: {k - turning} identifiable up to order and sign, {turning} only as {where}."


def _findings(name: str, fitted: Fitted, identified: Identified, n_held_out: int) -> list[Finding]:
    unmixing, found = fitted.unmixing, []

    def add(code: str, message: str) -> None:
        found.append(Finding(code=code, message=message))

    k = len(unmixing.components)
    if (dropped := unmixing.dropped) is not None:
        width = unmixing.components.shape[1]
        add("UP008", f"{dropped.count} of {width} directions of {name}: {dropped.words}.")
    if not unmixing.converged:
        add("UP004", f"ICA of {name} stopped after {unmixing.n_iterations} steps.")
    near = 0 if identified.z is None else int((identified.z < CLEAR).sum())
    if near >= 2:
        words = "cannot be told from Gaussian ones on held-out rows."
        add("UP003", f"{near} of {k} components of {name} {words}")
    for group in identified.subspaces:
        listed = ", ".join(str(i) for i in group[:12]) + (", …" if len(group) > 12 else "")
        add("UP023", f"components {listed} of {name}: {len(group)} of {k}.")
    form = unmixing.form
    unsettled = len({*form.unsettled_order, *form.unsettled_signs})
    if unsettled:
        add("UP021", f"{unsettled} of {k} components of {name}.")
    if identified.stability is not None:
        weak = np.flatnonzero(identified.stability < UNSTABLE)
        if len(weak):
            lowest = float(identified.stability.min())
            add("UP022", f"{len(weak)} of {k} components of {name}, the lowest at {lowest:.2f}.")
    if n_held_out < MIN_JUDGED_ROWS:
        add("UP015", f"{n_held_out} rows of {name} are held out: components are not judged.")
    elif identified.z is not None and np.isnan(identified.z).any():
        lost = int(np.isnan(identified.z).sum())
        add("UP015", f"{lost} of {k} components of {name} vary in held-out rows only.")
    return found
