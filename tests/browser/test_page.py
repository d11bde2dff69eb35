"""The page in a real browser: it answers, it is legible, and nothing gets in or out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from browser import sample_results as sample

from upto.core import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from browser.conftest import Tab
    from playwright.sync_api import BrowserContext, Page

    from upto.core import Result

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LEGIBLE = 4.5  # WCAG AA for text

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "{{ 7 * 7 }}\u2028</title><b id=intruder>",
    "\u202eelddir eht ot sdaer\u202c שלום مرحبا",
    "x" * 10_000,
)

CONTRAST = """node => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const pixel = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = [];
  for (let at = node; at; at = at.parentElement) {
    behind.unshift(getComputedStyle(at).backgroundColor);
  }
  const back = light(pixel(behind));
  const style = getComputedStyle(node);
  const ink = node.namespaceURI.endsWith("svg") ? style.fill : style.color;
  const front = light(pixel([...behind, ink]));
  return (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
}"""


def column(page: Page, index: int, table: str = "table.sortable >> nth=0") -> list[str]:
    rows = page.locator(table).locator("tbody tr")
    return [text.strip() for text in rows.locator(f":nth-child({index}) > bdi").all_text_contents()]


def test_a_pair_shows_its_verdict_and_every_section(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison()).page
    heading = page.get_by_role("heading", level=1)
    assert heading.inner_text() == "Close to the same representation up to a rigid motion"
    facts = page.locator(".facts").inner_text()
    assert "0.0312" in facts
    assert "0.3012" in facts
    titles = page.get_by_role("heading", level=2).all_inner_texts()
    assert titles == [
        "Error per group",
        "Spread of errors",
        "Both runs, aligned",
        "How small can the worst error be?",
        "ICA without supervision",
        "Findings",
        "Provenance",
        "How to cite",
    ]
    assert page.locator(".errors .linear svg.row:visible").count() == len(sample.ROWS)


def test_the_policy_lets_only_our_script_run(show: Callable[..., Tab]) -> None:
    tab = show(sample.comparison())
    tab.page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "window.intruder = true";
          document.body.append(script);
        }"""
    )
    assert tab.page.evaluate("window.intruder") is None
    assert any("Content Security Policy" in text for text in tab.complaints)
    tab.complaints.clear()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (".errors .linear svg.row >> nth=4", ["rigid", "held out 0.0312", "chance 0.3012"]),
        ("[data-panel=rigid] .hit >> nth=1", ["error 0.0175 to 0.0350", "held out", "chance"]),
    ],
)
def test_pointing_at_a_chart_shows_its_numbers(
    show: Callable[..., Tab], target: str, words: list[str]
) -> None:
    page = show(sample.comparison()).page
    tip = page.locator("#tip")
    assert tip.is_hidden()
    page.locator(target).hover()
    text = tip.inner_text()
    assert [word for word in words if word not in text] == []
    page.locator(".brand").hover()
    assert tip.is_hidden()


def test_a_chart_answers_the_keyboard(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison()).page
    page.locator("[data-axis=log]").focus()
    page.keyboard.press("Tab")
    assert page.locator("#tip").inner_text().startswith("identity")
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_the_scatter_names_a_row_and_joins_its_pair(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison()).page
    drawing = page.locator("svg.scatter")
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    assert box is not None
    data = page.evaluate("JSON.parse(document.querySelector('script.data').textContent).scatter")
    x, y, *_ = data["points"][17]
    unit = box["width"] / 1000
    page.mouse.move(box["x"] + x * unit, box["y"] + y * unit)
    assert page.locator(".pair.shown").count() == 1
    line = page.locator(".pair line")
    shown = [float(line.get_attribute(name) or "nan") for name in ("x1", "y1", "x2", "y2")]
    row = next(i for i, point in enumerate(data["points"]) if point[:4] == shown)
    assert page.locator("#tip").inner_text().split("\n")[0] == data["labels"][row]


def test_the_legend_shows_one_label_alone(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison(rows=sample.scatter(n_labels=15))).page
    buttons = page.locator(".legend button")
    assert buttons.count() == 13
    assert buttons.last.inner_text().startswith("other")
    buttons.nth(2).click()
    assert page.locator("svg.scatter path.dim").count() == 24
    assert buttons.nth(2).get_attribute("aria-pressed") == "true"
    buttons.nth(2).click()
    assert page.locator("svg.scatter path.dim").count() == 0


