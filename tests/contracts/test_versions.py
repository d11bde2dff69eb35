"""The versions that are claimed are said once, agree everywhere, and can be tested."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from upto.cli.doctor import REQUIRED
from upto.core.errors import how_to_install
from upto.core.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OPTIONAL = PROJECT["optional-dependencies"]
RELEASED = [f"3.{minor}" for minor in range(8, 20)]


@pytest.fixture(scope="module")
def versions():
    spec = importlib.util.spec_from_file_location("versions", ROOT / "checks" / "versions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_claim_names_the_same_pythons(versions):
    claimed = versions.claimed_pythons(PROJECT)
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert claimed == [each for each in RELEASED if each in allowed]
    for page in ("README.md", "docs/quickstart.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert re.findall(r"Python (3\.\d+) to (3\.\d+)", text) == [(claimed[0], claimed[-1])], page


def test_every_requirement_has_a_lower_bound_that_can_be_installed(versions):
    pins = [Requirement(each) for each in versions.oldest_versions(PROJECT)]
    assert {pin.name for pin in pins} >= {*REQUIRED, "torch", "zarr", "hypothesis"}
    assert all(len(pin.specifier) == 1 and "==" in str(pin.specifier) for pin in pins)
    assert len({pin.name for pin in pins}) == len(pins)
    for extra in OPTIONAL:
        if extra != "all":
            assert all(versions.lowest(each) for each in OPTIONAL[extra])


@pytest.mark.parametrize(
    ("requirement", "pin"),
    [
        ("numpy>=2.0.1", "numpy==2.0.1"),
        ("scanpy>=1.12; python_version >= '3.12'", "scanpy==1.12; python_version >= '3.12'"),
        ("numpy", None),
        ("numpy>=2,<3", None),
        ("numpy==2", None),
    ],
)
def test_a_bound_becomes_the_version_it_names(versions, requirement, pin):
    if pin is not None:
        assert versions.lowest(requirement) == pin
        return
    with pytest.raises(ValueError, match="no lower bound"):
        versions.lowest(requirement)


def test_all_has_every_extra_but_large_ones_and_those_with_a_torch_or_python_of_their_own(versions):
    assert {*OPTIONAL} - {*versions.extras_of(PROJECT, "all")} == {
        *("all", "report", "testing", "timm", "harmony", "lance")
    }


def test_doctor_knows_every_requirement_and_extra():
    assert {Requirement(each).name for each in PROJECT["dependencies"]} == {*REQUIRED}
    assert {*EXTRAS} == {*OPTIONAL} - {"all", "report"}
    for extra, (packages, _) in EXTRAS.items():
        assert {*packages} == {Requirement(each).name for each in OPTIONAL[extra]}, extra


def test_the_quickstart_names_every_extra_and_its_use():
    text = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", text, re.MULTILINE))
    assert told == {extra: purpose for extra, (_, purpose) in EXTRAS.items()}


def test_a_name_of_an_older_extra_still_installs_and_brings_nothing():
    assert OPTIONAL["report"] == []
    assert any(Requirement(each).name == "jinja2" for each in PROJECT["dependencies"])


@pytest.mark.parametrize("extra", sorted(OPTIONAL))
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_an_extra_is_advised_where_it_can_be_installed(extra, python, monkeypatch):
    markers = [Requirement(each).marker for each in OPTIONAL[extra]]
    here = {"python_version": python}
    is_possible = all(marker is None or marker.evaluate(here) for marker in markers)
    monkeypatch.setattr(sys, "version_info", (*map(int, python.split(".")), 0))
    assert (f"pip install 'upto[{extra}]'" in how_to_install(extra)) == is_possible


def test_an_interpreter_has_the_version_that_was_asked_for(versions, tmp_path, monkeypatch):
    stub = tmp_path / "python3.99"
    stub.write_text("#!/bin/sh\necho 3.98\n")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert versions.find_python("3.99") is None
    stub.write_text("#!/bin/sh\necho 3.99\n")
    assert versions.find_python("3.99") == str(stub)
