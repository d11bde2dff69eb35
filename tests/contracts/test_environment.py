"""What `make setup` installs stays light: one torch, for the CPU, and nothing made for another."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HEAVY = re.compile(r"(torchvision|torchaudio|torchcodec|triton|pytorch-triton|nvidia-.*|cuda-.*)")
# Without byte code and pip, which are the rest of 2.4 GB and of 400 MB; of it, Lance takes 225.
TEST_LIMIT = 2150
DEMO_LIMIT = 350

ours = pytest.mark.skipif(
    not Path(sys.prefix, ".ready").exists(), reason="this environment is not that of `make setup`"
)


def declared(extras: list[str], groups: list[str]) -> list[str]:
    """Return what the package itself, some extras and some groups ask for."""
    optional = DECLARED["project"]["optional-dependencies"]
    asked = list(DECLARED["project"]["dependencies"])
    for extra in extras:
        asked += optional[extra]
    for group in groups:
        asked += DECLARED["dependency-groups"][group]
    own = [Requirement(each) for each in asked if Requirement(each).name == "upto"]
    others = [each for each in asked if Requirement(each).name != "upto"]
    return others + [each for extra in own for name in extra.extras for each in optional[name]]


def brought(requirements: list[str]) -> dict[str, str]:
    """Return the name of everything that requirements bring here, and who asks for it first."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [("upto", Requirement(each), "") for each in requirements]
    while waiting:
        who, asked, extra = waiting.pop()
        if asked.marker is not None and not asked.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(asked.name)
        found.setdefault(name, who)
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for wanted in {"", *asked.extras} - {extra for n, extra in seen if n == name}:
            seen.add((name, wanted))
            waiting += [(name, Requirement(each), wanted) for each in needs]
    return found


def megabytes(names: list[str]) -> dict[str, float]:
    """Return the sizes of the files that installed packages brought, byte code left out."""
    sizes = {}
    for name in names:
        try:
            files = metadata.files(name) or []
        except metadata.PackageNotFoundError:
            continue
        paths = [Path(str(each.locate())) for each in files if each.suffix != ".pyc"]
        sizes[name] = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
    return sizes


def test_nothing_heavy_is_asked_for():
    asked_by = brought(declared(["all", "testing"], ["test", "check", "docs", "release"]))
    assert len(asked_by) > 50
    heavy = {name: who for name, who in asked_by.items() if HEAVY.fullmatch(name)}
    if not Path(sys.prefix, ".ready").exists():
        # A torch for CUDA may be what someone works with; what others ask for is ours.
        heavy = {name: who for name, who in heavy.items() if who not in ("torch", *heavy)}
    assert heavy == {}


def test_what_is_heavy_is_noticed(monkeypatch):
    needs = {"vision": ["torchvision==1; extra == 'images'"], "torch": ["nvidia-cublas"]}
    monkeypatch.setattr(metadata, "requires", lambda name: needs.get(name, []))
    assert brought(["vision[images]", "torch>=2"]) == {
        "vision": "upto",
        "torch": "upto",
        "torchvision": "vision",
        "nvidia-cublas": "torch",
    }
    assert "torchvision" not in brought(["vision"])


@ours
def test_the_torch_is_the_pinned_one_and_nothing_heavy_is_installed():
    (pinned,) = re.findall(r"^TORCH := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert metadata.version("torch").partition("+")[0] == pinned
    installed = {canonicalize_name(each.name) for each in metadata.distributions()}
    assert sorted(name for name in installed if HEAVY.fullmatch(name)) == []


@ours
@pytest.mark.parametrize(
    ("extras", "groups", "limit"),
    [(["all", "testing"], ["test"], TEST_LIMIT), (["plot"], [], DEMO_LIMIT)],
    ids=["test", "demo"],
)
def test_the_environment_of_a_command_is_small(extras, groups, limit):
    sizes = megabytes(list(brought(declared(extras, groups))))
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:8]
    assert 100 < sum(sizes.values()) <= limit, largest
