"""Pages, figures and the README's table are made by commands; here they are those of today."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from doc_tools import DOCS, ROUNDING, differences, load_tool

import upto
from upto.files import bundled_path
from upto.measures import MEASURES
from upto_studies.run import STUDIES, recorded_result, study_folder

ROOT = Path(__file__).parents[2]
FIGURES = DOCS / "studies"
NOT_PAGES = {"findings", "measures", "report_picture"}
"""Scripts that write many pages or none, with tests of their own."""
LONG = {"mixing_scores", "what_upto_says"}
TOOLS = sorted(path.stem for path in (DOCS / "_tools").glob("*.py"))


def test_words_that_differ_are_noticed():
    assert differences("error 0.184 of it", "error 0.1841  of it") == []
    assert differences("error 0.184 of it", "error 0.250 of it") == ["0.184 is 0.250"]
    assert differences("rigid", "affine") == ["rigid is affine"]
    assert differences("one", "one two") != []
    assert differences("[0.4819, 0.5056]", "[0.4810, 0.5065]") == []
    assert differences("[0.4819, 0.5056]", "[0.4810, 0.5065]", relative=0, absolute=ROUNDING)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LONG else ())
        for name in TOOLS
        if name not in NOT_PAGES
    ],
)
def test_a_page_is_up_to_date(name):
    tool = load_tool(name)
    page = tool.PAGE.read_text(encoding="utf-8")
    assert differences(page, tool.page()) == [], f"run `python docs/_tools/{name}.py`"


@pytest.fixture(scope="module")
def measures():
    return load_tool("measures")


def test_the_pages_of_measures_are_up_to_date(measures):
    pages = measures.pages()
    assert set(pages) == set(measures.FOLDER.glob("*.md"))
    for path, today in (pages | {measures.PAGE: measures.page()}).items():
        page = path.read_text(encoding="utf-8")
        assert differences(page, today) == [], f"{path.name}: run `python docs/_tools/measures.py`"


def test_packages_are_said_to_agree_where_a_test_calls_them(measures):
    oracles = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "oracles").glob("*.py")
    )
    for *_, test in measures.LIVE.values():
        assert f"def {test}(" in oracles
    agreeing = {name for name, found in measures.peers().items() if found}
    assert set(MEASURES) - agreeing == {"pwcca", "mutual-knn", "semi-correlation-match"}


def test_references_are_read_from_bibtex(measures):
    assert measures.accents(r"Sz{\'e}kely, Sch{\"o}lkopf, B{\u{a}}doiu {CKA} 1--2") == (
        "Székely, Schölkopf, Bădoiu CKA 1–2"
    )
    assert measures.reference("Hotelling 1936") == (
        "- Hotelling: *Relations between two sets of variates*. Biometrika 28 (1936), 321–377."
    )


@pytest.fixture(scope="module")
def picture():
    return load_tool("report_picture")


@pytest.fixture(scope="module")
def comparison(picture):
    return picture.comparison()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_of_the_first_page_is_of_today(picture, comparison, scheme):
    path = picture.FOLDER / f"report-{scheme}.png"
    shown, today = picture.words_in(path), picture.words(comparison)
    assert str(comparison.verdict).partition("the held-out error")[0][-40:] in today
    assert differences(shown, today) == [], "run `python docs/_tools/report_picture.py`"
    assert path.stat().st_size < 150_000


def test_a_picture_of_other_numbers_is_noticed(picture, comparison):
    other = comparison.verdict.replace("0.170", "0.190")
    assert differences(picture.words(replace(comparison, verdict=other)), picture.words(comparison))


def test_every_picture_of_the_pages_is_made_by_a_command(picture):
    shown = {path.name for path in picture.FOLDER.glob("*.*") if path.suffix != ".css"}
    assert shown == {f"report-{scheme}.png" for scheme in picture.SCHEMES}


@pytest.mark.slow
def test_the_caption_of_the_components_is_of_today():
    caption = (DOCS / "unmix.md").read_text(encoding="utf-8").partition("gallery/unmix.png")[2]
    found = re.search(r"(\d+) of the 64\s+components are recovered", caption)
    result = upto.unmix(f"{bundled_path('cifar_resnets')}::resnet20", restarts=10, seed=0)
    assert int(found[1]) == result.n_identifiable


def test_the_readme_shows_what_the_demo_prints(comparison):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    said, _, table = block.partition("\n\n")
    assert differences(said, str(comparison.verdict)) == []
    today = [" ".join(row) for row in comparison.tables()[0].texts()]
    shown = [line for line in table.splitlines()[2:] if line.strip() != "…"]
    assert len(shown) == 7
    quickstart = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    for line in shown:
        assert line in quickstart.splitlines(), f"{line} is another one in the quickstart"
        assert any(differences(line, row, relative=0, absolute=ROUNDING) == [] for row in today), (
            f"{line} is not of today"
        )


def test_the_readme_says_what_few_rows_do():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    said = re.search(r"explains (\d+) % of the variance in sample and (\d+) % held out", text)
    assert "first 192 images of the pair above, three\n  for each dimension" in text
    with np.load(bundled_path("cifar_resnets")) as file:
        pair = [file[name][:192] for name in ("resnet20", "resnet32")]
    affine = upto.compare(*pair, up_to="affine", ica=False, refits=0, seed=0).affine
    today = [affine.in_sample.r2, affine.held_out.r2]
    assert [float(each) / 100 for each in said.groups()] == pytest.approx(today, abs=0.02)


def test_a_study_shows_the_same_counts_everywhere():
    page = (DOCS / "studies.md").read_text(encoding="utf-8")
    for readme in (ROOT / "src" / "upto_studies").glob("*/README.md"):
        assert not re.search(r"\d+ (?:of \d+ )?claims hold", readme.read_text(encoding="utf-8"))
    assert "the paper's claims borne out" in page


def drawn(svg):
    """Return the words of a figure by matplotlib, and where its lines and marks are."""
    words = re.findall(r"<!-- (.*?) -->", svg, re.DOTALL)
    body = re.sub(r"<(defs|metadata)>.*?</\1>", "", svg, flags=re.DOTALL)
    places = re.findall(r' (?:d|x|y|transform)="([^"]*)"', body)
    return words, [float(each) for each in re.findall(r"-?\d+\.?\d*", " ".join(places))]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STUDIES if recorded_result(name)])
def test_the_figure_of_a_study_is_that_of_its_recorded_result(name):
    kept = (FIGURES / f"{name}.svg").read_text(encoding="utf-8")
    file = io.StringIO()
    recorded_result(name).plot().savefig(file, format="svg", metadata={"Date": None})
    (words, places), (words_today, places_today) = drawn(kept), drawn(file.getvalue())
    assert words == words_today
    if f"Matplotlib v{version('matplotlib')}," in kept:  # others lay the same figure out anew
        assert places == pytest.approx(places_today, abs=0.5)
    else:
        assert len(places) > 100


def test_a_figure_of_other_numbers_is_noticed():
    svg = '<path d="M 1.0 2.5 L 3 4" /><!-- words --><defs><path d="M 9 9" /></defs>'
    assert drawn(svg) == (["words"], [1.0, 2.5, 3.0, 4.0])


NOT_OF_THE_RUN = {
    "autoencoder-ica": {2.11, 2.72},
    "cell-painting": {0.644},
    "class-diversity": {0.49},
    "contrastive-patches": {0.147, 0.255},
    "digit-clusters": {0.005, 0.008, 0.03, 0.615, 0.616, 0.65, 0.681, 0.686, 94.46},
    "facets-mnist": {3.02, 92.02},
    "likelihood-surfaces": {0.031},
    "speakers": {0.207},
}
"""Versions, rates, percentages, earlier values and those of other sizes that the text names so."""


def numbers_of(record):
    """Return all numbers of a record, those in its words included."""
    if isinstance(record, dict):
        record = list(record.values())
    if isinstance(record, list):
        return [number for each in record for number in numbers_of(each)]
    if isinstance(record, str):
        return [float(each) for each in re.findall(r"\d*\.\d+", record)]
    return [abs(float(record))] if isinstance(record, (int, float)) else []


def unknown_numbers(text, known):
    """Return the numbers of a text with two decimals or more that are none of those known."""
    found = re.findall(r"(?<![\w.])\d*\.(\d{2,})\b", text)
    written = re.findall(r"(?<![\w.])(\d*\.\d{2,})\b", text)
    known = np.sort(known)
    missing = set()
    for number, decimals in zip(map(float, written), map(len, found), strict=True):
        unit = 10.0**-decimals
        first = np.searchsorted(known, number - 0.51 * unit)
        if first == len(known) or known[first] > number + 0.51 * unit:
            missing.add(number)
    return missing


@pytest.mark.parametrize("name", [name for name in STUDIES if recorded_result(name)])
def test_the_numbers_of_a_study_s_text_are_those_of_its_record(name):
    folder = study_folder(name)
    known = [
        number
        for file in ("result.json", "expected.json")
        for number in numbers_of(json.loads((folder / file).read_text(encoding="utf-8")))
    ]
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert unknown_numbers(text, known) == NOT_OF_THE_RUN.get(name, set())


def test_a_number_that_was_not_measured_is_noticed():
    assert unknown_numbers("from .123 to −0.50 in 0.5 s", [0.1234, 0.5]) == set()
    assert unknown_numbers("from .123 to 0.52", [0.1234, 0.5]) == {0.52}
