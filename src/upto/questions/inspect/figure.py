"""The figure of a run's spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.report import chart
from upto.report.chart import BLUE, ORANGE
from upto.report.markup import shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from upto.questions.inspect.result import InspectResult

_LONG_NAME = 60


def draw(result: InspectResult, *, narrow: bool = False) -> Figure:
    """Draw the fraction of variance in each principal direction."""
    figure = chart.blank_figure(6.3, 3.0)
    axes = figure.subplots()
    # Beyond the rank, fractions are rounding error.
    shares = [share for share in result.spectrum[: result.run.rank] if share > 0]
    axes.plot(range(1, len(shares) + 1), shares, "o-", color=BLUE, markersize=3.5, lw=1)
    if len(shares) > 1 and max(shares) > 20 * min(shares):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    dimension = result.effective_dimension
    label = f"effective dimension {dimension:.1f}"
    axes.axvline(dimension, color=ORANGE, lw=1.2, ls="--", label=label)
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    axes.set_xlabel("principal direction")
    axes.set_ylabel("share of the variance")
    chart.write_title(axes, shorten(result.run.name, _LONG_NAME))
    chart.legend(axes, size=8)
    chart.plain(axes, grid="y")
    return figure
