"""Columns of a run by the names users give them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.load.request import listed
from upto.load.tables import METADATA_PREFIX

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core import Embeddings


def find_column(run: Embeddings, name: str, *, option: str) -> tuple[str, NDArray[Any]]:
    """Return the column of a run that a user means, with the name it has there.

    A name that no column has is tried with and without the prefix ``Metadata_``, which profiles of
    cells put before everything that is no feature.

    Parameters
    ----------
    run
        The run.
    name
        The name, as the user wrote it.
    option
        What the name was given to, as in ``--batch``, for the message.

    Raises
    ------
    InputError
        If no column has that name; the message names those there are and the closest.
    """
    for each in (name, f"{METADATA_PREFIX}{name}", name.removeprefix(METADATA_PREFIX)):
        if each in run.columns:
            return each, run.columns[each]
    if not run.columns:
        message = (
            f"{option} names {name!r}, but {run.name} has 0 columns beside its numbers: give a "
            "table, an AnnData file or an archive that has one."
        )
        raise InputError(message)
    closest = _closest(name, list(run.columns))
    guess = "" if closest is None else f"; did you mean {closest}?"
    has = f"{len(run.columns)} column{'s' if len(run.columns) > 1 else ''}"
    message = (
        f"{option} names {name!r}, which is none of the {has} of {run.name}: choose one of "
        f"{listed(list(run.columns))}{guess or '.'}"
    )
    raise InputError(message)


def _closest(name: str, columns: list[str]) -> str | None:
    """Find the column most like a name, whatever its case and prefix."""
    plain: dict[str, str] = {}
    for column in columns:
        plain.setdefault(_plain(column), column)
    near = difflib.get_close_matches(_plain(name), list(plain), n=1)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().removeprefix(METADATA_PREFIX.lower())
