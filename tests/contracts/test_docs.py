"""The pages say what is true: their blocks run, and they name everything there is to name."""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from pydoc import locate

import numpy as np
import pytest
from checks.readme_on_index import address, on_index, relative, targets
from click import Context
from doc_tools import api_names, differences

import upto
from upto.cli.main import main
from upto.core import RULES
from upto.core.progress import PARTS
from upto.core.progress_bar import LineProgress

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        ROOT / "README.md",
        *(
            page
            for folder in ("", "faq", "findings", "measures", "tutorials")
            for page in (DOCS / folder).glob("*.md")
        ),
    ],
    key=lambda path: path.name,
)
TUTORIALS = sorted(path for path in DOCS.glob("tutorials/*.md") if path.stem != "index")
LANGUAGES = ("python", "console", "bash")
PROGRAMS = ("upto", "cp")
"""The commands of a page that are run; installing and making is left to people."""

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>.*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_PROGRESS = re.compile(r"^upto: .+ after \d+:\d\d.*\n", re.MULTILINE)
"""What long work says of itself where nobody watches; how often depends on the machine."""


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    reason: str | None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            language=match["language"],
            text=match["text"],
            line=text.count("\n", 0, match.start("text")) + 1,
            reason=match["reason"],
        )
        for match in _BLOCK.finditer(text)
    ]


def runnable(page: Path) -> list[Block]:
    return [b for b in blocks_of(page) if b.language in LANGUAGES and b.reason is None]


def commands_of(text: str) -> list[tuple[str, str]]:
    """Split a console block into commands and what each prints; without `$`, lines are commands."""
    if not any(line.startswith("$ ") for line in text.splitlines()):
        return [(line, "") for line in text.splitlines() if line and not line.startswith("#")]
    commands: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append((line.removeprefix("$ "), ""))
        else:
            command, output = commands[-1]
            commands[-1] = command, f"{output}{line}\n"
    return commands


def run_console(block: Block) -> None:
    scripts = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "OPENBLAS_NUM_THREADS": "1",
        "COLUMNS": "140",
    }
    for command, expected in commands_of(block.text):
        if command.split()[0] not in PROGRAMS:
            continue
        done = subprocess.run(
            ["bash", "-c", command],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"`{command}` failed:\n{done.stdout}"
        printed = _PROGRESS.sub("", done.stdout)
        if expected:
            assert differences(expected, printed) == [], f"`{command}` printed\n{printed}"


def test_progress_in_a_log_is_not_taken_for_output():
    lines: list[str] = []
    watched = LineProgress(say=lines.append, first=0.0, every=0.01)
    with watched.task("compare", PARTS) as advance, watched.task("evaluate", 240) as step:
        advance(4200)
        step(185)
        while not any(" left; evaluate" in line for line in lines):
            time.sleep(0.01)
    printed = "\n".join([*lines, "wrote batches.html", ""])
    assert _PROGRESS.sub("", printed) == "wrote batches.html\n"


class TolerantChecker(doctest.OutputChecker):
    """Take what a page shows for what is printed if only spaces and last digits differ."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return differences(want, got) == []


def run_python(page: Path, block: Block, names: dict[str, object]) -> None:
    where = f"{page.name}, line {block.line}"
    if block.text.startswith(">>>"):
        example = doctest.DocTestParser().get_doctest(block.text, names, where, str(page), 0)
        report = io.StringIO()
        runner = doctest.DocTestRunner(TolerantChecker(), verbose=False)
        failed, _ = runner.run(example, out=report.write, clear_globs=False)
        names.update(example.globs)
        assert failed == 0, report.getvalue()
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, where, "exec"), names)
    shown = following_text(page, block)
    if shown is not None and printed.getvalue():
        assert differences(shown, printed.getvalue()) == []


def following_text(page: Path, block: Block) -> str | None:
    """Return the ```text block right after a python block: what it prints."""
    blocks = blocks_of(page)
    position = blocks.index(block) + 1
    if position < len(blocks) and blocks[position].language == "text":
        return blocks[position].text
    return None


LONG = (
    "README",
    "two-seeds",
    "are-my-models",
    "align",
    "upgraded-model",
    "in-production",
    "batches",
    "quickstart",
    "scripts",
    "clusters",
    "file-formats",
    "gallery",
    "papers",
    "UP097",
    "UP103",
    "notebooks",
    "diversity",
    "mixture",
    "UP080",
    "linear-identifiability",
    "compare",
    "consensus",
    "lipschitz",
    "training",
    "engines",
    "similarity",
    "factors",
    "which-score",
    "clusters",
    "from-your-tool",
    "UP06",
    "UP070",
    "different-samples",
    "how-many",
    "why-is",
)
"""What names of pages begin with whose blocks take more than a few seconds."""


def is_long(page: Path) -> bool:
    # The examples of measures are also run where their pages are shown to be up to date.
    return page.parent.name == "measures" or page.stem.startswith(LONG)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow if is_long(page) else ())
        for page in PAGES
        if runnable(page)
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch, rng):
    """The pages call files of their readers seed0.npy and seed1.npy, or old, new and index."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    rows = rng.laplace(size=(300, 4))
    np.save("seed0.npy", rows)
    np.save("seed1.npy", rows[:, ::-1] + 1)
    for name, some in {"old": rows, "new": rows[:, ::-1], "index": rows[:200] / 2}.items():
        np.save(f"{name}.npy", some)
    names: dict[str, object] = {"__name__": "page"}
    n_run = 0
    for block in blocks_of(page):
        if block.language == "toml":
            Path("runs.toml").write_text(block.text, encoding="utf-8")
        elif block.language not in LANGUAGES or block.reason is not None:
            continue
        elif block.language == "python":
            run_python(page, block, names)
            n_run += 1
        else:
            run_console(block)
            n_run += 1
    assert n_run > 0


def test_blocks_that_are_not_run_say_why():
    skipped = {
        f"{page.name}:{block.line}": block.reason
        for page in PAGES
        for block in blocks_of(page)
        if block.reason is not None
    }
    assert all(reason.strip() for reason in skipped.values())
    assert len(skipped) <= 6, skipped


# The examples of findings are run by the test that their pages are up to date.
SLOW_PAGES = [
    pytest.param(page, marks=pytest.mark.slow) if page.parent.name == "findings" else page
    for page in PAGES
]


@pytest.mark.parametrize("page", SLOW_PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_fence_is_read(page):
    text = page.read_text(encoding="utf-8")
    opened = re.findall(rf"^```(?:{'|'.join(LANGUAGES)})\b", text, re.MULTILINE)
    assert len(opened) == sum(block.language in LANGUAGES for block in blocks_of(page))
    assert "```pycon" not in text


def test_every_public_name_is_in_the_api():
    listed = {each.name for each in api_names()}
    assert sorted({f"upto.{name}" for name in upto.__all__} - listed) == []


def test_every_name_of_the_api_page_exists():
    names = [each.name for each in api_names()]
    assert len(names) > 200
    assert [name for name in names if locate(name) is None] == []
    assert locate("upto.no_such_name") is None


def test_every_command_has_a_section():
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert re.findall(r"^## upto (\w+)$", text, re.MULTILINE) == main.list_commands(Context(main))


def test_every_page_is_in_a_toctree():
    listed = set()
    trees = ("faq.md", "index.md", "measures.md", "findings/index.md", "tutorials/index.md")
    for index in (DOCS / tree for tree in trees):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(), re.DOTALL):
            lines = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(index.parent / f"{line}.md").resolve() for line in lines}
    pages = {
        path.resolve()
        for path in DOCS.glob("**/*.md")
        if not {"_build", "api", "data"} & {*path.relative_to(DOCS).parts}
    }
    assert listed == pages - {DOCS / "index.md"}


