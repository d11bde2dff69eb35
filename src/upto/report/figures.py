"""Figures of results for papers; matplotlib is imported when one is drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from upto.core import Comparison, ComparisonMatrix, InputError, MissingExtraError
from upto.report.markup import shorten, tell_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.core import Matrix, Result

_BLUE, _ORANGE, _INK, _GREY = "#0b5fa5", "#c45500", "#15191e", "#565e69"
_NAME = 24
_MAX_NUMBERED_RUNS = 8


def draw(result: Result) -> Figure:
    """Draw a result.

    Parameters
    ----------
    result
        A comparison (errors per group) or a matrix of comparisons (a heat map per group).

    Returns
    -------
    matplotlib.figure.Figure
        A figure of its own, unknown to pyplot: save it with `savefig`.

    Raises
    ------
    InputError
        If results of this kind have no figure.
    MissingExtraError
        If matplotlib is not installed.
    """
    if isinstance(result, Comparison):
        return _comparison(result)
    if isinstance(result, ComparisonMatrix):
        return _matrix(result)
    message = f"a result of kind {result.kind!r} has no figure; its numbers are in tables()."
    raise InputError(message)


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        what = "a figure"
        raise MissingExtraError(what, package="matplotlib", extra="plot") from None
    return Figure(figsize=(width, height), layout="constrained", dpi=150)


def _comparison(result: Comparison) -> Figure:
    figure = _figure(6.3, 1.3 + 0.36 * len(result.fits))
    axes = figure.subplots()
    for row, fit in enumerate(result.fits):
        chosen = fit.up_to is result.up_to and not fit.unmixed
        if chosen:
            axes.axhspan(row - 0.5, row + 0.5, color=_BLUE, alpha=0.07, linewidth=0)
        if fit.chance is not None:
            axes.plot(fit.chance.mean.value, row, "|", color=_ORANGE, markersize=13, mew=2)
        if fit.held_out is not None:
            mean = fit.held_out.mean
            if mean.low is not None and mean.high is not None:
                axes.plot([mean.low, mean.high], [row, row], color=_BLUE, alpha=0.45, lw=3)
            axes.plot(mean.value, row, "o", color=_BLUE, markersize=6)
        inner = fit.in_sample.mean.value
        axes.plot(inner, row, "o", mfc="none", mec=_INK, markersize=7.5, mew=1)
    axes.set_yticks(range(len(result.fits)), [fit.name for fit in result.fits])
    axes.set_ylim(len(result.fits) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("mean error over the diameter")
    title = f"{shorten(result.first.name, _NAME)} → {shorten(result.second.name, _NAME)}"
    # A dollar in a run's name is a dollar, not mathematics.
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)
    _plain(axes)
    _keys(figure)
    return figure


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_GREY)
    axes.grid(axis="x", color="#e1e4e8", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", color=_GREY)


def _keys(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_BLUE, marker="o", markersize=6, lw=3, alpha=0.8, label="held out"),
        Line2D([], [], color=_INK, marker="o", mfc="none", markersize=7.5, lw=0, label="in sample"),
        Line2D([], [], color=_ORANGE, marker="|", markersize=13, mew=2, lw=0, label="chance"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)


def _matrix(result: ComparisonMatrix) -> Figure:
    count = len(result.matrices)
    columns = min(count, 3)
    rows = math.ceil(count / columns)
    size = min(max(1.9, 0.42 * len(result.runs)), 4.5)
    figure = _figure(size * columns + 2.0, (size + 0.25) * rows + 0.2)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    top = max((v for m in result.matrices for r in m.error for v in r if v is not None), default=1)
    short = tell_apart([run.name for run in result.runs])
    names = [f"{shorten(name, _NAME)}  {row}" for row, name in enumerate(short, start=1)]
    image = None
    for matrix, axes in zip(result.matrices, panels.flat, strict=False):
        image = _heat_map(axes, matrix, top=top or 1.0)
        axes.set_yticks(range(len(names)), names, parse_math=False)
        axes.set_xticks(range(len(names)), [str(i + 1) for i in range(len(names))])
    for axes in panels.flat[count:]:
        axes.set_visible(False)
    for index, axes in enumerate(panels.flat[:count]):
        axes.tick_params(labelbottom=index + columns >= count, labelleft=index % columns == 0)
    if image is not None:
        label = "mean error over the diameter"
        bar = figure.colorbar(image, ax=panels.ravel().tolist(), label=label, shrink=0.6, aspect=30)
        bar.outline.set_visible(False)
    return figure


def _heat_map(axes: Axes, matrix: Matrix, *, top: float):  # type: ignore[no-untyped-def]
    values = [[math.nan if cell is None else cell for cell in row] for row in matrix.error]
    image = axes.imshow(values, cmap="Blues", vmin=0, vmax=top, interpolation="nearest")
    axes.set_title(matrix.name, loc="left", fontsize=9)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=8)
    if len(values) <= _MAX_NUMBERED_RUNS:
        for i, row in enumerate(values):
            for j, cell in enumerate(row):
                if not math.isnan(cell):
                    ink = "white" if cell > 0.65 * top else _INK
                    axes.text(j, i, f"{cell:.2f}", ha="center", va="center", fontsize=6, color=ink)
    return image
