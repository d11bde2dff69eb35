"""Modules are named for what they contain, and ARCHITECTURE.md names every one of them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from upto.question import questions

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "upto"
MODULES = [path for path in PACKAGE.rglob("*.py") if path.stem not in ("__init__", "__main__")]
PARTS = {"question", "result", "findings", "text", "page", "figure", "papers", "command"}
SAME_PART = PARTS | {"catalogue", "kinds", "base", "verdict", "parts", "sample", "promises"}
"""Names of modules that play the same part in several places."""
NOUNS = {
    "boosting", "class_matching", "cost_of_dropping", "density_matching", "finding", "matching",
    "pooling", "sphering", "testing",
}  # fmt: skip
"""Nouns of the field that end in -ing."""


def test_no_module_is_a_gerund():
    found = {path.stem for path in MODULES if path.stem.endswith("ing")}
    assert found <= NOUNS


def test_two_modules_share_a_name_only_if_they_play_the_same_part():
    counts = Counter(path.stem for path in MODULES)
    assert {name for name, count in counts.items() if count > 1} <= SAME_PART


@pytest.mark.parametrize("question", [each.name for each in questions()])
def test_a_question_is_one_word_everywhere(question):
    assert (PACKAGE / "questions" / question).is_dir()
    assert (ROOT / "docs" / f"{question}.md").is_file()
    assert not (PACKAGE / question).exists(), "no room is named like a function"


def named_in(page: str) -> dict[str, set[str]]:
    """Return the modules that each row of the table of rooms names."""
    rows = re.findall(r"^\| (.+?) \|.*?\| (.*) \|$", page, re.MULTILINE)
    return {room: set(re.findall(r"\w+", text)) for room, text in rows}


def test_the_architecture_names_every_module():
    named = set().union(*named_in((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")).values())
    missing = {str(path.relative_to(PACKAGE)) for path in MODULES if path.stem not in named | PARTS}
    assert missing == set()


def test_the_architecture_names_nothing_that_is_gone():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    known = {path.stem for path in MODULES} | {path.name for path in PACKAGE.rglob("*/")}
    known |= {path.stem for path in (ROOT / "src" / "upto_studies").rglob("*")}
    table = page[page.index("## Rooms") : page.index("## Layers")]
    words = set()
    for text in re.findall(r"`([a-z_ ]+)`", table):
        words |= set(text.split())
    assert words - known - {"upto"} == set()


def test_a_missing_module_would_be_noticed():
    page = "| room | idea | modules |\n|---|---|---|\n| `core/` | shared | `table` `seeds` |\n"
    assert named_in(page)["`core/`"] == {"table", "seeds"}
