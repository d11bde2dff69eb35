"""What is said of a file that cannot be read, whichever library finds out."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from upto.core import InputError, UptoError
from upto.core.errors import one_sentence, reason

if TYPE_CHECKING:
    from collections.abc import Iterator

PICKLED = (
    "holds Python objects (a pickle), which upto never loads: save it as a plain numeric array."
)
_REFUSED_PICKLES = (
    "Object arrays cannot be loaded when allow_pickle=False",
    "contains pickled (object) data",
    "'object_codec_id': 'pickle'",
)


def damaged(where: object, why: object, remedy: str = "copy or save it again") -> str:
    """Say that a file cannot be read, and why."""
    return one_sentence(f"{where} is damaged or truncated ({reason(why)}): {remedy}.")


@contextmanager
def damage_reported(
    where: object, what: str = "", remedy: str = "copy or save it again"
) -> Iterator[None]:
    """Turn whatever a library raises about a file into one sentence of ours.

    Parameters
    ----------
    where
        The file.
    what
        What of it is read.
    remedy
        What to do.
    """
    try:
        yield
    except (UptoError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - it depends on the byte that is wrong what is raised
        if any(phrase in str(error) for phrase in _REFUSED_PICKLES):
            # NumPy and zarr refuse pickles by themselves.
            message = f"{where} {PICKLED}"
            raise InputError(message) from None
        why = f"{what}: {error}" if what else error
        raise InputError(damaged(where, why, remedy)) from None


@contextmanager
def quietly() -> Iterator[None]:
    """Keep what libraries remark on from the user: it is not what is wrong, and not our line.

    Not for threads: filters of warnings belong to the whole process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def sentences() -> Iterator[None]:
    """Keep every error of a reader on one line: names in files may be long, and have lines."""
    try:
        yield
    except InputError as error:
        plain = one_sentence(error)
        if plain == str(error):
            raise
        raise InputError(plain) from None
