"""What is published: one small wheel that runs the demo, and the source without our workplace."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from checks.release import DATA_LIMIT, SDIST_LIMIT, WHEEL_LIMIT, WORKPLACE

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_wheel_is_small_and_has_what_the_packages_read(tmp_path):
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < WHEEL_LIMIT
    stored = zipfile.ZipFile(wheel).infolist()
    data = sum(each.compress_size for each in stored if not each.filename.endswith(".py"))
    assert data < DATA_LIMIT
    names = {each.filename for each in stored}
    kept = [
        path.relative_to(ROOT / "src").as_posix()
        for package in ("upto", "upto_studies")
        for path in (ROOT / "src" / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert set(kept) - names == {
        "upto/files/bundled/admet_members.npz",
        "upto_studies/autoencoder-ica/result.json",
        "upto_studies/bounds-hold/result.json",
        "upto_studies/cell-painting/result.json",
        "upto_studies/class-diversity/result.json",
        "upto_studies/contrastive-patches/result.json",
        "upto_studies/hierarchy/result.json",
        "upto_studies/ica-efficiency/result.json",
        "upto_studies/index-upgrade/result.json",
        "upto_studies/layers-of-gpts/result.json",
        "upto_studies/leaky-autoencoders/result.json",
        "upto_studies/likelihood-surfaces/result.json",
        "upto_studies/metric-behaviour/result.json",
        "upto_studies/model-pairs/result.json",
        "upto_studies/pinwheel/result.json",
        "upto_studies/plate-holdout-synthetic/result.json",
        "upto_studies/radial-classes/result.json",
        "upto_studies/side-information/result.json",
        "upto_studies/word-embeddings/result.json",
    }


@pytest.mark.slow
def test_the_source_has_what_builds_tests_and_documents_the_package_and_nothing_else(tmp_path):
    build = (sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path))
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (source,) = tmp_path.glob("*.tar.gz")
    assert source.stat().st_size < SDIST_LIMIT
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    tops = {path.name for path in folder.iterdir()}
    # hatchling adds the ignored names, so that a wheel built from here leaves out the same.
    assert tops - {".gitignore", "PKG-INFO"} == {
        *("src", "tests", "docs", "checks", "benchmarks", "Makefile", "pyproject.toml", "LICENSE"),
        *("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"),
        *("SECURITY.md", ".github", ".zenodo.json"),
    }
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if listed:
        kept = {
            name for name in listed if not name.startswith(WORKPLACE) and (ROOT / name).exists()
        }
        assert kept - names == set()
    assert not [name for name in names if "_build/" in name or "__pycache__" in name]
    assert not [name for name in names if "crash" in Path(name).name and name.endswith(".txt")]
    again = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    subprocess.run(again, cwd=folder, check=True, capture_output=True)
    assert list(tmp_path.glob("*.whl"))
