"""Parts of the documentation are written by scripts; here they are shown to be up to date."""

import pytest
from doc_tools import DOCS, load_tool

from upto.core import RULES


def test_the_index_of_findings_is_up_to_date():
    tool = load_tool("findings")
    assert (tool.FOLDER / "index.md").read_text(encoding="utf-8") == tool.index_page(), (
        "run `python docs/_tools/findings.py`"
    )


LONG = ("UP070", "UP080", "UP097", "UP103")
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
