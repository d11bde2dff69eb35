"""The page of similarities in a real browser: it answers, is legible, and names are only names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from browser import sample_similarities as sample
from browser.test_page import CONTRAST, HOSTILE, LEGIBLE

from upto.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from browser.conftest import Tab

    from upto.questions.similarity.result import SimilarityResult

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_page_of_two_runs_shows_every_measure(show: Callable[..., Tab]) -> None:
    page = show(sample.similarities(2)).page
    titles = page.get_by_role("heading", level=2).all_inner_texts()
    assert titles == ["Values by measure", "Provenance", "How to cite"]
    assert page.locator(".measures .row").count() == 7
    assert page.locator(".measures h3").count() == 3
    assert page.locator(".measures .within-chance").count() == 1
    assert page.locator("[data-heat]").count() == 0


def test_pointing_at_a_measure_tells_its_numbers(show: Callable[..., Tab]) -> None:
    result = sample.similarities(2)
    page = show(result).page
    row = page.get_by_role("img", name="Procrustes distance")
    row.hover()
    (found,) = result.of("procrustes")
    assert page.locator("#tip").inner_text().split("\n") == [
        "Procrustes distance",
        f"value {found.value:.3f}",
        "chance 1.960",
        "limit of chance 1.800",
        f"calibrated {found.calibrated:.3f}",
        "adjusted p 0.012",
        "lower is closer",
    ]
    page.locator(".brand").hover()
    assert page.locator("#tip").is_hidden()


def test_a_closer_distance_stands_further_right(show: Callable[..., Tab]) -> None:
    page = show(sample.similarities(2)).page
    row = page.get_by_role("img", name="Procrustes distance")
    value, limit = (row.locator(mark).bounding_box() for mark in (".held-out", ".chance"))
    assert value is not None
    assert limit is not None
    assert value["x"] > limit["x"] + 50


def test_choosing_a_measure_shows_its_map(show: Callable[..., Tab]) -> None:
    result = sample.similarities(6)
    page = show(result).page
    maps = page.locator("[data-heat]:visible")
    assert (maps.count(), maps.get_attribute("data-heat")) == (1, "0")
    page.get_by_role("combobox").select_option(label="PWCCA")
    assert (maps.count(), maps.get_attribute("data-heat")) == (1, "5")
    assert maps.locator("td.none").count() == 6
    beyond = sum(row.is_beyond_chance for row in result.of("pwcca"))
    assert maps.locator("td.beyond").count() == beyond > 0
    mean = result.measure("pwcca").mean
    assert f"{mean:.3f}" in page.locator(".mean:visible").inner_text()


def test_a_cell_tells_its_pair_in_its_direction(show: Callable[..., Tab]) -> None:
    result = sample.similarities(5)
    page = show(result).page
    page.get_by_role("combobox").select_option(label="PWCCA")
    page.locator("[data-heat='5'] tbody tr").nth(2).locator("td").nth(1).hover()
    (found,) = [
        row for row in result.of("pwcca") if (row.first, row.second) == ("seed-0", "seed-3")
    ]
    assert page.locator("#tip").inner_text().split("\n") == [
        "seed-0 →",
        "seed-3",
        f"PWCCA {found.value:.3f}",
        "limit of chance 0.100",
        f"calibrated {found.calibrated:.3f}",
        "adjusted p 0.012",
    ]
    page.locator("[data-heat='5'] tbody tr").nth(2).locator("td").nth(2).hover()
    assert page.locator("#tip").inner_text() == "seed-0\nthe run itself"


def test_arrow_keys_walk_the_pairs(show: Callable[..., Tab]) -> None:
    page = show(sample.similarities(5)).page
    page.locator("[data-heat='0'] tbody td").first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert page.locator("#tip").inner_text().startswith("seed-0 and\nseed-3")


def test_without_chance_the_page_still_answers(show: Callable[..., Tab]) -> None:
    page = show(sample.similarities(3, bare=True)).page
    page.locator("[data-heat='0'] tbody td").nth(1).hover()
    assert "limit of chance –" in page.locator("#tip").inner_text()


def test_the_page_reads_without_the_script(show: Callable[..., Tab], tmp_path: Path) -> None:
    result = sample.similarities(4)
    head, _, _ = Report([result]).html().rpartition("<script>")
    path = tmp_path / "quiet.html"
    path.write_text(head + "</body></html>", encoding="utf-8")
    page = show(result).page
    page.goto(path.as_uri())
    assert page.locator("[data-heat]:visible").count() == 1
    first = result.matrix("linear-cka")[1][3]
    assert page.locator("[data-heat='0'] tbody td").nth(1).inner_text() == f"{first:.2f}"
    assert page.locator(".measures .row .held-out:visible").count() == 5
    page.locator("summary").click()
    assert page.locator("details table:visible").count() == len(result.measures)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("count", [2, 6])
def test_text_is_legible(show: Callable[..., Tab], scheme: str, count: int) -> None:
    page = show(sample.similarities(count), scheme=scheme).page
    selectors = [
        "h1", ".note:visible", ".facts dd", ".measures h3", ".measures > span:visible",
        ".measures small", ".keys:visible span",
    ]  # fmt: skip
    if count > 2:
        selectors += [".heat:visible td[class^=h]", ".ramp:visible span", ".mean:visible", "select"]
    faint = {}
    for selector in selectors:
        nodes = page.locator(selector)
        assert nodes.count() > 0, selector
        ratios = [node.evaluate(CONTRAST) for node in nodes.all()[:24]]
        if min(ratios) < LEGIBLE:
            faint[selector] = min(ratios)
    assert faint == {}


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_are_only_words(show: Callable[..., Tab], hostile: str) -> None:
    count = "document.querySelectorAll('*').length"

    def results(word: str) -> tuple[SimilarityResult, ...]:
        measures = (replace(sample.ONTO, title=word, says=word), sample.CKA)
        return tuple(
            sample.similarities(
                len(names), names=names, measures=measures, verdict=word, within=word
            )
            for names in ((word, "two"), (word, "two", "three"))
        )

    plain = show(*results("harmless")).page.evaluate(count)
    page = show(*results(hostile)).page
    assert page.evaluate(count) == plain
    assert page.locator("img, #intruder").count() == 0
    page.locator("[data-heat='0'] tbody td").nth(1).hover()
    assert page.locator("#tip div").count() == 6
    page.locator(".measures .row").first.hover()
    assert page.locator("#tip div").count() == 7
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, 768])
def test_a_narrow_window_does_not_scroll_sideways(show: Callable[..., Tab], width: int) -> None:
    long = tuple(name * 300 for name in "abc")
    tab = show(
        sample.similarities(2, names=long[:2]), sample.similarities(3, names=long),
        sample.similarities(20), width=width,
    )  # fmt: skip
    for summary in tab.page.locator("summary").all():
        summary.click()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    for row in tab.page.locator(".measures .row").all()[:7]:
        box = row.bounding_box()
        assert box is not None
        assert box["width"] > 80
