"""Positions of the coordinates of a run among those of a transform, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError
from upto.files.request import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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
