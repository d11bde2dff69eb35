"""What tests of the pages share: the scripts that write them, and which words differ."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import ModuleType

DOCS = Path(__file__).parents[1] / "docs"
RELATIVE, ABSOLUTE = 0.03, 0.003
"""How far a printed number may be from the one on the page; other machines round differently."""
ROUNDING = 3e-4
"""The same where all rows are read from a file, and only the computation rounds."""

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def load_tool(name: str) -> ModuleType:
    """Import a script of the documentation."""
    spec = importlib.util.spec_from_file_location(f"doc_{name}", DOCS / "_tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


class ApiName(NamedTuple):
    """A name of the API: whether it is a record, and whether it shares the page of another."""

    name: str
    is_record: bool
    shares_a_page: bool


def api_names() -> list[ApiName]:
    """List the names that have a page, or a part of one, in the API."""
    text = (DOCS / "python-api.md").read_text(encoding="utf-8")
    lists = re.findall(r"^```\{api\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^( *)(upto[\w.]*)(\(\))?", "\n".join(lists), re.MULTILINE)
    return [ApiName(name, bool(record), bool(indent)) for indent, name, record in lines]


def differences(
    expected: str, found: str, *, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> list[str]:
    """List words that differ; numbers may differ a little."""
    wanted, got = expected.split(), found.split()
    if len(wanted) != len(got):
        return [f"{len(wanted)} words on the page, {len(got)} printed"]
    return [
        f"{one} is {two}"
        for one, two in zip(wanted, got, strict=True)
        if not alike(one, two, relative=relative, absolute=absolute)
    ]


def alike(one: str, two: str, *, relative: float, absolute: float) -> bool:
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", two):
        return False
    for first, second in zip(_NUMBER.findall(one), _NUMBER.findall(two), strict=True):
        a, b = float(first), float(second)
        if abs(a - b) > max(absolute, relative * abs(a)):
            return False
    return True
