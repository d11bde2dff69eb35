"""Names of the coordinates of a run, and their positions among those of a transform."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.files.columnar import ParquetRows
from upto.files.names import names_in, variables_of
from upto.files.request import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core import Embeddings


def coordinate_names(run: Any, embeddings: Embeddings) -> tuple[str, ...]:
    """Return the names of a run's coordinates; empty if they have none.

    Parameters
    ----------
    run
        A path, a frame, an array or `Embeddings`.
    embeddings
        The run after reading.
    """
    rows, width = embeddings.rows, embeddings.n_features
    names: Sequence[Any] = ()
    if isinstance(run, str | Path):
        names = names_in(run, n_features=width).features
    elif hasattr(run, "columns") and hasattr(run, "shape"):
        names = list(run.columns)
    elif isinstance(rows, ParquetRows):
        names = rows.names
    if not names:
        names = variables_of(rows)
    if len(names) != width or not all(isinstance(name, str) for name in names):
        return ()
    return tuple(names)


def places_among(fitted: Sequence[str], found: Sequence[str], name: str) -> NDArray[np.intp] | None:
    """Return the position of each column of a run among those a transform was fitted to.

    None if they are in the same order, or if one of the two has no names.

    Parameters
    ----------
    fitted, found
        Column names of the transform and of the run.
    name
        Name of the run.

    Raises
    ------
    InputError
        If the columns differ.
    """
    if not fitted or not found or list(fitted) == list(found):
        return None
    missing = [each for each in fitted if each not in set(found)]
    more = [each for each in found if each not in set(fitted)]
    if missing or more:
        lacks = f"{name} has no {_and(missing)}" if missing else ""
        adds = f"has {_and(more)}" if missing else f"{name} has {_and(more)}"
        what = " and ".join(part for part in (lacks, adds if more else "") if part)
        message = (
            f"{what}, but the transform was fitted to {listed([*fitted], 6)}: give a run with "
            "these columns."
        )
        raise InputError(message)
    place = {each: number for number, each in enumerate(fitted)}
    return np.array([place[each] for each in found], dtype=np.intp)


def _and(names: list[str]) -> str:
    return " and ".join(names) if len(names) < 3 else listed(names, 6)
