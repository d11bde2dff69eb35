"""Figure of conditions with their folds, components, and embedding maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.questions.batches.carried_chart import SAYS, share_place, share_ticks, shares_end
from upto.questions.batches.condition_chart import CHANCE, differences_to_base, fold_means, word_of
from upto.questions.batches.embedding_maps import CONTROL, MAX_COLOURS, REST, By, map_places
from upto.report import chart
from upto.report.chart import BLUE, COLOURS, GREY, INK, ORANGE
from upto.report.markup import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.questions.batches.parts import BatchMap
    from upto.questions.batches.result import BatchesResult

_NAME, _TITLE = 24, 60
_MAX_CONDITIONS = 30
_COLOURS = (BLUE, ORANGE, *COLOURS, "#7a9a01")
_MARKS = ("o", "s", "D", "^", "x")
_CARRIED = {"batch": ("s", ORANGE), "label": ("o", BLUE), "both": ("D", COLOURS[1]),
            "neither": ("+", GREY)}  # fmt: skip


def draw(result: BatchesResult, *, narrow: bool = False) -> Figure:
    """Draw conditions next to components, with embedding maps below."""
    rows = min(len(result.conditions), _MAX_CONDITIONS)
    heights = [max(0.34 * rows + 1.3, 3.4 if result.components else 1.6), 2.9 if result.maps else 0]
    if narrow:
        heights = [heights[0] + (3.2 if result.components else 0), 2 * heights[1]]
    figure = chart.blank_figure(4.8 if narrow else 9.6, sum(heights) + 0.3)
    upper: Any = figure
    if result.maps:
        parts: Any = figure.subfigures(2, height_ratios=heights)
        upper, lower = parts
        _draw_maps(lower, result, most=2 if narrow else 4)
    upper.suptitle(shorten(result.name, _TITLE), fontsize=10, parse_math=False)
    if result.components:
        sides: dict[str, Any] = {"width_ratios": (3, 2)}
        conditions, components = upper.subplots(2) if narrow else upper.subplots(1, 2, **sides)
        _draw_components(components, result)
    else:
        conditions = upper.subplots()
    _draw_conditions(conditions, result)
    return figure


def shown_maps(result: BatchesResult) -> tuple[BatchMap, ...]:
    """Return the maps to draw: the first, and that of the best condition or of ICA."""
    if len(result.maps) < 2:
        return result.maps
    first, *others = result.maps
    by_name = {each.condition: each for each in others}
    return first, by_name.get(result.best, by_name.get("ica", others[0]))


def _draw_conditions(axes: Axes, result: BatchesResult) -> None:
    shown = result.conditions[:_MAX_CONDITIONS]
    folds, found = fold_means(result), differences_to_base(result)
    axes.axvline(CHANCE, color=GREY, lw=0.8)
    for row, condition in enumerate(shown):
        score, own = result.score(condition.name), folds.get(condition.name, ())
        axes.plot(own, [row + 0.2] * len(own), ".", color=INK, alpha=0.5, markersize=5, mew=0)
        if score.shuffled is not None:
            chart.chance_mark(axes, row, score.shuffled.value)
        chart.value_mark(axes, row - 0.12, score.auroc, size=4.5)
    chart.name_rows(axes, [condition.title for condition in shown], length=_NAME, size=7)
    axes.tick_params(axis="x", labelsize=7)
    more = len(result.conditions) - len(shown)
    left = f"; {more} more conditions" if more else ""
    axes.set_xlabel(f"dots: folds; orange: shuffled labels{left}", fontsize=7)
    chart.write_title(axes, "AUROC on held-out batches (right: minus base)", 8)
    chart.plain(axes)
    chart.write_beside(axes, [_word(result, condition.name, found) for condition in shown])


def _word(result: BatchesResult, name: str, found: Any) -> str:
    if result.score(name).auroc is None:
        return "no value"
    if name not in found:
        return ""
    return f"{found[name].value.value:+.3f} {word_of(found[name])}"


def _draw_components(axes: Axes, result: BatchesResult) -> None:
    known = [
        each
        for each in result.components
        if each.batch_share is not None and each.label_share is not None
    ]
    high = shares_end(known)
    for kind, (mark, colour) in _CARRIED.items():
        own = [each for each in known if each.carries == kind]
        x = [share_place(each.batch_share, high) for each in own]
        y = [share_place(each.label_share, high) for each in own]
        count = sum(each.carries == kind for each in result.components)
        label = f"{SAYS[kind][0]} ({count})"  # type: ignore[index]
        axes.plot(x, y, mark, color=colour, markersize=4, alpha=0.8, lw=0, label=label)
    ticks = share_ticks(high)
    places, texts = [share_place(tick, high) for tick in ticks], [f"{tick:g}" for tick in ticks]
    axes.set_xticks(places, texts, fontsize=6.5, rotation=90)
    axes.set_yticks(places, texts, fontsize=6.5)
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("share of batch", fontsize=7)
    axes.set_ylabel("share of label", fontsize=7)
    chart.write_title(axes, "batch and label information of components", 8)
    chart.plain(axes, grid="both")
    chart.legend(axes, loc="upper right")
    if not known:
        chart.say(axes, "no component has shares")


def _draw_maps(figure: Any, result: BatchesResult, *, most: int) -> None:
    shown = shown_maps(result)
    titles = {condition.name: condition.title for condition in result.conditions}
    sides: tuple[By, ...] = ("batch", "label")
    panels = chart.panel_grid(figure, 2 * len(shown), most)
    for number, by in enumerate(sides):
        places = map_places(result, by)
        for place, each in enumerate(shown):
            axes = panels[number * len(shown) + place]
            _draw_map(axes, each, by, places)
            title = shorten(titles.get(each.condition, each.condition), _NAME)
            chart.write_title(axes, f"{title}, by {by}", 8)


def _draw_map(axes: Axes, each: BatchMap, by: By, places: dict[int, int]) -> None:
    kinds = [places.get(number, REST) for number in (each.batch if by == "batch" else each.label)]
    for place in (CONTROL, REST, *range(MAX_COLOURS)):
        own = [row for row, kind in enumerate(kinds) if kind == place]
        grey = place >= REST
        axes.plot(
            [each.x[row] for row in own],
            [each.y[row] for row in own],
            ("." if place == CONTROL else "+") if grey else _MARKS[place % len(_MARKS)],
            color="#8a929c" if grey else _COLOURS[place],
            markersize=2.2, mew=0.6, lw=0, alpha=0.5 if grey else 0.85,
        )  # fmt: skip
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color("#c9ced4")
