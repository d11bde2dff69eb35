"""A release is refused for each thing that would be wrong with it, and the right one passes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from checks import release
from checks.readme_on_index import addresses, on_index, relative, targets
from checks.release import RefusedError

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = DECLARED["project"]
VERSION = PROJECT["version"]
SITE = "https://example.org/upto"


@pytest.fixture
def sources(tmp_path):
    """Return a folder with the files that repeat the version."""
    for name in ("pyproject.toml", "CHANGELOG.md", "CITATION.cff", ".zenodo.json"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_one_version_is_everywhere(sources):
    others = ["v0.0.1", "newest"]
    assert release.check_version(sources, [], others) == VERSION
    assert release.check_version(sources, [f"v{VERSION}", "newest"], others) == VERSION


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("pyproject.toml", f'version = "{VERSION}"', 'version = "9.9.9"', "where “9.9.9 - DATE”"),
        (
            "CHANGELOG.md",
            f"## {VERSION} - ",
            f"## Unreleased\n\n- more\n\n## {VERSION} - ",
            "“Unreleased”",
        ),
        ("CHANGELOG.md", f"## {VERSION} - ", f"## {VERSION} of ", "DATE"),
        ("CITATION.cff", f"version: {VERSION}", "version: 9.9.9", "CITATION.cff has version 9.9.9"),
        ("CITATION.cff", "date-released: 20", "date-released: 19", "CITATION.cff"),
        (".zenodo.json", f'"version": "{VERSION}"', '"version": "9.9.9"', ".zenodo.json has"),
    ],
)
def test_another_version_anywhere_is_refused(sources, file, old, new, said):
    replace(sources / file, old, new)
    with pytest.raises(RefusedError, match=re.escape(said)):
        release.check_version(sources, [], [])


def test_a_tag_must_be_that_of_the_version_and_of_this_commit(sources):
    with pytest.raises(RefusedError, match=r"tagged v9\.9\.9"):
        release.check_version(sources, ["v9.9.9"], ["v9.9.9"])
    with pytest.raises(RefusedError, match="another commit"):
        release.check_version(sources, [], [f"v{VERSION}"])


def test_only_a_clean_tree_is_released(tmp_path):
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    (tmp_path / "kept.py").write_text("1\n")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "all")):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert re.fullmatch("[0-9a-f]{40,}", release.check_clean(tmp_path))
    (tmp_path / "stray.py").write_text("1\n")
    with pytest.raises(RefusedError, match=r"1 files differ .* such as stray\.py"):
        release.check_clean(tmp_path)


TRACKED = [
    "src/upto/a.py",
    "src/upto_studies/b.py",
    "src/upto/files/bundled/admet_members.npz",
    "README.md",
    ".ci/run",
]


def test_a_wheel_has_the_tracked_files_and_no_other():
    wanted = release.wanted_in_wheel(TRACKED, DECLARED, VERSION)
    assert {"upto/a.py", "upto_studies/b.py"} < wanted
    assert not any(name.endswith((".npz", "README.md", "run")) for name in wanted)
    release.check_names("wheel", wanted, wanted)
    with pytest.raises(RefusedError, match=r"the wheel has the file upto/stray\.npy"):
        release.check_names("wheel", [*wanted, "upto/stray.npy"], wanted)
    with pytest.raises(RefusedError, match=r"the wheel lacks the file upto/a\.py"):
        release.check_names("wheel", wanted - {"upto/a.py"}, wanted)


def test_an_sdist_has_the_tracked_files_but_those_of_the_workplace():
    assert release.wanted_in_sdist(TRACKED) == {*TRACKED, "PKG-INFO"} - {".ci/run"}


def test_a_large_archive_is_refused():
    release.check_size("wheel", 5, 5)
    with pytest.raises(RefusedError, match="wheel has 6 bytes, more than the 5"):
        release.check_size("wheel", 6, 5)


def metadata_of(project, readme="# upto\n"):
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        *(f"Project-URL: {label}, {url}" for label, url in project["urls"].items()),
        f"License-Expression: {project['license']}",
        *(f"Classifier: {each}" for each in project["classifiers"]),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join([*lines, "", readme])


def test_metadata_say_what_is_declared():
    assert release.check_metadata(metadata_of(PROJECT), PROJECT).get_payload() == "# upto\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (f"Version: {VERSION}", "Version: 9.9.9", "the metadata has Version 9.9.9"),
        ("BSD-3-Clause", "MIT", "License-Expression MIT"),
        ("Classifier: Typing :: Typed\n", "", "the metadata has Classifier"),
        ("Project-URL: Paper", "Project-URL: Article", "the metadata has Project-URL"),
        ("text/markdown", "text/plain", "Description-Content-Type"),
    ],
)
def test_other_metadata_are_refused(old, new, said):
    text = metadata_of(PROJECT)
    assert old in text
    with pytest.raises(RefusedError, match=re.escape(said)):
        release.check_metadata(text.replace(old, new, 1), PROJECT)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"classifiers": ["Topic :: Alchemy"]}, "Topic :: Alchemy"),
        ({"urls": {**PROJECT["urls"], "Source": "docs/index.md"}}, "whole https addresses"),
        ({"urls": {"Homepage": "https://a.b"}}, "whole https addresses"),
    ],
)
def test_classifiers_are_known_and_addresses_whole(changed, said):
    project = PROJECT | changed
    with pytest.raises(RefusedError, match=said):
        release.check_metadata(metadata_of(project), project)


README = """# A

