"""Figures of results for papers; matplotlib is imported when one is drawn."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

from upto.core import (
    Comparison,
    ComparisonMatrix,
    Consensus,
    InputError,
    Inspection,
    Layers,
    MissingExtraError,
    Similarities,
    Unmixed,
)
from upto.report.consensus import reproducible_order
from upto.report.layer_figures import draw_layer_curve, draw_layer_map
from upto.report.markup import shorten, tell_apart
from upto.report.panel_figures import draw_panels, panels_size
from upto.report.similarity_figures import draw_measure_map, draw_measures, lines_in_order
from upto.report.unmixing import subspace_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from upto.core import Matrix, Result, TraceStep

_BLUE, _ORANGE, _INK, _GREY = "#0b5fa5", "#c45500", "#15191e", "#565e69"
_COLOURS = ("#00805d", "#b8558f", "#b88600", "#43339b", "#6b4a2b", "#2b8f8a", "#82205a")
_NAME = 24
_LONG_NAME = 60
_MAX_NUMBERED_RUNS = 8
_MAX_PAIRS = 6
_MAX_MAPS = 12


def draw(result: Result) -> Figure:
    """Draw a result.

    Parameters
    ----------
    result
        A comparison (errors per group), a matrix of comparisons (a heat map per group), unmixed
        components (the trace, the non-Gaussianity of each and its stability or subspace), a
        consensus (its components by runs), layers (every pair of them, and side by side),
        similarities (every measure of two runs, or a heat map of all pairs per measure), an
        inspection (the spectrum) or any result with panels (each of them).

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
    if isinstance(result, Unmixed):
        return _unmixed(result)
    if isinstance(result, Consensus):
        return _consensus(result)
    if isinstance(result, Layers):
        return _layers(result)
    if isinstance(result, Similarities):
        return _similarities(result)
    if isinstance(result, Inspection):
        return _inspection(result)
    if panels := result.panels():
        return draw_panels(_figure(*panels_size(panels)), panels)
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


def _plain(axes: Axes, *, grid: Literal["x", "y"] = "x") -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_GREY)
    axes.grid(axis=grid, color="#e1e4e8", linewidth=0.7)
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


def _unmixed(result: Unmixed) -> Figure:
    figure = _figure(6.6, 6.4)
    trace, nongaussianity, below = figure.subplots(3, height_ratios=(1.15, 1.15, 0.6))
    trace.set_title(shorten(result.name, _LONG_NAME), loc="left", fontsize=10, parse_math=False)
    _trace_panel(trace, result.trace)
    # In the order of the components, the others mark what stands alone.
    colours = [
        _BLUE if c.subspace is None else _COLOURS[(c.subspace - 1) % len(_COLOURS)]
        for c in result.components
    ]
    width = min(max(240 / max(len(colours), 1), 0.7), 9)
    estimates = [component.nongaussianity for component in result.components]
    values = [math.nan if e is None else e.value for e in estimates]
    _stems(nongaussianity, values, colours, width)
    lows = [math.nan if e is None or e.low is None else e.low for e in estimates]
    highs = [math.nan if e is None or e.high is None else e.high for e in estimates]
    ink = 0.75 if width > 1 else 0.3
    nongaussianity.vlines(range(len(lows)), lows, highs, colors=_INK, linewidth=1, alpha=ink)
    nongaussianity.set_ylabel("non-Gaussianity")
    if any(estimate is not None for estimate in estimates):
        nongaussianity.axhline(0, color=_ORANGE, lw=1.2)
    else:
        nongaussianity.set_yticks([])
        _say(nongaussianity, "Not measured; the verdict says why.")
    stabilities = [c.stability for c in result.components]
    if any(stability is not None for stability in stabilities):
        _stems(below, [math.nan if s is None else s for s in stabilities], colours, width)
        below.set_ylim(0, 1.05)
        below.set_ylabel("stability")
    else:
        numbers = [math.nan if c.subspace is None else c.subspace for c in result.components]
        below.scatter(range(len(numbers)), numbers, c=colours, s=26, marker="s", linewidths=0)
        below.set_ylim(max(len(result.subspaces), 1) + 0.5, 0.5)
        below.locator_params(axis="y", integer=True, min_n_ticks=1)
        below.set_ylabel("subspace")
        if not result.subspaces:
            below.set_yticks([])
            _say(below, subspace_sentences(result)[0].text)
    for axes in (nongaussianity, below):
        axes.set_xlim(-0.7, max(len(result.components), 1) - 0.3)
        axes.locator_params(axis="x", integer=True, min_n_ticks=1)
        _plain(axes, grid="y")
    below.set_xlabel("component")
    figure.align_ylabels()
    return figure


def _consensus(result: Consensus) -> Figure:
    order = reproducible_order(result)
    figure = _figure(6.6, 2.6 + min(0.28 * len(result.runs), 5.0))
    above, below = figure.subplots(2, sharex=True, height_ratios=(1.4, 0.28 * len(result.runs)))
    above.set_title(f"consensus up to {result.up_to}", loc="left", fontsize=10)
    components = [result.components[number] for number in order]
    width = min(max(240 / max(len(order), 1), 0.7), 9)
    means = [math.nan if c.mean is None else c.mean.value for c in components]
    colours = {"in every run": _BLUE, "in some runs": _COLOURS[2], "in no run": _GREY}
    kinds = [_where(component.n_runs, len(result.runs)) for component in components]
    _stems(above, means, [colours[kind] for kind in kinds], width)
    ends = [
        (math.nan, math.nan) if c.mean is None else (c.mean.low, c.mean.high) for c in components
    ]
    lows, highs = (
        [math.nan if end is None else end for end in side] for side in zip(*ends, strict=True)
    )
    above.vlines(range(len(order)), lows, highs, colors=_INK, linewidth=1, alpha=0.75)
    above.set_ylim(0, 1.05)
    above.set_ylabel("mean correlation")
    if result.chance_limit is None:
        _say(above, "Not judged; the verdict says why.")
    else:
        above.axhline(result.chance_limit, color=_ORANGE, lw=1.2, label="chance limit")
        for kind in (kind for kind in colours if kind in kinds):
            above.plot([], [], "s", color=colours[kind], label=kind)
        above.legend(frameon=False, fontsize=7, ncols=4, loc="lower right", bbox_to_anchor=(1, 1))
    _plain(above, grid="y")
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


