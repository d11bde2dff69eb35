"""The page of latents and factors in a real browser: it answers, is legible, keeps its width."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from browser import sample_factors as sample
from browser.sample_factors import GIVEN, ICA
from browser.test_page import CONTRAST, HOSTILE, LEGIBLE

from upto.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from browser.conftest import Tab

    from upto.questions.factors.result import FactorsResult

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FOUR = (GIVEN, ICA, "ICA, literal", "ICA, active")
WIDE = tuple(f"factor number {number}" for number in range(40))


def test_a_page_has_every_section(show: Callable[..., Tab]) -> None:
    page = show(sample.factors()).page
    titles = page.get_by_role("heading", level=2).all_inner_texts()
    assert titles == [
        "Latents that carry each factor",
        "Scores before and after ICA",
        "Error to the truth up to each group",
        "Provenance",
        "How to cite",
    ]
    assert page.locator("[data-latents]:visible").count() == 2
    assert page.locator(".measures .row").count() == 2 * len(sample.SCORES)
    assert page.locator(".errors .row:visible").count() == 2 * len(sample.ERRORS)
    page.locator("[data-axis=log]").click()
    assert page.locator(".errors .log .row:visible").count() == 2 * len(sample.ERRORS)


def test_maps_stand_side_by_side_and_rows_are_level(show: Callable[..., Tab]) -> None:
    page = show(sample.factors(forms=FOUR)).page
    left, right = (
        page.locator(f"[data-latents='{number}'] tbody td").first.bounding_box()
        for number in (0, 1)
    )
    assert left is not None
    assert right is not None
    assert right["x"] > left["x"] + 400
    assert right["y"] == pytest.approx(left["y"], abs=1)


def test_another_form_can_be_chosen(show: Callable[..., Tab]) -> None:
    page = show(sample.factors(forms=FOUR)).page
    shown = page.locator("[data-latents]:visible")
    assert [node.get_attribute("data-latents") for node in shown.all()] == ["0", "1"]
    page.get_by_role("combobox").select_option(label="ICA, active")
    assert [node.get_attribute("data-latents") for node in shown.all()] == ["0", "3"]
    page = show(sample.factors(WIDE, 50, forms=FOUR)).page
    shown = page.locator("[data-latents]:visible")
    assert shown.get_attribute("data-latents") == "1"
    page.get_by_role("combobox").select_option(label=GIVEN)
    assert shown.get_attribute("data-latents") == "0"


def test_a_cell_tells_its_latent_and_factor(show: Callable[..., Tab]) -> None:
    page = show(sample.factors(constant=(3,))).page
    cells = page.locator("[data-latents='1'] tbody tr").nth(1).locator("td")
    tip = page.locator("#tip")
    cells.nth(1).hover()
    assert tip.inner_text().split("\n") == [
        "wall hue",
        "latent 2, active, spread 1.2, ICA",
        "has 0.880 of its information",
        "matched to this factor",
    ]
    cells.nth(3).hover()
    assert tip.inner_text().split("\n")[2:] == ["this factor has no information"]
    page.locator("[data-latents='0'] tbody td").first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert tip.inner_text().split("\n")[:2] == [
        "object hue",
        "latent 2, active, spread 1.2, as given",
    ]


def test_pointing_at_a_score_or_an_error_tells_its_numbers(show: Callable[..., Tab]) -> None:
    page = show(sample.factors()).page
    tip = page.locator("#tip")
    # The first move brings the row into sight, and scrolling hides what was told.
    for x in (20, 30):
        page.get_by_role("img", name="InfoM, ICA").hover(position={"x": x, "y": 10})
    assert tip.inner_text().split("\n") == [
        "InfoM, ICA",
        "value 0.930 [0.910, 0.945]",
        "chance 0.050",
        "limit of chance 0.080",
        "calibrated 0.926",
        "p 0.05",
        "higher is better",
    ]
    for x in (20, 30):
        row = page.get_by_role("img", name="up to scaled-permutation, ICA")
        row.hover(position={"x": x, "y": 10})
    assert "worst error ε 0.086 to 0.107" in tip.inner_text()


def test_the_head_of_a_long_map_stays_in_sight(show: Callable[..., Tab]) -> None:
    page = show(sample.factors(WIDE, 100)).page
    box = page.locator(".long:visible")
    box.evaluate("node => { node.scrollTop = 900; node.scrollLeft = 200; }")
    edges = box.bounding_box()
    head = box.locator("thead th").nth(12).bounding_box()
    first = box.locator("tbody th").nth(60).bounding_box()
    assert edges is not None
    assert head is not None
    assert first is not None
    assert head["y"] == pytest.approx(edges["y"], abs=1)
    assert first["x"] == pytest.approx(edges["x"], abs=1)


def test_the_page_reads_without_the_script(show: Callable[..., Tab], tmp_path: Path) -> None:
    result = sample.factors()
    head, _, _ = Report([result]).html().rpartition("<script>")
    path = tmp_path / "quiet.html"
    path.write_text(head + "</body></html>", encoding="utf-8")
    page = show(result).page
    page.goto(path.as_uri())
    assert page.locator("[data-latents='1'] tbody td").first.inner_text() == "0.95"
    assert page.locator(".measures .row .held-out:visible").count() == 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(show: Callable[..., Tab], scheme: str) -> None:
    result = sample.factors(forms=FOUR)
    # A latent of little spread may tell much: its cells are pale, its numbers are not.
    bold = tuple(
        replace(form, shares=(*form.shares[:9], *((0.95, 0.75, 0.55, 0.35, 0.15, 0.0),) * 3))
        for form in result.forms
    )
    page = show(replace(result, forms=bold), scheme=scheme).page
    selectors = (
        "h1", ".note:visible", ".facts dd", ".heat:visible th", ".heat:visible small",
        ".heat:visible td[class^=h]", ".quiet-row:visible td", ".by-form span:visible",
        ".by-form small", ".keys:visible span", ".ramp span", ".sentences li", "select", ".badge",
    )  # fmt: skip
    faint = {}
    for selector in selectors:
        nodes = page.locator(selector)
        assert nodes.count() > 0, selector
        ratios = [node.evaluate(CONTRAST) for node in nodes.all()[:40]]
        if min(ratios) < LEGIBLE:
            faint[selector] = min(ratios)
    assert faint == {}


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_are_only_words(show: Callable[..., Tab], hostile: str) -> None:
    count = "document.querySelectorAll('*').length"

    def result(word: str) -> FactorsResult:
        made = sample.factors((word, "b", "c"), 4, name=word, verdict=word)
        made = sample.renamed(made, ICA, f"{word} ", word)
        return replace(
            made,
            scores=tuple(replace(score, title=word) for score in made.scores),
            structure=tuple(replace(each, verdict=word) for each in made.structure),
        )

    plain = show(result("harmless")).page.evaluate(count)
    page = show(result(hostile)).page
    assert page.evaluate(count) == plain
    assert page.locator("img, #intruder").count() == 0
    page.locator("[data-latents='1'] tbody td").first.hover()
    assert page.locator("#tip div").count() == 4
    page.locator(".measures .row").first.hover()
    assert page.locator("#tip div").count() == 7
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_window_scrolls_sideways(show: Callable[..., Tab], width: int) -> None:
    long = tuple(name * 300 for name in "abc")
    tab = show(
        sample.factors(("x",), 2), sample.factors(long, 5, name=long[0]),
        sample.factors(forms=FOUR), sample.factors(WIDE, 128, forms=FOUR), width=width,
    )  # fmt: skip
    for summary in tab.page.locator("summary").all():
        summary.click()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    for row in tab.page.locator(".by-form .row:visible").all()[:12]:
        box = row.bounding_box()
        assert box is not None
        assert box["width"] > 60
