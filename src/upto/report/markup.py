"""Create escaped markup."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_JSON_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


class Inert(str):
    """Text that enters a page unescaped: jinja2 checks for `__html__` before escaping."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def element(tag: str, *children: str, **attributes: str | int | float | None) -> Inert:
    """Return one element with attributes escaped and children escaped unless `Inert`.

    Underscores in attribute names become hyphens (a trailing one is dropped), and attributes that
    are `None` are omitted.
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(_value(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(
        child if isinstance(child, Inert) else html.escape(child) for child in children
    )
    return Inert(f"<{tag}{written}>{inside}</{tag}>" if inside else f"<{tag}{written}/>")


def _value(value: str | int | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def json_block(data: Any) -> Inert:
    """Return data as JSON that cannot close its script element."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Inert(text.translate(_JSON_ESCAPES))


def shorten(text: str, length: int = 80) -> str:
    """Shorten a long text in the middle, where names of runs differ least."""
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def tell_apart(names: Sequence[str]) -> list[str]:
    """Remove the folders and suffixes that all names share."""
    head = re.sub(r"[^/\\]*$", "", _shared_start(names))
    ending = _shared_start([name[::-1] for name in names])[::-1]
    tail = re.sub(r"^[^/\\.]*", "", ending)
    if any(len(name) <= len(head) + len(tail) for name in names):
        return list(names)
    return [name[len(head) : len(name) - len(tail)] for name in names]


def _shared_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((index for index, (a, b) in pairs if a != b), len(first))]


def counted(number: int, noun: str) -> str:
    """Return a count with its noun in the right number."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"