<p align="center">
<picture>
  <source media="(prefers-color-scheme: dark)"
    srcset="docs/_static/dark.png, docs/_static/dark2.png 2x">
  <img src="docs/_static/light.png" alt="A report">
</picture>
</p>

![plot](docs/_static/plot.png "A plot") and [the *guide*](docs/guide.md#how),
[`code`](ARCHITECTURE.md),
[![badge](docs/_static/badge.png)](docs/index.md), <a href="CHANGELOG.md">changes</a>,
[a page][page], [page],
[whole](https://arxiv.org/abs/1), [here](#a).

`[code](docs/kept.md)`

```text
[code](docs/kept.md)
```

[page]: docs/faq/page.md
"""


def test_relative_links_become_whole_below_a_site():
    text, left_out = on_index(README, SITE)
    assert left_out == ["link ARCHITECTURE.md"]
    assert relative(targets(text)) == []
    assert {*targets(text)} == {
        "#a",
        "https://arxiv.org/abs/1",
        *(f"{SITE}/_static/{name}.png" for name in ("dark", "dark2", "light", "plot", "badge")),
        *(f"{SITE}/{page}" for page in ("guide.html#how", "index.html", "changelog.html")),
        f"{SITE}/faq/page.html",
    }
    assert f'srcset="{SITE}/_static/dark.png, {SITE}/_static/dark2.png 2x"' in text
    assert text.count("docs/kept.md") == 2
    assert "),\n`code`,\n" in text


def test_without_a_site_relative_links_are_text_and_pictures_are_left_out():
    text, left_out = on_index(README)
    assert {*targets(text)} == {"#a", "https://arxiv.org/abs/1"}
    assert len(left_out) == 8
    assert " and the *guide*,\n`code`,\n, changes,\na page, page,\n" in text
    assert "<img" not in text
    assert "![" not in text
    assert text.count("docs/kept.md") == 2


@pytest.mark.parametrize(
    "address", ["docs/a.md", "./a", "/a", "../a", "http://a.b/", "//a.b/c", "https:///a", "a.png"]
)
def test_an_address_that_leads_nowhere_on_an_index_is_noticed(address):
    for text in (f"[a]({address})", f'<img src="{address}">', f"[a]\n\n[a]: {address}\n"):
        assert relative(targets(text)) == [address]
    assert relative(addresses(f'<img srcset="https://a.b/c.png 1x, {address} 2x">')) == [address]


def test_a_readme_with_a_relative_link_is_refused():
    pytest.importorskip("readme_renderer.markdown")
    pytest.importorskip("comrak")
    release.check_readme("# A\n\n[b](https://example.org) [c](#a)\n")
    with pytest.raises(RefusedError, match=r"leads nowhere on an index: docs/b\.md"):
        release.check_readme("# A\n\n[b](docs/b.md)\n")


def test_a_readme_that_does_not_render_is_refused(monkeypatch):
    markdown = pytest.importorskip("readme_renderer.markdown")
    monkeypatch.setattr(markdown, "render", lambda text: None)
    with pytest.raises(RefusedError, match="does not render"):
        release.check_readme("# A\n")


def test_the_site_is_given_or_declared_and_whole():
    assert release.check_site(None, PROJECT["urls"]) == PROJECT["urls"].get("Documentation")
    assert release.check_site(None, {"Documentation": SITE}) == SITE
    assert release.check_site(SITE, {"Documentation": "https://elsewhere.org"}) == SITE
    with pytest.raises(RefusedError, match=r"'example\.org' is no whole address"):
        release.check_site("example.org", {})


@pytest.mark.parametrize(
    ("page", "told", "said"),
    [
        ("<!doctype html>\n<html>", f"upto {VERSION}, Python 3.12\n", None),
        ("nothing", f"upto {VERSION}, Python 3.12\n", "wrote no page"),
        ("<html>", "upto 9.9.9, Python 3.12\n", f"does not begin with upto {VERSION}"),
        ("<html>", "", f"does not begin with upto {VERSION}"),
    ],
)
def test_what_is_installed_must_run(tmp_path, monkeypatch, page, told, said):
    def run(*command, cwd):
        (cwd / "report.html").write_text(page)
        return told

    monkeypatch.setattr(release, "run", run)
    monkeypatch.setattr(release.venv, "create", lambda folder, with_pip: folder.mkdir())
    wheel = tmp_path / "upto.whl"
    if said is None:
        assert told.strip() in release.check_installed(wheel, tmp_path, VERSION)
        return
    with pytest.raises(RefusedError, match=re.escape(said)):
        release.check_installed(wheel, tmp_path, VERSION)


def test_wheels_that_differ_are_refused():
    release.check_same({"a": "1"}, {"a": "1"})
    for other in ({"a": "2"}, {"a": "1", "b": "1"}, {}):
        with pytest.raises(RefusedError, match=r"in 1 files, such as [ab]\."):
            release.check_same({"a": "1"}, other)


def test_a_command_that_fails_is_named_with_what_it_said(tmp_path):
    with pytest.raises(RefusedError, match=r"`python\S* -c .*` failed:\nno"):
        release.run(sys.executable, "-c", "raise SystemExit('no')", cwd=tmp_path)


def test_a_problem_is_one_line_and_exit_code_1(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["release", "--root", str(tmp_path)])
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "stray").write_text("")
    assert release.main() == 1
    assert capsys.readouterr().err.startswith("make release: 1 files differ")


def tree_of_today(folder: Path) -> None:
    """Commit what is here, committed or not, to a repository of its own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    if not listed:
        pytest.skip("this is no git repository")
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "all")):
        subprocess.run([*git, *command], cwd=folder, check=True)


@pytest.mark.slow
def test_a_release_is_built_checked_and_installed(tmp_path):
    for needed in ("twine", "comrak", "hatchling"):
        pytest.importorskip(needed)
    probe = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "-d",
        str(tmp_path),
        "click",
    ]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"there is no package index here: {done.stderr.strip()[-80:]}")
    root = tmp_path / "root"
    root.mkdir()
    tree_of_today(root)
    done = subprocess.run(
        [sys.executable, "-m", "checks.release", "--root", str(root), "--site", SITE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"upto {VERSION}, commit " in done.stdout
    assert f"demo run: upto {VERSION}, Python 3." in done.stdout
    assert len(re.findall("SHA-256 [0-9a-f]{64}", done.stdout)) == 2
    assert f'git tag -a v{VERSION} -m "upto {VERSION}"' in done.stdout
    assert {path.name for path in (root / "dist").iterdir()} == {
        f"upto-{VERSION}-py3-none-any.whl",
        f"upto-{VERSION}.tar.gz",
    }
