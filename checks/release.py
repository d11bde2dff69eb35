"""Build, check and install what a release would upload; upload nothing.

``python -m checks.release [--site https://…]`` works on a copy of what git tracks, from a clean
tree only: sdist and wheel, their contents, sizes, metadata and README, an installation of the wheel
into an empty environment in which the demo runs, and a wheel built from the sdist. It ends with
what would be uploaded and the commands that do so. The site is where the built documentation is
served; relative links of the README lead there. It may also be `Documentation` in `[project.urls]`.
"""

from __future__ import annotations

import argparse
import email
import email.message
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks.readme_on_index import addresses, on_index, relative, targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("upto", "upto_studies")
WHEEL_LIMIT, DATA_LIMIT, SDIST_LIMIT = 2_700_000, 800_000, 8_000_000
"""Bytes of the wheel, of what in it is not code, and of the sdist.

Code grows with what upto can do, and with what its docstrings explain.
"""
WORKPLACE = (".ci/",)
"""What git tracks and the sdist leaves out."""
NEEDED_URLS = ("Homepage", "Source", "Changelog")


class RefusedError(Exception):
    """What is wrong, in one sentence."""


def run(*command: str | Path, cwd: Path, **more: str) -> str:
    """Run a command of the release, and return what it printed."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    arguments = [str(each) for each in command]
    done = subprocess.run(
        arguments, cwd=cwd, env=environment | more, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip())[-2000:]
        message = f"`{' '.join(Path(each).name for each in arguments[:5])}` failed:\n{last}"
        raise RefusedError(message)
    return done.stdout


def git(root: Path, *arguments: str) -> str:
    return run("git", *arguments, cwd=root)


def check_clean(root: Path) -> str:
    """Return the commit; refuse what differs from it."""
    changed = git(root, "status", "--porcelain").splitlines()
    if changed:
        some = ", ".join(each[3:] for each in changed[:3])
        message = (
            f"{len(changed)} files differ from the last commit, such as {some}: commit them first."
        )
        raise RefusedError(message)
    return git(root, "rev-parse", "HEAD").strip()


def check_version(root: Path, tags_here: Iterable[str], all_tags: Iterable[str]) -> str:
    """Return the version, which every file that repeats it and the tag must agree with."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = str(project["version"])
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    first = re.fullmatch(r"(?P<version>\S+) - (?P<date>\d{4}-\d\d-\d\d)", headings[0])
    if first is None or first["version"] != version:
        message = (
            f"CHANGELOG.md begins with “{headings[0]}”, where “{version} - DATE” is expected for "
            "this release."
        )
        raise RefusedError(message)
    cited = dict(
        re.findall(
            r"^(version|date-released): \"?([^\"\n]+?)\"?$",
            (root / "CITATION.cff").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    archived = json.loads((root / ".zenodo.json").read_text(encoding="utf-8"))
    for file, found in (
        ("CITATION.cff", (cited.get("version"), cited.get("date-released"))),
        (".zenodo.json", (archived.get("version"), archived.get("publication_date"))),
    ):
        if found != (version, first["date"]):
            message = (
                f"{file} has version {found[0]} of {found[1]}, where CHANGELOG.md has {version} of "
                f"{first['date']}."
            )
            raise RefusedError(message)
    tag, here = f"v{version}", [each for each in tags_here if re.match(r"v\d", each)]
    if here and here != [tag]:
        message = f"this commit is tagged {', '.join(here)}, but its version is {version}."
        raise RefusedError(message)
    if not here and tag in all_tags:
        message = f"{tag} is the tag of another commit: this one needs another version."
        raise RefusedError(message)
    return version


def check_names(what: str, found: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse an archive with a file that does not belong in it, or without one that does."""
    found, wanted = {*found}, {*wanted}
    for verb, names in (("has", found - wanted), ("lacks", wanted - found)):
        if names:
            message = (
                f"the {what} {verb} {len(names)} files, such as {min(names)}: see pyproject.toml."
            )
            raise RefusedError(message.replace("1 files, such as", "the file"))


def wanted_in_wheel(tracked: Iterable[str], declared: Mapping[str, Any], version: str) -> set[str]:
    """Return the names of what the wheel must have, and nothing else."""
    left_out = {*declared["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]}
    kept = {
        each.removeprefix("src/")
        for each in tracked
        if each.startswith(tuple(f"src/{package}/" for package in PACKAGES))
        and each not in left_out
    }
    about = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    return kept | {f"upto-{version}.dist-info/{name}" for name in about}


def wanted_in_sdist(tracked: Iterable[str]) -> set[str]:
    return {each for each in tracked if not each.startswith(WORKPLACE)} | {"PKG-INFO"}


def check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        message = f"the {what} has {size:,} bytes, more than the {limit:,} that are allowed."
        raise RefusedError(message)


def check_metadata(text: str, project: Mapping[str, Any]) -> email.message.Message:
    """Return the metadata of an archive, which must say what pyproject.toml says."""
    from trove_classifiers import classifiers

    stored = email.message_from_string(text)
    urls = dict(each.split(", ", 1) for each in stored.get_all("Project-URL", []))
    for label, found, expected in (
        ("Name", stored["Name"], project["name"]),
        ("Version", stored["Version"], project["version"]),
        ("License-Expression", stored["License-Expression"], project["license"]),
        ("Classifier", {*stored.get_all("Classifier", [])}, {*project["classifiers"]}),
        ("Project-URL", urls, project["urls"]),
        ("Description-Content-Type", stored["Description-Content-Type"], "text/markdown"),
    ):
        if found != expected:
            message = f"the metadata has {label} {found}, where pyproject.toml has {expected}."
            raise RefusedError(message)
    unknown = {*project["classifiers"]} - classifiers
    if unknown:
        message = f"no index knows the classifier “{min(unknown)}”."
        raise RefusedError(message)
    missing = {*NEEDED_URLS} - {*urls}
    if missing or relative(list(urls.values())):
        message = (
            f"[project.urls] needs whole https addresses and {', '.join(NEEDED_URLS)}: {urls}."
        )
        raise RefusedError(message)
    return stored


def check_readme(text: str) -> None:
    """Refuse a README that an index would not render, or that leads nowhere from there."""
    from readme_renderer import markdown

    html = markdown.render(text)
    if html is None:
        message = "the README does not render as an index renders it."
        raise RefusedError(message)
    lost = relative([*targets(text), *addresses(html)])
    if lost:
        message = f"the README has an address that leads nowhere on an index: {lost[0]}"
        raise RefusedError(message)


def check_site(site: str | None, urls: Mapping[str, str]) -> str | None:
    """Return where the documentation is served, if anywhere."""
    site = site or urls.get("Documentation")
    if site is not None and not site.startswith("https://"):
        message = f"{site!r} is no whole address: give SITE=https://…"
        raise RefusedError(message)
    return site


def contents(archive: Path) -> dict[str, str]:
    """Return the digest of every file of a wheel."""
    with zipfile.ZipFile(archive) as wheel:
        return {
            each: hashlib.sha256(wheel.read(each)).hexdigest()
            for each in wheel.namelist()
            if not each.endswith("/")
        }


def check_same(first: Mapping[str, str], second: Mapping[str, str]) -> None:
    differ = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
    if differ:
        message = (
            f"the wheel built from the sdist differs from the other in {len(differ)} files, such "
            f"as {differ[0]}."
        )
        raise RefusedError(message)


def copy_tracked(root: Path, folder: Path) -> None:
    """Copy what git tracks at this commit, and nothing that lies beside it."""
    folder.mkdir()
    packed = folder.parent / "tracked.tar"
    git(root, "archive", "--output", str(packed), "HEAD")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")


def check_installed(wheel: Path, folder: Path, version: str) -> str:
    """Install the wheel into an empty environment, run the demo there, return what it is."""
    venv.create(folder / "env", with_pip=True)
    programs = folder / "env" / "bin"
    quiet = ("--quiet", "--no-compile", "--disable-pip-version-check")
    run(programs / "pip", "install", *quiet, wheel, cwd=folder)
    run(programs / "pip", "check", cwd=folder)
    run(programs / "upto", "demo", "--output", "report.html", cwd=folder)
    if "<html" not in (folder / "report.html").read_text(encoding="utf-8")[:1000]:
        message = "`upto demo` wrote no page."
        raise RefusedError(message)
    told = run(programs / "upto", "doctor", cwd=folder).splitlines()
    if not told or not told[0].startswith(f"upto {version}, "):
        message = f"`upto doctor` does not begin with upto {version}: {told[:1]}"
        raise RefusedError(message)
    size = sum(each.stat().st_size for each in (folder / "env").rglob("*") if each.is_file())
    return f"{told[0]}, {size / 1e6:.0f} MB with pip"


def release(root: Path, site: str | None, output: Path) -> None:
    commit = check_clean(root)
    declared = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project = declared["project"]
    tagged = git(root, "tag", "--points-at", "HEAD").split()
    version = check_version(root, tagged, git(root, "tag").split())
    tracked = [each for each in git(root, "ls-files", "-z").split("\0") if each]
    state = "tagged" if tagged else "not tagged yet"
    print(f"upto {version}, commit {commit[:12]}, {state}, {len(tracked)} files tracked")
    site = check_site(site, project["urls"])
    # An index and everyone else get the same bytes whenever this commit is built.
    epoch = git(root, "log", "-1", "--format=%ct").strip()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        source, built = folder / "source", folder / "built"
        copy_tracked(root, source)
        readme, left_out = on_index((source / "README.md").read_text(encoding="utf-8"), site)
        (source / "README.md").write_text(readme, encoding="utf-8")
        where = (
            f"lead to {site}" if site else "have no address: give SITE=https://… if there is one"
        )
        print(f"README: relative links {where}; left out: {', '.join(left_out) or 'nothing'}")
        build = (sys.executable, "-m", "hatchling", "build", "-d", built)
        run(*build, cwd=source, SOURCE_DATE_EPOCH=epoch)
        (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
        check_archives(wheel, sdist, tracked, declared)
        run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist, cwd=folder)
        print("twine check --strict: passed")
        quiet = ("--quiet", "--no-deps", "--no-cache-dir", "--disable-pip-version-check")
        pip = (sys.executable, "-m", "pip", "wheel", *quiet, "-w", folder / "again", sdist)
        run(*pip, cwd=folder, SOURCE_DATE_EPOCH=epoch)
        check_same(contents(wheel), contents(next((folder / "again").glob("*.whl"))))
        print("wheel built from the sdist: the same contents")
        installed = check_installed(wheel, folder, version)
        print(f"installed into an empty environment, demo run: {installed}")
        output.mkdir(exist_ok=True)
        paths = [Path(shutil.copy2(each, output)) for each in (wheel, sdist)]
    say_what_to_do(root, paths, version, is_tagged=bool(tagged))


def check_archives(
    wheel: Path, sdist: Path, tracked: list[str], declared: Mapping[str, Any]
) -> None:
    """Check names, sizes, metadata and README of both archives."""
    project = declared["project"]
    version = str(project["version"])
    with zipfile.ZipFile(wheel) as archive:
        stored = archive.infolist()
        about = archive.read(f"upto-{version}.dist-info/METADATA").decode()
    check_names("wheel", contents(wheel), wanted_in_wheel(tracked, declared, version))
    data = sum(each.compress_size for each in stored if not each.filename.endswith(".py"))
    check_size("wheel", wheel.stat().st_size, WHEEL_LIMIT)
    check_size("data of the wheel", data, DATA_LIMIT)
    with tarfile.open(sdist) as opened:
        names = [each.name.partition("/")[2] for each in opened.getmembers() if each.isfile()]
        told = opened.extractfile(f"upto-{version}/PKG-INFO")
        info = told.read().decode() if told is not None else ""
    check_names("sdist", names, wanted_in_sdist(tracked))
    check_size("sdist", sdist.stat().st_size, SDIST_LIMIT)
    for text in (about, info):
        check_readme(str(check_metadata(text, project).get_payload()))
    print(
        f"wheel: {len(stored)} files, as tracked; {wheel.stat().st_size:,} bytes, {data:,} of data"
    )
    print(f"sdist: {len(names)} files, as tracked; {sdist.stat().st_size:,} bytes")
    print("metadata: as in pyproject.toml; README renders, whole addresses only")


def say_what_to_do(root: Path, paths: list[Path], version: str, *, is_tagged: bool) -> None:
    print("\nNothing was uploaded. What would be:")
    for path in paths:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        print(f"  {path.name}  {path.stat().st_size:,} bytes\n    SHA-256 {digest}")
    print("\nTo publish:")
    if not is_tagged:
        print(f'  git tag -a v{version} -m "upto {version}"')
    print(f"  git push REMOTE v{version}")
    names = " ".join(os.path.relpath(path, root) for path in paths)
    print(f"  python -m twine upload {names}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--site", default="", help="where the built documentation is served")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository (default: this)")
    options = parser.parse_args()
    root = options.root.resolve()
    try:
        release(root, options.site or None, root / "dist")
    except RefusedError as error:
        print(f"make release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
