"""Parts of the documentation are written by scripts; here they are shown to be up to date."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from upto.core import RULES

DOCS = Path(__file__).parents[2] / "docs"


def load_tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / "_tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_the_command_line_page_is_up_to_date():
    tool = load_tool("command_line")
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), (
        "run `python docs/_tools/command_line.py`"
    )


def test_the_page_of_studies_is_up_to_date():
    tool = load_tool("studies")
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), (
        "run `python docs/_tools/studies.py`"
    )


def test_the_index_of_findings_is_up_to_date():
    tool = load_tool("findings")
    assert (tool.FOLDER / "index.md").read_text(encoding="utf-8") == tool.index_page(), (
        "run `python docs/_tools/findings.py`"
    )


LONG = ("UP070", "UP080")
CODES = [pytest.param(code, marks=pytest.mark.slow) if code in LONG else code for code in RULES]


@pytest.mark.parametrize("code", CODES)
def test_the_page_of_a_finding_is_up_to_date(code):
    tool = load_tool("findings")
    path = tool.FOLDER / f"{code}.md"
    assert path.read_text(encoding="utf-8") == tool.rule_page(RULES[code]), (
        "run `python docs/_tools/findings.py`"
    )


def test_every_finding_has_a_page_and_every_page_a_finding():
    pages = {path.stem for path in (DOCS / "findings").glob("*.md")} - {"index"}
    assert pages == set(RULES)


def test_every_finding_has_an_example():
    assert set(load_tool("findings").EXAMPLES) == set(RULES)
