"""Figure of a consensus: components by runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from upto.questions.consensus.page import reproducible_order
from upto.report.axes import BLUE, COLOURS, GREY, INK, ORANGE, blank_figure, plain, say, stems
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from upto.questions.consensus.result import ConsensusResult

_NAME = 24


def draw(result: ConsensusResult) -> Figure:
    """Draw the mean correlation of each component, and its correlation in every run."""
    order = reproducible_order(result)
    figure = blank_figure(6.6, 2.6 + min(0.28 * len(result.runs), 5.0))
    above, below = figure.subplots(2, sharex=True, height_ratios=(1.4, 0.28 * len(result.runs)))
    above.set_title(f"consensus up to {result.up_to}", loc="left", fontsize=10)
    components = [result.components[number] for number in order]
    width = min(max(240 / max(len(order), 1), 0.7), 9)
    means = [math.nan if c.mean is None else c.mean.value for c in components]
    colours = {"in every run": BLUE, "in some runs": COLOURS[2], "in no run": GREY}
    kinds = [_where(component.n_runs, len(result.runs)) for component in components]
    stems(above, means, [colours[kind] for kind in kinds], width)
    ends = [
        (math.nan, math.nan) if c.mean is None else (c.mean.low, c.mean.high) for c in components
    ]
    lows, highs = (
        [math.nan if end is None else end for end in side] for side in zip(*ends, strict=True)
    )
    above.vlines(range(len(order)), lows, highs, colors=INK, linewidth=1, alpha=0.75)
    above.set_ylim(0, 1.05)
    above.set_ylabel("mean correlation")
    if result.limit is None:
        say(above, "Not tested; see the verdict.")
    else:
        above.axhline(result.limit, color=ORANGE, lw=1.2, label="needed to appear")
        for kind in (kind for kind in colours if kind in kinds):
            above.plot([], [], "s", color=colours[kind], label=kind)
        above.legend(frameon=False, fontsize=7, ncols=4, loc="lower right", bbox_to_anchor=(1, 1))
    plain(above, grid="y")
    values = [
        [math.nan if value is None else value for value in column]
        for column in zip(*(c.correlations for c in components), strict=True)
    ]
    image = below.imshow(
        values, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", aspect="auto"
    )
    names = tell_apart([run.name for run in result.runs])
    shown = [shorten(name, _NAME) for name in names]
    below.set_yticks(range(len(names)), shown, parse_math=False)
    below.tick_params(length=0, labelsize=8)
    below.spines[:].set_visible(False)
    every = max(1, -(-len(order) // 12))
    below.set_xticks(range(0, len(order), every), [str(number) for number in order[::every]])
    below.set_xlabel("component")
    bar = figure.colorbar(image, ax=below, label="correlation", aspect=12)
    bar.outline.set_visible(False)
    return figure


def _where(n_runs: int | None, count: int) -> str:
    if n_runs == count:
        return "in every run"
    return "in some runs" if n_runs else "in no run"
