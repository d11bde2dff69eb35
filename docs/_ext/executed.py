"""Executed pages: reports become pages of the site, and notebooks are read without the site."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sources import without_folder
from sphinx.util import logging

LOG = logging.getLogger(__name__)
FRAME = re.compile(r'<iframe [^>]*srcdoc="([^"]*)"[^>]*></iframe>')
DOWNLOAD = re.compile(r"[^.\n]*\{nb-download\}`[^`]*`\.[ \n]*")
ROLE = re.compile(r"\{\w+\}`~?([^`]+?)(?:\s+<[^`]*>)?`")
TERM = re.compile(r"^(\S.*)\n: ", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")
COLUMNS = re.compile(r"\S {2,}\S|───")
PRINTED = ("text", "myst-ansi")
"""Languages of blocks that show what is printed."""


def finish(app, doctree, docname):
    """Finish a page; one whose cells were executed has more to finish."""
    if app.builder.format != "html":
        return
    mark_sentences(doctree)
    if NbMetadataCollector.get_exec_data(app.env, docname):
        drop_empty_outputs(doctree)
        write_reports(app, doctree, docname)


def drop_empty_outputs(doctree):
    """Drop the outputs of progress bars, which are empty in the end."""
    for raw in list(doctree.findall(nodes.raw)):
        if not raw.astext().strip():
            raw.parent.remove(raw)
    for shown in list(doctree.findall(nodes.container)):
        if "cell_output" in shown["classes"] and not shown.children:
            shown.parent.remove(shown)


def mark_sentences(doctree):
    """Mark what is printed and has no columns: its lines may be wrapped."""
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") in PRINTED and not COLUMNS.search(block.astext()):
            block["classes"].append("sentences")


def write_reports(app, doctree, docname):
    """Write each report that a cell shows to a file of its own, which the page frames and links."""
    found = [
        (raw, frame)
        for raw in doctree.findall(nodes.raw)
        if (frame := FRAME.search(raw.astext())) is not None
    ]
    for number, (raw, frame) in enumerate(found, start=1):
        path = Path(app.outdir, f"{docname}-report{number if len(found) > 1 else ''}.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(without_folder(html.unescape(frame[1])), encoding="utf-8")
        text = (
            f'<iframe class="report" title="The report" src="{path.name}" loading="lazy"></iframe>'
            f'<p class="report"><a href="{path.name}">Open this report as a page</a></p>'
        )
        raw.replace_self(nodes.raw("", text, format="html"))


def check_seconds(app, env):
    """Warn of a page that nobody would wait for, unless the machine is too busy to say."""
    if os.getloadavg()[0] > 2 * os.cpu_count():
        return
    for docname in env.found_docs:
        data = NbMetadataCollector.get_exec_data(env, docname)
        if data and (data["runtime"] or 0) > app.config.tutorial_seconds:
            seconds = f"{data['runtime']:.0f} s, more than {app.config.tutorial_seconds}"
            LOG.warning("the cells took %s", seconds, location=docname)


def free_notebooks(app, env):
    """Rewrite the notebooks to download without what only the site has: cells, roles, links."""
    for docname in env.found_docs:
        path = Path(env.mystnb_config.output_folder, f"{docname}.ipynb")
        if NbMetadataCollector.get_exec_data(env, docname) and path.exists():
            notebook = json.loads(path.read_text(encoding="utf-8"))
            notebook["cells"] = [
                cell
                for cell in notebook["cells"]
                if "remove-cell" not in cell["metadata"].get("tags", ())
            ]
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    text = without_the_site("".join(cell["source"]))
                    cell["source"] = text.splitlines(keepends=True)
            path.write_text(json.dumps(notebook, indent=1), encoding="utf-8")


def without_the_site(text):
    """Return the text of a page as a notebook shows it, where no page is beside it."""
    text = DOWNLOAD.sub("", text)
    return TERM.sub(r"- **\1**: ", ROLE.sub(r"`\1`", LINK.sub(r"\1", text)))


def setup(app):
    app.add_config_value("tutorial_seconds", 60, "")
    app.connect("doctree-resolved", finish)
    app.connect("env-check-consistency", check_seconds)
    app.connect("env-check-consistency", free_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
