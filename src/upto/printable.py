"""Escape control characters in text from files before it reaches a terminal."""

from __future__ import annotations

from itertools import chain

_LINE_ENDS = (0x0A, 0x09)
_ESCAPES = {
    code: f"\\u{code:04x}"
    for code in chain(
        range(0x20),  # ESC, bell, carriage return, which control cursor and title
        range(0x7F, 0xA0),  # delete, and the eight-bit control characters
        (
            0x061C,
            0x200E,
            0x200F,
            *range(0x2028, 0x202F),
            *range(0x2066, 0x206A),
        ),  # change the direction of text
        range(0xD800, 0xE000),  # lone surrogates, from bytes that are not UTF-8
    )
}
_ESCAPES_IN_LINES = {code: text for code, text in _ESCAPES.items() if code not in _LINE_ENDS}


def printable(text: str, *, lines: bool = False) -> str:
    r"""Escape control characters as in JSON, e.g. ``\u001b``.

    Parameters
    ----------
    text
        Text to show.
    lines
        Whether to keep line breaks and tabs instead of escaping them.

    Examples
    --------
    >>> print(printable("a\x1b[31mb\nc"))
    a\u001b[31mb\u000ac
    """
    return text.translate(_ESCAPES_IN_LINES if lines else _ESCAPES)


def spelt_out(name: str) -> str:
    r"""Return a name that UTF-8 can encode, with undecodable bytes escaped.

    Examples
    --------
    >>> spelt_out("run-\udce9")
    'run-\\udce9'
    """
    return name.encode("utf-8", "backslashreplace").decode()
