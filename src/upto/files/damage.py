"""Messages for files that cannot be read, independent of the library that fails."""

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
    """Return the message for a damaged file, with the reason."""
    return one_sentence(f"{where} is damaged or truncated ({reason(why)}): {remedy}.")


@contextmanager
def damage_reported(
    where: object, what: str = "", remedy: str = "copy or save it again"
) -> Iterator[None]:
    """Turn any error of a library about a file into an `InputError` of one sentence.

    Parameters
    ----------
    where
        The file.
    what
        Part of the file being read.
    remedy
        What the user should do.
    """
    try:
        yield
    except (UptoError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the type depends on which byte is wrong
        if any(phrase in str(error) for phrase in _REFUSED_PICKLES):
            # NumPy and zarr refuse pickles by themselves.
            message = f"{where} {PICKLED}"
            raise InputError(message) from None
        why = f"{what}: {error}" if what else error
        raise InputError(damaged(where, why, remedy)) from None


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress warnings of libraries.

    Not thread-safe: warning filters belong to the whole process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def sentences() -> Iterator[None]:
    """Keep errors of a reader on one line: names in files may be long or contain line breaks."""
    try:
        yield
    except InputError as error:
        plain = one_sentence(error)
        if plain == str(error):
            raise
        raise InputError(plain) from None
