"""Figure of layers: heat map of all pairs of layers, and curve of aligned layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.questions.layers.page import ends_of_colours
from upto.report import chart
from upto.report.chart import BLUE, INK, ORANGE
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.questions.layers.result import LayerPair, LayersResult

_NAME = 18
_MAX_PAIRS = 6


def draw(result: LayersResult, *, narrow: bool = False) -> Figure:
    """Draw all pairs of layers, and aligned layers, for the first pairs of runs."""
    pairs = result.pairs[:_MAX_PAIRS]
    across = 1 if narrow else 2
    figure = chart.blank_figure(4.6 * across, 3.7 * len(pairs) * 2 / across)
    ratios = (1.1, 1)[:across]
    panels = figure.subplots(2 * len(pairs) // across, across, squeeze=False, width_ratios=ratios)
    for pair, (heat, curve) in zip(pairs, panels.reshape(-1, 2), strict=True):
        image = _draw_map(heat, result, pair)
        chart.colour_bar(figure, image, heat, result.measure(pair.measure).title, aspect=30)
        _draw_curve(curve, result, pair)
    return figure


def _draw_map(axes: Axes, result: LayersResult, pair: LayerPair) -> Any:
    """Draw the heat map of two runs, with a dot where layers are closer than chance."""
    first, second = result.names(pair)
    far, near = ends_of_colours(result, result.measure(pair.measure))
    image = chart.heat_map(axes, pair.value, pale=far, dark=near, aspect="auto")
    chart.mark_cells(axes, [[p is not None and p <= 0.05 for p in row] for row in pair.p_value])
    for each in pair.closest:
        axes.plot(each.closest, each.layer, "s", mfc="none", mec=INK, markersize=6, mew=0.8)
    chart.name_ticks(axes.set_yticks, tell_apart(first))
    chart.name_ticks(axes.set_xticks, tell_apart(second), rotation=90)
    axes.set_ylabel(shorten(pair.first, _NAME), parse_math=False)
    axes.set_xlabel(shorten(pair.second, _NAME), parse_math=False)
    return image


def _draw_curve(axes: Axes, result: LayersResult, pair: LayerPair) -> None:
    """Draw the similarity of aligned layers, with interval and limit of chance."""
    measure = result.measure(pair.measure)
    count = len(result.names(pair)[0])
    steps = {step.layer: step for step in pair.along}

    def over(what: Any) -> list[float]:
        found = (what(steps[layer]) if layer in steps else None for layer in range(count))
        return chart.numbers(found)

    layers = range(1, count + 1)
    lows, highs = over(lambda step: step.value.low), over(lambda step: step.value.high)
    axes.fill_between(layers, lows, highs, color=BLUE, alpha=0.2, lw=0, label="interval")
    values = over(lambda step: step.value.value)
    axes.plot(layers, values, "o-", color=BLUE, markersize=3, lw=1.2, label=measure.title)
    limits = over(lambda step: step.limit)
    axes.plot(layers, limits, color=ORANGE, lw=1.2, label="limit of chance")
    axes.set_xlim(0.5, count + 0.5)
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    axes.set_xlabel(f"layer of {shorten(pair.first, _NAME)}", parse_math=False)
    axes.set_ylabel(measure.title)
    chart.legend(axes)
    chart.plain(axes, grid="y")
