import dataclasses
import io
import itertools
import re
import sys
import xml.etree.ElementTree as ET

import pytest
from browser import sample_results as sample

from upto.core import Estimate
from upto.questions.unmix.component_chart import component_chart, consecutive, near_gaussian
from upto.questions.unmix.page import identifiable_badge, subspace_sentences, unmix_body
from upto.questions.unmix.result import Component, UnmixResult
from upto.questions.unmix.trace_chart import trace_chart
from upto.report import Report, draw
from upto.report.axis_scale import range_scale, tick_texts
from upto.report.planes import Plot
from upto.report.summary import summarise

HOSTILE = "</script><img src=x onerror=alert(1)>"


def chart(result: UnmixResult) -> Plot:
    drawn = component_chart(result)
    assert drawn is not None
    return drawn


def paths(drawing: str, kind: str) -> list[list[tuple[float, ...]]]:
    """The subpaths of every path whose class starts with the given words, as lists of numbers."""
    found = re.findall(rf'<path class="{kind}[^"]*" d="([^"]*)"', drawing)
    return [
        [tuple(map(float, re.findall(r"-?[\d.]+", piece))) for piece in d.split("M")[1:]]
        for d in found
    ]


def alone(value: float, low: float | None = None, high: float | None = None) -> Component:
    return Component(
        nongaussianity=Estimate(value=value, low=low, high=high),
        z=1.0,
        variance=0.25,
        stability=None,
        subspace=None,
    )


def with_components(*components: Component) -> UnmixResult:
    result = sample.unmixed(n_components=len(components), subspaces=())
    return dataclasses.replace(result, components=components)


def test_bars_start_at_zero_and_end_at_their_value_in_proportion() -> None:
    result = with_components(*(alone(value) for value in (0.4, 0.2, 0.1, -0.1)))
    (plane,) = chart(result).planes
    (bars,) = paths(plane.drawing, "pillar alone")
    zero = bars[0][1]
    heights = [zero - bar[2] for bar in bars]
    assert all(bar[1] == zero == bar[4] for bar in bars)
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert heights[0] == pytest.approx(4 * heights[2], abs=0.3)
    assert heights[3] == pytest.approx(-heights[2], abs=0.2)
    (line,) = re.findall(r'<line class="chance"[^>]* y1="([\d.]+)"', plane.drawing)
    assert float(line) == pytest.approx(zero, abs=0.06)


def test_bars_stand_where_the_pointer_looks_for_them() -> None:
    drawn = chart(sample.unmixed(subspaces=()))
    (bars,) = paths(drawn.planes[0].drawing, "pillar alone")
    middles = [(bar[0] + bar[3]) / 20 for bar in bars]
    assert middles == pytest.approx(drawn.at, abs=0.01)
    assert drawn.at[0] == pytest.approx(100 / 48, abs=1e-3)
    assert [tip.split("\n")[0] for tip in drawn.tips] == [f"component {i}" for i in range(24)]


def test_a_whisker_spans_its_interval_around_the_end_of_its_bar() -> None:
    (plane,) = chart(with_components(alone(0.4, 0.3, 0.5), alone(0.2))).planes
    (bars,) = paths(plane.drawing, "pillar alone")
    ((whisker,),) = paths(plane.drawing, "whisker")
    x, low, high = whisker
    assert x == pytest.approx((bars[0][0] + bars[0][3]) / 2, abs=0.01)
    assert low - bars[0][2] == pytest.approx(bars[0][2] - high, abs=0.2)
    assert high < bars[0][2] < low


@pytest.mark.parametrize(
    ("component", "near"),
    [
        (alone(0.1, -0.01, 0.2), True),
        (alone(0.1, 0.0, 0.2), True),
        (alone(0.1, 0.01, 0.2), False),
        (alone(-0.1, -0.2, -0.01), False),
        (alone(0.0), False),
    ],
)
def test_only_an_interval_that_holds_zero_is_near_gaussian(
    component: Component, near: bool
) -> None:
    assert near_gaussian(component) is near
    (plane,) = chart(with_components(component, alone(0.5))).planes
    assert len(paths(plane.drawing, "pillar alone near")) == near


