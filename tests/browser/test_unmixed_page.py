"""Unmixed components in a real browser: charts answer, tables sort, and names stay names."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest
from browser import sample_results as sample
from browser.test_page import CONTRAST, HOSTILE, LEGIBLE, column

from upto.core import Finding
from upto.questions.unmix.page import subspace_sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser.conftest import Tab
    from playwright.sync_api import Locator, Page

    from upto.questions.unmix.result import UnmixResult

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COMPONENTS = "[data-plot='0']"
TRACE = "[data-plot='1']"


def point_at(page: Page, plane: Locator, share: float) -> None:
    plane.scroll_into_view_if_needed()
    # Scrolling hides the tip one frame later, which must not happen after the pointer has moved.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    box = plane.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)


def middle(index: int, count: int = 24) -> float:
    return (index + 0.5) / count


def test_a_page_shows_the_verdict_first_and_then_every_section(show: Callable[..., Tab]) -> None:
    page = show(sample.unmixed()).page
    heading = page.get_by_role("heading", level=1)
    assert heading.inner_text() == "19 of 24 components are identifiable"
    assert page.locator(".badge").inner_text() == "partly identifiable"
    assert page.get_by_role("heading", level=2).all_inner_texts() == [
        "Components",
        "Trace",
        "Identifiable components",
        "Findings",
        "Provenance",
        "How to cite",
    ]
    assert "can be rotated freely" in page.locator(".sentences").inner_text()
    assert "What to do" in page.locator(".finding").inner_text()
    assert page.locator(f"{COMPONENTS} .over").all_inner_texts() == [
        "non-Gaussianity",
        "stability",
        "subspaces",
    ]


@pytest.mark.parametrize("plane", [0, 1, 2])
def test_pointing_at_any_plane_shows_the_component(show: Callable[..., Tab], plane: int) -> None:
    result = sample.unmixed()
    page = show(result).page
    tip = page.locator("#tip")
    assert tip.is_hidden()
    point_at(page, page.locator(f"{COMPONENTS} .plane").nth(plane), middle(20))
    lines = tip.inner_text().split("\n")
    shown = result.components[20]
    assert lines == [
        "component 20",
        f"non-Gaussianity {shown.nongaussianity:.4f}",
        f"standard errors {shown.z:.1f}",
        f"variance {shown.variance:.2%}",
        f"found again {shown.found_again:.3f}",
        f"stability {shown.stability:.3f}",
        "turning",
        "subspace 1",
    ]
    assert page.locator(f"{COMPONENTS} .cursor.shown").count() == 3
    page.locator(".brand").hover()
    assert tip.is_hidden()
    assert page.locator(".cursor.shown").count() == 0


def test_the_cursor_stands_in_the_column_that_answers(show: Callable[..., Tab]) -> None:
    page = show(sample.unmixed(n_components=1000, subspaces=())).page
    plane = page.locator(f"{COMPONENTS} .plane").first
    for index in (0, 499, 999):
        point_at(page, plane, middle(index, 1000))
        assert page.locator("#tip div").first.inner_text() == f"component {index}"
        cursor = page.locator(f"{COMPONENTS} .cursor").first.bounding_box()
        box = plane.bounding_box()
        assert cursor is not None
        assert box is not None
        share = (cursor["x"] + cursor["width"] / 2 - box["x"]) / box["width"]
        assert share == pytest.approx(middle(index, 1000), abs=2e-3)


def test_bars_are_drawn_where_they_are_reached(show: Callable[..., Tab]) -> None:
    page = show(sample.unmixed()).page
    plane = page.locator(f"{COMPONENTS} .plane").nth(1)
    box = plane.bounding_box()
    assert box is not None
    for kind, members in (("s0", (17, 20, 21)), ("s1", (22, 23))):
        bars = plane.locator(f".pillar.{kind}").bounding_box()
        assert bars is not None
        left, right = bars["x"] - box["x"], bars["x"] + bars["width"] - box["x"]
        assert left / box["width"] == pytest.approx((members[0] + 0.12) / 24, abs=2e-3)
        assert right / box["width"] == pytest.approx((members[-1] + 0.88) / 24, abs=2e-3)


def test_pointing_at_the_trace_shows_the_step(show: Callable[..., Tab]) -> None:
    result = sample.unmixed()
    page = show(result).page
    points = page.evaluate("JSON.parse(document.querySelector('script.data').textContent).plots")
    step = result.trace[9]
    for plane in (0, 1):
        point_at(page, page.locator(f"{TRACE} .plane").nth(plane), points[1]["at"][9] / 100)
        assert page.locator("#tip").inner_text().split("\n")[:4] == [
            "iteration 10",
            "picard, float32",
            f"gradient {step.gradient:.2e}",
            f"contrast {step.contrast:.8f}",
        ]
    keys = page.locator(f"section:has({TRACE}) .keys").inner_text()
    for words in ("fastica, float32", "picard, float64", "solver or type changes"):
        assert words in keys
    assert page.locator(f"{TRACE} .change").count() == 4


def test_a_plot_answers_the_keyboard_at_one_stop(show: Callable[..., Tab]) -> None:
    page = show(sample.unmixed()).page
    assert page.locator(f"{COMPONENTS} [tabindex='0']").count() == 1
    page.locator("#theme").focus()
    page.keyboard.press("Tab")
    first = page.locator("#tip div").first
    assert first.inner_text() == "component 0"
    for key, index in (("ArrowRight", 1), ("End", 23), ("ArrowRight", 23), ("ArrowLeft", 22)):
        page.keyboard.press(key)
        assert first.inner_text() == f"component {index}"
    page.keyboard.press("Home")
    assert first.inner_text() == "component 0"
    page.keyboard.press("Tab")
    assert first.inner_text() == "iteration 1"
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_hundreds_of_components_sort_both_ways_with_missing_ones_last(
    show: Callable[..., Tab],
) -> None:
    result = sample.unmixed(n_components=400, subspaces=((7, 300), (20, 21, 22)))
    page = show(result).page
    heads = page.locator("table.sortable >> nth=0").locator("thead th")
    for index, name in ((1, "non-Gaussianity"), (3, "variance"), (5, "stability")):
        assert heads.nth(index).inner_text().startswith(name)
        for reverse in (False, True):
            heads.nth(index).get_by_role("button").click()
            shown = [float(text.rstrip("%")) for text in column(page, index + 1)]
            assert len(shown) == 400
            assert shown == sorted(shown, reverse=reverse)
    heads.nth(6).get_by_role("button").click()
    assert column(page, 7)[:6] == ["1", "1", "2", "2", "2", "–"]
    heads.nth(0).get_by_role("button").click()
    assert column(page, 1) == [str(number) for number in range(400)]


def test_a_long_table_scrolls_under_its_heading(show: Callable[..., Tab]) -> None:
    page = show(sample.unmixed(n_components=400, subspaces=())).page
    tall = page.locator(".tall").first
    tall.scroll_into_view_if_needed()
    box = tall.bounding_box()
    assert box is not None
    assert box["height"] < 600
    tall.evaluate("node => { node.scrollTop = 4000; }")
    head = tall.locator("thead th").first.bounding_box()
    assert head is not None
    assert head["y"] == pytest.approx(box["y"], abs=1.5)


def test_details_hold_the_facts_and_the_trace(show: Callable[..., Tab]) -> None:
    page = show(sample.unmixed()).page
    page.locator("summary").click()
    captions = page.locator("details figcaption").all_inner_texts()
    assert captions == ["Fit", "Trace"]
    assert page.locator("details table >> nth=1").locator("tbody tr").count() == 30


@pytest.mark.parametrize(
    "result",
    [
        sample.unmixed(n_components=1, subspaces=(), steps=()),
        sample.unmixed(measured=False, restarts=False, subspaces=(), converged=False),
        sample.unmixed(n_components=8, subspaces=(tuple(range(8)),), restarts=False),
        sample.unmixed(steps=(dataclasses.replace(sample.trace()[0], gradient=0.0),)),
    ],
    ids=["one", "unmeasured", "all", "zero"],
)
def test_every_extreme_is_shown_and_answers(show: Callable[..., Tab], result: UnmixResult) -> None:
    page = show(result).page
    plots = page.locator("[data-plot]")
    for index in range(plots.count()):
        point_at(page, plots.nth(index).locator(".plane").first, 0.4)
        assert page.locator("#tip").is_visible()
    sentences = page.locator(".sentences li").all_inner_texts()
    assert sentences == [sentence.text for sentence in subspace_sentences(result)]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(show: Callable[..., Tab], scheme: str) -> None:
    page = show(sample.unmixed(), scheme=scheme).page
    faint = {}
    for selector in (
        ".plot .over", ".plot .under .note", ".side text", ".axis text", ".sentences li",
        ".keys span", ".keys small", ".badge", ".tall thead button",
    ):  # fmt: skip
        nodes = page.locator(selector)
        assert nodes.count() > 0, selector
        ratios = [node.evaluate(CONTRAST) for node in nodes.all()[:24]]
        if min(ratios) < LEGIBLE:
            faint[selector] = min(ratios)
    assert faint == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_stand_out_from_the_paper(show: Callable[..., Tab], scheme: str) -> None:
    page = show(
        sample.unmixed(n_components=40, subspaces=tuple((2 * i, 2 * i + 1) for i in range(7))),
        scheme=scheme,
    ).page
    bars = page.locator(f"{COMPONENTS} .plane").nth(1).locator(".pillar")
    colours = [bar.evaluate("node => getComputedStyle(node).fill") for bar in bars.all()]
    assert len(set(colours)) == 8
    # WCAG asks 3 of graphics.
    assert min(bar.evaluate(CONTRAST) for bar in bars.all()) >= 3


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_are_only_words(show: Callable[..., Tab], hostile: str) -> None:
    def result(word: str) -> UnmixResult:
        steps = tuple(dataclasses.replace(s, solver=word, dtype=word) for s in sample.trace())
        findings = (Finding(code="UP003", message=word),)
        return sample.unmixed(name=word, verdict=word, findings=findings, steps=steps)

    count = "document.querySelectorAll('*').length"
    plain = show(result("harmless")).page.evaluate(count)
    page = show(result(hostile)).page
    # A long word has a title more, never an element more.
    assert page.evaluate(count) == plain
    assert page.locator("img, #intruder").count() == 0
    assert page.locator(".names bdi").text_content() == hostile
    point_at(page, page.locator(f"{TRACE} .plane").first, 0.4)
    assert page.locator("#tip div").count() == 7
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
@pytest.mark.parametrize("count", [1, 24, 1000])
def test_nothing_overlaps_or_scrolls_sideways(
    show: Callable[..., Tab], width: int, count: int
) -> None:
    page = show(sample.unmixed(n_components=count, subspaces=()), width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    overlaps = page.evaluate(
        """() => {
          const texts = document.querySelectorAll(".plot text, .plot .over, .plot .under .note");
          const boxes = [...texts].map((node) => [node.textContent, node.getBoundingClientRect()]);
          const bad = [];
          boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
            const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
            const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
            if (across > 0 && down > 3) bad.push([a, b]);
          }));
          return bad;
        }"""
    )
    assert overlaps == []


def test_a_comparison_and_components_stand_on_one_page(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison(), sample.unmixed(), sample.inspection()).page
    links = page.get_by_role("navigation", name="Results").get_by_role("link")
    assert "partly identifiable" in links.nth(1).inner_text()
    point_at(page, page.locator(f"#result-2 {COMPONENTS} .plane").first, 0.4)
    assert page.locator("#tip div").first.inner_text().startswith("component")
    point_at(page, page.locator("#result-1 .errors .linear svg.row").first, 0.4)
    assert page.locator("#tip div").first.inner_text() == "identity"
