"""What the page of promises names as its tests is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:tests|checks)/[\w/.]*)`", PAGE))))
def test_the_tests_behind_a_promise_exist(name):
    path = ROOT / name
    assert path.exists()
    if path.suffix == ".py":
        assert re.search(r"^def \w+", path.read_text(encoding="utf-8"), re.MULTILINE)
    else:
        assert any(path.iterdir())


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make ([\w-]+)`", PAGE))))
def test_the_commands_that_run_them_exist(target):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
