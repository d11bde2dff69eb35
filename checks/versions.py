"""Run the fast suite on the versions declared in ``pyproject.toml``.

``python -m checks.versions oldest`` installs the lowest version that is allowed of every dependency
and of every extra in `all`, and runs the fast suite on them, on the oldest Python that is claimed.
Test tools are the newest compatible ones, because users never install them.

``python -m checks.versions pythons`` runs the fast suite on every Python that is claimed and found,
with the newest versions. Torch is installed where there is a build of it for the CPU; elsewhere its
tests skip, and the last lines say so.

Each run has an environment of its own below ``.venvs``, made anew. The exit code is 1 if a suite
failed or there was nothing to run.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / ".venvs"
_PYTHON = "Programming Language :: Python :: "
_BOUND = re.compile(r"(?P<name>[\w.-]+)>=(?P<version>\d[\d.]*)(?P<marker>\s*;.*)?")
_OWN = re.compile(r"upto\[(?P<extras>[\w,-]+)\]")


def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def claimed_pythons(declared: dict[str, Any]) -> list[str]:
    """Return the versions of Python among the classifiers, oldest first."""
    versions = [each.removeprefix(_PYTHON) for each in declared["classifiers"]]
    return [each for each in versions if re.fullmatch(r"3\.\d+", each)]


def extras_of(declared: dict[str, Any], extra: str) -> list[str]:
    """Return the extras that one extra is made of, or itself."""
    found = []
    for requirement in declared["optional-dependencies"][extra]:
        own = _OWN.fullmatch(requirement)
        found += own["extras"].split(",") if own else [extra]
    return list(dict.fromkeys(found))


def lowest(requirement: str) -> str:
    """Return a requirement of the lowest version that a requirement allows."""
    bound = _BOUND.fullmatch(requirement)
    if bound is None:
        message = f"{requirement!r} has no lower bound alone: write name>=version."
        raise ValueError(message)
    return f"{bound['name']}=={bound['version']}{bound['marker'] or ''}"


def oldest_versions(declared: dict[str, Any]) -> list[str]:
    """Return the lowest versions of all that `all` and `testing` bring."""
    requirements = list(declared["dependencies"])
    for extra in [*extras_of(declared, "all"), "testing"]:
        requirements += declared["optional-dependencies"][extra]
    return sorted({lowest(each) for each in requirements})


def find_python(version: str) -> str | None:
    """Return an interpreter that runs and has this version."""
    candidates = [shutil.which(f"python{version}"), "/usr/bin/python" + version]
    kept = Path.home() / ".pyenv" / "versions"
    candidates += [str(each) for each in sorted(kept.glob(f"{version}.*/bin/python"))]
    for candidate in filter(None, candidates):
        code = "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"
        try:
            done = subprocess.run(
                [candidate, "-c", code], capture_output=True, text=True, check=False
            )
        except OSError:
            continue
        # What stands on the path may be a stub that only says how to choose a version.
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    return None


class Environment:
    """A freshly created virtual environment."""

    def __init__(self, name: str, python: str) -> None:
        self.folder = ENVIRONMENTS / name
        self.python = self.folder / "bin" / "python"
        subprocess.run([python, "-m", "venv", "--clear", str(self.folder)], check=True)
        self.install("--upgrade", "pip")

    def install(self, *what: str) -> None:
        """Install packages, or stop."""
        subprocess.run(self._pip(*what), cwd=ROOT, check=True)

    def has(self, *what: str) -> bool:
        """Install packages if available, and return whether they were."""
        done = subprocess.run(self._pip(*what), cwd=ROOT, check=False, capture_output=True)
        return done.returncode == 0

    def _pip(self, *what: str) -> list[str]:
        quiet = ["--quiet", "--no-compile", "--disable-pip-version-check"]
        return [str(self.python), "-m", "pip", "install", *quiet, *what]

    def run_suite(self, pytest: list[str]) -> tuple[bool, str]:
        """Run the fast suite; return whether it passed, and its last line."""
        # No cache: the failures that `--lf` looks for are those of the usual environment.
        command = ["-m", "pytest", "-n", "2", "-m", "not slow", "-p", "no:cacheprovider", *pytest]
        with subprocess.Popen(
            [str(self.python), *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as running:
            last = ""
            for line in running.stdout or ():
                print(line, end="", flush=True)
                last = line.strip(" =\n") or last
        return running.returncode == 0, last


def test_oldest(declared: dict[str, Any], pytest: list[str]) -> bool:
    version = claimed_pythons(declared)[0]
    python = find_python(version)
    if python is None:
        print(f"Python {version}, the oldest that is claimed, is not found: nothing was run.")
        return False
    started = time.monotonic()
    environment = Environment("oldest", python)
    pins = environment.folder / "oldest.txt"
    pins.write_text("\n".join(oldest_versions(declared)) + "\n", encoding="utf-8")
    # Torch first: while pip looks for what fits, it may try a build that is gigabytes.
    environment.install("--constraint", str(pins), "torch")
    environment.install(
        *("--constraint", str(pins), "--editable", ".[all,testing]", "--group", "test")
    )
    print(f"set up in {time.monotonic() - started:.0f} s: {', '.join(oldest_versions(declared))}")
    passed, last = environment.run_suite(pytest)
    print(f"\nPython {version}, lowest versions: {last}")
    return passed


def test_pythons(
    declared: dict[str, Any], torch: str, pytest: list[str], only: list[str] | None
) -> bool:
    results, told = [], []
    for version in only or claimed_pythons(declared):
        python = find_python(version)
        if python is None:
            told.append(f"Python {version}: not found, and not tested")
            continue
        environment = Environment(version, python)
        # Only Linux has builds with and without CUDA under one version.
        build = f"{torch}+cpu" if sys.platform == "linux" else torch
        has_torch = environment.has(f"torch=={build}")
        extras = [*extras_of(declared, "all"), "testing"]
        if not has_torch:
            extras.remove("torch")
        environment.install("--editable", f".[{','.join(extras)}]", "--group", "test")
        passed, last = environment.run_suite(pytest)
        without = f"; without torch: there is no torch {build} for it here"
        told.append(f"Python {version}: {last}{'' if has_torch else without}")
        results.append(passed)
    print("", *told, sep="\n")
    return bool(results) and all(results)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("oldest")
    pythons = commands.add_parser("pythons")
    pythons.add_argument("--torch", required=True, help="the version of torch to test with")
    pythons.add_argument("--only", nargs="+", help="versions of Python, such as 3.12")
    # What is left is for pytest.
    options, pytest = parser.parse_known_args()
    declared = project()
    if options.command == "oldest":
        passed = test_oldest(declared, pytest)
    else:
        passed = test_pythons(declared, options.torch, pytest, options.only)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
