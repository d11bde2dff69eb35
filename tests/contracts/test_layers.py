"""Folders are the pipeline: imports go one way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(config: Path) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    arguments = ["--config", str(config), "--no-cache"]
    return subprocess.run(
        [sys.executable, "-c", command, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def broken_config(tmp_path):
    """A configuration our imports do not keep."""
    config = tmp_path / "broken.toml"
    config.write_text(
        '[tool.importlinter]\nroot_package = "upto"\n'
        "[[tool.importlinter.contracts]]\n"
        'name = "upside down"\ntype = "layers"\nlayers = ["upto.core", "upto.engines"]\n'
    )
    return config


def test_imports_keep_every_contract():
    done = lint_imports(ROOT / "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_a_broken_contract_is_noticed(broken_config):
    done = lint_imports(broken_config)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "upside down" in done.stdout
