"""Pictures and example reports of the gallery, made by the code that its page shows.

A picture of `gallery.md` stands in a figure, the code that makes its `result` in the block below.
Before a build, ``python docs/_ext/gallery.py`` runs code that has changed, or whose library has.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from sources import fingerprint, without_folder

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
    page = example.report.read_text(encoding="utf-8")
    example.report.write_text(without_folder(page), encoding="utf-8")
    return time.perf_counter() - start


def stale() -> list[tuple[Example, Path, str]]:
    """Return examples whose code or library is not that of their picture, with their stamps."""
    library, found = fingerprint(), []
    for example in examples():
        key = hashlib.sha256((library + example.code).encode()).hexdigest()
        stamp = MADE / f"{example.name}.made"
        is_made = example.picture.exists() and example.report.exists() and stamp.exists()
        if not is_made or stamp.read_text() != key:
            found.append((example, stamp, key))
    return found


def update() -> None:
    """Make what is missing or stale, and drop what the page no longer has."""
    kept = {example.name for example in examples()}
    for path in [*MADE.glob("*.*"), *SITE.glob("examples/*.html")]:
        if path.stem not in kept:
            path.unlink()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        jobs = [(pool.submit(make, example), stamp, key) for example, stamp, key in stale()]
        for job, stamp, key in jobs:
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
        done = subprocess.run(
            [sys.executable, __file__], capture_output=True, text=True, check=False
        )
        log.info(done.stdout)
        if done.returncode:
            message = f"an example of {PAGE.name} failed:\n{done.stderr}"
            raise RuntimeError(message)

    def set_widths(app, doctree):
        """Show pictures as large as they were drawn, with more pixels than that."""
        for image in doctree.findall(nodes.image):
            if isinstance(image.parent, nodes.figure) and "_build/gallery/" in image["uri"]:
                header = (DOCS / image["uri"]).read_bytes()[:24]
                image["width"] = f"{int.from_bytes(header[16:20]) * 96 // 150}px"

    SITE.mkdir(parents=True, exist_ok=True)
    app.connect("builder-inited", run_examples)
    app.connect("doctree-read", set_widths)
    app.add_directive("thumbnails", Thumbnails)
    app.add_role("report", ReportLink())
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    update()
