"""Page section of layers: heat maps of all pairs of layers, and curves of aligned layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, groupby
from statistics import median
from typing import TYPE_CHECKING, Any

from upto.report.axis_scale import Scale, range_scale
from upto.report.heat import HeatCell, closeness_level, colour_ends
from upto.report.markup import counted, shorten, tell_apart
from upto.report.planes import WIDTH, Plot, counting_axis, level, path, picture, plane
from upto.report.section import Section
from upto.report.table_view import TableView, table_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Estimate
    from upto.questions.layers.result import LayerMeasure, LayerPair, LayersResult, LayerStep

MAX_PANELS = 12
"""Maximum number of pairs of runs and measures on a page."""
_MAX_NUMBERED, _MAX_ROOMY = 8, 16
_MAX_TABLE_LAYERS = 24
_MAX_TABLE_ROWS = 600
_HEIGHT = 240
_EDGE = 3.0
_MAX_NUMBERS = 12
_MAX_DOTS = 120
_BESIDE = {"name": "of the same name", "depth": "at the same depth", "next": "that comes next"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCell:
    """Cell of a pair of layers: beyond chance or not, closest of its row or not."""

    cell: HeatCell
    beyond: bool
    closest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPanel:
    """Two runs by one measure: heat map of their layers and curve over depth."""

    name: str
    first: str
    second: str
    measure: str
    beside: str
    rows: tuple[tuple[LayerCell, ...], ...]
    names: tuple[tuple[str, ...], tuple[str, ...]]
    labels: tuple[str, ...]
    ends: tuple[str, str]
    size: str
    plot: Plot | None
    any_interval: bool
    is_own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersBody:
    """Data of the template; all panels but the first are hidden until selected."""

    panels: tuple[LayerPanel, ...]


def page(result: LayersResult) -> Section:
    """Return the page section of layers."""
    body, (tables, omitted) = layers_body(result), layers_tables(result)
    return Section(
        names=tuple(run.name for run in result.runs),
        facts=layers_facts(result),
        tables=tables,
        body=body,
        data=layers_data(result, body),
        details="Aligned layers and all values",
        omitted=omitted,
    )


def layers_body(result: LayersResult) -> LayersBody:
    """Draw the first pairs of runs and measures."""
    return LayersBody(panels=tuple(_panel(result, pair) for pair in result.pairs[:MAX_PANELS]))


def layers_data(result: LayersResult, view: LayersBody) -> dict[str, Any]:
    """Return the tooltip data of the page's script."""
    maps = [
        {
            "rows": [shorten(name) for name in panel.names[0]],
            "columns": [shorten(name) for name in panel.names[1]],
            "runs": [shorten(panel.first, 40), shorten(panel.second, 40)],
            "measure": panel.measure,
            "value": _rounded(pair.value),
            "limit": _rounded(pair.limit),
            "p": _rounded(pair.p_value),
        }
        for panel, pair in zip(view.panels, result.pairs, strict=False)
    ]
    plots = [panel.plot for panel in view.panels if panel.plot is not None]
    return {"layers": maps, "plots": [{"at": plot.at, "tips": plot.tips} for plot in plots]}


def layers_tables(result: LayersResult) -> tuple[tuple[TableView, ...], str]:
    """Return the tables that fit on the page, and a note on the others."""
    closest, along, *matrices = result.tables()
    omitted = []
    if len(result.pairs) > MAX_PANELS:
        omitted.append(f"the plots and matrices after the first {MAX_PANELS}")
    if max(len(run.layers) for run in result.runs) > _MAX_TABLE_LAYERS:
        omitted.append(f"matrices of more than {_MAX_TABLE_LAYERS} layers")
        matrices = []
    tables = []
    for table in (closest, along):
        if len(table.rows) > _MAX_TABLE_ROWS:
            omitted.append(f"the rows of a table after the first {_MAX_TABLE_ROWS}")
        tables.append(replace(table, rows=table.rows[:_MAX_TABLE_ROWS]))
    tables += matrices[:MAX_PANELS]
    left = " and ".join(dict.fromkeys(omitted))
    words = f"In the JSON only: {left}." if left else ""
    return tuple(table_view(table) for table in tables), words


