"""Pages with cells: what fails stops the build, and what a cell shows reaches the reader."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("myst_nb", reason="`make docs` installs what builds the site")
nodes = pytest.importorskip("docutils.nodes")

DOCS = Path(__file__).parents[2] / "docs"
HEAD = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n"
OPENING = (
    "# Is it?\n\nA page: {nb-download}`index.ipynb`. See [there](other.md) and {term}`run`.\n\n"
)
SHOWN = """
import time
import numpy as np, upto
from IPython.display import display
from upto.core.progress import choose_progress
rows = np.random.default_rng(0).laplace(size=(60, 2))
with choose_progress(True).task("work", 2) as advance:
    time.sleep(0.5)
    advance(2)
result = upto.diversity(rows)
print(result.verdict)
display(upto.Report([result]))
```

```{code-cell}
print(result.tables()[0])
"""

SETTINGS = """
import runpy

settings = runpy.run_path({conf!r})
globals().update({{name: value for name, value in settings.items() if name.startswith("nb_")}})
nb_execution_cache_path = ""
extensions = ["myst_nb", "executed"]
source_suffix, myst_enable_extensions = settings["source_suffix"], ["deflist"]
tutorial_seconds = settings["tutorial_seconds"]
"""

pytestmark = pytest.mark.timeout(600)


def build(place: Path, cell: str) -> subprocess.CompletedProcess[str]:
    """Build a site of one page with one cell, by the settings of the documentation."""
    source = place / "source"
    source.mkdir(parents=True)
    (source / "conf.py").write_text(SETTINGS.format(conf=str(DOCS / "conf.py")), encoding="utf-8")
    page = f"{HEAD}\n{OPENING}```{{code-cell}}\n{cell.strip()}\n```\n"
    (source / "index.md").write_text(page, encoding="utf-8")
    (source / "other.md").write_text(
        "---\norphan: true\n---\n# There\n\n```{glossary}\nrun\n  A run.\n```\n"
    )
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html"]
    return subprocess.run(
        [*command, str(source), str(place / "html")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(DOCS.parent / "src")},
    )


@pytest.fixture
def executed(monkeypatch):
    """Return the extension, for pages with cells."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    module = importlib.import_module("executed")
    monkeypatch.setattr(
        module.NbMetadataCollector, "get_exec_data", lambda env, name: {"runtime": 1.0}
    )
    return module


@pytest.mark.slow
def test_a_report_becomes_a_page_and_the_notebook_reads_without_the_site(tmp_path):
    done = build(tmp_path, SHOWN)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert 'src="index-report.html"' in page
    assert "srcdoc" not in page
    assert "<progress" not in page
    # Sentences are wrapped, and tables are not.
    kinds = re.findall(r'<div class="output stream([^"]*)"', page)
    assert ["sentences" in kind for kind in kinds] == [True, False]
    report = (tmp_path / "html" / "index-report.html").read_text(encoding="utf-8")
    assert report.startswith("<!")
    assert "Content-Security-Policy" in report
    (notebook,) = (tmp_path / "html" / "_downloads").rglob("index.ipynb")
    first = "".join(json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"])
    assert first.split("\n\n")[1] == "See there and `run`."


def test_a_notebook_says_where_its_data_are_and_has_no_cell_of_the_site(executed, tmp_path):
    opening = (
        "# Is it?\n\nDownload as a notebook: {nb-download}`page.ipynb`. "
        "It reads {download}`rows.npy <data/rows.npy>`, and needs\n`pip install upto`.\n"
    )
    hidden = {"tags": ["remove-cell"]}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": [opening]},
        {"cell_type": "code", "metadata": hidden, "source": ["import shutil"]},
        {"cell_type": "code", "metadata": {}, "source": ["import upto"]},
    ]
    path = tmp_path / "page.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    config = SimpleNamespace(output_folder=str(tmp_path))
    executed.free_notebooks(None, SimpleNamespace(found_docs=["page"], mystnb_config=config))
    first, second = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert "".join(first["source"]) == (
        "# Is it?\n\nIt reads `rows.npy`, and needs\n`pip install upto`.\n"
    )
    assert second["source"] == ["import upto"]


@pytest.mark.parametrize(
    "page",
    [page for page in sorted(DOCS.glob("tutorials/*.md")) if page.stem != "index"],
    ids=lambda page: page.stem,
)
def test_a_tutorial_without_its_download_begins_with_a_sentence(executed, page):
    opening = page.read_text(encoding="utf-8").partition("\n# ")[2].partition("\n")[2].strip()
    assert executed.without_the_site(opening)[0].isupper()


def test_columns_are_not_wrapped_and_sentences_are(executed):
    texts = ["The runs agree.  \nUP003 is raised.", "width   mean\n    2  0.201", "  one ─── two"]
    blocks = [nodes.literal_block("", text, language="text") for text in texts]
    blocks += [nodes.literal_block("", texts[0], language="python")]
    executed.mark_sentences(nodes.container("", *blocks))
    assert ["sentences" in block["classes"] for block in blocks] == [True, False, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import sys\nprint('careful', file=sys.stderr)", "stderr"),
        ("import warnings\nwarnings.warn('careful')", "stderr"),
    ],
)
def test_a_cell_that_fails_or_warns_stops_the_build(tmp_path, cell, said):
    done = build(tmp_path, cell)
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.parametrize(("seconds", "load", "warns"), [(61.0, 0, 1), (59.0, 0, 0), (61.0, 999, 0)])
def test_a_page_that_takes_long_is_warned_of_unless_the_machine_is_busy(
    executed, monkeypatch, seconds, load, warns
):
    said = []
    data = {"runtime": seconds}
    monkeypatch.setattr(executed.NbMetadataCollector, "get_exec_data", lambda env, name: data)
    monkeypatch.setattr(executed.LOG, "warning", lambda *parts, location: said.append(location))
    monkeypatch.setattr(executed.os, "getloadavg", lambda: (load, load, load))
    app = SimpleNamespace(config=SimpleNamespace(tutorial_seconds=60))
    executed.check_seconds(app, SimpleNamespace(found_docs=["long"]))
    assert said == ["long"] * warns
