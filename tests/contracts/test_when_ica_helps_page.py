"""The page on when ICA helps is written from recorded results; here it is up to date."""

import importlib.util
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "docs" / "_tools"


def test_the_page_on_when_ica_helps_is_up_to_date():
    spec = importlib.util.spec_from_file_location("when_ica_helps", TOOLS / "when_ica_helps.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), (
        "run `python docs/_tools/when_ica_helps.py`"
    )
