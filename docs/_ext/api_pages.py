"""One page for each public name, made from the lists in `python-api.md`.

A list is a block of the directive `api`, under the heading of its topic:

    upto.Aligner: fit, transform      a class, with the methods to describe
    upto.CompareResult(): fit         a record: users never call it, its signature is left out
      upto.core.Fit()                 indented: described on the page of the name above

The pages are `api/NAME.html`; each topic has one too, so that the sidebar is collapsed by topic.
"""

import inspect
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from pydoc import locate

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

OVERVIEW = "python-api.md"
FOLDER = "api"
NOTE = "% Written by docs/_ext/api_pages.py from the docstring.\n\n"
BLOCK = re.compile(
    r"^## (?P<topic>[^\n]+)\n(?P<between>(?:(?!^## ).)*?)^```\{api\}\n(?P<list>.*?)^```$",
    re.M | re.S,
)
LINE = re.compile(r"(?P<indent> *)(?P<name>upto[\w.]*)(?P<record>\(\))?(?:: (?P<members>.+))?")


@dataclass
class Name:
    """A public name: what it is, and the records described on its page."""

    name: str
    is_record: bool
    members: list[str]
    records: list["Name"] = field(default_factory=list)

    @property
    def thing(self) -> object:
        """The object itself."""
        found = locate(self.name)
        if found is None:
            message = f"{OVERVIEW} lists {self.name}, which does not exist."
            raise ExtensionError(message)
        return found

    @property
    def short(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    @property
    def kind(self) -> str:
        """The kind of autodoc's directive."""
        thing = self.thing
        if inspect.isclass(thing):
            return "exception" if issubclass(thing, BaseException) else "class"
        return "function" if callable(thing) else "data"

    @property
    def text(self) -> str:
        """The docstring; that of data stands beneath it in the module that defines it."""
        if self.kind != "data":
            return inspect.getdoc(self.thing) or ""
        home = self.name.rpartition(".")[0]
        for name, module in sorted(sys.modules.items()):
            if name.startswith(f"{home}.") and vars(module).get(self.short) is self.thing:
                found = ModuleAnalyzer.for_module(name).find_attr_docs().get(("", self.short))
                if found:
                    return "\n".join(found).strip()
        message = f"{self.name} has no docstring."
        raise ExtensionError(message)

    @property
    def summary(self) -> str:
        """The first sentence of the docstring, as Markdown."""
        first = self.text.partition("\n\n")[0]
        return re.sub(r"`+([^`]+)`+", r"`\1`", " ".join(first.split()))


@dataclass
class Topic:
    """A topic: its heading and its names."""

    title: str
    names: list[Name]

    @property
    def page(self) -> str:
        """The name of its page."""
        return re.sub(r"\W+", "-", self.title.lower())


def names_in(listed: str) -> list[Name]:
    """Read one list."""
    names: list[Name] = []
    for line in filter(None, listed.splitlines()):
        match = LINE.fullmatch(line)
        if match is None:
            message = f"{OVERVIEW}: {line!r} is not a name, its parentheses and its methods."
            raise ExtensionError(message)
        members = (match["members"] or "").split(", ") if match["members"] else []
        name = Name(match["name"], match["record"] is not None, members)
        (names[-1].records if match["indent"] else names).append(name)
    return names


def topics_in(text: str) -> list[Topic]:
    """Read every list of the overview."""
    return [Topic(match["topic"], names_in(match["list"])) for match in BLOCK.finditer(text)]


def described(name: Name) -> str:
    """Return the directive that describes a name."""
    signature = "()" if name.is_record else ""
    lines = [f".. auto{name.kind}:: {name.name}{signature}"]
    if name.kind == "data":
        text = [f"   {line}" for line in ("", *name.text.splitlines(), "", f"``{name.thing!r}``")]
        lines = [f".. py:data:: {name.name}", *text]
    if name.members == ["*"]:
        lines.append("   :members:")
    elif name.members:
        lines.append(f"   :members: {', '.join(name.members)}")
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


def page_of(name: Name) -> str:
    """Return the page of a name, as Markdown."""
    parts = [f"{NOTE}# {name.name}\n", described(name)]
    if name.records:
        parts.append("## Records\n")
        parts += [described(record) for record in name.records]
    return "\n".join(parts)


def rows_of(names: list[Name], folder: str) -> list[str]:
    """Return the table of names, each with what it is in one line, as Markdown."""
    rows = ["| name | in one line |", "| :-- | :-- |"]
    rows += [f"| [`{each.name}`]({folder}{each.name}.md) | {each.summary} |" for each in names]
    return rows


def topic_page(topic: Topic) -> str:
    """Return the page of a topic: its table, and its branch of the sidebar."""
    tree = [f"{each.short} <{each.name}>" for each in topic.names]
    return "\n".join(
        [
            f"{NOTE}# Python: {topic.title[0].lower()}{topic.title[1:]}\n",
            *rows_of(topic.names, ""),
            "\n```{toctree}\n:hidden:\n",
            *tree,
            "```\n",
        ]
    )


class Api(SphinxDirective):
    """The table of one list."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        names = names_in("\n".join(self.content))
        for each in names:
            self.env.note_dependency(
                inspect.getfile(inspect.unwrap(each.thing)) if each.kind != "data" else __file__
            )
        box = nodes.container()
        box.document = self.state.document
        self.state.nested_parse(StringList(rows_of(names, f"{FOLDER}/"), OVERVIEW), 0, box)
        return box.children


def write_pages(app: Sphinx) -> None:
    """Write the pages that changed, and remove those of names that are gone."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    topics = topics_in((Path(app.srcdir) / OVERVIEW).read_text(encoding="utf-8"))
    pages = {f"{topic.page}.md": topic_page(topic) for topic in topics}
    pages |= {f"{name.name}.md": page_of(name) for topic in topics for name in topic.names}
    if len({file.lower() for file in pages}) < len(topics) + sum(len(t.names) for t in topics):
        message = f"{OVERVIEW}: two pages have one name where case does not count."
        raise ExtensionError(message)
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for file, text in pages.items():
        path = folder / file
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before the sources are read."""
    app.add_directive("api", Api)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
