"""Adding a question touches one folder and one line: the example of CONTRIBUTING is followed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
_FILE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """Return a function that runs `upto` with the question of the example."""
    place = tmp_path_factory.mktemp("extended")
    shutil.copytree(
        ROOT / "src" / "upto", place / "upto", ignore=shutil.ignore_patterns("__pycache__")
    )
    folder = place / "upto" / "questions" / "empty"
    folder.mkdir()
    files = dict(_FILE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert {"__init__.py", "question.py", "result.py"} <= set(files)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    listed = folder.parent / "__init__.py"
    text = listed.read_text(encoding="utf-8")
    listed.write_text(text.replace("NAMES = (\n", 'NAMES = (\n    "empty",\n', 1), encoding="utf-8")
    np.save(place / "run.npy", np.vstack([np.zeros((2, 3)), np.ones((4, 3))]))

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "upto", *arguments],
            cwd=place,
            env=os.environ | {"PYTHONPATH": f"{place}{os.pathsep}{ROOT / 'src'}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.place = place
    return run


def test_the_command_is_listed_and_answers(extended):
    assert "Count the rows of a run that have only zeros." in extended("--help")
    assert "2 of 6 rows have only zeros" in extended("empty", "run.npy")


def test_its_findings_are_explained(extended):
    assert "never embedded" in extended("explain", "UP999")


@pytest.mark.slow
def test_its_results_are_read_again_and_make_a_page(extended):
    extended("empty", "run.npy", "-o", "empty.json")
    extended("report", "empty.json", "-o", "page.html")
    page = (extended.place / "page.html").read_text(encoding="utf-8")
    assert "2 of 6 rows have only zeros" in page
    assert "samples that were never embedded" in page
