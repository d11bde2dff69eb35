"""What pages and figures show of a consensus."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from browser import consensus_results as sample

from upto.questions.consensus.page import (
    consensus_badge,
    consensus_body,
    consensus_facts,
    reproducible_order,
    shared_sentences,
)
from upto.report import Report, draw
from upto.report.summary import summarise

if TYPE_CHECKING:
    from upto.questions.consensus.result import ConsensusResult

HOSTILE = "</script><img src=x onerror=alert(1)>"


def pieces(drawing: str, kind: str) -> list[tuple[float, ...]]:
    """The subpaths of a path of this class, as numbers."""
    found = re.findall(rf'<path class="{kind}" d="([^"]*)"', drawing)
    return [
        tuple(map(float, re.findall(r"-?[\d.]+", piece)))
        for d in found
        for piece in d.split("M")[1:]
    ]


def shuffled(result: ConsensusResult) -> ConsensusResult:
    """As up to a rigid motion, components do not come by reproducibility."""
    return replace(result, up_to="rigid", components=result.components[::-1])


def test_the_most_reproducible_components_come_first_under_their_numbers():
    result = shuffled(sample.consensus())
    order = reproducible_order(result)
    means = [result.components[number].mean.value for number in order]
    assert means == sorted(means, reverse=True)
    assert order[0] == 23
    plot = consensus_body(result).components
    assert [tip.split("\n")[0] for tip in plot.tips] == [f"component {i}" for i in order]
    assert re.findall(r">(\d+)</text>", plot.axis)[0] == "23"


def test_unjudged_components_come_last():
    result = sample.consensus(n_components=4)
    without = replace(result.components[0], mean=None)
    result = replace(result, components=(without, *result.components[1:]))
    assert reproducible_order(result)[-1] == 0


def test_every_cell_has_the_colour_of_its_correlation_and_stands_under_its_bar():
    result = sample.consensus(n_runs=3, n_components=5)
    plot = consensus_body(result).components
    means, heat = plot.planes
    cells = {
        kind: pieces(heat.drawing, f"cell {kind}") for kind in (*(f"h{i}" for i in range(10)),)
    }
    assert sum(map(len, cells.values())) == 15
    for index, component in enumerate(result.components):
        for run, value in enumerate(component.correlations):
            inside = [
                kind
                for kind, found in cells.items()
                for left, top, width, height, _ in found
                if 0 < 10 * plot.at[index] - left < width and 0 <= 22 * run + 5 - top <= height
            ]
            assert inside == [f"h{min(int(10 * value), 9)}"]
    bars = sorted(
        (piece[0] + piece[3]) / 20
        for kind in ("every", "some", "nowhere")
        for piece in pieces(means.drawing, f"pillar {kind}")
    )
    assert bars == pytest.approx(plot.at, abs=0.01)


def test_bars_end_at_their_mean_and_the_limit_is_drawn():
    result = sample.consensus(n_components=6)
    means = consensus_body(result).components.planes[0]
    heights = {}
    for kind in ("every", "some", "nowhere"):
        for left, zero, top, *_ in pieces(means.drawing, f"pillar {kind}"):
            heights[left] = zero - top
    wanted = [component.mean.value for component in result.components]
    drawn = [heights[left] for left in sorted(heights)]
    ratios = [height / value for height, value in zip(drawn, wanted, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * 6, rel=0.02)
    (limit,) = re.findall(r'<line class="chance"[^>]* y1="([\d.]+)"', means.drawing)
    (zero,) = {piece[1] for piece in pieces(means.drawing, "pillar every")}
    assert (zero - float(limit)) / ratios[0] == pytest.approx(0.14, abs=0.005)


def test_a_missing_correlation_has_a_cell_of_its_own():
    result = sample.consensus(n_runs=3, n_components=2)
    first = replace(result.components[0], correlations=(None, 0.5, 1.0))
    result = replace(result, components=(first, result.components[1]))
    heat = consensus_body(result).components.planes[1]
    assert len(pieces(heat.drawing, "cell absent")) == 1
    tip = consensus_body(result).components.tips[0]
    assert tip.split("\n")[-3:] == ["seed-0 –", "seed-1 0.500", "seed-2 1.000"]


def test_a_thousand_components_of_many_runs_are_a_small_page():
    result = sample.consensus(n_runs=40, n_components=1000)
    page = Report([result]).html()
    assert len(page) < 1_000_000
    heat = consensus_body(result).components.planes[1]
    assert len(pieces(heat.drawing, r"cell h\d")) < 40 * 1000
    assert "and 24 more" in page
    assert "and 37 more runs" in consensus_body(result).components.tips[0]
    page = Report([sample.consensus(n_runs=10, n_components=1000)]).html()
    assert len(page) < 1_000_000
    assert "Components after the first 285 are in the JSON only." in page


@pytest.mark.parametrize(
    ("options", "badge"),
    [
        ({}, ("partly reproducible", "fair")),
        ({"judged": False}, ("not tested", "fair")),
        ({"n_components": 4}, ("reproducible", "good")),
        ({"up_to": "rigid"}, ("5 of 6 runs belong", "fair")),
    ],
)
def test_the_badge_says_how_far_runs_agree(options, badge):
    assert consensus_badge(sample.consensus(**options)) == badge


def test_the_badge_of_nothing_shared_is_poor():
    result = sample.consensus(everywhere=0)
    nothing = tuple(replace(component, n_runs=0) for component in result.components)
    assert consensus_badge(replace(result, components=nothing)) == ("not reproducible", "poor")
    runs = tuple(replace(run, belongs=False) for run in result.runs)
    assert consensus_badge(replace(result, up_to="rigid", runs=runs)) == ("no consensus", "poor")
    alone = (replace(runs[0], belongs=True), *runs[1:])
    one = replace(result, up_to="rigid", runs=alone)
    assert consensus_badge(one) == ("no consensus", "poor")
    assert consensus_facts(one)[0][2] == "1 belongs; up to rigid"
    runs = tuple(replace(run, belongs=True) for run in result.runs)
    assert consensus_badge(replace(result, up_to="rigid", runs=runs)) == (
        "one shared space",
        "good",
    )


def test_sentences_name_the_components_of_every_some_and_no_run():
    result = sample.consensus(n_components=6, everywhere=2)
    counts = (6, 6, 5, 1, 0, 0)
    components = tuple(
        replace(component, n_runs=count)
        for component, count in zip(result.components, counts, strict=True)
    )
    result = replace(result, components=components)
    assert [sentence.text for sentence in shared_sentences(result)] == [
        "Components 0–1 appear in every run: the identifiable part of the model.",
        "Components 2–3 appear in some runs only.",
        "Components 4–5 appear in no run.",
    ]
    alone = replace(result, components=(components[0], *components[4:]))
    assert shared_sentences(alone)[0].text.startswith("Component 0 appears in every run")
    every = replace(result, up_to="rigid", components=components[:2])
    assert [sentence.text for sentence in shared_sentences(every)] == [
        "All 2 components appear in every run: what all share."
    ]


def test_facts_are_those_of_the_result():
    facts = {label: (value, detail) for label, value, detail in consensus_facts(sample.consensus())}
    assert facts["runs"] == ("6", "5 belong; up to ica")
    assert facts["components in every run"][0] == "4"
    asked = "correlation; chance limit 0.140"
    assert facts["needed to appear"] == ("0.140", asked)
    more = {label: value for label, value, _ in consensus_facts(sample.consensus(least=0.5))}
    assert more["needed to appear"] == "0.500"
    assert facts["consistency"] == ("93%", "of matches between two runs kept")
    assert facts["rows"] == ("20,000", "6,000 held out")
    unjudged = [label for label, *_ in consensus_facts(sample.consensus(judged=False))]
    assert unjudged == ["runs", "rows"]


def test_an_unjudged_consensus_has_no_pictures_but_a_page():
    view = summarise(sample.consensus(judged=False))
    assert view.body.components is None
    assert view.body.runs is None
    page = Report([sample.consensus(judged=False)]).html()
    assert "Not tested; see the verdict." in page


def test_names_are_only_names():
    names = (HOSTILE, "b", "c")
    page = Report([sample.consensus(n_runs=3, names=names)]).html()
    assert HOSTILE not in page
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in page


def test_a_figure_shows_every_run_and_component():
    result = shuffled(sample.consensus())
    figure = draw(result)
    above, below, _ = figure.axes
    (image,) = below.images
    assert image.get_array().shape == (6, 24)
    order = reproducible_order(result)
    assert image.get_array()[2, 0] == result.components[order[0]].correlations[2]
    assert [label.get_text() for label in below.get_yticklabels()][1] == "seed-1"
    assert above.get_ylim() == (0, 1.05)


@pytest.mark.parametrize(
    "result",
    [
        sample.consensus(judged=False),
        sample.consensus(n_components=1),
        sample.consensus(n_runs=2, names=("$\\frac$", "x" * 10_000)),
        sample.consensus(n_runs=60, n_components=300),
    ],
    ids=["unjudged", "one", "names", "many"],
)
def test_any_consensus_can_be_saved(result):
    file = io.BytesIO()
    draw(result).savefig(file, format="svg")
    assert file.getvalue()
