"""What is installed: one small wheel that needs nothing else to run the demo."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT = 2_000_000


@pytest.mark.slow
def test_the_wheel_is_small_and_has_what_the_packages_read(tmp_path):
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < LIMIT
    names = set(zipfile.ZipFile(wheel).namelist())
    kept = [
        path.relative_to(ROOT / "src").as_posix()
        for package in ("upto", "upto_studies")
        for path in (ROOT / "src" / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert set(kept) - names == {"upto/files/bundled/admet_members.npz"}
