"""A module stays under 400 lines; when it grows, it is two ideas."""

from __future__ import annotations

from pathlib import Path

import pytest

import upto

LIMIT = 400
ROOT = Path(upto.__file__).parent


def too_long(root: Path) -> dict[str, int]:
    lengths = {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sorted(root.rglob("*.py"))
    }
    return {name: length for name, length in lengths.items() if length > LIMIT}


def test_no_module_is_too_long():
    assert len(list(ROOT.rglob("*.py"))) > 40
    assert too_long(ROOT) == {}


@pytest.mark.parametrize(("length", "found"), [(LIMIT, {}), (LIMIT + 1, {"deep/long.py": 401})])
def test_a_long_module_is_noticed(length, found, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "long.py").write_text("x = 1\n" * length)
    assert too_long(tmp_path) == found