def test_a_heading_sorts_both_ways(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison()).page
    head = page.locator("table.sortable >> nth=0").locator("thead th")
    held_out = [f"{row[2]:.4f}" for row in sample.ROWS]
    assert column(page, 2) == held_out
    head.nth(1).get_by_role("button").click()
    assert column(page, 2) == sorted(held_out)
    assert head.nth(1).get_attribute("aria-sort") == "ascending"
    head.nth(1).get_by_role("button").press("Enter")
    assert column(page, 2) == sorted(held_out, reverse=True)
    assert head.nth(1).get_attribute("aria-sort") == "descending"
    head.nth(0).get_by_role("button").click()
    assert column(page, 1)[:2] == ["affine", "ica"]
    assert head.nth(1).get_attribute("aria-sort") is None


def test_numbers_sort_as_numbers_and_missing_ones_last(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison()).page
    page.locator("summary").click()
    details = "details table.sortable"
    head = page.locator(details).locator("thead th").nth(7).get_by_role("button")
    for reverse in (False, True):
        head.click()
        shown = column(page, 8, details)
        numbers = [text for text in shown if text != "–"]
        assert len(numbers) == len(sample.ROWS)
        assert shown[: len(numbers)] == sorted(numbers, key=float, reverse=reverse)
    r2 = page.locator("table.sortable >> nth=0").locator("thead th").nth(5).get_by_role("button")
    r2.click()
    assert column(page, 6)[:2] == ["-0.871", "0.104"]


def test_choosing_a_group_changes_the_spread(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison()).page
    visible = page.locator("[data-panel]:visible")
    assert [visible.count(), visible.get_attribute("data-panel")] == [1, "rigid"]
    page.get_by_role("combobox").select_option("affine")
    assert [visible.count(), visible.get_attribute("data-panel")] == [1, "affine"]


def test_choosing_an_axis_swaps_the_chart(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison()).page
    page.get_by_role("button", name="log").click()
    assert page.locator(".errors .linear:visible").count() == 0
    assert page.locator(".errors .log svg.row:visible").count() == len(sample.ROWS)


def test_a_matrix_repaints_for_the_chosen_group(show: Callable[..., Tab]) -> None:
    result = sample.matrix()
    page = show(result).page
    cells = page.locator("[data-heat=h] tbody td")
    for name in ("rigid", "identity"):
        page.get_by_role("combobox").select_option(label=name)
        expected = [cell for row in result.pairs.matrix(name).error for cell in row]
        texts = ["–" if cell is None else f"{cell:.3f}" for cell in expected]
        assert cells.all_inner_texts() == texts
    classes = {cells.nth(i).get_attribute("class") for i in range(25)}
    assert classes == {"none", "h8", "h9"}


def test_a_cell_of_the_matrix_tells_its_pair(show: Callable[..., Tab]) -> None:
    result = sample.matrix()
    page = show(result).page
    page.locator("[data-heat=h] tbody tr").nth(1).locator("td").nth(2).hover()
    lines = page.locator("#tip").inner_text().split("\n")
    assert lines[:3] == [f"{result.runs[1].name} →", result.runs[2].name, "up to rigid"]
    assert lines[3] == f"error {result.pairs.matrix('rigid').error[1][2]:.4f}"
    assert lines[4:] == [
        f"R² {result.pairs.matrix('rigid').r2[1][2]:.3f}",
        f"p {result.pairs.matrix('rigid').p_value[1][2]:.5f}",
        "verdict rigid, same representation",
    ]


def test_arrow_keys_walk_the_matrix(show: Callable[..., Tab]) -> None:
    page = show(sample.matrix()).page
    page.locator("[data-heat=g] tbody td").first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    place = page.evaluate(
        "[document.activeElement.parentElement.sectionRowIndex, document.activeElement.cellIndex]"
    )
    assert place == [2, 1]
    assert page.locator("[data-heat=g] td[tabindex='0']").count() == 1


