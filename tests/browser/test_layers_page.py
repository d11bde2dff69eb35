"""The page of layers in a real browser: it answers, it is legible, and names are only names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import sample_layers as sample
from browser.test_page import CONTRAST, HOSTILE, LEGIBLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser.conftest import Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_page_of_layers_shows_every_section(show: Callable[..., Tab]) -> None:
    page = show(sample.layers(6, 4)).page
    titles = page.get_by_role("heading", level=2).all_inner_texts()
    assert titles == ["All pairs of layers", "Aligned layers", "Provenance", "How to cite"]
    assert page.locator("[data-layers] tbody td").count() == 24
    assert page.locator("[data-layers] td.closest").count() == 6
    result = sample.layers(6, 4)
    beyond = sum(p is not None and p <= 0.05 for row in result.pairs[0].p_value for p in row)
    assert page.locator("[data-layers] td.beyond").count() == beyond
    assert 0 < beyond < 24


def test_a_cell_tells_its_layers(show: Callable[..., Tab]) -> None:
    result = sample.layers(6, 4)
    page = show(result).page
    page.locator("[data-layers] tbody tr").nth(2).locator("td").nth(1).hover()
    assert page.locator("#tip").inner_text().split("\n") == [
        "seed-0: block.2",
        "seed-1: block.1",
        f"linear cka {result.pairs[0].value[2][1]:.3f}",
        "limit of chance 0.080",
        "adjusted p 0.0050",
    ]
    page.locator(".brand").hover()
    assert page.locator("#tip").is_hidden()


def test_arrow_keys_walk_the_layers(show: Callable[..., Tab]) -> None:
    page = show(sample.layers(6, 4)).page
    page.locator("[data-layers] tbody td").first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    place = page.evaluate(
        "[document.activeElement.parentElement.sectionRowIndex, document.activeElement.cellIndex]"
    )
    assert place == [2, 1]
    assert page.locator("#tip").inner_text().startswith("seed-0: block.2")


def test_the_curve_answers_pointer_and_keys(show: Callable[..., Tab]) -> None:
    result = sample.layers(6, 4)
    page = show(result).page
    plane = page.locator("[data-plot='0'] .plane")
    plane.focus()
    page.keyboard.press("End")
    step = result.pairs[0].along[-1]
    lines = page.locator("#tip").inner_text().split("\n")
    assert lines == [
        "block.5",
        f"aligned with block.{step.beside}",
        f"linear-cka {step.value:.3f}",
        "limit of chance 0.080",
        "adjusted p 0.005",
    ]


def test_choosing_runs_shows_their_layers_and_curve(show: Callable[..., Tab]) -> None:
    page = show(sample.layers(3, 4, 5, measures=("linear-cka", "mutual-knn:10"))).page
    tables = page.locator("[data-layers]:visible")
    assert (tables.count(), tables.get_attribute("data-layers")) == (1, "0")
    page.get_by_role("combobox").select_option(label="seed-1 → seed-2, mutual knn:10")
    assert (tables.count(), tables.get_attribute("data-layers")) == (1, "5")
    assert page.locator("[data-layers='5'] tbody td").count() == 20
    page.locator("[data-plot='5'] .plane").hover()
    assert "mutual-knn:10" in page.locator("#tip").inner_text()


def test_a_dead_layer_breaks_the_curve_and_has_no_numbers(show: Callable[..., Tab]) -> None:
    page = show(sample.layers(6, 6, dead=2)).page
    drawn = page.locator("[data-plot='0'] path.curve.p0").first.get_attribute("d") or ""
    assert drawn.count("M") == 2
    row = page.locator("[data-layers] tbody tr").nth(2)
    assert row.locator("td.none").count() == 6
    row.locator("td").first.hover()
    assert page.locator("#tip").inner_text().endswith("not compared")


def test_one_run_and_many_layers_are_drawn(show: Callable[..., Tab]) -> None:
    page = show(sample.layers(30)).page
    assert page.locator("[data-layers].dense tbody td").count() == 900
    assert page.locator("[data-layers] td.none").count() == 30
    assert "matrices of more than 24 layers" in page.locator("main").inner_text()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(show: Callable[..., Tab], scheme: str) -> None:
    page = show(sample.layers(6, 4, 5), scheme=scheme).page
    selectors = (
        "h1", ".note:visible", ".facts dd", ".heat:visible td[class^=h]", ".heat:visible th",
        ".ramp:visible span", ".keys:visible span", ".axis:visible text", ".side:visible text",
        ".pick", "select",
    )  # fmt: skip
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

    def result(word: str) -> object:
        return sample.layers(3, 4, 3, names=(word, "two", "three"), stem=word, verdict=word)

    plain = show(result("harmless")).page.evaluate(count)
    page = show(result(hostile)).page
    assert page.evaluate(count) == plain
    assert page.locator("img, #intruder").count() == 0
    page.locator("[data-layers] tbody td >> visible=true").nth(1).hover()
    assert page.locator("#tip div").count() == 5
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, 768])
def test_a_narrow_window_does_not_scroll_sideways(show: Callable[..., Tab], width: int) -> None:
    tab = show(sample.layers(30, 20), sample.layers(3, 3, 3, stem="x" * 500), width=width)
    for summary in tab.page.locator("summary").all():
        summary.click()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