def test_each_subspace_has_its_colour_on_every_plane_and_its_bracket() -> None:
    nongaussianity, stability, subspaces = chart(sample.unmixed()).planes
    for kind, count in (("alone", 19), ("s0", 3), ("s1", 2)):
        bars = paths(stability.drawing, f"pillar {kind}")
        assert sum(map(len, bars)) == count
        assert sum(map(len, paths(nongaussianity.drawing, f"pillar {kind}"))) == count
    ((span,),) = paths(subspaces.drawing, "span s0")
    ((first, second),) = paths(subspaces.drawing, "pillar s0")
    assert (span[0], span[2]) == (first[0], second[2])
    ((only,),) = paths(subspaces.drawing, "pillar s1")
    assert only[0] > second[2]
    # They do not overlap, so they share a lane.
    assert only[1] == first[1]


def test_overlapping_subspaces_stand_in_lanes_of_their_own() -> None:
    drawn = chart(sample.unmixed(subspaces=((0, 9), (3, 4), (5, 20), (10, 12))))
    tops = {
        kind: paths(drawn.planes[-1].drawing, f"pillar {kind}")[0][0][1]
        for kind in ("s0", "s1", "s2", "s3")
    }
    assert tops["s0"] == tops["s3"]
    assert tops["s1"] == tops["s2"]
    assert tops["s0"] != tops["s1"]


def test_very_many_overlapping_subspaces_stay_bounded() -> None:
    subspaces = tuple((i, 199 - i) for i in range(100))
    drawn = chart(sample.unmixed(n_components=200, subspaces=subspaces))
    (height,) = re.findall(r'class="plane" height="(\d+)"', drawn.planes[-1].drawing)
    assert int(height) <= 100
    assert len(subspace_sentences(sample.unmixed(n_components=200, subspaces=subspaces))) == 13


def test_without_intervals_or_restarts_less_is_drawn() -> None:
    result = sample.unmixed(restarts=False)
    assert [plane.name for plane in chart(result).planes] == ["non-Gaussianity", "subspaces"]
    result = sample.unmixed(measured=False)
    assert [plane.name for plane in chart(result).planes] == ["stability", "subspaces"]
    assert "non-Gaussianity" not in "".join(chart(result).tips)
    assert component_chart(sample.unmixed(measured=False, restarts=False, subspaces=())) is None


@pytest.mark.parametrize("result", [sample.unmixed(), sample.unmixed(measured=False)])
def test_the_keyboard_stops_once_at_each_plot(result: UnmixResult) -> None:
    view = unmix_body(result)
    assert view.components is not None
    assert view.trace is not None
    for plot in (view.components, view.trace.plot):
        stops = ['tabindex="0"' in plane.drawing for plane in plot.planes]
        assert stops == [True, *([False] * (len(stops) - 1))]


def test_a_thousand_components_are_a_few_paths_and_every_number_is_in_the_table() -> None:
    result = sample.unmixed(n_components=1000, subspaces=(tuple(range(700, 1000)),))
    drawn = chart(result)
    drawing = "".join(plane.drawing for plane in drawn.planes)
    assert drawing.count("<path") < 16
    assert sum(map(len, paths(drawn.planes[0].drawing, "pillar"))) == 1000
    assert 3 <= drawn.axis.count("<text") <= 8
    assert drawn.at == tuple(sorted(set(drawn.at)))
    page = Report([result]).html()
    assert len(page.encode()) < 1_000_000
    assert len(summarise(result).tables[0].rows) == 1000


def test_tables_leave_what_is_too_much_to_json() -> None:
    result = sample.unmixed(n_components=2001, subspaces=(), steps=sample.trace(n_steps=301))
    view = summarise(result)
    assert [len(table.rows) for table in view.tables] == [2000, 16]
    assert "after the first 2,000 and the 301 steps" in view.omitted
    assert summarise(sample.unmixed()).omitted == ""