def test_the_theme_follows_the_system_and_then_the_button(show: Callable[..., Tab]) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = show(sample.comparison(), scheme="light").page
    dark = show(sample.comparison(), scheme="dark").page
    before = {"light": light.evaluate(background), "dark": dark.evaluate(background)}
    assert before["light"] != before["dark"]
    for page, other, own in ((light, "dark", "light"), (dark, "light", "dark")):
        toggle = page.get_by_role("button", name="Switch between light and dark")
        toggle.click()
        assert page.evaluate(background) == before[other]
        toggle.click()
        assert page.evaluate(background) == before[own]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(show: Callable[..., Tab], scheme: str) -> None:
    page = show(sample.comparison(), sample.matrix(), scheme=scheme).page
    page.get_by_role("combobox").last.select_option(label="identity")
    selectors: Sequence[str] = (
        "h1", ".lead", ".note", ".badge", ".facts dd", ".finding dt", ".finding .aside",
        ".sortable tbody bdi", ".sortable .chosen th", ".sortable small", ".sortable thead button",
        ".errors .name.chosen", ".axis text", ".heat td[class^=h]", ".heat th", "pre",
        ".contents a", ".keys span", "[aria-pressed=true]", ".provenance dt",
    )  # fmt: skip
    faint = {}
    for selector in selectors:
        nodes = page.locator(selector)
        assert nodes.count() > 0, selector
        ratios = [node.evaluate(CONTRAST) for node in nodes.all()[:24]]
        if min(ratios) < LEGIBLE:
            faint[selector] = min(ratios)
    assert faint == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_step_of_the_colour_scale_carries_its_number(
    show: Callable[..., Tab], scheme: str
) -> None:
    page = show(sample.matrix(), scheme=scheme).page
    cell = page.locator("[data-heat=h] tbody td").nth(1)
    ratios = []
    for level in range(10):
        cell.evaluate("(node, level) => { node.className = `h${level}`; }", level)
        ratios.append(cell.evaluate(CONTRAST))
    assert min(ratios) >= LEGIBLE, ratios


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_are_only_words(show: Callable[..., Tab], hostile: str) -> None:
    def results(word: str) -> tuple[Result, Result]:
        rows = sample.scatter(n_rows=40, n_labels=2)
        rows = type(rows)(
            up_to=rows.up_to,
            target=rows.target,
            aligned=rows.aligned,
            label=word,
            labels=tuple(word if label == "1" else "plain" for label in rows.labels),
        )
        findings = (Finding(code="UP003", message=word), Finding(code="UP999", message=word))
        pair = sample.comparison(
            first=word, second="plain", verdict=word, findings=findings, rows=rows
        )
        names = (word, "two", "three")
        return pair, sample.matrix(n_runs=3, names=names, verdict=word, findings=findings)

    count = "document.querySelectorAll('*').length"
    plain = show(*results("harmless")).page.evaluate(count)
    page = show(*results(hostile)).page
    assert page.evaluate(count) == plain
    assert page.locator("img, #intruder").count() == 0
    assert page.locator("h1").first.text_content() == hostile
    assert page.locator(".message bdi").first.text_content() == hostile
    page.locator("[data-heat=h] tbody td").nth(1).hover()
    assert page.locator("#tip div").count() == 7
    page.locator(".legend button").last.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_window_does_not_scroll_sideways(show: Callable[..., Tab], width: int) -> None:
    long = "x" * 10_000
    tab = show(sample.comparison(first=long), sample.matrix(n_runs=30), width=width)
    tab.page.locator("summary").first.click()
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.page.evaluate("document.body.scrollWidth") <= width


def test_a_narrow_window_does_not_cut_the_verdict(show: Callable[..., Tab]) -> None:
    # As long as that of two runs that agree on some directions, with classes.
    lead = "Up to an affine map, the held-out error is 0.170 of the diameter, at chance 0.367. " * 8
    verdict = f"Partly the same representation: {lead.strip()}"
    page = show(replace(sample.comparison(), verdict=verdict), width=390).page
    for selector in (".verdict h1", ".lead"):
        hidden = "node => node.scrollHeight - node.clientHeight"
        assert page.locator(selector).evaluate(hidden) <= 1, selector


def test_several_results_have_contents_that_lead_to_them(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison(), sample.matrix()).page
    links = page.get_by_role("navigation", name="Results").get_by_role("link")
    assert links.count() == 2
    links.nth(1).click()
    page.wait_for_function("scrollY > 500")
    assert page.url.endswith("#result-2")


def test_the_citation_is_copied(show: Callable[..., Tab], browser: BrowserContext) -> None:
    browser.grant_permissions(["clipboard-read", "clipboard-write"])
    page = show(sample.comparison()).page
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("status").filter(has_text="Copied").wait_for(state="attached")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#bibtex").text_content()
    assert "2603.11970" in copied


def test_print_is_light_and_opens_the_details(show: Callable[..., Tab]) -> None:
    page = show(sample.comparison(), scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details[open]").count() == 1
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
