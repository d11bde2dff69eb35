"""Apply fitted transforms to the rows of a run, block by block, and write the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError, choose_progress
from upto.engines import choose_engine
from upto.files import open_writer
from upto.files.accept import single_run
from upto.files.names import Naming
from upto.files.survey import place_runs, survey_runs
from upto.ica import ICA
from upto.ica.coordinate_names import coordinate_names, places_among
from upto.ica.save import load_transform, mixing_of, pack_transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core import Progress
    from upto.engines.base import Arrays, Engine
    from upto.files.accept import Run
    from upto.ica.save import Transform


def apply_transform(
    transform: str | Path | Transform,
    run: Run,
    *,
    output: str | Path,
    inverse: bool = False,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> tuple[str, ...]:
    """Apply a saved transform to the rows of another run, or undo it, and write the result.

    Columns are matched by name if both the transform and the run have column names.

    Parameters
    ----------
    transform
        A fitted estimator, or the file it was saved to.
    run
        An array, a path or `Embeddings`.
    output
        Output file; the run's ids and columns are copied to it.
    inverse
        Treat the run as components and map them back to coordinates.
    engine
        Engine for the passes, an object or a name.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    tuple of str
        Notes on anything unexpected, such as reordered columns.

    Raises
    ------
    InputError
        If the run does not fit the transform, or a file cannot be read or written.
    """
    engine, progress = choose_engine(engine), choose_progress(progress)
    fitted = load_transform(transform) if isinstance(transform, str | Path) else transform
    embeddings = single_run(run, "apply_transform")
    places = _places(fitted, run, embeddings, inverse=inverse)
    wanted = fitted._n_features_out if inverse else fitted.n_features_in_
    if embeddings.n_features != wanted:
        what = "components" if inverse else "coordinates"
        message = (
            f"{embeddings.name} has {embeddings.n_features} coordinates, but the transform takes "
            f"{wanted} {what}: give a run of the kind it was fitted to."
        )
        raise InputError(message)
    (placed,) = place_runs(engine, [embeddings])
    survey_runs(engine, [placed], at_least=1, varying=False)
    with progress.task("apply", 1) as advance:
        inputs = [run] if isinstance(run, str | Path) else []
        write_transformed(
            engine,
            placed.rows,
            embeddings,
            fitted,
            output,
            inputs,
            inverse=inverse,
            places=places,
        )
        advance(1)
    if places is None:
        return ()
    return (
        f"the columns of {embeddings.name} are not in the order the transform was fitted to: "
        "they were matched by name",
    )


def _places(
    transform: Transform, run: Run, embeddings: Embeddings, *, inverse: bool
) -> NDArray[np.intp] | None:
    found = coordinate_names(run, embeddings)
    if not inverse:
        return places_among(fitted_names(transform), found, embeddings.name)
    kind = _kind(transform)
    made = [f"{kind}_{number}" for number in range(transform._n_features_out)]
    # Components may have been renamed since.
    return places_among(made, found, embeddings.name) if sorted(made) == sorted(found) else None


def fitted_names(transform: Transform) -> tuple[str, ...]:
    """Return the names of the columns a transform was fitted to; empty if they had none."""
    return tuple(str(name) for name in getattr(transform, "feature_names_in_", ()))


def _kind(transform: Transform) -> str:
    return "ica" if isinstance(transform, ICA) else "white"


def write_transformed(
    engine: Engine,
    rows: Any,
    embeddings: Embeddings,
    transform: Transform,
    output: str | Path,
    inputs: list[str | Path],
    *,
    inverse: bool = False,
    places: NDArray[np.intp] | None = None,
) -> None:
    """Write transformed rows, with the ids and columns of their run.

    `places` is the position of each coordinate of the rows among the transform's inputs.
    """
    matrix = transform.components_ if isinstance(transform, ICA) else transform.whitening_
    back = mixing_of(transform)
    mean, turned = transform.mean_, back.T if inverse else np.ascontiguousarray(matrix.T)
    if places is not None:
        turned = np.ascontiguousarray(turned[places])
        mean, back = (mean, back) if inverse else (mean[places], back[places])
    params = (mean, turned)
    names = fitted_names(transform) if inverse else ()
    is_single = np.dtype(embeddings.rows.dtype) in (np.dtype("float16"), np.dtype("float32"))
    writer = open_writer(
        output,
        embeddings,
        params[1].shape[1],
        dtype="float32" if is_single else "float64",
        prefix="feature" if inverse else _kind(transform),
        inputs=inputs,
        mixing=None if inverse else back,
        stored=None if inverse else pack_transform(transform),
        naming=Naming(features=names) if names else None,
    )
    function = _mixed if inverse else _unmixed
    with writer as out:
        engine.map_blocks(function, rows, params=params, out=out)


def _unmixed(xp: Any, x: Any, mean: Any, matrix: Any) -> Arrays:
    return (xp.matmul(x - mean, matrix),)


def _mixed(xp: Any, x: Any, mean: Any, matrix: Any) -> Arrays:
    return (xp.matmul(x, matrix) + mean,)
