"""Errors that state what happened, with the numbers, and how to fix it."""

from __future__ import annotations

import sys
from typing import Any

_SINCE = {"harmony": ((3, 12), "harmonypy")}
"""First Python version an extra supports, and the package to install on older ones."""


def how_to_install(extra: str) -> str:
    """Return the instruction to install an extra, or its replacement on older Python versions."""
    since, instead = _SINCE.get(extra, ((0, 0), ""))
    if sys.version_info[:2] >= since:
        return f"run `pip install 'upto[{extra}]'`"
    this = sys.version_info
    return (
        f"run `pip install {instead}`, because upto[{extra}] needs Python {since[0]}.{since[1]} or "
        f"later, and this is Python {this[0]}.{this[1]}"
    )


class UptoError(Exception):
    """Base class of all errors this package raises on purpose.

    IPython and Jupyter show it as one line; ``%tb`` then shows the whole traceback.

    See Also
    --------
    upto.InputError : Data that cannot be used.
    upto.core.MissingExtraError : A package that is missing.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> try:
    ...     upto.compare(np.eye(3), np.eye(4))
    ... except upto.UptoError as error:
    ...     print(type(error).__name__)
    InputError
    """

    _is_shown = False

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: one, and the traceback when asked again."""
        if self._is_shown:
            shell: Any = sys.modules["IPython"].get_ipython()  # IPython is the only caller
            lines: list[str] = shell.InteractiveTB.structured_traceback(
                type(self), self, self.__traceback__
            )
            return lines
        self._is_shown = True
        notes = getattr(self, "__notes__", ())
        return [f"{type(self).__name__}: {one_sentence(self)}", *map(one_sentence, notes)]


class InputError(UptoError, ValueError):
    """Unusable data. The command line exits with 3.

    See Also
    --------
    upto.UptoError : The base class.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> try:
    ...     upto.compare(np.eye(3), np.eye(4))
    ... except upto.InputError as error:
    ...     print(type(error).__name__)
    InputError
    """


class ArgumentError(InputError):
    """An unusable argument.

    `given` maps the arguments written as ``name=value`` in the message to their values, so that
    commands can rewrite them as options.
    """

    def __init__(self, message: str, **given: object) -> None:
        super().__init__(message)
        self.given = given


class MissingPartError(InputError, KeyError):
    """A result has no part of the requested name."""

    __str__ = Exception.__str__  # that of KeyError shows the quotes of its text


class MissingExtraError(InputError):
    """A required optional dependency is not installed.

    Parameters
    ----------
    what
        What was asked for.
    package
        Package that it needs.
    extra
        Extra of upto that installs the package.

    See Also
    --------
    upto.UptoError : The base class.
    upto.InputError : Data that cannot be used.

    Examples
    --------
    >>> from upto.core import MissingExtraError
    >>> error = MissingExtraError("reading parquet", package="pyarrow", extra="tables")
    >>> "upto[tables]" in str(error)
    True
    """

    def __init__(self, what: str, *, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package}, which is not installed: {how_to_install(extra)}."
        )


_LONGEST_REASON = 150
_LONGEST_SENTENCE = 380


def shortened(text: object, length: int = 60) -> str:
    """Return a text on one line, truncated to `length` characters.

    Examples
    --------
    >>> shortened("a" * 100, 8)
    'aaaaaaa…'
    """
    line = " ".join(str(text).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def reason(error: object) -> str:
    r"""Return the first line of another library's error, shortened to fit a sentence.

    Parameters
    ----------
    error
        An exception of another library, or a text.

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
    r"""Return a message on one line; long messages lose their middle.

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