def test_the_trace_falls_by_decades_and_changes_colour_with_solver_and_type() -> None:
    steps = sample.trace(n_steps=4, switch=2, refine=3)
    steps = tuple(
        dataclasses.replace(step, gradient=10.0**-index, passes=index)
        for index, step in enumerate(steps)
    )
    drawn = trace_chart(steps)
    assert drawn is not None
    assert [(p.solver, p.dtype, p.iterations) for p in drawn.phases] == [
        ("fastica", "float32", "2 iterations"),
        ("picard", "float32", "1 iteration"),
        ("picard", "float64", "1 iteration"),
    ]
    plane = drawn.plot.planes[0].drawing
    ys = [dot[1] for kind in ("p0", "p1", "p2") for dot in paths(plane, f"step {kind}")[0]]
    gaps = [b - a for a, b in itertools.pairwise(ys)]
    assert gaps == pytest.approx([gaps[0]] * 3, abs=0.15)
    assert gaps[0] > 20
    changes = re.findall(r'<line class="change" x1="([\d.]+)%"', plane)
    assert list(map(float, changes)) == pytest.approx(drawn.plot.at[2:], abs=0.01)
    (contrast,) = paths(drawn.plot.planes[1].drawing, "step p0")
    # It rises, and pixels count from the top.
    assert contrast[0][1] > contrast[1][1]


def test_a_gradient_of_zero_stands_hollow_at_the_foot() -> None:
    first, second, third, *_ = sample.trace()
    steps = (first, second, dataclasses.replace(third, gradient=0.0))
    drawn = trace_chart(steps)
    assert drawn is not None
    plane = drawn.plot.planes[0].drawing
    (dots,) = paths(plane, "step p0")
    assert dots[2][1] > dots[1][1]
    assert paths(plane, "foot-inside") == [[(dots[2][0], dots[2][1], 0.0)]]
    assert "foot" not in drawn.plot.planes[1].drawing
    assert "hollow" in unmix_body(sample.unmixed(steps=steps)).trace_note
    assert "hollow" not in unmix_body(sample.unmixed()).trace_note


def test_a_trace_of_zeros_still_draws() -> None:
    step = dataclasses.replace(sample.trace()[0], gradient=0.0, contrast=0.0, passes=0)
    drawn = trace_chart((step,))
    assert drawn is not None
    for plane in drawn.plot.planes:
        ET.fromstring(plane.drawing)


def test_a_long_trace_is_thinned_and_keeps_its_end() -> None:
    steps = sample.trace(n_steps=5000, floor=1e-300)
    drawn = trace_chart(steps)
    assert drawn is not None
    assert len(drawn.plot.tips) == drawn.n_drawn <= 800
    assert drawn.plot.tips[-1].startswith("iteration 5000\n")
    assert "4,976 iterations" in [phase.iterations for phase in drawn.phases]
    assert "of 5,000 steps" in unmix_body(sample.unmixed(steps=steps)).trace_note


def test_an_empty_trace_says_why() -> None:
    assert "had already converged" in unmix_body(sample.unmixed(steps=())).trace_note
    stopped = unmix_body(sample.unmixed(steps=(), converged=False))
    assert "have not converged" in stopped.trace_note
    assert stopped.trace is None
    assert "before it converged" in unmix_body(sample.unmixed(converged=False)).trace_note


def test_subspaces_are_named_in_words() -> None:
    texts = [s.text for s in subspace_sentences(sample.unmixed(subspaces=((3, 7, 9), (10, 11))))]
    assert texts == [
        "Components 3, 7 and 9 can be rotated freely: only their 3-dimensional subspace is "
        "identifiable.",
        "Components 10 and 11 can be rotated freely: only their 2-dimensional subspace is "
        "identifiable.",
        "19 components are identifiable up to sign and order.",
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"subspaces": ()}, "All 24 components are identifiable up to sign and order."),
        (
            {"n_components": 6, "subspaces": (tuple(range(6)),)},
            "All 6 components can be rotated freely: only the 6-dimensional subspace is "
            "identifiable.",
        ),
        (
            {"n_components": 1, "subspaces": ()},
            "There is only one component, so no rotation to test.",
        ),
        (
            {"measured": False, "subspaces": ()},
            "Identifiability was not tested; see the verdict.",
        ),
        (
            {"n_components": 6, "subspaces": (), "n_not_shown": 6},
            "All 6 components are not shown to be identifiable; more rows may decide.",
        ),
    ],
)
def test_the_extremes_are_named_in_words(arguments: dict[str, object], text: str) -> None:
    result = sample.unmixed(**arguments)  # type: ignore[arg-type]
    assert [sentence.text for sentence in subspace_sentences(result)] == [text]