def _layers(result: Layers) -> Figure:
    pairs = result.pairs[:_MAX_PAIRS]
    figure = _figure(9.2, 3.7 * len(pairs))
    panels = figure.subplots(len(pairs), 2, squeeze=False, width_ratios=(1.1, 1))
    for pair, (heat, curve) in zip(pairs, panels, strict=True):
        image = draw_layer_map(heat, result, pair)
        bar = figure.colorbar(image, ax=heat, label=result.measure(pair.measure).title, aspect=30)
        bar.outline.set_visible(False)
        draw_layer_curve(curve, result, pair)
        _plain(curve, grid="y")
    return figure


def _similarities(result: Similarities) -> Figure:
    if len(result.runs) == 2:
        figure = _figure(7.4, 1.2 + 0.22 * len(lines_in_order(result)))
        draw_measures(figure.subplots(), result)
        first, second = (shorten(run.name, _NAME) for run in result.runs)
        title = f"{first} and {second}: value, and calibrated from chance (0) to the best (1)"
        figure.suptitle(title, fontsize=9, parse_math=False)
        return figure
    measures = result.measures[:_MAX_MAPS]
    columns = min(len(measures), 3)
    rows = math.ceil(len(measures) / columns)
    size = min(max(2.2, 0.36 * len(result.runs)), 4.5)
    figure = _figure((size + 1.3) * columns, (size + 0.9) * rows)
    panels = figure.subplots(rows, columns, squeeze=False)
    for measure, axes in zip(measures, panels.flat, strict=False):
        bar = figure.colorbar(draw_measure_map(axes, result, measure), ax=axes, shrink=0.7)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=7)
    for axes in panels.flat[len(measures) :]:
        axes.set_visible(False)
    words = "dots: closer than chance, having looked at all pairs"
    if len(measures) < len(result.measures):
        words += f"; the first {len(measures)} of {len(result.measures)} measures"
    figure.suptitle(words, fontsize=9)
    return figure


def _stems(axes: Axes, values: list[float], colours: list[str], width: float) -> None:
    axes.vlines(range(len(values)), 0, values, colors=colours, linewidth=width)


def _say(axes: Axes, text: str) -> None:
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=_GREY, size=9
    )


def _trace_panel(axes: Axes, trace: Sequence[TraceStep]) -> None:
    positive = [step.gradient for step in trace if 0 < step.gradient < math.inf]
    if positive:
        axes.set_yscale("log")
    # A gradient of zero has no logarithm: it stands hollow below the smallest other one.
    floor = min(positive) / 3 if positive else 0.0
    points = [(step.passes, step.gradient or floor) for step in trace]
    kinds: dict[tuple[str, str], str] = {}
    start = 0
    for kind, steps in itertools.groupby(trace, key=lambda step: (step.solver, step.dtype)):
        end = start + len(list(steps))
        label = None if kind in kinds else ", ".join(kind)
        colour = kinds.setdefault(kind, (_BLUE, _ORANGE, *_COLOURS)[len(kinds) % 9])
        axes.plot(*zip(*points[max(start - 1, 0) : end], strict=True), color=colour, lw=1.3)
        run = points[start:end]
        axes.plot(*zip(*run, strict=True), "o", color=colour, markersize=3.5, label=label)
        if start:
            axes.axvline(points[start][0], color=_GREY, lw=0.8, ls=":")
        start = end
    zeros = [point for point, step in zip(points, trace, strict=True) if step.gradient == 0]
    if zeros:
        axes.plot(*zip(*zeros, strict=True), "o", mfc="white", mec=_INK, markersize=5, label="zero")
    axes.set_ylabel("gradient")
    _plain(axes, grid="y")
    if trace:
        axes.set_xlabel("passes over the rows")
        axes.locator_params(axis="x", integer=True, min_n_ticks=1)
        axes.legend(frameon=False, fontsize=8)
    else:
        axes.set_xticks([])
        axes.set_yticks([])
        _say(axes, "No iteration was made.")


def _inspection(result: Inspection) -> Figure:
    figure = _figure(6.3, 3.0)
    axes = figure.subplots()
    # Beyond the rank, shares are rounding.
    shares = [share for share in result.spectrum[: result.run.rank] if share > 0]
    axes.plot(range(1, len(shares) + 1), shares, "o-", color=_BLUE, markersize=3.5, lw=1)
    if len(shares) > 1 and max(shares) > 20 * min(shares):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    dimension = result.effective_dimension
    label = f"effective dimension {dimension:.1f}"
    axes.axvline(dimension, color=_ORANGE, lw=1.2, ls="--", label=label)
    axes.locator_params(axis="x", integer=True, min_n_ticks=1)
    axes.set_xlabel("principal direction")
    axes.set_ylabel("share of the variance")
    axes.set_title(shorten(result.run.name, _LONG_NAME), loc="left", fontsize=10, parse_math=False)
    axes.legend(frameon=False, fontsize=8)
    _plain(axes, grid="y")
    return figure
