"""Figure of a consensus: components by runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.questions.consensus.page import reproducible_order
from upto.report import chart
from upto.report.chart import BLUE, COLOURS, GREY, ORANGE
from upto.report.markup import tell_apart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from upto.questions.consensus.result import ConsensusResult


def draw(result: ConsensusResult, *, narrow: bool = False) -> Figure:
    """Draw the mean correlation of each component, and its correlation in every run."""
    n_runs, order = len(result.runs), reproducible_order(result)
    figure = chart.blank_figure(6.6, 2.6 + min(0.28 * n_runs, 5.0))
    above, below = figure.subplots(2, sharex=True, height_ratios=(1.4, 0.28 * n_runs))
    figure.suptitle(f"consensus up to {result.up_to}", fontsize=10)
    components = [result.components[number] for number in order]
    colours = {"in every run": BLUE, "in some runs": COLOURS[2], "in no run": GREY}
    kinds = [_where(component.n_runs, n_runs) for component in components]
    chart.stems(above, [each.mean for each in components], [colours[kind] for kind in kinds])
    above.set_ylim(0, 1.05)
    above.set_ylabel("mean correlation")
    if result.limit is None:
        chart.say(above, "Not tested; see the verdict.")
    else:
        above.axhline(result.limit, color=ORANGE, lw=1.2, label="needed to appear")
        for kind in (kind for kind in colours if kind in kinds):
            above.plot([], [], "s", color=colours[kind], label=kind)
        chart.legend(above, ncols=2 if narrow else 4, loc="lower right", bbox_to_anchor=(1, 1))
    chart.plain(above, grid="y")
    values = zip(*(c.correlations for c in components), strict=True)
    image = chart.heat_map(below, values, size=8, aspect="auto")
    names = tell_apart([run.name for run in result.runs])
    chart.name_ticks(below.set_yticks, names, length=24, most=n_runs)
    chart.name_ticks(below.set_xticks, [str(number) for number in order], most=12)
    below.set_xlabel("component")
    chart.colour_bar(figure, image, below, "correlation", aspect=12)
    return figure


def _where(n_runs: int | None, count: int) -> str:
    if n_runs == count:
        return "in every run"
    return "in some runs" if n_runs else "in no run"