def test_components_of_which_nothing_is_known_are_named_beside_those_that_stand_alone() -> None:
    result = sample.unmixed(n_components=6, subspaces=((4, 5),), n_not_shown=2)
    assert [sentence.text for sentence in subspace_sentences(result)][1:] == [
        "Components 0 and 1 are not shown to be identifiable; more rows may decide.",
        "2 components are identifiable up to sign and order.",
    ]
    facts = {fact.label: fact for fact in summarise(result).facts}
    assert facts["identifiable components"].value == "2"
    assert facts["identifiable components"].detail == "of 6; 1 subspace, 2 not shown"
    assert "\nnot shown" in unmix_body(result).components.tips[0]


def test_many_members_are_named_by_their_stretches() -> None:
    result = sample.unmixed(n_components=100, subspaces=((*range(10, 50), 60, 61),))
    assert subspace_sentences(result)[0].text.startswith("Components 10 to 49, 60 and 61 can")
    result = sample.unmixed(n_components=100, subspaces=(tuple(range(0, 60, 2)),))
    assert subspace_sentences(result)[0].text.startswith("Components 0, 2, 4")
    assert ", 22 and 18 more can" in subspace_sentences(result)[0].text
    assert consecutive((5, 3, 4, 9)) == [(3, 5), (9, 9)]


@pytest.mark.parametrize(
    ("result", "badge"),
    [
        (sample.unmixed(), ("partly identifiable", "fair")),
        (sample.unmixed(subspaces=()), ("identifiable", "good")),
        (sample.unmixed(n_components=1, subspaces=()), ("identifiable", "good")),
        (
            sample.unmixed(n_components=3, subspaces=((0, 1, 2),)),
            ("no component identifiable", "poor"),
        ),
        (sample.unmixed(converged=False), ("not converged", "poor")),
        (
            sample.unmixed(measured=False, subspaces=()),
            ("identifiability not tested", "fair"),
        ),
        (
            sample.unmixed(n_components=3, subspaces=(), n_not_shown=3),
            ("no component shown identifiable", "poor"),
        ),
    ],
)
def test_the_badge_says_how_much_is_identifiable(
    result: UnmixResult, badge: tuple[str, str]
) -> None:
    assert identifiable_badge(result) == badge


def test_facts_hold_the_numbers_of_the_result() -> None:
    result = sample.unmixed()
    facts = {fact.label: fact for fact in summarise(result).facts}
    assert facts["identifiable components"].value == "19"
    assert facts["identifiable components"].detail == "of 24; 2 subspaces"
    assert facts["smallest curvature μ"].value == "0.0021"
    assert facts["smallest curvature μ"].detail.endswith("; 0.0184 outside the subspaces")
    lowest = min(c.stability for c in result.components if c.stability is not None)
    assert facts["median stability"].detail.startswith(f"lowest {lowest:.3f}; 10 restarts")
    assert facts["converged"].detail == "30 iterations, 36 passes over the rows"
    assert facts["rows"].detail == "in parts of 14,000 and 6,000"
    bare = summarise(sample.unmixed(measured=False, restarts=False, subspaces=(), converged=False))
    facts = {fact.label: fact for fact in bare.facts}
    assert list(facts) == ["identifiable components", "converged", "rows"]
    assert facts["identifiable components"].value == "–"
    assert facts["converged"].value == "no"


def test_drawings_are_well_formed() -> None:
    for result in (sample.unmixed(), sample.unmixed(n_components=400, subspaces=((1, 200),))):
        view = unmix_body(result)
        assert view.components is not None
        assert view.trace is not None
        for plot in (view.components, view.trace.plot):
            for drawing in (plot.axis, *(p.drawing for p in plot.planes)):
                ET.fromstring(drawing)


def test_hostile_names_are_escaped_in_the_section() -> None:
    steps = tuple(
        dataclasses.replace(step, solver=HOSTILE, dtype=HOSTILE) for step in sample.trace()
    )
    page = Report([sample.unmixed(name=HOSTILE, verdict=HOSTILE, steps=steps)]).html()
    assert "<img" not in page
    assert page.count("</script>") == 2


def test_a_result_read_back_from_json_gives_the_same_view() -> None:
    result = sample.unmixed()
    assert summarise(UnmixResult.from_json(result.to_json())) == summarise(result)


