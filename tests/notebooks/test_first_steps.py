"""The example notebook is executed in a Jupyter kernel, and shows what its page says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "first-steps.ipynb"

pytestmark = pytest.mark.slow


class Client(nbclient.NotebookClient):
    """A client that keeps every message of the kernel, updates of an output among them."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.messages = []

    def process_message(self, msg, cell, cell_index):
        self.messages.append((cell.id, msg["msg_type"], msg["content"]))
        return super().process_message(msg, cell, cell_index)


def execute(notebook, place) -> Client:
    """Execute a notebook in a kernel of its own, in a folder."""
    client = Client(notebook, timeout=120, resources={"metadata": {"path": str(place)}})
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        # Jupyter sets it itself; the suite's would hide what a notebook shows.
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    client.execute(env=environment)
    return client


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def executed(place):
    return execute(nbformat.read(NOTEBOOK, as_version=4), place)


@pytest.fixture
def outputs(executed):
    return {cell.id: cell.get("outputs", []) for cell in executed.nb.cells}


def test_the_committed_notebook_has_no_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert [cell.id for cell in notebook.cells if cell.get("outputs")] == []
    assert NOTEBOOK.stat().st_size < 10_000


def test_a_result_is_its_verdict_and_a_table(outputs):
    (shown,) = outputs["show"]
    assert set(shown.data) == {"text/plain", "text/html"}
    assert shown.data["text/html"].startswith("<div><p><strong>Partly the same representation")
    assert shown.data["text/html"].count("<details>") > 3
    assert shown.data["text/plain"].startswith("Partly the same representation")
    assert len(shown.data["text/plain"].splitlines()) < 40


def test_a_figure_is_shown_once(outputs):
    (shown,) = outputs["plot"]
    assert set(shown.data) == {"text/plain", "image/png"}
    assert shown.output_type == "execute_result"


def test_parts_have_html_of_their_own(outputs):
    assert [len(outputs[name]) for name in ("fit", "finding")] == [1, 1]
    assert "up to affine" in outputs["fit"][0].data["text/html"]
    assert re.match(r"<details open><summary>UP\d{3} ", outputs["finding"][0].data["text/html"])
    assert outputs["error"][0].data["text/plain"].startswith("Estimate(value=0.18")


def test_the_bar_moves_in_one_output_and_is_gone_at_the_end(executed, outputs):
    sent = [
        content
        for name, kind, content in executed.messages
        if name == "compare" and "data" in content
    ]
    pages = [content["data"]["text/html"] for content in sent]
    assert len({content["transient"]["display_id"] for content in sent}) == 1
    assert sum("<progress" in page for page in pages) >= 2
    assert len(set(pages)) > 2
    (left,) = outputs["compare"]
    assert left.data == {"text/html": "", "text/plain": ""}


def test_nothing_is_written_to_the_streams(outputs):
    streams = [each for shown in outputs.values() for each in shown if each.output_type == "stream"]
    assert streams == []


def test_an_error_is_one_line_and_its_traceback_follows_on_demand(outputs):
    (wrong,) = outputs["wrong"]
    assert wrong.ename == "InputError"
    (line,) = wrong.traceback
    assert line == f"InputError: {wrong.evalue}"
    (full,) = outputs["traceback"]
    text = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(full.traceback))
    assert 'upto.compare(first, second, up_to="rotations")' in text
    assert text.count("File ") >= 2


def test_files_are_written(executed, place):
    assert (place / "report.html").read_text(encoding="utf-8").startswith("<!")
    assert (place / "result.json").stat().st_size > 1000


def test_inline_figures_are_shown_once_too(tmp_path):
    cells = ["import numpy as np, upto\nresult = upto.diversity(np.eye(6)[:, :4])"]
    for setting in ("png", "svg", "retina"):
        cells.append(
            f"%matplotlib inline\n%config InlineBackend.figure_format = {setting!r}\nresult.plot()"
        )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    execute(notebook, tmp_path)
    for cell, kind in zip(notebook.cells[1:], ("png", "svg+xml", "png"), strict=True):
        (shown,) = cell.outputs
        assert shown.output_type == "execute_result"
        assert f"image/{kind}" in shown.data
