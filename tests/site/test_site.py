"""The built site as a reader finds it: pages have names, links lead somewhere, nothing is cut off.

`make docs` builds the site and runs these tests on it.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

pytestmark = pytest.mark.skipif(
    "UPTO_SITE" not in os.environ, reason="needs the built site: run `make docs`"
)
SITE = Path(os.environ.get("UPTO_SITE", ".")).resolve()
HOST = "http://site/"
TUTORIALS = {
    "compare two trainings": "two-seeds",
    "layers": "which-layers",
    "components over runs": "recurring-components",
    "an upgraded model": "upgraded-model",
    "plates and controls": "plates",
    "decoder and theory": "isometric-decoder",
}
"""The kinds of work that people come with, and where each is taught."""


@dataclass
class Read(HTMLParser):
    """What one page says about itself."""

    title: str = ""
    ids: Counter[str] = field(default_factory=Counter)
    links: list[str] = field(default_factory=list)
    in_text: list[str] = field(default_factory=list)
    """Links in the text, beside those of the menu."""
    loaded: list[str] = field(default_factory=list)
    pictures: list[dict[str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._in_title, self._articles = False, 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._in_title |= tag == "title" and not self.title
        self._articles += tag == "article"
        if values.get("id"):
            self.ids[values["id"] or ""] += 1
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
            if self._articles:
                self.in_text.append(values["href"] or "")
        if tag in ("img", "iframe", "object", "embed"):
            self.pictures.append({"tag": tag, **values})
        for name in ("src", "data", *(["href"] if tag == "link" else [])):
            if values.get(name) and values.get("rel") not in ("canonical", "next", "prev", "index"):
                self.loaded.append(values[name] or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        self._in_title &= tag != "title"
        self._articles -= tag == "article"

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


def page_names() -> list[str]:
    """List the pages that Sphinx wrote; reports shown as examples have tests of their own."""
    if "UPTO_SITE" not in os.environ:
        return []
    return sorted(
        path.relative_to(SITE).as_posix()
        for path in SITE.rglob("*.html")
        if "_static/documentation_options.js" in path.read_text(encoding="utf-8")
    )


PAGES = page_names()


@cache
def read(name: str) -> Read:
    found = Read()
    found.feed((SITE / name).read_text(encoding="utf-8"))
    return found


def targets(name: str, links: list[str]) -> set[tuple[str, str]]:
    """Return the files of the site, with anchors, to which links of a page lead."""
    found = set()
    for link in links:
        whole = urlsplit(urljoin(HOST + name, link))
        if f"{whole.scheme}://{whole.netloc}/" == HOST:
            found.add((unquote(whole.path[1:]) or "index.html", unquote(whole.fragment)))
    return found


def test_the_site_has_its_pages():
    assert {"index.html", "python-api.html", "api/upto.compare.html", "search.html"} <= {*PAGES}
    assert len(PAGES) > 300


def test_every_page_has_a_title_of_its_own():
    titles = {name: read(name).title.strip() for name in PAGES}
    assert [name for name, title in titles.items() if not title] == []
    repeated = {title for title, count in Counter(titles.values()).items() if count > 1}
    assert {name: title for name, title in titles.items() if title in repeated} == {}


def test_every_picture_is_described():
    silent = [
        (name, picture.get("src") or picture.get("data"))
        for name in PAGES
        for picture in read(name).pictures
        if not (picture.get("title" if picture["tag"] == "iframe" else "alt") or "").strip()
    ]
    assert silent == []


def test_nothing_is_loaded_from_a_network():
    away = {
        (name, each)
        for name in PAGES
        for each in read(name).loaded
        if urlsplit(each).scheme not in ("", "data")
    }
    assert away == set()


def test_every_link_leads_somewhere():
    lost = []
    for name in PAGES:
        for file, anchor in targets(name, [*read(name).links, *read(name).loaded]):
            path = SITE / file
            if not path.is_file():
                lost.append((name, file))
            elif anchor and path.suffix == ".html" and anchor not in read(file).ids:
                lost.append((name, f"{file}#{anchor}"))
    assert lost == []


def test_no_anchor_is_there_twice():
    twice = {
        name: [anchor for anchor, count in read(name).ids.items() if count > 1] for name in PAGES
    }
    assert {name: anchors for name, anchors in twice.items() if anchors} == {}


@pytest.mark.parametrize("kind", TUTORIALS)
def test_each_kind_of_work_is_two_clicks_away(kind):
    first = {file for file, _ in targets("index.html", read("index.html").in_text)}
    second = {file for page in first & {*PAGES} for file, _ in targets(page, read(page).in_text)}
    assert f"tutorials/{TUTORIALS[kind]}.html" in first | second


CUT = """() => {
  const wide = document.documentElement.clientWidth, found = [];
  const scrolls = (one) => /auto|scroll/.test(getComputedStyle(one).overflowX);
  if (document.documentElement.scrollWidth > wide + 1) found.push("the page itself");
  for (const one of document.querySelectorAll("article *")) {
    if (one.closest("math, svg, .headerlink, .copybtn")) continue;
    const box = one.getBoundingClientRect(), style = getComputedStyle(one);
    if (!box.width || !box.height || style.visibility === "hidden") continue;
    if (/hidden|clip/.test(style.overflowX) && one.scrollWidth > one.clientWidth + 1 &&
        box.width > 2) found.push("cut: " + one.outerHTML.slice(0, 120));
    if (box.right <= wide + 1) continue;
    let above = one.parentElement;
    while (above && !scrolls(above)) above = above.parentElement;
    const within = above && above.closest("article") ? above.getBoundingClientRect().right : 1e9;
    if (within > wide + 1) found.push("too wide: " + one.outerHTML.slice(0, 120));
  }
  return found.slice(0, 3);
}"""

CONTRAST = """() => {
  const parts = (color) => {
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = (rgb) => {
    const [r, g, b] = [...rgb].slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    for (let each = one; each; each = each.parentElement) {
      const color = parts(getComputedStyle(each).backgroundColor);
      if (color[3] > 250) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  const text = "h1, h2, p, li, a, code, pre, td, th, dt, .sig-name";
  for (const one of document.querySelectorAll(text)) {
    if (!one.innerText || !one.getBoundingClientRect().width) continue;
    if (one.closest(".headerlink")) continue;
    const [light, dark] = [luminance(parts(getComputedStyle(one).color)), luminance(behind(one))]
      .sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < 4.5) found.push(ratio.toFixed(2) + " " + one.outerHTML.slice(0, 100));
  }
  return [...new Set(found)].slice(0, 5);
}"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off(tab, name):
    cut = {}
    tab.set_viewport_size({"width": 1300, "height": 900})
    tab.goto((SITE / name).as_uri())
    # From 1,008 pixels on there is a column beside the text.
    for width in (1300, 1100, 400):
        tab.set_viewport_size({"width": width, "height": 900})
        cut[width] = tab.evaluate(CUT)
    assert cut == {1300: [], 1100: [], 400: []}


@pytest.mark.browser
def test_what_is_cut_off_is_noticed(tab):
    tab.set_viewport_size({"width": 400, "height": 900})
    tab.set_content("<article><p>fine</p></article>")
    assert tab.evaluate(CUT) == []
    tab.set_content("<article><p style='width: 900px'>wide</p></article>")
    assert any("too wide" in each for each in tab.evaluate(CUT))
    tab.set_content(
        "<article><div style='overflow: hidden'><p style='width: 900px'>cut</p></div></article>"
    )
    assert any("cut" in each for each in tab.evaluate(CUT))
    tab.set_content(
        "<article><div style='overflow: auto'><p style='width: 900px'>fine</p></div></article>"
    )
    assert tab.evaluate(CUT) == []


LOOKED_AT = ("index", "compare", "benchmarks", "python-api", "api/upto.compare", "findings/UP001")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_text_can_be_read(tab, name, scheme):
    tab.emulate_media(color_scheme=scheme)
    tab.goto((SITE / f"{name}.html").as_uri())
    assert tab.evaluate(CONTRAST) == []


@pytest.mark.browser
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("certify_network", "api/upto.theory.certify_network.html"),
        ("FoldScore", "api/upto.BatchesResult.html"),
        ("KernelAligner", "api/upto.KernelAligner.html"),
    ],
)
def test_a_search_finds_names_and_records(tab, words, page):
    tab.goto(f"{(SITE / 'search.html').as_uri()}?q={words}")
    tab.wait_for_selector("#search-results li a")
    found = [link.get_attribute("href") for link in tab.query_selector_all("#search-results li a")]
    assert any(page in (address or "") for address in found[:5])
