"""Figure of layers: heat map of all pairs of layers, and curve of aligned layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from upto.questions.layers.page import ends_of_colours
from upto.report.axes import blank_figure, plain
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.questions.layers.result import LayerPair, LayersResult

_BLUE, _ORANGE, _INK = "#0b5fa5", "#c45500", "#15191e"
_NAME = 18
_MAX_PAIRS = 6
_MAX_NAMED = 30
_MAX_MARKED = 40


def draw(result: LayersResult) -> Figure:
    """Draw all pairs of layers, and aligned layers, for the first pairs of runs."""
    pairs = result.pairs[:_MAX_PAIRS]
    figure = blank_figure(9.2, 3.7 * len(pairs))
    panels = figure.subplots(len(pairs), 2, squeeze=False, width_ratios=(1.1, 1))
    for pair, (heat, curve) in zip(pairs, panels, strict=True):
        image = draw_layer_map(heat, result, pair)
        bar = figure.colorbar(image, ax=heat, label=result.measure(pair.measure).title, aspect=30)
        bar.outline.set_visible(False)
        draw_layer_curve(curve, result, pair)
        plain(curve, grid="y")
    return figure


def draw_layer_map(axes: Axes, result: LayersResult, pair: LayerPair) -> Any:
    """Draw the heat map of two runs, with a dot where layers are closer than chance."""
    first, second = result.names(pair)
    far, near = ends_of_colours(result, result.measure(pair.measure))
    values = [[math.nan if cell is None else cell for cell in row] for row in pair.value]
    image = axes.imshow(
        values,
        cmap="Blues" if near >= far else "Blues_r",
        vmin=min(far, near),
        vmax=max(far, near) if near != far else far + 1,
        interpolation="nearest",
        aspect="auto",
    )
    marked = [
        (i, j)
        for i, row in enumerate(pair.p_value)
        for j, p in enumerate(row)
        if p is not None and p <= 0.05
    ]
    if max(len(first), len(second)) <= _MAX_MARKED:
        places = [(j, i) for i, j in marked]
        axes.scatter(
            [j for j, _ in places], [i for _, i in places], s=4, color=_ORANGE, linewidths=0
        )
    for each in pair.closest:
        axes.plot(each.closest, each.layer, "s", mfc="none", mec=_INK, markersize=6, mew=0.8)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=7)
    _name(axes.set_yticks, first)
    _name(axes.set_xticks, second, rotation=90)
    axes.set_ylabel(shorten(pair.first, _NAME), parse_math=False)
    axes.set_xlabel(shorten(pair.second, _NAME), parse_math=False)
    return image


def draw_layer_curve(axes: Axes, result: LayersResult, pair: LayerPair) -> None:
    """Draw the similarity of aligned layers, with interval and limit of chance."""
    measure = result.measure(pair.measure)
    count = len(result.names(pair)[0])
    steps = {step.layer: step for step in pair.along}

    def over(what: Any) -> list[float]:
        found = [what(steps[layer]) if layer in steps else None for layer in range(count)]
        return [math.nan if value is None else value for value in found]

    layers = range(1, count + 1)
    lows, highs = over(lambda step: step.value.low), over(lambda step: step.value.high)
    axes.fill_between(layers, lows, highs, color=_BLUE, alpha=0.2, lw=0, label="interval")
    values = over(lambda step: step.value.value)
    axes.plot(layers, values, "o-", color=_BLUE, markersize=3, lw=1.2, label=measure.title)
    limits = over(lambda step: step.limit)
    axes.plot(layers, limits, color=_ORANGE, lw=1.2, label="limit of chance")
    axes.set_xlim(0.5, count + 0.5)
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    axes.set_xlabel(f"layer of {shorten(pair.first, _NAME)}", parse_math=False)
    axes.set_ylabel(measure.title)
    axes.legend(frameon=False, fontsize=7)


def _name(set_ticks: Any, names: Sequence[str], **options: Any) -> None:
    every = -(-len(names) // _MAX_NAMED)
    shown = [shorten(name, _NAME) for name in tell_apart(names)]
    set_ticks(range(0, len(names), every), shown[::every], parse_math=False, **options)
