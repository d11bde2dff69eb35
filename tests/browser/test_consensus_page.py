"""A consensus in a real browser: the picture answers, is legible, and names stay names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import consensus_results as sample
from browser import sample_results as others
from browser.test_page import CONTRAST, HOSTILE, LEGIBLE
from browser.test_unmixed_page import point_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser.conftest import Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COMPONENTS = "[data-plot='0']"
RUNS = "[data-plot='1']"


def test_a_page_shows_the_verdict_first_and_then_every_section(show: Callable[..., Tab]) -> None:
    page = show(sample.consensus()).page
    heading = page.get_by_role("heading", level=1)
    assert heading.inner_text() == "4 of 24 components appear in all 6 runs, 3 in none"
    assert page.locator(".badge").inner_text() == "partly reproducible"
    assert page.get_by_role("heading", level=2).all_inner_texts() == [
        "Components by runs",
        "Runs",
        "What the runs share",
        "Findings",
        "Provenance",
        "How to cite",
    ]
    assert page.locator(f"{COMPONENTS} .over").all_inner_texts() == ["mean correlation", "runs"]
    keys = page.locator(f"section:has({COMPONENTS}) .keys").all_inner_texts()
    assert "in every run" in keys[0]
    assert "6 vit-b16/seed-5/block-12.npy" in " ".join(keys[1].split())
    page.locator("summary").click()
    captions = page.locator("details figcaption").all_inner_texts()
    assert captions[0] == "What the runs share"
    assert page.locator("details table >> nth=1").locator("tbody tr").count() == 24


@pytest.mark.parametrize("plane", [0, 1])
def test_pointing_at_a_component_shows_it_in_every_run(
    show: Callable[..., Tab], plane: int
) -> None:
    result = sample.consensus()
    page = show(result).page
    point_at(page, page.locator(f"{COMPONENTS} .plane").nth(plane), (10 + 0.5) / 24)
    lines = page.locator("#tip").inner_text().split("\n")
    number = int(lines[0].removeprefix("component "))
    shown = result.components[number]
    assert lines[1:4] == [
        f"mean correlation {shown.mean:.3f}",
        f"in {shown.n_runs} of 6 runs",
        f"variance {shown.variance:.2%}",
    ]
    values = zip(range(6), shown.correlations, strict=True)
    assert lines[4:] == [f"seed-{run} {value:.3f}" for run, value in values]
    assert page.locator(f"{COMPONENTS} .cursor.shown").count() == 2


def test_cells_get_darker_with_the_correlation(show: Callable[..., Tab]) -> None:
    page = show(sample.consensus()).page
    heat = page.locator(f"{COMPONENTS} .plane").nth(1)
    ratios = [
        heat.locator(f".cell.h{step}").evaluate(CONTRAST)
        for step in range(10)
        if heat.locator(f".cell.h{step}").count()
    ]
    assert len(ratios) > 5
    assert ratios == sorted(ratios)


def test_pointing_at_a_run_shows_what_the_others_explain(show: Callable[..., Tab]) -> None:
    page = show(sample.consensus()).page
    point_at(page, page.locator(f"{RUNS} .plane"), 5.5 / 6)
    assert page.locator("#tip").inner_text().split("\n") == [
        "6 vit-b16/seed-5/block-12.npy",
        "explained -0.310 [-0.330, -0.290]",
        "chance -0.280",
        "p 0.41",
        "components that appear 15",
    ]


def test_the_keyboard_stops_once_at_each_plot(show: Callable[..., Tab]) -> None:
    page = show(sample.consensus(up_to="rigid")).page
    assert page.locator(f"{COMPONENTS} [tabindex='0']").count() == 1
    page.locator("#theme").focus()
    page.keyboard.press("Tab")
    first = page.locator("#tip div").first
    order = [first.inner_text()]
    for _ in range(23):
        page.keyboard.press("ArrowRight")
        order.append(first.inner_text())
    assert sorted(order) == sorted(f"component {number}" for number in range(24))
    page.keyboard.press("Tab")
    assert first.inner_text() == "1 vit-b16/seed-0/block-12.npy"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_marks_are_legible(show: Callable[..., Tab], scheme: str) -> None:
    page = show(sample.consensus(), scheme=scheme).page
    faint = {}
    for selector, least in (
        (".plot .over", LEGIBLE), (".side text", LEGIBLE), (".axis text", LEGIBLE),
        (".sentences li", LEGIBLE), (".keys span", LEGIBLE), (".badge", LEGIBLE),
        (f"{COMPONENTS} .pillar", 3), (f"{RUNS} .pillar", 3),
    ):  # fmt: skip
        nodes = page.locator(selector)
        assert nodes.count() > 0, selector
        ratios = [node.evaluate(CONTRAST) for node in nodes.all()[:24]]
        if min(ratios) < least:
            faint[selector] = min(ratios)
    assert faint == {}


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_only_names(show: Callable[..., Tab], hostile: str) -> None:
    count = "document.querySelectorAll('*').length"
    plain = show(sample.consensus(n_runs=3, names=("a", "b", "c"))).page.evaluate(count)
    page = show(sample.consensus(n_runs=3, names=(hostile, "b", "c"))).page
    assert page.evaluate(count) == plain
    assert page.locator("img, #intruder").count() == 0
    point_at(page, page.locator(f"{COMPONENTS} .plane").first, 0.4)
    assert page.locator("#tip div").count() == 7
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, 768, 1200])
@pytest.mark.parametrize(("n_runs", "count"), [(2, 1), (6, 24), (40, 1000)])
def test_nothing_overlaps_or_scrolls_sideways(
    show: Callable[..., Tab], width: int, n_runs: int, count: int
) -> None:
    page = show(sample.consensus(n_runs=n_runs, n_components=count), width=width).page
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


def test_an_unjudged_consensus_and_others_stand_on_one_page(show: Callable[..., Tab]) -> None:
    page = show(sample.consensus(judged=False), others.unmixed(), sample.consensus()).page
    assert "Not tested" in page.locator("#result-1").inner_text()
    point_at(page, page.locator(f"#result-3 {COMPONENTS} .plane").nth(1), 0.4)
    assert page.locator("#tip div").first.inner_text().startswith("component")
