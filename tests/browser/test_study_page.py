"""The page of a study in a real browser: claims read whole, plots answer, names are only names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser.test_page import CONTRAST, HOSTILE, LEGIBLE

from upto.core import (
    Column,
    Estimate,
    Marks,
    Panel,
    Provenance,
    Quantity,
    Span,
    StudyResult,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from browser.conftest import Tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SENTENCE = "The error over the diameter grows with the distortion of the decoders, over all pairs"


def study(word: str = "harmless", *, marks: int = 2) -> StudyResult:
    panel = Panel(
        title=f"Figure of {word}",
        x="L",
        y=word,
        marks=tuple(
            Marks(name=f"{word} {k}", x=(0.0, 0.5, 1.0), y=(k, k + 0.5, k + 1.0))
            for k in map(float, range(marks))
        ),
        caption=word,
    )
    return StudyResult(
        name=word,
        title=word,
        paper=word,
        size="tiny",
        settings={"rows": 10, "word": word},
        device=word,
        quantities=(
            Quantity(
                name="q",
                says=f"{SENTENCE} {word}",
                measured=Estimate(value=0.5, low=0.4, high=0.6),
                claimed=Span(low=0.0),
                fixed="after a pilot",
                source=word,
            ),
            Quantity(name="r", says=word, measured=Estimate(value=3.0)),
        ),
        details=(Table(title=word, columns=(Column(name=word),), rows=((word,), (1.5,))),),
        plots=(panel, panel),
        verdict=f"{word}, {word}",
        findings=(),
        provenance=Provenance(call=word, seed=0, engine="cpu", seconds=1.0, versions={}),
    )


def test_a_study_shows_its_claims_and_every_plot(show: Callable[..., Tab]) -> None:
    page = show(study()).page
    assert page.locator(".badge").inner_text() == "the paper's claims hold"
    assert "1 of 1" in page.locator(".facts").inner_text()
    assert page.locator("[data-plot]").count() == 2
    claim = page.locator("tbody th").first
    assert claim.inner_text() == f"{SENTENCE} harmless"
    assert claim.evaluate("node => node.scrollWidth <= node.clientWidth")


def test_a_plot_answers_pointer_and_keys(show: Callable[..., Tab]) -> None:
    page = show(study(marks=1)).page
    plane = page.locator("[data-plot='1'] .plane")
    plane.focus()
    page.keyboard.press("End")
    assert page.locator("#tip").inner_text().split("\n") == ["harmless 0.0", "L 1", "harmless 1"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_legible(show: Callable[..., Tab], scheme: str) -> None:
    page = show(study(), scheme=scheme).page
    for selector in ("h2", ".sentence", ".keys span", ".axis text", ".side text", ".note"):
        nodes = page.locator(f"{selector} >> visible=true")
        assert nodes.count() > 0, selector
        assert min(node.evaluate(CONTRAST) for node in nodes.all()[:12]) >= LEGIBLE, selector


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_are_only_words(show: Callable[..., Tab], hostile: str) -> None:
    page = show(study(hostile)).page
    assert page.locator("img, #intruder").count() == 0
    page.locator("[data-plot='0'] .plane").hover()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("width", [320, 768])
def test_a_narrow_window_does_not_scroll_sideways(show: Callable[..., Tab], width: int) -> None:
    page = show(study("x" * 300), study(marks=12), width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
