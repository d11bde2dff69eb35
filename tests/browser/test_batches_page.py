"""The page of batches and labels in a real browser: it answers, is legible, keeps its width."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from browser import sample_batches as sample
from browser.sample_batches import BASE, ICA
from browser.test_page import CONTRAST, HOSTILE, LEGIBLE

from upto.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from browser.conftest import Tab

    from upto.questions.batches.result import BatchesResult

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# Two frames: in the first the page tells of the scroll, in the second what it did shows.
SCROLL = """() => { scrollBy(0, -40);
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); }"""

BARE = sample.batches(
    ((BASE, "as given", "nothing", None, None),),
    maps=(), n_components=0, labels=("DMSO", "taxol"), mixing=False, findings=(),
)  # fmt: skip


def test_a_page_has_every_section(show: Callable[..., Tab]) -> None:
    page = show(sample.batches()).page
    assert page.get_by_role("heading", level=2).all_inner_texts() == [
        "Conditions on held-out batches",
        "Batch and label information of each component",
        "Before and after",
        "Label predictability without the embedding",
        "Findings",
        "Provenance",
        "How to cite",
    ]
    assert page.locator(".chip").all_inner_texts() == [
        "no gain",
        "gain",
        "no gain",
        "no gain",
        "loss",
    ]
    assert page.locator("svg.map:visible").count() == 4


def test_a_condition_tells_its_numbers(show: Callable[..., Tab]) -> None:
    page = show(sample.batches()).page
    # The first move brings the row into sight, and scrolling hides what was told.
    for x in (20, 30):
        page.get_by_role("img", name="PCA + ICA, AUROC").first.hover(position={"x": x, "y": 10})
    assert page.locator("#tip").inner_text().split("\n") == [
        "PCA + ICA",
        "AUROC 0.902 [0.884, 0.920]",
        "5 folds, from 0.860 to 0.943",
        "minus base +0.041 [+0.019, +0.063]",
        "gain, adjusted p 0.003",
        "within batches 0.887 [0.869, 0.905]",
        "shuffled labels 0.503 [0.493, 0.513]",
        "sparsity 0.420 [0.402, 0.438]",
        "sparsity, shuffled labels 0.240 [0.222, 0.258]",
    ]


def test_components_answer_the_pointer_and_the_keyboard(show: Callable[..., Tab]) -> None:
    page = show(sample.batches()).page
    drawing, tip = page.locator("svg.carried"), page.locator("#tip")
    drawing.focus()
    page.keyboard.press("ArrowRight")
    page.evaluate(SCROLL)
    assert tip.inner_text().split("\n") == [
        "component 1",
        "carries label",
        "share of batch 0.006 (q 0.40)",
        "share of label 0.277 (q 0.0020)",
    ]
    page.keyboard.press("Home")
    assert tip.inner_text().startswith("component 0")
    box = drawing.bounding_box()
    ring = page.locator("svg.carried .ring-mark").bounding_box()
    assert box is not None
    assert ring is not None
    page.keyboard.press("End")
    page.mouse.move(ring["x"] + ring["width"] / 2, ring["y"] + ring["height"] / 2)
    assert tip.inner_text().startswith("component 0")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    assert not tip.is_visible()


def test_one_batch_can_be_seen_alone_in_both_maps(show: Callable[..., Tab]) -> None:
    result = sample.batches()
    page = show(result).page
    group = page.locator("[data-by-group=batch]")
    group.get_by_role("combobox").select_option(label="plate 3")
    for number, each in enumerate(result.maps):
        lit = group.locator(f"[data-map='{number}'] .lit").get_attribute("d") or ""
        assert lit.count("M") == each.batch.count(3)
    assert page.locator("[data-by-group=label] svg.alone").count() == 0
    button = group.locator(".legend button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert group.locator("svg.alone").count() == 2
    button.click()
    assert group.locator("svg.alone").count() == 0
    assert group.locator(".lit").first.get_attribute("d") == ""


def test_a_row_tells_its_batch_and_label_and_is_chosen_by_a_click(show: Callable[..., Tab]) -> None:
    result = sample.batches()
    page = show(result).page
    drawing = page.locator("[data-by-group=label] [data-map='1'] svg")
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    assert box is not None
    points = page.evaluate(
        "JSON.parse(document.querySelector('script.data').textContent).batches.maps[1].points"
    )
    row = max(range(len(points) // 2), key=lambda place: points[2 * place])
    x, y = (box["width"] * points[2 * row + axis] / 1000 for axis in (0, 1))
    drawing.hover(position={"x": x, "y": y})
    each = result.maps[1]
    assert page.locator("#tip").inner_text().split("\n") == [
        f"compound: {sample.LABELS[each.label[row]]}",
        f"Metadata_Plate: plate {each.batch[row]}",
    ]
    drawing.click(position={"x": x, "y": y})
    select = page.locator("[data-by-group=label] select")
    assert select.input_value() == str(each.label[row])


def test_another_condition_can_be_chosen_for_both_rows_of_maps(show: Callable[..., Tab]) -> None:
    page = show(sample.batches(maps=(BASE, "pca", ICA, "combat"))).page
    shown = page.locator("[data-map]:visible")
    assert [node.get_attribute("data-map") for node in shown.all()] == ["0", "2", "0", "2"]
    page.locator("select[data-panels]").select_option(label="ComBat")
    assert [node.get_attribute("data-map") for node in shown.all()] == ["0", "3", "0", "3"]


def test_the_page_reads_without_the_script(show: Callable[..., Tab], tmp_path: Path) -> None:
    result = sample.batches()
    head, _, _ = Report([result]).html().rpartition("<script>")
    path = tmp_path / "quiet.html"
    path.write_text(head + "</body></html>", encoding="utf-8")
    page = show(result).page
    page.goto(path.as_uri())
    assert page.locator(".conditions .auroc .held-out:visible").count() == 8
    assert page.locator("svg.map:visible .mark").count() > 20
    assert page.locator(".carried-kinds td").all_inner_texts() == ["7", "3", "3", "19"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(show: Callable[..., Tab], scheme: str) -> None:
    result = sample.batches(maps=(BASE, ICA, "combat"))
    first, *others = result.differences
    result = replace(result, differences=(replace(first, p_value=None), *others))
    page = show(result, BARE, scheme=scheme).page
    selectors = (
        "h1", ".note:visible", ".facts dd", ".conditions span:visible", ".conditions small:visible",
        ".chip", ".keys:visible span", ".carried-kinds th", ".carried-kinds small",
        ".side text", ".axis text", ".legend bdi", ".legend small", "select", ".badge",
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

    def result(word: str) -> BatchesResult:
        conditions = tuple((name, word, *rest) for name, _, *rest in sample.CONDITIONS[:3])
        made = sample.batches(
            conditions, labels=(word, "b", "c"), control=word, name=word, verdict=word,
            n_rows=60, n_batches=3,
        )  # fmt: skip
        return replace(
            made,
            batch=word,
            label=word,
            fold_by=word,
            classifier=word,
            batches=tuple(replace(each, name=word) for each in made.batches),
            mixing=tuple(replace(each, title=f"{word} {each.name}") for each in made.mixing),
        )

    plain = show(result("harmless")).page.evaluate(count)
    page = show(result(hostile)).page
    assert page.evaluate(count) == plain
    assert page.locator("img, #intruder").count() == 0
    page.locator(".conditions .row").first.hover()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_window_scrolls_sideways(show: Callable[..., Tab], width: int) -> None:
    long = tuple(name * 300 for name in "abcd")
    conditions = tuple((name, title * 40, *rest) for name, title, *rest in sample.CONDITIONS)
    wide = sample.batches(conditions, labels=long, control=long[0], name=long[1], n_rows=60)
    tab = show(
        BARE, sample.batches(), replace(wide, batch=long[0], label=long[1]),
        sample.batches(sample.many(30), n_batches=500, n_rows=200), width=width,
    )  # fmt: skip
    for summary in tab.page.locator("summary").all():
        summary.click()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    for row in tab.page.locator(".conditions .auroc .row:visible").all()[:12]:
        box = row.bounding_box()
        assert box is not None
        assert box["width"] > 60
