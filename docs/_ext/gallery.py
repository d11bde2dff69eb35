"""Pictures and example reports of the gallery, made by the code that its page shows.

A picture of `gallery.md` stands in a figure, the code that makes its `result` in the block below.
Before a build, code that has changed, or whose library has, is run by ``python docs/_ext/gallery.py``.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "gallery.md"
MADE = DOCS / "_build" / "gallery"
SITE = MADE / "site"
"""Copied to the root of the site, so that a report has an address that does not change."""

_SECTION = re.compile(
    r"^### (?P<title>[^\n]+)\n(?:(?!^##).)*?"
    r"```\{figure\} _build/gallery/(?P<name>[\w-]+)\.png\n:alt: (?P<alt>[^\n]+)\n"
    r"(?:(?!^##).)*?^```python\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Example:
    """A picture of the gallery, its question, and the code that makes its result."""

    name: str
    title: str
    alt: str
    code: str

    @property
    def picture(self) -> Path:
        return MADE / f"{self.name}.png"

    @property
    def report(self) -> Path:
        return SITE / "examples" / f"{self.name}.html"


def examples() -> tuple[Example, ...]:
    """Return the examples of the page, in its order."""
    text = PAGE.read_text(encoding="utf-8")
    found = tuple(Example(**match.groupdict()) for match in _SECTION.finditer(text))
    headings = len(re.findall(r"^### ", text, re.MULTILINE))
    if len(found) != headings:
        message = f"{PAGE.name}: {headings} sections, but {len(found)} with a picture and its code."
        raise ValueError(message)
    return found


def make_result(example: Example):
    """Run the code of an example by itself, and return its result."""
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(example.code, f"{PAGE.name}, {example.name}", "exec"), names)
    return names["result"]


def make(example: Example) -> float:
    """Write the picture and the report of an example, and return the seconds it took."""
    import upto

    start = time.perf_counter()
    result = make_result(example)
    example.picture.parent.mkdir(parents=True, exist_ok=True)
    example.report.parent.mkdir(parents=True, exist_ok=True)
    result.plot().savefig(example.picture)
    upto.Report([result]).write(example.report)
    return time.perf_counter() - start


def _library() -> bytes:
    """Return a digest of the sources of the library."""
    digest = hashlib.sha256()
    for name in ("upto", "upto_studies"):
        folder = Path(find_spec(name).origin).parent
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".html", ".css", ".js", ".npz", ".json"):
                digest.update(path.read_bytes())
    return digest.digest()


def update() -> None:
    """Make what is missing or of another day, and drop what the page no longer has."""
    library, stale = _library(), []
    wanted = examples()
    for example in wanted:
        key = hashlib.sha256(library + example.code.encode()).hexdigest()
        stamp = MADE / f"{example.name}.made"
        is_made = example.picture.exists() and example.report.exists()
        if not (is_made and stamp.exists() and stamp.read_text() == key):
            stale.append((example, stamp, key))
    kept = {example.name for example in wanted}
    for path in [*MADE.glob("*.*"), *SITE.glob("examples/*.html")]:
        if path.stem not in kept:
            path.unlink()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        made = [(pool.submit(make, example), *rest) for example, *rest in stale]
        for job, stamp, key in made:
            seconds = job.result()
            stamp.write_text(key)
            print(f"{stamp.stem}: {seconds:.1f} s", flush=True)


def setup(app):
    """Connect to Sphinx: make the pictures before a build, and take in what shows them."""
    from docutils import nodes
    from docutils.parsers.rst import Directive
    from sphinx.util import logging
    from sphinx.util.docutils import SphinxRole

    log = logging.getLogger(__name__)

    class Thumbnails(Directive):
        """Every picture of the page, small, with its question below and a link to its section."""

        def run(self):
            grid = nodes.container(classes=["thumbnails"])
            for each in examples():
                target = f"#{nodes.make_id(each.title)}"
                image = nodes.image(uri=f"_build/gallery/{each.name}.png", alt=each.alt)
                link = nodes.reference("", "", image, nodes.inline("", each.title), refuri=target)
                grid += nodes.paragraph("", "", link)
            return [grid]

    class ReportLink(SphinxRole):
        """A link to the report of an example: the text, and the name in angle brackets."""

        def run(self):
            text, _, name = self.text.rstrip(">").rpartition(" <")
            if name not in {each.name for each in examples()}:
                log.warning("no example is called %r", name, location=self.get_location())
            up = "../" * self.env.docname.count("/")
            return [nodes.reference("", text, refuri=f"{up}examples/{name}.html")], []

    def run_examples(app):
        done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False)
        log.info(done.stdout)
        if done.returncode:
            message = f"an example of {PAGE.name} failed:\n{done.stderr}"
            raise RuntimeError(message)

    app.connect("builder-inited", run_examples)
    app.add_directive("thumbnails", Thumbnails)
    app.add_role("report", ReportLink())
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    update()