def test_an_axis_of_any_range_names_its_numbers_apart() -> None:
    scale = range_scale([0.36712, 0.36735])
    texts = tick_texts(scale.ticks)
    assert len(set(texts)) == len(texts) >= 3
    assert scale.position(0.36712) == 2
    assert scale.position(0.36735) == 98
    assert range_scale([5.0, 5.0]).position(5.0) == pytest.approx(50)
    assert range_scale([0.0]).position(0.0) == pytest.approx(50)
    assert 0.0 in range_scale([-0.3, 0.0, 1.0]).ticks
    for high in (1e-9, 3e-5, 7.0, 4e8):
        texts = tick_texts(range_scale([-high, high]).ticks)
        assert len(set(texts)) == len(texts)
        assert max(map(len, texts)) <= 8
    assert tick_texts([1e-5, 1.0], logarithmic=True) == ["1e-5", "1"]


def test_a_figure_has_three_panels_with_the_numbers_of_the_result() -> None:
    result = sample.unmixed()
    trace, nongaussianity, stability = draw(result).axes
    assert trace.get_yscale() == "log"
    drawn = [p for line in trace.lines if line.get_marker() == "o" for p in line.get_xydata()]
    assert [tuple(point) for point in drawn] == [(s.passes, s.gradient) for s in result.trace]
    stems, intervals = nongaussianity.collections
    ends = [segment[:, 1].tolist() for segment in stems.get_segments()]
    estimates = [c.nongaussianity for c in result.components if c.nongaussianity is not None]
    assert ends == [[0.0, pytest.approx(e.value)] for e in estimates]
    spans = [segment[:, 1].tolist() for segment in intervals.get_segments()]
    assert spans == [[pytest.approx(e.low), pytest.approx(e.high)] for e in estimates]
    assert len(stability.collections[0].get_segments()) == 24
    assert len({tuple(colour) for colour in stems.get_colors()}) == 3


def test_without_restarts_the_figure_shows_the_subspaces() -> None:
    strip = draw(sample.unmixed(restarts=False)).axes[2]
    points = strip.collections[0].get_offsets()
    shown = [(int(x), int(y)) for x, y in points if y == y]
    assert shown == [(17, 1), (20, 1), (21, 1), (22, 2), (23, 2)]


@pytest.mark.parametrize(
    "result",
    [
        sample.unmixed(n_components=1, subspaces=(), steps=(), restarts=False),
        sample.unmixed(measured=False, restarts=False, subspaces=(), converged=False),
        sample.unmixed(n_components=1000, subspaces=(tuple(range(1000)),)),
        sample.unmixed(name="$\\frac$" * 2000),
        sample.unmixed(
            steps=tuple(dataclasses.replace(s, gradient=0.0) for s in sample.trace()[:2])
        ),
    ],
    ids=["one", "unmeasured", "thousand", "name", "zeros"],
)
def test_every_extreme_has_a_figure_and_a_page(result: UnmixResult) -> None:
    file = io.BytesIO()
    draw(result).savefig(file, format="svg")
    assert file.getvalue()
    assert Report([sample.comparison(), result]).html().rstrip().endswith("</html>")


def test_a_zero_gradient_is_in_the_figure() -> None:
    steps = [*sample.trace()[:3], dataclasses.replace(sample.trace()[3], gradient=0.0)]
    trace = draw(sample.unmixed(steps=tuple(steps))).axes[0]
    (hollow,) = [line for line in trace.lines if line.get_markerfacecolor() == "white"]
    assert hollow.get_xdata()[0] == steps[3].passes
    assert 0 < hollow.get_ydata()[0] < min(step.gradient for step in steps[:3])


def test_an_inspection_draws_its_spectrum_up_to_its_rank() -> None:
    result = sample.inspection()
    (axes,) = result.plot().axes
    shares, dimension = axes.lines
    assert shares.get_ydata().tolist() == list(result.spectrum[: result.run.rank])
    assert shares.get_xdata()[0] == 1
    assert dimension.get_xdata()[0] == result.effective_dimension
    assert axes.get_yscale() == "log"
    (axes,) = sample.inspection(name="$\\frac$", spectrum=(1.0,)).plot().axes
    assert axes.get_yscale() == "linear"
    axes.figure.savefig(io.BytesIO(), format="svg")


def test_drawing_components_leaves_pyplot_alone() -> None:
    pyplot = sys.modules.get("matplotlib.pyplot")
    before = pyplot.get_fignums() if pyplot else []
    sample.unmixed().plot()
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert (pyplot.get_fignums() if pyplot else []) == before
