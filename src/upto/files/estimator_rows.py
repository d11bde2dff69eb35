"""Let estimators take paths, tensors and other objects that scikit-learn does not know."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from upto.core import Embeddings, InputError
from upto.files.accept import is_blocks, single_run
from upto.files.arrays import is_a
from upto.files.object_arrays import is_group
from upto.files.request import listed

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
    """Load the rows of a path, a tensor or another object; leave arrays and data frames unchanged.

    Parameters
    ----------
    X
        Anything `upto.as_embeddings` takes; arrays, lists and frames are left to scikit-learn.
    """
    found = _taken(X)
    return np.asarray(found) if isinstance(found, Embeddings) else found


def validated(
    estimator: Any, X: Any, y: Any = _NO_TARGET, *, reset: bool = True, **options: Any
) -> Any:
    """Check the rows an estimator was given, as scikit-learn's `validate_data` does.

    Coordinates of files and objects are matched by name with those of the fit.

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
    found = _taken(X)
    y = y if y is _NO_TARGET else rows_for_estimator(y)
    if not isinstance(found, Embeddings):
        return validate_data(estimator, found, y, reset=reset, **options)
    fitted = () if reset else tuple(getattr(estimator, "feature_names_in_", ()))
    rows = np.asarray(found)
    with warnings.catch_warnings():
        if fitted and found.features:
            rows = rows[:, _order(fitted, found)]
            warnings.filterwarnings("ignore", "X does not have valid feature names")
        checked = validate_data(estimator, rows, y, reset=reset, **options)
    if reset and found.features:
        estimator.feature_names_in_ = np.array(found.features, dtype=object)
    return checked


def _taken(X: Any) -> Any:
    is_known = isinstance(X, Embeddings | str | os.PathLike) or is_group(X) or is_blocks(X)
    if is_known or any(is_a(X, *kind) for kind in _KNOWN):
        return single_run(X, "an estimator", name="X")
    return X


def _order(fitted: tuple[str, ...], found: Embeddings) -> list[int]:
    place = {name: number for number, name in enumerate(found.features)}
    missing = [name for name in fitted if name not in place]
    if missing or len(fitted) != len(place):
        message = (
            f"{found.name} has the columns {listed(found.features, 6)}, but the estimator was "
            f"fitted to {listed(fitted, 6)}: pass the same columns."
        )
        raise InputError(message)
    return [place[name] for name in fitted]
