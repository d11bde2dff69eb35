"""Find columns of a run by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.errors import ArgumentError
from upto.files.named_coordinates import refuse_coordinate_of, take_out
from upto.files.request import listed
from upto.files.tables import METADATA_PREFIX
from upto.files.vectors import as_values, as_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core import Embeddings


def with_named(run: Embeddings, *given: Any) -> Embeddings:
    """Make coordinates that are named as batch, label or the like columns of their run.

    Parameters
    ----------
    run
        The run.
    given
        What was given for each: a name, several, or values.
    """
    return take_out(run, [name for each in given for name in _names(run, each)])


def find_column(run: Embeddings, name: Any, *, argument: str) -> tuple[str, NDArray[Any]]:
    """Return the name and values of a column.

    Names are also tried with and without the prefix ``Metadata_``, which marks non-feature columns
    of cell profiles. Anything but a string is taken as the values, one per row.

    Parameters
    ----------
    run
        The run.
    name
        Name of the column, or its values.
    argument
        Name of the argument, e.g. ``batch``, for error messages.

    Raises
    ------
    InputError
        If no column has that name, or there is not one value per row.
    """
    if not isinstance(name, str):
        return _values(run, name, argument)
    for each in (name, f"{METADATA_PREFIX}{name}", name.removeprefix(METADATA_PREFIX)):
        if each in run.columns:
            return each, run.columns[each]
    known = [*run.columns, *run.features]
    if not known:
        message = (
            f"{argument}={name!r} names a column, but {run.name} has 0 metadata columns: "
            "use a table, an AnnData file or an archive that has one."
        )
        raise ArgumentError(message, **{argument: name})
    closest = _closest(name, known)
    guess = "" if closest is None else f"; did you mean {closest}?"
    has = f"{len(known)} column{'s' if len(known) > 1 else ''}"
    message = (
        f"{argument}={name!r} is not among the {has} of {run.name}: choose one of "
        f"{listed(known)}{guess or '.'}"
    )
    raise ArgumentError(message, **{argument: name})


def is_values(run: Embeddings, given: Any) -> bool:
    """Return whether the argument contains values per row rather than column names."""
    if isinstance(given, str):
        return False
    if hasattr(given, "__array__"):
        array = as_values(given, "the argument")
        is_named = array.dtype.kind in "UO" and all(str(name) in run.columns for name in array.flat)
        return array.ndim != 1 or len(array) == run.n_samples or not is_named
    listed_ones = list(given)
    if any(isinstance(each, int | float | np.generic) for each in listed_ones):
        return True
    is_plain = all(each is None or isinstance(each, str) for each in listed_ones)
    if not is_plain or all(each in run.columns for each in listed_ones):
        return False
    # Without columns, several strings cannot be column names.
    return len(listed_ones) == run.n_samples or (not run.columns and len(listed_ones) > 1)


def _names(run: Embeddings, given: Any) -> list[str]:
    """Return the names that were given; values have none."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list | tuple | np.ndarray) or len(given) == run.n_samples:
        return []
    return [str(each) for each in given if isinstance(each, str)]


def _values(run: Embeddings, given: Any, argument: str) -> tuple[str, NDArray[Any]]:
    values = as_vector(given, run.n_samples, argument, of=run.name, ids=run.ids)
    refuse_coordinate_of(values, (run,), argument)
    name = getattr(given, "name", None)
    return name if isinstance(name, str) and name else argument, values


def _closest(name: str, columns: list[str]) -> str | None:
    """Return the column most similar to a name, ignoring case and prefix."""
    plain: dict[str, str] = {}
    for column in columns:
        plain.setdefault(_plain(column), column)
    near = difflib.get_close_matches(_plain(name), list(plain), n=1)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().removeprefix(METADATA_PREFIX.lower())
