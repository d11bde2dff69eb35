"""Apply fitted transforms to the rows of a run, block by block, and write the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError, choose_progress
from upto.core.errors import ArgumentError
from upto.engines import choose_engine
from upto.files import check_output, open_writer
from upto.files.accept import single_run
from upto.files.names import Naming
from upto.files.packages import check_package
from upto.transforms.bad_rows import check_bad_rows
from upto.transforms.carried import Carried, carry_to_file
from upto.transforms.coordinate_names import places_among
from upto.transforms.kinds import kind_of
from upto.transforms.save import describe_transform, load_transform
from upto.transforms.spot_check import check_verify

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.files.accept import Run
    from upto.transforms.bad_rows import BadRows
    from upto.transforms.kinds import Map, Transform


def apply_transform(
    transform: str | Path | Transform,
    run: Run,
    *,
    output: str | Path,
    ids: str | ArrayLike | None = None,
    inverse: bool = False,
    bad_rows: BadRows = "refuse",
    verify: int = 1000,
    resume: bool = True,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> tuple[str, ...]:
    """Apply a fitted transform to the rows of another run, or undo it, and write the result.

    Rows are read, transformed and written block by block, in one pass, so the run may be larger
    than memory. Ids and columns are in memory. After an interrupt or on a full disk, what was
    written of some formats stays beside the output, as ``….unfinished``, for the same call to
    continue.
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
        Output file; the run's ids and columns are copied to it. A name that ends in
        ``.parquet/`` is a folder of parquet files.
    ids
        One id per row, or the name of their column or entry; detected by name by default.
    inverse
        Apply the inverse: map components back to coordinates, or rows of an aligner's target back
        to its source.
    bad_rows
        What is done with rows that have NaN or infinite values: ``"refuse"`` is an error that
        names them, ``"drop"`` leaves them out with their ids and labels, ``"keep"`` writes NaN.
    verify
        Number of random rows that are read back and compared with the map of the source before
        the output gets its name. 0 for none.
    resume
        Whether to continue what an interrupted call with the same arguments wrote, to a npy, zarr
        or Lance output or a folder of parquet files; otherwise it is deleted.
    engine
        Engine for the passes, an object or a name.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    tuple of str
        Notes on anything unexpected, such as reordered columns or rows left out.

    Raises
    ------
    InputError
        If the run does not fit the transform, has bad rows, the transform has no inverse, a file
        cannot be read or written, or does not have the right numbers afterwards.

    See Also
    --------
    upto.save_transform : Keep a fitted transform.
    upto.load_transform : Read it again.
    upto.align : Fit a map and carry an index in one call.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import upto
    >>> old = np.random.default_rng(0).normal(size=(100, 3))
    >>> aligner = upto.Aligner("rigid").fit(old[:50], old[:50, ::-1] + 5)
    >>> path = f"{tempfile.mkdtemp()}/carried.npy"
    >>> upto.apply_transform(aligner, old, output=path)
    ()
    >>> bool(np.allclose(np.load(path), old[:, ::-1] + 5))
    True
    """
    carried, notes = what_to_carry(
        transform,
        run,
        output,
        ids,
        inverse=inverse,
        bad_rows=bad_rows,
        verify=verify,
        resume=resume,
    )
    return (*notes, *write_carried(carried, engine=engine, progress=progress))


def write_carried(
    carried: Carried, *, engine: Engine | str | None, progress: Progress | bool | None
) -> tuple[str, ...]:
    """Write what `what_to_carry` returned, and return notes on anything unexpected."""
    engine, progress = choose_engine(engine), choose_progress(progress)
    with progress.task("apply", carried.run.n_samples) as advance:
        return carry_to_file(engine, carried, advance)


def what_to_carry(
    transform: str | Path | Transform,
    run: Run,
    output: str | Path,
    ids: str | ArrayLike | None = None,
    *,
    inverse: bool = False,
    bad_rows: BadRows = "refuse",
    verify: int = 1000,
    resume: bool = True,
) -> tuple[Carried, tuple[str, ...]]:
    """Check the arguments of `apply_transform`; return what it writes, and notes."""
    check_bad_rows(bad_rows)
    check_verify(verify)
    check_package(Path(output), "writing")
    fitted = load_transform(transform) if isinstance(transform, str | Path) else transform
    _, kind = kind_of(fitted)
    inputs = [each for each in (run, transform) if isinstance(each, str | Path)]
    check_output(output, inputs=inputs)
    embeddings = single_run(run, "apply_transform", ids=ids)
    _check_direction(fitted, embeddings, inverse=inverse)
    places = _places(fitted, kind.prefix, embeddings, inverse=inverse)
    _check_width(fitted, embeddings, inverse=inverse)
    mapping, options = _what_is_written(
        fitted, embeddings, kind.backward(fitted) if inverse else None, places
    )
    if isinstance(ids, str):
        options["naming"] = replace(options["naming"] or Naming(), ids=ids)
    carried = Carried(
        run=embeddings,
        mapping=mapping,
        output=output,
        options={**options, "inputs": inputs},
        transform=fitted,
        bad_rows=bad_rows,
        verify=verify,
        resume=resume,
    )
    return carried, () if places is None else (_reordered(embeddings),)


def _check_direction(transform: Transform, embeddings: Embeddings, *, inverse: bool) -> None:
    """Refuse a run that is of the images, by its columns, width or name."""
    wanted, made = _widths(transform, inverse=inverse)
    taken, given = fitted_names(transform), target_names(transform)
    if inverse:
        taken, given = given, taken
    models = [getattr(transform, f"{each}_name_", None) for each in ("source", "target")]
    found, rename = set(embeddings.features), ""
    if found and found == set(given) != set(taken):
        what = f"{embeddings.name} has the columns of the rows that the map leads to"
    elif embeddings.n_features == wanted == made:
        taken_from, leads_to = models[::-1] if inverse else models
        if embeddings.name != leads_to or taken_from in (leads_to, None):
            return
        what = (
            f"{embeddings.name} has the name of the rows that the map leads to, from {taken_from}"
        )
        rename = f"; or rename {embeddings.name} if its rows are of the kind of {taken_from}"
    elif embeddings.n_features != made or embeddings.n_features == wanted or found & set(taken):
        return
    else:
        between = "" if None in models else f"; the map goes from {models[0]} to {models[1]}"
        what = f"{_other_width(embeddings, wanted, inverse=inverse)}{between}"
    message = f"{what}: {_way_back(transform, inverse=inverse)}{rename}."
    raise ArgumentError(message, inverse=True)


def _way_back(transform: Transform, *, inverse: bool) -> str:
    """Return what carries rows the other way."""
    if inverse:
        return "leave out inverse=True, or fit a map the other way"
    _, kind = kind_of(transform)
    try:
        kind.backward(transform)
    except InputError:
        return (
            "this map has no inverse, so pass one that leads back, which `upto align --save-back` "
            "writes"
        )
    return "pass inverse=True to go back, or fit a map the other way"


def _check_width(transform: Transform, embeddings: Embeddings, *, inverse: bool) -> None:
    wanted, _ = _widths(transform, inverse=inverse)
    if embeddings.n_features != wanted:
        what = _other_width(embeddings, wanted, inverse=inverse)
        message = f"{what}: give a run of the kind it was fitted to."
        raise InputError(message)


def _widths(transform: Transform, *, inverse: bool) -> tuple[int, int]:
    widths = int(transform.n_features_in_), int(transform._n_features_out)
    return widths[::-1] if inverse else widths


def _other_width(embeddings: Embeddings, wanted: int, *, inverse: bool) -> str:
    what = "the inverse of the transform" if inverse else "the transform"
    return f"{embeddings.name} has {embeddings.n_features} coordinates, but {what} takes {wanted}"


def _reordered(embeddings: Embeddings) -> str:
    return (
        f"the columns of {embeddings.name} are not in the order the transform was fitted to: "
        "they were matched by name"
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
) -> None:
    """Write transformed rows, with the ids and columns of their run."""
    mapping, options = _what_is_written(transform, embeddings, None, None)
    writer = open_writer(
        output, embeddings, len(mapping.target_mean), **{**options, "inputs": inputs}
    )
    function, params = mapping.block_function()
    with writer as out:
        engine.map_blocks(function, rows, params=params, out=out)


def _what_is_written(
    transform: Transform,
    embeddings: Embeddings,
    backward: Map | None,
    places: NDArray[np.intp] | None,
) -> tuple[Map, dict[str, Any]]:
    """Return the map from the columns of a run, and the options of the writer of its images.

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
    return mapping, {
        "dtype": "float32" if is_single else "float64",
        "prefix": "feature" if inverse else kind.prefix,
        "mixing": mixing,
        "stored": None if inverse else describe_transform(transform),
        "naming": Naming(features=names) if names else None,
    }
