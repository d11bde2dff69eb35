"""Errors a user can act on: each says what happened, with the numbers, and what to do."""

from __future__ import annotations

import sys

_SINCE = {"harmony": ((3, 12), "harmonypy")}
"""The Python from which an extra can be installed, where that is not every one, and the package
that does the same before."""


def how_to_install(extra: str) -> str:
    """Say how to get an extra, or which Python it needs where this one is too old for it."""
    since, instead = _SINCE.get(extra, ((0, 0), ""))
    if sys.version_info[:2] >= since:
        return f"run `pip install 'upto[{extra}]'`"
    this = sys.version_info
    return (
        f"run `pip install {instead}`, because upto[{extra}] needs Python {since[0]}.{since[1]} or "
        f"later, and this is Python {this[0]}.{this[1]}"
    )


class UptoError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(UptoError, ValueError):
    """The data cannot be used as given. The command line exits with 3."""


class ArgumentError(InputError):
    """An argument cannot be used as given.

    `given` holds the arguments that the message writes as ``name=value``, by their names: a command
    writes those as its options, and leaves alone what only looks like one.
    """

    def __init__(self, message: str, **given: object) -> None:
        super().__init__(message)
        self.given = given


class MissingExtraError(InputError):
    """A reader or renderer needs an optional dependency that is not installed."""

    def __init__(self, what: str, *, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package}, which is not installed: {how_to_install(extra)}."
        )


_LONGEST_REASON = 150
_LONGEST_SENTENCE = 380


def shortened(text: object, length: int = 60) -> str:
    """Return a name as a sentence has room for it: on one line, without its end if it is long.

    Examples
    --------
    >>> shortened("a" * 100, 8)
    'aaaaaaa…'
    """
    line = " ".join(str(text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def reason(error: object) -> str:
    r"""Return what a library says is wrong, as a part of a sentence: its first line, not too long.

    Parameters
    ----------
    error
        An exception of others, or a text.

    Examples
    --------
    >>> reason(ValueError("bad magic\nat byte 0"))
    'bad magic'
    >>> reason(KeyError())
    'KeyError'
    """
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return shortened(first.rstrip(".:") or type(error).__name__, _LONGEST_REASON)


def one_sentence(message: object) -> str:
    r"""Return a message on one line that is not too long to be read: its middle gives way.

    Examples
    --------
    >>> one_sentence("a name\nof two lines")
    'a name of two lines'
    """
    line = " ".join(str(message).split())
    if len(line) <= _LONGEST_SENTENCE:
        return line
    half = _LONGEST_SENTENCE // 2
    return f"{line[:half]} … {line[3 - half :]}"
