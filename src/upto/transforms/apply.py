"""Apply fitted transforms to the rows of a run, block by block, and write the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError, choose_progress
from upto.engines import choose_engine
from upto.files import check_output, open_writer
from upto.files.accept import single_run
from upto.files.names import Naming
from upto.files.packages import check_package
from upto.files.survey import place_runs, survey_runs
from upto.transforms.coordinate_names import places_among
from upto.transforms.kinds import kind_of
from upto.transforms.save import describe_transform, load_transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.files.accept import Run
    from upto.transforms.kinds import Map, Transform


def apply_transform(
    transform: str | Path | Transform,
    run: Run,
    *,
    output: str | Path,
    inverse: bool = False,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> tuple[str, ...]:
    """Apply a fitted transform to the rows of another run, or undo it, and write the result.

    Rows are read, transformed and written block by block, so the run may be larger than memory.
    Columns are matched by name if both the transform and the run have column names. Runs in single
    or half precision are written in single precision, others in double.

    Parameters
    ----------
    transform
        A fitted `ICA`, `Whitener`, `Aligner`, `RidgeAligner`, `KernelAligner` or `NetworkAligner`,
        or the file it was saved to.
    run
        An array, a tensor, a data frame, an AnnData or xarray object, a path or `Embeddings`, as
        `as_embeddings` takes it.
    output
        Output file; the run's ids and columns are copied to it.
    inverse
        Apply the inverse: map components back to coordinates, or rows of an aligner's target back
        to its source.
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
        If the run does not fit the transform, the transform has no inverse, or a file cannot be
        read or written.

    Examples
    --------
    >>> import tempfile, upto, numpy as np
    >>> old = np.random.default_rng(0).normal(size=(100, 3))
    >>> aligner = upto.Aligner("rigid").fit(old[:50], old[:50, ::-1] + 5)
    >>> path = f"{tempfile.mkdtemp()}/carried.npy"
    >>> upto.apply_transform(aligner, old, output=path)
    ()
    >>> bool(np.allclose(np.load(path), old[:, ::-1] + 5))
    True
    """
    engine, progress = choose_engine(engine), choose_progress(progress)
    check_package(Path(output), "writing")
    fitted = load_transform(transform) if isinstance(transform, str | Path) else transform
    _, kind = kind_of(fitted)
    inputs = [each for each in (run, transform) if isinstance(each, str | Path)]
    check_output(output, inputs=inputs)
    embeddings = single_run(run, "apply_transform")
    places = _places(fitted, kind.prefix, embeddings, inverse=inverse)
    wanted = fitted._n_features_out if inverse else fitted.n_features_in_
    if embeddings.n_features != wanted:
        what = "the inverse of the transform" if inverse else "the transform"
        message = (
            f"{embeddings.name} has {embeddings.n_features} coordinates, but {what} takes "
            f"{wanted}: give a run of the kind it was fitted to."
        )
        raise InputError(message)
    backward = kind.backward(fitted) if inverse else None
    (placed,) = place_runs(engine, [embeddings])
    survey_runs(engine, [placed], at_least=1, varying=False)
    with progress.task("apply", 1) as advance:
        write_transformed(
            engine,
            placed.rows,
            embeddings,
            fitted,
            output,
            inputs,
            backward=backward,
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
    transform: Transform, prefix: str, embeddings: Embeddings, *, inverse: bool
) -> NDArray[np.intp] | None:
    found = embeddings.features
    if not inverse:
        return places_among(fitted_names(transform), found, embeddings.name)
    made = [f"{prefix}_{number}" for number in range(transform._n_features_out)]
    if sorted(made) == sorted(found):
        return places_among(made, found, embeddings.name)
    # Coordinates without names in the fit may have got some since.
    return places_among(target_names(transform), found, embeddings.name)


def fitted_names(transform: Transform) -> tuple[str, ...]:
    """Return the names of the columns a transform was fitted to; empty if they had none."""
    return tuple(str(name) for name in getattr(transform, "feature_names_in_", ()))


def target_names(transform: Transform) -> tuple[str, ...]:
    """Return the names of the coordinates an aligner maps to; empty if they had none."""
    return tuple(getattr(transform, "target_names_", None) or ())


def write_transformed(
    engine: Engine,
    rows: Any,
    embeddings: Embeddings,
    transform: Transform,
    output: str | Path,
    inputs: list[str | Path],
    *,
    backward: Map | None = None,
    places: NDArray[np.intp] | None = None,
) -> None:
    """Write transformed rows, with the ids and columns of their run.

    `backward` is the inverse of the transform, if that is to be applied; `places` is the position
    of each coordinate of the rows among its inputs.
    """
    _, kind = kind_of(transform)
    inverse = backward is not None
    mapping = backward or kind.forward(transform)
    mixing = None if inverse or kind.mixing is None else kind.mixing(transform)
    if places is not None:
        mapping = mapping.of_columns(places)
        mixing = None if mixing is None else mixing[places]
    names = fitted_names(transform) if inverse else target_names(transform)
    is_single = np.dtype(embeddings.rows.dtype) in (np.dtype("float16"), np.dtype("float32"))
    writer = open_writer(
        output,
        embeddings,
        len(mapping.target_mean),
        dtype="float32" if is_single else "float64",
        prefix="feature" if inverse else kind.prefix,
        inputs=inputs,
        mixing=mixing,
        stored=None if inverse else describe_transform(transform),
        naming=Naming(features=names) if names else None,
    )
    function, params = mapping.block_function()
    with writer as out:
        engine.map_blocks(function, rows, params=params, out=out)
