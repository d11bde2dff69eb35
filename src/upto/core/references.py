"""References as BibTeX: the one place for them is ``references.bib`` beside this module.

A source in a catalogue, such as ``Kornblith et al. 2019; Song et al. 2012``, names entries by their
authors and year.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib import metadata, resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PAPER = "Nelson et al. 2026"
"""The paper that upto implements."""
ICA = "Hyvärinen 1999; Ablin et al. 2018"
"""The solvers of ICA, of which more than one may run."""
_TITLE = "upto: are two trainings the same representation, up to what?"
_YEAR = 2026
_PAGES = ("homepage", "repository", "source", "documentation")


def bibtex(sources: Iterable[str] = (), version: str | None = None) -> str:
    """Return BibTeX of upto, the paper it implements and the papers that sources name.

    Parameters
    ----------
    sources
        Texts that name papers by authors and year; what names no known paper is skipped.
    version
        Version of upto, by default the installed one.

    Examples
    --------
    >>> entries = bibtex(["Kornblith et al. 2019; Song et al. 2012"])
    >>> [line[1:-1] for line in entries.splitlines() if line.startswith("@")][2:]
    ['inproceedings{kornblith2019', 'article{song2012']
    """
    found: dict[str, None] = {}
    for source in (PAPER, *sources):
        found |= dict.fromkeys(named(source))
    return "\n\n".join([_software(version), *(entries()[name] for name in found)]) + "\n"


def named(source: str) -> list[str]:
    """Return the keys of the entries that a source names, in its order."""
    text = _plain(source)
    return sorted((name for name in entries() if name in text), key=text.find)


@cache
def entries() -> dict[str, str]:
    """Return all entries, keyed by authors and year in ASCII, e.g. ``Kornblith et al. 2019``."""
    text = (resources.files("upto.core") / "references.bib").read_text(encoding="ascii")
    return {_name(entry): entry for entry in text.strip().split("\n\n")}


def _name(entry: str) -> str:
    """Return the authors and year of an entry."""
    fields = dict(re.findall(r"^ *(\w+) *= \{(.*)\},?$", entry, re.MULTILINE))
    authors = [author.partition(",")[0] for author in _ascii(fields["author"]).split(" and ")]
    shown = " and ".join(authors) if len(authors) < 3 and "others" not in authors else ""
    return f"{shown or f'{authors[0]} et al.'} {fields['year']}"


def _ascii(text: str) -> str:
    """Remove braces and accents from a BibTeX field."""
    return re.sub(r"\\[uvcH](?=\{)|\\[^\w\s]|\\|[{}]", "", text)


def _plain(text: str) -> str:
    """Remove accents from a text."""
    parts = unicodedata.normalize("NFKD", text.replace("ø", "o"))
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def _software(version: str | None) -> str:
    fields = {
        "author": "{The upto developers}",
        "title": _TITLE,
        "version": version or metadata.version("upto"),
        "url": _url(),
        "year": str(_YEAR),
    }
    lines = [f"  {name:<7} = {{{value}}}" for name, value in fields.items() if value]
    return "@software{upto,\n" + ",\n".join(lines) + "\n}"


def _url() -> str | None:
    """Return the address of the project, if the package has one."""
    listed = metadata.metadata("upto").get_all("Project-URL") or ()
    known = {name.lower(): url for name, _, url in (each.partition(", ") for each in listed)}
    return next((known[name] for name in _PAGES if name in known), None)
