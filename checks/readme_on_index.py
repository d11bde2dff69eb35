"""The README as a package index shows it: alone, so that every link has a whole address.

In the repository, links and pictures of the README are relative. ``on_index`` makes them whole
below the address where the built documentation is served. What has no address there, or everything
relative if there is no such address, becomes plain text; pictures are left out.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from posixpath import normpath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SERVED = {"CHANGELOG.md": "changelog.html", "SECURITY.md": "security.html"}
"""Files beside the README that are pages of the documentation too."""

_CODE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)|(?P<ticks>`+).+?(?P=ticks)", re.M | re.S)
_PICTURE = re.compile(r"<picture\b.*?</picture>", re.S | re.I)
_TAG = re.compile(r"<(?:img|source)\b[^>]*>", re.S | re.I)
_ANCHOR = re.compile(
    r"<a\b[^>]*?\bhref=(?P<quote>[\"'])(?P<to>.*?)(?P=quote)[^>]*>(?P<text>.*?)</a>", re.S
)
_ATTRIBUTE = re.compile(r"\b(?P<name>src|srcset)=(?P<quote>[\"'])(?P<to>.*?)(?P=quote)", re.S)
_IMAGE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<to>[^)\s]+)(?P<title>\s+\"[^\"]*\")?\)")
_LINK = re.compile(
    r"(?<!!)\[(?P<text>(?:!\[[^\]]*\]\([^)]*\)|[^\[\]])*)\]\((?P<to>[^)\s]+)(?P<title>\s+\"[^\"]*\")?\)"
)
_DEFINITION = re.compile(r"^\[(?P<text>[^\]]+)\]:[ \t]*(?P<to>\S+)[^\n]*\n?", re.M)


def address(target: str, site: str | None) -> str | None:
    """Return where a target of the README is on an index, or nothing if it is nowhere."""
    if target.startswith("#") or re.match(r"[a-z][a-z0-9+.-]*:", target, re.I):
        return target
    path, _, fragment = target.partition("#")
    path = normpath(path)
    if path.startswith("docs/"):
        page = re.sub(r"\.md$", ".html", path.removeprefix("docs/"))
    else:
        page = SERVED.get(path, "")
    if site is None or not (page.endswith(".html") or page.startswith("_static/")):
        return None
    return f"{site.rstrip('/')}/{page}" + (f"#{fragment}" if fragment else "")


def on_index(text: str, site: str | None = None) -> tuple[str, list[str]]:
    """Return the README as an index shows it, and a line for everything that was left out."""
    kept: list[str] = []
    left_out: list[str] = []

    def hide(match: re.Match[str]) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    def leave_out(kind: str, target: str) -> None:
        left_out.append(f"{kind} {target}")

    text = _CODE.sub(hide, text)
    text = _PICTURE.sub(lambda match: _picture(match[0], site, leave_out), text)
    text = _TAG.sub(lambda match: _picture(match[0], site, leave_out), text)
    text = _IMAGE.sub(lambda match: _moved(match, site, leave_out, "picture"), text)
    text = _ANCHOR.sub(lambda match: _moved(match, site, leave_out, "link"), text)
    text = _LINK.sub(lambda match: _moved(match, site, leave_out, "link"), text)
    for match in list(_DEFINITION.finditer(text)):
        text = _defined(text, match, site, leave_out)
    text = re.sub(r"\n{3,}", "\n\n", text)
    text = re.sub(r"\0(\d+)\0", lambda match: kept[int(match[1])], text)
    return text, left_out


def _picture(tag: str, site: str | None, leave_out: Callable[[str, str], None]) -> str:
    """Return a picture with whole addresses, or nothing if one of them has none."""
    targets = [
        each.split()[0]
        for match in _ATTRIBUTE.finditer(tag)
        for each in (match["to"].split(",") if match["name"] == "srcset" else [match["to"]])
        if each.strip()
    ]
    missing = [each for each in targets if address(each, site) is None]
    if missing:
        leave_out("picture", missing[-1])
        return ""
    for target in sorted(set(targets), key=len, reverse=True):
        whole = re.escape(target)
        tag = re.sub(rf"(?<=[\"',\s]){whole}(?=[\"',\s])", str(address(target, site)), tag)
    return tag


def _moved(
    match: re.Match[str], site: str | None, leave_out: Callable[[str, str], None], kind: str
) -> str:
    """Return a link or an image with a whole address, or what remains without one."""
    target = address(match["to"], site)
    text = str(match["text"])
    if target is not None and text.strip() + (kind == "picture") * "x":
        return str(match[0]).replace(match["to"], target, 1) if target != match["to"] else match[0]
    if target is None:
        leave_out(kind, match["to"])
    return "" if kind == "picture" else text


def _defined(
    text: str, match: re.Match[str], site: str | None, leave_out: Callable[[str, str], None]
) -> str:
    """Return the text with a reference's address made whole, or its uses made plain text."""
    target = address(match["to"], site)
    if target is not None:
        return text.replace(match[0], str(match[0]).replace(match["to"], target, 1), 1)
    leave_out("link", match["to"])
    name = re.escape(match["text"])
    text = text.replace(match[0], "", 1)
    text = re.sub(rf"!\[[^\]]*\]\[{name}\]", "", text, flags=re.I)
    text = re.sub(rf"\[([^\]]*)\]\[{name}\]", r"\1", text, flags=re.I)
    return re.sub(rf"(?<!\])\[({name})\](?:\[\])?(?![\[(:])", r"\1", text, flags=re.I)


class _Addresses(HTMLParser):
    """Collect what a page leads to and shows."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "data") and value:
                self.found.append(value)
            elif name == "srcset" and value:
                self.found += [each.split()[0] for each in value.split(",") if each.strip()]


def addresses(html: str) -> list[str]:
    """Return every address of a rendered page."""
    page = _Addresses()
    page.feed(html)
    return page.found


def targets(text: str) -> list[str]:
    """Return every target of a README in Markdown, code left out."""
    text = _CODE.sub("", text)
    found = [match["to"] for each in (_IMAGE, _DEFINITION) for match in each.finditer(text)]
    found += re.findall(r"\]\(([^)\s]+)", text)
    return list(dict.fromkeys(found + addresses(text)))


def relative(found: list[str]) -> list[str]:
    """Return the addresses that lead nowhere on an index."""
    return [each for each in found if not re.match(r"https://[^/\s]|#", each)]