CELL = re.compile(r"^```\{code-cell\}\n(?:---\n(.*?)^---\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_leads_from_a_question_to_a_page_and_its_limits(page):
    """`make docs` executes the cells, and fails if one of them does, or if they take a minute."""
    text = page.read_text(encoding="utf-8")
    opening, _, rest = text.partition("```{code-cell}")
    assert "file_format: mystnb\n" in opening, "without it, no cell is executed"
    assert "?" in opening.partition("\n# ")[2]
    assert f"{{nb-download}}`{page.stem}.ipynb`" in opening
    assert "upto.Report(" in rest
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[-2:] == ["What may go wrong", "Next"]
    cells = CELL.findall(text)
    assert len(cells) == text.count("```{code-cell}")
    silent = [code for options, code in cells if ".plot(" in code and "alt: " not in options]
    assert silent == [], "a picture needs words for those who cannot see it"


def test_every_tutorial_is_listed_with_its_question():
    text = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([\w-]+)\.md\)\n: ", text)) == {page.stem for page in TUTORIALS}


def test_only_executed_pages_have_cells():
    assert [
        page.name for page in {*PAGES} - {*TUTORIALS} if "{code-cell}" in page.read_text()
    ] == []


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_links_of_the_pages_beside_the_readme_lead_somewhere():
    for page in (*ROOT.glob("*.md"), *ROOT.glob(".github/*.md")):
        for target in targets(page.read_text(encoding="utf-8")):
            path = target.partition("#")[0]
            if path and "://" not in target:
                assert (page.parent / path).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("site", [None, "https://example.org/upto"])
def test_the_readme_has_whole_addresses_only_on_an_index(site):
    """A package index shows the README alone: what `make release` puts there leads somewhere."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown, left_out = on_index(text, site)
    assert relative(targets(shown)) == []
    assert bool(left_out) == any(address(each, site) is None for each in targets(text))
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ours = {each for each in targets(shown) if site is None or not each.startswith(site)}
    assert {each for each in ours if not each.startswith("#")} <= {*declared["urls"].values()}


NAMED = re.compile(r"\bupto\.([A-Za-z_][\w.]*\w)")
"""A name of the package in code, as a reader would write it after `import upto`."""


def names_in_code() -> list[str]:
    """Return the names of the package that README and pages write as code.

    Parts of questions are not among them: the page of the API names their modules.
    """
    found: set[str] = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(
            r"^```(?:python|\{api\}|\{code-cell\})\n(.*?)^```", text, re.MULTILINE | re.DOTALL
        )
        spans = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
        found.update(*(NAMED.findall(code) for code in (*blocks, *spans)))
    return sorted(name for name in found if not name.startswith("questions."))


def test_every_name_of_the_pages_is_there_after_importing_the_package():
    names = names_in_code()
    assert {"compare", "measures", "theory", "simulate", "files", "corrections"} <= {*names}
    code = (
        "import sys, operator, upto\n"
        "for name in sys.stdin.read().split():\n"
        "    try:\n"
        "        operator.attrgetter(name)(upto)\n"
        "    except AttributeError as error:\n"
        "        print(name, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""


def test_the_pages_only_name_findings_that_exist():
    for page in PAGES:
        codes = set(re.findall(r"\bUP\d{3}\b", page.read_text(encoding="utf-8")))
        assert codes <= set(RULES), page.name
