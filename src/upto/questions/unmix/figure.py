"""The figure of `upto.unmix`: trace, non-Gaussianity, stability or subspaces."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from upto.core import Estimate
from upto.questions.unmix.page import subspace_sentences
from upto.report import chart
from upto.report.chart import BLUE, COLOURS, GREY, INK, ORANGE
from upto.report.markup import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.core import TraceStep
    from upto.questions.unmix.result import Component, UnmixResult

_NAME = 60


def _colour(component: Component) -> str:
    """Return the colour of a component's subspace; blue outside all subspaces, grey if unknown."""
    if component.state == "not shown":
        return GREY
    return BLUE if component.subspace is None else COLOURS[(component.subspace - 1) % len(COLOURS)]


def draw(result: UnmixResult, *, narrow: bool = False) -> Figure:
    """Draw the trace, the non-Gaussianity of each component and its stability or subspace."""
    figure = chart.blank_figure(6.6, 6.4)
    trace, nongaussianity, below = figure.subplots(3, height_ratios=(1.15, 1.15, 0.6))
    chart.write_title(trace, shorten(result.name, _NAME))
    _trace_panel(trace, result.trace)
    colours = [_colour(component) for component in result.components]
    estimates = [component.nongaussianity for component in result.components]
    chart.stems(nongaussianity, estimates, colours)
    nongaussianity.set_ylabel("non-Gaussianity")
    if any(estimate is not None for estimate in estimates):
        nongaussianity.axhline(0, color=ORANGE, lw=1.2)
    else:
        nongaussianity.set_yticks([])
        chart.say(nongaussianity, "Not measured; see the verdict.")
    stabilities = [c.stability for c in result.components]
    if any(stability is not None for stability in stabilities):
        chart.stems(below, [None if s is None else Estimate(value=s) for s in stabilities], colours)
        below.set_ylim(0, 1.05)
        below.set_ylabel("stability")
    else:
        places = chart.numbers(c.subspace for c in result.components)
        below.scatter(range(len(places)), places, c=colours, s=26, marker="s", linewidths=0)
        below.set_ylim(max(len(result.subspaces), 1) + 0.5, 0.5)
        below.locator_params(axis="y", integer=True, min_n_ticks=1)
        below.set_ylabel("subspace")
        if not result.subspaces:
            below.set_yticks([])
            chart.say(below, subspace_sentences(result)[0].text)
    for axes in (nongaussianity, below):
        axes.set_xlim(-0.7, max(len(result.components), 1) - 0.3)
        axes.locator_params(axis="x", integer=True, min_n_ticks=1)
        chart.plain(axes, grid="y")
    below.set_xlabel("component")
    figure.align_ylabels()
    return figure


def _trace_panel(axes: Axes, trace: Sequence[TraceStep]) -> None:
    positive = [step.gradient for step in trace if 0 < step.gradient < math.inf]
    if positive:
        axes.set_yscale("log")
    # A gradient of zero has no logarithm: draw it hollow, below the smallest other one.
    floor = min(positive) / 3 if positive else 0.0
    points = [(step.passes, step.gradient or floor) for step in trace]
    kinds: dict[tuple[str, str], str] = {}
    start = 0
    for kind, steps in itertools.groupby(trace, key=lambda step: (step.solver, step.dtype)):
        end = start + len(list(steps))
        label = None if kind in kinds else ", ".join(kind)
        colour = kinds.setdefault(kind, (BLUE, ORANGE, *COLOURS)[len(kinds) % 9])
        axes.plot(*zip(*points[max(start - 1, 0) : end], strict=True), color=colour, lw=1.3)
        run = points[start:end]
        axes.plot(*zip(*run, strict=True), "o", color=colour, markersize=3.5, label=label)
        if start:
            axes.axvline(points[start][0], color=GREY, lw=0.8, ls=":")
        start = end
    zeros = [point for point, step in zip(points, trace, strict=True) if step.gradient == 0]
    if zeros:
        axes.plot(*zip(*zeros, strict=True), "o", mfc="white", mec=INK, markersize=5, label="zero")
    axes.set_ylabel("gradient")
    chart.plain(axes, grid="y")
    if trace:
        axes.set_xlabel("passes over the rows")
        axes.locator_params(axis="x", integer=True, min_n_ticks=1)
        chart.legend(axes, size=8)
    else:
        axes.set_xticks([])
        axes.set_yticks([])
        chart.say(axes, "No iterations.")
