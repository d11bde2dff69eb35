"""Let estimators take what questions take, and match rows by ids and coordinates by name."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from upto.core import Embeddings, InputError
from upto.files.accept import is_blocks, single_run
from upto.files.arrays import as_array, is_a
from upto.files.frames import coordinates_of_frame, ids_of_frame, is_frame, is_series
from upto.files.match import match_rows
from upto.files.object_arrays import is_group
from upto.files.request import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KNOWN = (
    ("anndata", "AnnData"),
    ("dask.array", "Array"),
    ("h5py", "Dataset"),
    ("torch", "Tensor"),
    ("xarray", "DataArray"),
    ("xarray", "Dataset"),
    ("zarr", "Array"),
)
"""Objects that scikit-learn would convert without their names, or not at all."""

_NO_TARGET = "no_validation"  # as in `validate_data`


def rows_for_estimator(X: Any) -> Any:
    """Load the rows of a path, a tensor or another object; leave arrays of numbers unchanged.

    Parameters
    ----------
    X
        Anything `upto.as_embeddings` takes; of data frames the coordinates are kept.
    """
    return _coordinates(_taken(X, "X"), "X", ())[0]


def validated(
    estimator: Any, X: Any, y: Any = _NO_TARGET, *, reset: bool = True, **options: Any
) -> Any:
    """Check the rows an estimator was given, as scikit-learn's `validate_data` does.

    Coordinates are matched by name with those of the fit, if both have names.

    Parameters
    ----------
    estimator
        The estimator, whose `n_features_in_` and `feature_names_in_` are set or compared.
    X, y
        Rows, and rows of a target, if any.
    reset
        Whether this is a fit.
    options
        Passed to `validate_data`.
    """
    fitted = () if reset else tuple(getattr(estimator, "feature_names_in_", ()))
    rows, names = _coordinates(_taken(X, "X"), "X", fitted)
    with warnings.catch_warnings():
        if fitted and names:
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        checked = validate_data(estimator, rows, y, reset=reset, **options)
    if reset and names:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return checked


def named_rows(given: Any, name: str, fitted: tuple[str, ...]) -> Any:
    """Return rows whose coordinates are in the order of the fitted names, if both have names.

    Parameters
    ----------
    given
        Anything `upto.as_embeddings` takes.
    name
        Name of the argument, for messages.
    fitted
        Names of the coordinates.
    """
    return _coordinates(_taken(given, name, frames=True), name, fitted)[0]


def with_target(X: Any, y: Any, fitted: tuple[str, ...] = ()) -> tuple[Any, Any, tuple[str, ...]]:
    """Return rows, the rows of a target in the same order, and the names of its coordinates.

    Rows are matched by ids if both have ids, and by position otherwise; `X` stays in its order.

    Parameters
    ----------
    X, y
        Anything `upto.as_embeddings` takes.
    fitted
        Names of the target's coordinates; those of `y` are matched with them.

    Raises
    ------
    InputError
        If their ids differ or repeat, or they have unequal numbers of rows.
    """
    X, y = _taken(X, "X"), _taken(y, "y", frames=True)
    ids = [_ids(X, "X"), _ids(y, "y")]
    rows, names = _coordinates(y, "y", fitted)
    if ids[0] is not None and ids[1] is not None:
        return X, rows[_order(ids[0], ids[1])], names
    counts = [_n_rows(X), _n_rows(rows)]
    if None not in counts and counts[0] != counts[1]:
        message = (
            f"X has {counts[0]} rows but y has {counts[1]}: pass the same samples in the same "
            "order, or ids with both."
        )
        raise InputError(message)
    return X, rows, names


def _taken(given: Any, name: str, *, frames: bool = False) -> Any:
    """Return `Embeddings`, or what scikit-learn takes: an array, a list or a frame."""
    is_known = isinstance(given, Embeddings | str | os.PathLike) or is_group(given)
    is_known = is_known or is_blocks(given) or any(is_a(given, *kind) for kind in _KNOWN)
    if is_known or (frames and _is_frame(given)):
        return single_run(given, "an estimator", name=name)
    if isinstance(given, np.ma.MaskedArray):
        given = as_array(given, name)
    _refuse_other_values(given, name)
    return given


def _refuse_other_values(given: Any, name: str) -> None:
    """Refuse dates, text and records, which scikit-learn would convert to numbers."""
    array = given if isinstance(given, np.ndarray) else None
    if isinstance(given, list | tuple) and given:
        try:
            array = np.asarray(given)
        except ValueError:
            return  # ragged, as scikit-learn says
    if array is not None and array.dtype.kind in "mMSUV":
        Embeddings(rows=array, name=name)


def _is_frame(given: Any) -> bool:
    return is_frame(given) and not is_series(given)


def _coordinates(taken: Any, name: str, fitted: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
    """Return rows for scikit-learn and the names of their columns, if it cannot see them."""
    if isinstance(taken, Embeddings):
        rows, found = np.asarray(taken), taken.features
        if not fitted or not found:
            return rows, found
        return rows[:, _places(fitted, found, taken.name)], fitted
    return coordinates_of_frame(taken, name, fitted) if _is_frame(taken) else taken, ()


def _places(fitted: tuple[str, ...], found: tuple[str, ...], name: str) -> list[int]:
    place = {each: number for number, each in enumerate(found)}
    if any(each not in place for each in fitted):
        message = (
            f"{name} has the columns {listed(found, 6)}, but the estimator was fitted to "
            f"{listed(fitted, 6)}: pass the same columns."
        )
        raise InputError(message)
    return [place[each] for each in fitted]


def _ids(taken: Any, name: str) -> NDArray[Any] | None:
    if isinstance(taken, Embeddings):
        return taken.ids
    return ids_of_frame(taken, name) if _is_frame(taken) else None


def _order(ids: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return the row of the second run that has each id of the first."""
    runs = [
        Embeddings(rows=np.arange(len(each))[:, None], name=name, ids=each)
        for name, each in (("X", ids), ("y", others))
    ]
    (_, matched), findings = match_rows(runs)
    if findings:
        message = f"{findings[0].message.removesuffix('.')}: pass the same samples in X and y."
        raise InputError(message)
    return np.asarray(matched)[:, 0]


def _n_rows(rows: Any) -> int | None:
    if isinstance(rows, list | tuple | Embeddings):
        return len(rows)
    shape = getattr(rows, "shape", None)
    return int(shape[0]) if shape else None
