"""Fitted transforms applied to the rows of a run, block by block, into a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.assess.comparing import as_embeddings
from upto.assess.prepare import place_runs, survey_runs
from upto.core import Embeddings, InputError, SilentProgress
from upto.engines import choose_engine
from upto.load import open_writer
from upto.unmix import ICA
from upto.unmix.saving import load_transform, mixing_of, pack_transform

if TYPE_CHECKING:
    from upto.assess.comparing import Run
    from upto.core import Progress
    from upto.engines.base import Arrays, Engine
    from upto.unmix.saving import Transform


def apply_transform(
    transform: str | Path | Transform,
    run: Run,
    *,
    output: str | Path,
    inverse: bool = False,
    engine: Engine | str | None = None,
    progress: Progress | None = None,
) -> None:
    """Apply a saved transform to the rows of another run, or undo it, and write the result.

    Parameters
    ----------
    transform
        A fitted estimator, or the file it was saved to.
    run
        An array, a path or `Embeddings`.
    output
        File to write to, with the run's ids and columns.
    inverse
        Take the run for components and mix them back.
    engine
        Engine of the passes, as an object or by name.
    progress
        What long work reports to.

    Raises
    ------
    InputError
        If the run does not fit the transform, or a file cannot be read or written.
    """
    engine, progress = choose_engine(engine), progress or SilentProgress()
    fitted = load_transform(transform) if isinstance(transform, str | Path) else transform
    embeddings = single_run(run)
    wanted = fitted._n_features_out if inverse else fitted.n_features_in_
    if embeddings.n_features != wanted:
        what = "components" if inverse else "coordinates"
        message = (
            f"{embeddings.name} has {embeddings.n_features} coordinates, but the transform takes "
            f"{wanted} {what}: give the kind of run it was fitted to."
        )
        raise InputError(message)
    (placed,) = place_runs(engine, [embeddings])
    survey_runs(engine, [placed], at_least=1, varying=False)
    with progress.task("apply", 1) as advance:
        inputs = [run] if isinstance(run, str | Path) else []
        write_transformed(engine, placed.rows, embeddings, fitted, output, inputs, inverse=inverse)
        advance(1)


def single_run(run: Run) -> Embeddings:
    """Take one run in any form."""
    found = as_embeddings([run], names=("run",))
    if len(found) != 1:
        message = f"one run is unmixed at a time, not {len(found)}: name one of the manifest."
        raise InputError(message)
    return found[0]


def write_transformed(
    engine: Engine,
    rows: Any,
    embeddings: Embeddings,
    transform: Transform,
    output: str | Path,
    inputs: list[str | Path],
    *,
    inverse: bool = False,
) -> None:
    """Write what a transform makes of rows, with the ids and columns of their run."""
    matrix = transform.components_ if isinstance(transform, ICA) else transform.whitening_
    back = mixing_of(transform)
    params = (transform.mean_, back.T if inverse else np.ascontiguousarray(matrix.T))
    kind = "ica" if isinstance(transform, ICA) else "white"
    is_single = np.dtype(embeddings.rows.dtype) in (np.dtype("float16"), np.dtype("float32"))
    writer = open_writer(
        output,
        embeddings,
        params[1].shape[1],
        dtype="float32" if is_single else "float64",
        prefix="feature" if inverse else kind,
        inputs=inputs,
        mixing=None if inverse else back,
        stored=None if inverse else pack_transform(transform),
    )
    function = _mixed if inverse else _unmixed
    with writer as out:
        engine.map_blocks(function, rows, params=params, out=out)


def _unmixed(xp: Any, x: Any, mean: Any, matrix: Any) -> Arrays:
    return (xp.matmul(x - mean, matrix),)


def _mixed(xp: Any, x: Any, mean: Any, matrix: Any) -> Arrays:
    return (xp.matmul(x, matrix) + mean,)
