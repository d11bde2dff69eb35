"""Text from files, made safe to show: no control character reaches a terminal."""

from __future__ import annotations

from itertools import chain

_LINE_ENDS = (0x0A, 0x09)
_ESCAPES = {
    code: f"\\u{code:04x}"
    for code in chain(
        range(0x20),  # ESC, bell, carriage return: what moves the cursor or the title
        range(0x7F, 0xA0),  # delete, and the eight-bit forms of the same
        (
            0x061C,
            0x200E,
            0x200F,
            *range(0x2028, 0x202F),
            *range(0x2066, 0x206A),
        ),  # turn lines round
        range(0xD800, 0xE000),  # halves of characters, as bytes that are not UTF-8 become
    )
}
_ESCAPES_IN_LINES = {code: text for code, text in _ESCAPES.items() if code not in _LINE_ENDS}


def printable(text: str, *, lines: bool = False) -> str:
    r"""Write control characters as ``\u001b``, the form that JSON has for them too.

    Parameters
    ----------
    text
        What is shown.
    lines
        Whether line ends and tabs stay as they are; else the text stays on one line.

    Examples
    --------
    >>> print(printable("a\x1b[31mb\nc"))
    a\u001b[31mb\u000ac
    """
    return text.translate(_ESCAPES_IN_LINES if lines else _ESCAPES)


def spelt_out(name: str) -> str:
    r"""Return a name as UTF-8 can write it: what file names hold beside it is spelt out.

    Examples
    --------
    >>> spelt_out("run-\udce9")
    'run-\\udce9'
    """
    return name.encode("utf-8", "backslashreplace").decode()
