"""Figure of conditions with their folds, components, and embedding maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from upto.questions.batches.carried_chart import SAYS, share_place, share_ticks, shares_end
from upto.questions.batches.condition_chart import CHANCE, differences_to_base, fold_means, word_of
from upto.questions.batches.embedding_maps import CONTROL, MAX_COLOURS, REST, By, map_places
from upto.report.axes import BLUE, GREY, INK, ORANGE, blank_figure, plain, say
from upto.report.markup import shorten
from upto.report.panel_figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.questions.batches.parts import BatchMap
    from upto.questions.batches.result import BatchesResult

_NAME, _TITLE = 24, 60
_MAX_CONDITIONS = 30
# The tenth colour is grey, which marks the rest here.
_COLOURS = (*COLOURS[:9], COLOURS[10])
_MARKS = ("o", "s", "D", "^", "x")
_CARRIED = {"batch": ("s", ORANGE), "label": ("o", BLUE), "both": ("D", "#b8558f"),
            "neither": ("+", GREY)}  # fmt: skip


def draw(result: BatchesResult) -> Figure:
    """Draw the result in a new figure."""
    return draw_batches(blank_figure(*batches_size(result)), result)


def batches_size(result: BatchesResult) -> tuple[float, float]:
    """Return the width and height of the figure in inches."""
    upper, lower = _heights(result)
    return 9.6, upper + lower + 0.3


def draw_batches(figure: Figure, result: BatchesResult) -> Figure:
    """Draw conditions next to components, with embedding maps below."""
    upper: Any = figure
    if result.maps:
        parts: Any = figure.subfigures(2, height_ratios=_heights(result))
        upper, lower = parts
        _draw_maps(lower, result)
    upper.suptitle(shorten(result.name, _TITLE), fontsize=10, parse_math=False)
    if result.components:
        conditions, components = upper.subplots(1, 2, width_ratios=(3, 2))
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


def _heights(result: BatchesResult) -> tuple[float, float]:
    rows = min(len(result.conditions), _MAX_CONDITIONS)
    upper = max(0.34 * rows + 1.3, 3.4 if result.components else 1.6)
    return upper, 2.9 if result.maps else 0.0


def _draw_conditions(axes: Axes, result: BatchesResult) -> None:
    shown = result.conditions[:_MAX_CONDITIONS]
    totals = {score.condition: score for score in result.scores if score.task is None}
    folds, found = fold_means(result), differences_to_base(result)
    words = []
    axes.axvline(CHANCE, color=GREY, lw=0.8)
    for row, condition in enumerate(shown):
        score = totals[condition.name]
        own = folds.get(condition.name, ())
        axes.plot(own, [row + 0.2] * len(own), ".", color=INK, alpha=0.5, markersize=5, mew=0)
        if score.shuffled is not None:
            axes.plot(score.shuffled.value, row, "|", color=ORANGE, markersize=9, mew=1.6)
        if score.auroc is not None:
            if score.auroc.low is not None and score.auroc.high is not None:
                ends = [score.auroc.low, score.auroc.high]
                axes.plot(ends, [row - 0.12] * 2, color=BLUE, alpha=0.45, lw=2.5)
            axes.plot(score.auroc.value, row - 0.12, "o", color=BLUE, markersize=4.5)
        words.append(_word(result, condition.name, found))
    names = [shorten(condition.title, _NAME) for condition in shown]
    axes.set_yticks(range(len(shown)), names, parse_math=False, fontsize=7)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=7)
    more = len(result.conditions) - len(shown)
    left = f"; {more} more conditions" if more else ""
    axes.set_xlabel(f"dots: folds; orange: shuffled labels{left}", fontsize=7)
    axes.set_title("AUROC on held-out batches (right: minus base)", loc="left", fontsize=8)
    plain(axes)
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(range(len(shown)), words, fontsize=7)
    beside.tick_params(length=0)
    beside.spines[:].set_visible(False)


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
    axes.set_xticks(places, texts, fontsize=6.5)
    axes.set_yticks(places, texts, fontsize=6.5)
    axes.set_xlim(-0.04, 1.04)
    axes.set_ylim(-0.04, 1.04)
    axes.set_xlabel("share of batch", fontsize=7)
    axes.set_ylabel("share of label", fontsize=7)
    axes.set_title("batch and label information of components", loc="left", fontsize=8)
    axes.grid(color="#e1e4e8", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=7, loc="upper right")
    if not known:
        say(axes, "no component has shares")


def _draw_maps(figure: Any, result: BatchesResult) -> None:
    shown = shown_maps(result)
    titles = {condition.name: condition.title for condition in result.conditions}
    sides: tuple[By, ...] = ("batch", "label")
    panels = figure.subplots(1, 2 * len(shown), squeeze=False)[0]
    for number, by in enumerate(sides):
        places = map_places(result, by)
        for place, each in enumerate(shown):
            axes = panels[number * len(shown) + place]
            _draw_map(axes, each, by, places)
            title = f"{shorten(titles.get(each.condition, each.condition), _NAME)}, by {by}"
            axes.set_title(title, loc="left", fontsize=8, parse_math=False)


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