def layers_facts(result: LayersResult) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each number below the verdict."""
    measure = result.measures[0]
    pairs = [pair for pair in result.pairs if pair.measure == measure.name]
    closest = [each for pair in pairs for each in pair.closest]
    values = [step.value.value for pair in pairs for step in pair.along]
    counts = " and ".join(str(len(run.layers)) for run in result.runs[:3])
    kinds = {"next to it" if pair.is_own else _BESIDE[pair.aligned_by] for pair in pairs}
    beside = kinds.pop() if len(kinds) == 1 else "aligned with it"
    used = f"of {result.n_samples:,}" if result.n_used < result.n_samples else "all of them"
    return (
        ("runs", str(len(result.runs)), f"{counts}{' …' if len(result.runs) > 3 else ''} layers"),
        (
            f"closest {beside}",
            f"{sum(pair.n_level for pair in pairs)} of {len(closest)}" if closest else "–",
            "layers",
        ),
        (
            "closest beyond chance",
            f"{sum(pair.n_beyond for pair in pairs)} of {len(closest)}" if closest else "–",
            "layers, adjusted for all pairs",
        ),
        (
            f"median {measure.title}",
            f"{median(values):.3f}" if values else "–",
            f"{min(values):.3f} to {max(values):.3f} over aligned layers" if values else "",
        ),
        ("rows", f"{result.n_used:,}", used),
    )


def _panel(result: LayersResult, pair: LayerPair) -> LayerPanel:
    measure = result.measure(pair.measure)
    names = result.names(pair)
    far, near = ends_of_colours(result, measure)
    closest = {each.layer: each.closest for each in pair.closest}
    runs = pair.first if pair.is_own else f"{pair.first} → {pair.second}"
    return LayerPanel(
        name=f"{runs}, {measure.title}" if len(result.measures) > 1 else runs,
        first=pair.first,
        second=pair.second,
        measure=measure.title,
        beside=_BESIDE[pair.aligned_by],
        rows=tuple(
            tuple(
                LayerCell(
                    cell=HeatCell(
                        text="–" if value is None else f"{value:.2f}",
                        level=closeness_level(value, far, near),
                    ),
                    beyond=p is not None and p <= 0.05,
                    closest=closest.get(i) == j,
                )
                for j, (value, p) in enumerate(zip(values, own, strict=True))
            )
            for i, (values, own) in enumerate(zip(pair.value, pair.p_value, strict=True))
        ),
        names=names,
        labels=tuple(tell_apart(names[0])),
        ends=(f"{far:.3g}", f"{near:.3g}"),
        size=_size(max(map(len, names))),
        plot=_curve(pair, measure, names) if pair.along else None,
        any_interval=any(step.value.low is not None for step in pair.along),
        is_own=pair.is_own,
    )


def _size(count: int) -> str:
    if count <= _MAX_NUMBERED:
        return ""
    return "dense roomy" if count <= _MAX_ROOMY else "dense"


def ends_of_colours(result: LayersResult, measure: LayerMeasure) -> tuple[float, float]:
    """Return the values of the palest (far) and darkest (close) colours."""
    values = [
        value
        for pair in result.pairs
        if pair.measure == measure.name
        for row in pair.value
        for value in row
        if value is not None
    ]
    return colour_ends(values, low=measure.low, high=measure.high, closer=measure.closer)


def _curve(
    pair: LayerPair, measure: LayerMeasure, names: tuple[tuple[str, ...], tuple[str, ...]]
) -> Plot:
    scale = _scale(pair.along)
    last = len(names[0]) - 1
    at = [_EDGE + (100 - 2 * _EDGE) * step.layer / last if last else 50.0 for step in pair.along]
    points = [(WIDTH * x / 100, step) for x, step in zip(at, pair.along, strict=True)]
    # The curve has a gap at layers without a value.
    pieces = [[*piece] for _, piece in groupby(enumerate(points), lambda p: p[1][1].layer - p[0])]
    curves = [[point for _, point in piece] for piece in pieces]
    values = [(x, step.value.value) for x, step in points]
    marks = [
        path("band p0 pale", chain.from_iterable(_band(curve, scale) for curve in curves)),
        path("curve p1", chain.from_iterable(_limit(curve, scale) for curve in curves)),
        path(
            "curve p0",
            chain.from_iterable(
                _line([(x, step.value.value) for x, step in curve], scale) for curve in curves
            ),
        ),
    ]
    if len(points) <= _MAX_DOTS:
        dots = (f"M{x:.1f} {level(scale, value, _HEIGHT):.1f}h0" for x, value in values)
        marks.append(path("step p0", dots))
    every = -(-len(at) // _MAX_NUMBERS)
    numbered = list(zip(at, pair.along, strict=True))[::every]
    return Plot(
        planes=(
            plane(
                picture(*marks, height=_HEIGHT),
                name=measure.title,
                label=f"{measure.title} of aligned layers, {counted(len(at), 'layer')}",
                height=_HEIGHT,
                scale=scale,
            ),
        ),
        axis=counting_axis((x, str(step.layer + 1)) for x, step in numbered),
        axis_name=f"layer of {shorten(pair.first, 40)}",
        at=tuple(round(x, 3) for x in at),
        tips=tuple(_tip(pair, step, names) for step in pair.along),
    )


def _scale(steps: Sequence[LayerStep]) -> Scale:
    estimates = [step.value for step in steps]
    numbers = [number for each in estimates for number in (each.value, *_interval(each))]
    limits = [step.limit for step in steps if step.limit is not None]
    return range_scale([0.0, *numbers, *limits, *([1.0] if max(numbers) > 0.6 else [])])


def _interval(estimate: Estimate) -> tuple[float, ...]:
    if estimate.low is None or estimate.high is None:
        return ()
    return estimate.low, estimate.high


def _line(points: Sequence[tuple[float, float]], scale: Scale) -> list[str]:
    return [
        f"{'L' if place else 'M'}{x:.1f} {level(scale, value, _HEIGHT):.1f}"
        for place, (x, value) in enumerate(points)
    ]


def _limit(points: Sequence[tuple[float, LayerStep]], scale: Scale) -> list[str]:
    return _line([(x, step.limit) for x, step in points if step.limit is not None], scale)


def _band(points: Sequence[tuple[float, LayerStep]], scale: Scale) -> list[str]:
    ends = [(x, *_interval(step.value)) for x, step in points if step.value.low is not None]
    if not ends:
        return []
    if len(ends) == 1:
        # A single layer has no width, so its interval is as wide as a marker.
        (x, low, high) = ends[0]
        ends = [(x - 4, low, high), (x + 4, low, high)]
    there = [(x, high) for x, _, high in ends]
    back = [(x, low) for x, low, _ in reversed(ends)]
    return [*_line([*there, *back], scale), "Z"]


def _tip(pair: LayerPair, step: LayerStep, names: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
    lines = [
        shorten(names[0][step.layer]),
        f"aligned with {shorten(names[1][step.beside])}",
        f"{pair.measure} {step.value:.3f}",
    ]
    if step.limit is not None:
        lines.append(f"limit of chance {step.limit:.3f}")
    return "\n".join([*lines, f"adjusted p {step.p_value:.2g}"])


def _rounded(rows: tuple[tuple[float | None, ...], ...]) -> list[list[float | None]]:
    return [[None if cell is None else float(f"{cell:.4g}") for cell in row] for row in rows]
