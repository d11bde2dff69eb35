"""Docstrings on the pages: names become links, records show their fields.

A single pair of backticks holds a name. It is a link where the name has a page, and code elsewhere.
"""

import dataclasses
import itertools
import re
from pathlib import Path

from api_pages import OVERVIEW, topics_in
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

WORD = re.compile(r"[A-Za-z_][\w.]*")


def all_names(app: Sphinx) -> dict[str, str]:
    """Return the full name of everything described, by its full and its short name.

    Short names such as ``layers`` are left out: parameters are called so too.
    """
    topics = topics_in((Path(app.srcdir) / OVERVIEW).read_text(encoding="utf-8"))
    listed = [each for topic in topics for name in topic.names for each in (name, *name.records)]
    names = {each.name: each.name for each in listed}
    telling = [each for each in listed if not re.fullmatch("[a-z]+", each.short)]
    return {each.short: each.name for each in telling} | names


class NameRole(SphinxRole):
    """The default role of docstrings."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a link or code."""
        code = nodes.literal(self.rawtext, self.text, classes=["code", "xref"])
        target = self.config.upto_names.get(self.text)
        if target is None:
            return [nodes.literal(self.rawtext, self.text)], []
        link = pending_xref(
            self.rawtext,
            code,
            refdomain="py",
            reftype="obj",
            reftarget=target,
            refdoc=self.env.docname,
            refwarn=True,
        )
        return [link], []


def linked(kind: str, names: dict[str, str]) -> str:
    """Return a type in reStructuredText: code, with links where there is a page."""
    parts, end = [], 0
    for match in WORD.finditer(kind):
        if match[0] in names:
            parts += [f"``{kind[end : match.start()]}``", f":py:obj:`~{names[match[0]]}`"]
            end = match.end()
    parts.append(f"``{kind[end:]}``")
    return "\\ ".join(part for part in parts if part != "````").replace("`` ", "``\u00a0")


def sections_of(lines: list[str]) -> list[int]:
    """Return the lines at which sections begin."""
    return [
        number
        for number, (line, below) in enumerate(itertools.pairwise(lines))
        if line.strip() and re.fullmatch("-{3,}", below)
    ]


def show_fields(app: Sphinx, what: str, name: str, obj: object, options, lines: list[str]) -> None:
    """Call the parameters of a record its fields, and list those that no sentence describes."""
    if what != "class" or not dataclasses.is_dataclass(obj) or name not in app.config.upto_records:
        return
    begins = sections_of(lines)
    at = next((n for n in begins if lines[n] == "Parameters"), None)
    if at is None:
        at = begins[0] if begins else len(lines)
        lines[at:at] = ["", "Fields", "------", ""]
        at, end = at + 1, at + 4
    else:
        lines[at : at + 2] = ["Fields", "------"]
        end = next((n for n in sections_of(lines) if n > at), len(lines))
    described = {
        word.strip()
        for line in lines[at + 2 : end]
        if line[:1].strip()
        for word in line.partition(" : ")[0].split(",")
    }
    while not lines[end - 1].strip() and end > at + 2:
        end -= 1
    lines[end:end] = [
        f"{each.name} : {linked(str(each.type), app.config.upto_names)}"
        for each in dataclasses.fields(obj)
        if each.name not in described and not each.name.startswith("_")
    ] + [""]


def quote_shapes(app: Sphinx, what: str, name: str, obj: object, options, lines: list[str]) -> None:
    """Show "ndarray of shape (n, m)" as text: it is no type that could be linked."""
    for number, line in enumerate(lines):
        before, mark, kind = line.partition(" : ")
        if mark and " of shape " in kind:
            lines[number] = f"{before} : ``{kind}``"


def read_names(app: Sphinx, config) -> None:
    """Learn which names have pages, and which are records."""
    topics = topics_in((Path(app.srcdir) / OVERVIEW).read_text(encoding="utf-8"))
    listed = [each for topic in topics for name in topic.names for each in (name, *name.records)]
    config.upto_names = all_names(app)
    config.upto_records = {each.name for each in listed if each.is_record}


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the role and the changes of docstrings."""
    app.add_role("name", NameRole())
    app.add_config_value("upto_names", {}, "")
    app.add_config_value("upto_records", set(), "")
    app.connect("config-inited", read_names)
    app.connect("autodoc-process-docstring", quote_shapes, priority=100)
    app.connect("autodoc-process-docstring", show_fields, priority=200)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
