"""SVG charts of a comparison.

Horizontal positions are percentages of the width, so that a chart fills any column while its text
and marks keep their size.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.report.axis_scale import Scale, linear_scale, log_scale, tick_text
from upto.report.markup import Inert, element, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Estimate, Fit, Histogram, Scatter, Supremum
    from upto.questions.compare.result import CompareResult

N_COLOURS = 12
OTHER = "other"
_ROW = 34
_MAX_POINTS = 1500
_WIDTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """One group of the error chart, on a linear and on a logarithmic axis."""

    name: str
    chosen: bool
    linear: Inert
    logarithmic: Inert


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorChart:
    """The error chart: its rows and its two axes."""

    rows: tuple[ErrorRow, ...]
    linear_axis: Inert
    log_axis: Inert


def error_chart(comparison: CompareResult) -> ErrorChart:
    """Draw each group's error: held out with its interval, in sample, and chance."""
    values = [value for fit in comparison.fits for value in _values(fit)]
    linear, logarithmic = linear_scale(values), log_scale(values)
    rows = tuple(
        ErrorRow(
            name=fit.name,
            chosen=fit.up_to is comparison.up_to and not fit.unmixed,
            linear=_error_row(fit, linear),
            logarithmic=_error_row(fit, logarithmic),
        )
        for fit in comparison.fits
    )
    return ErrorChart(rows=rows, linear_axis=axis(linear), log_axis=axis(logarithmic))


def _values(fit: Fit) -> list[float]:
    values = [fit.in_sample.mean.value]
    if fit.held_out is not None:
        mean = fit.held_out.mean
        values += [value for value in (mean.value, mean.low, mean.high) if value is not None]
    if fit.chance is not None:
        values.append(fit.chance.mean.value)
    return values


def _error_row(fit: Fit, scale: Scale) -> Inert:
    lines = [fit.name]
    in_sample = fit.in_sample.mean.value
    if fit.held_out is not None:
        lines.append(f"held out {fit.held_out.mean:.4f}")
    lines.append(f"in sample {in_sample:.4f}")
    lines.append(f"chance {fit.chance.mean.value:.4f}" if fit.chance else "chance not measured")
    if fit.p_value is not None:
        lines.append(f"p {fit.p_value:.2g}")
    errors = fit.held_out or fit.in_sample
    lines.append(f"R² {errors.r2:.3f} {'held out' if fit.held_out else 'in sample'}")
    return error_drawing(
        scale,
        held_out=fit.held_out.mean if fit.held_out is not None else None,
        in_sample=in_sample,
        chance=fit.chance.mean.value if fit.chance is not None else None,
        words=lines,
    )


def error_drawing(
    scale: Scale,
    *,
    held_out: Estimate | None,
    in_sample: float,
    chance: float | None,
    words: Sequence[str],
    worst: Supremum | None = None,
    height: int = _ROW,
) -> Inert:
    """Draw an error on a scale: held out with its interval, in sample, and chance.

    `worst` brackets the smallest worst error, and `words` are the lines of the tooltip.
    """
    middle = height / 2
    marks = [_grid(scale, height)]
    if worst is not None:
        low = scale.position(worst.low if worst.low is not None else worst.high)
        high = scale.position(worst.high)
        marks.append(_line("bracket", low, high, middle, middle))
        marks += [_line("bracket-end", x, x, middle - 6, middle + 6) for x in sorted({low, high})]
    if chance is not None:
        x = scale.position(chance)
        marks.append(_line("chance", x, x, middle - 9, middle + 9))
    if held_out is not None:
        if held_out.low is not None and held_out.high is not None:
            low, high = scale.position(held_out.low), scale.position(held_out.high)
            marks.append(_line("interval", low, high, middle, middle))
        x = scale.position(held_out.value)
        marks.append(element("circle", class_="held-out", cx=f"{x:.2f}%", cy=middle, r=4.5))
    x = scale.position(in_sample)
    marks.append(element("circle", class_="in-sample", cx=f"{x:.2f}%", cy=middle, r=5))
    return element(
        "svg",
        *marks,
        class_="row",
        height=height,
        role="img",
        tabindex=0,
        aria_label=", ".join(words),
        data_tip="\n".join(words),
    )


def _line(kind: str, x1: float, x2: float, y1: float, y2: float) -> Inert:
    return element("line", class_=kind, x1=f"{x1:.2f}%", x2=f"{x2:.2f}%", y1=y1, y2=y2)


def _grid(scale: Scale, height: float) -> Inert:
    lines = [_line("grid", x, x, 0, height) for x in map(scale.position, scale.ticks)]
    return Inert("".join(lines))


def axis(scale: Scale) -> Inert:
    """Draw the tick labels of a chart."""
    texts = []
    last = -100.0
    for tick in scale.ticks:
        x = scale.position(tick)
        if x - last < 7:
            continue
        last = x
        anchor = "end" if x > 97 else "middle"
        texts.append(element("text", tick_text(tick), x=f"{x:.2f}%", y=13, text_anchor=anchor))
    return element("svg", *texts, class_="axis", height=18, aria_hidden="true")


def histogram_chart(fit: Fit) -> Inert:
    """Draw the distributions of held-out errors and of errors on shuffled rows."""
    pairs = (("chance-area", fit.chance_histogram), ("error-area", fit.histogram))
    shown = [(kind, histogram) for kind, histogram in pairs if histogram is not None]
    scale = linear_scale([histogram.high for _, histogram in shown])
    marks = [_grid(scale, 150)]
    marks += [_area(kind, histogram, scale) for kind, histogram in shown]
    for kind, errors in (("chance-mean", fit.chance), ("error-mean", fit.held_out)):
        if errors is not None:
            x = scale.position(errors.mean.value)
            marks.append(_line(kind, x, x, 0, 150))
    marks.append(_bins(fit, scale))
    label = f"Distribution of held-out errors up to {fit.name}, compared with chance"
    drawing = element("svg", *marks, class_="spread", height=150, role="img", aria_label=label)
    return Inert(drawing + axis(scale))


def _area(kind: str, histogram: Histogram, scale: Scale) -> Inert:
    edges = [10 * scale.position(edge) for edge in _edges(histogram)]
    peak = max(histogram.counts, default=0) or 1
    steps = []
    for index, count in enumerate(histogram.counts):
        steps.append(f"V{100 - 94 * count / peak:.1f}H{edges[index + 1]:.1f}")
    path = f"M{edges[0]:.1f} 100{''.join(steps)}V100Z"
    return element(
        "svg",
        element("path", class_=kind, d=path),
        viewBox="0 0 1000 100",
        preserveAspectRatio="none",
        width="100%",
        height="100%",
    )


def _edges(histogram: Histogram) -> list[float]:
    width = (histogram.high - histogram.low) / max(len(histogram.counts), 1)
    return [histogram.low + index * width for index in range(len(histogram.counts) + 1)]


def _bins(fit: Fit, scale: Scale) -> Inert:
    held_out, chance = fit.histogram, fit.chance_histogram
    if held_out is None:
        return Inert("")
    same = chance is not None and _edges(chance) == _edges(held_out)
    edges = _edges(held_out)
    targets = []
    for index, count in enumerate(held_out.counts):
        x, end = scale.position(edges[index]), scale.position(edges[index + 1])
        tip = f"error {edges[index]:.4f} to {edges[index + 1]:.4f}\nheld out {count}"
        if chance is not None and same:
            tip += f"\nchance {chance.counts[index]}"
        width = f"{end - x:.2f}%"
        targets.append(
            element("rect", class_="hit", x=f"{x:.2f}%", width=width, height="100%", data_tip=tip)
        )
    return Inert("".join(targets))


def bracket_chart(name: str, worst: Supremum, mean: float) -> Inert:
    """Draw the bounds on the smallest worst error up to a group, and the mean error."""
    low, high = worst.low or 0.0, worst.high
    scale = linear_scale([low, high, mean])
    tip = f"worst error up to {name}\nat least {low:.4f}\nat most {high:.4f}"
    marks = (
        _grid(scale, _ROW),
        _line("bracket", scale.position(low), scale.position(high), 17, 17),
        _line("bracket-end", scale.position(low), scale.position(low), 9, 25),
        _line("bracket-end", scale.position(high), scale.position(high), 9, 25),
        element("circle", class_="held-out", cx=f"{scale.position(mean):.2f}%", cy=17, r=4.5),
    )
    drawing = element(
        "svg",
        *marks,
        class_="row",
        height=_ROW,
        role="img",
        tabindex=0,
        aria_label=tip.replace("\n", ", "),
        data_tip=tip + f"\nmean error {mean:.4f}",
    )
    return Inert(drawing + axis(scale))


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One entry of the scatter's legend."""

    name: str
    colour: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterChart:
    """The scatter plot, its legend and the data of its tooltips."""

    drawing: Inert
    categories: tuple[Category, ...]
    points: tuple[tuple[int, int, int, int, int], ...]
    labels: tuple[str, ...]
    n_rows: int


def scatter_chart(scatter: Scatter) -> ScatterChart | None:
    """Draw target rows as dots and aligned source rows as crosses, coloured by label."""
    n_rows = len(scatter.target)
    if n_rows == 0:
        return None
    step = -(-n_rows // _MAX_POINTS)
    target, aligned = scatter.target[::step], scatter.aligned[::step]
    labels = scatter.labels[::step] if scatter.label is not None else ()
    place = _Placement((*target, *aligned))
    categories, colours = _categories(labels)
    colour_of = colours if labels else [0] * len(target)
    points = tuple(
        (*place(a), *place(b), colour)
        for a, b, colour in zip(target, aligned, colour_of, strict=True)
    )
    marks = []
    for colour in sorted(set(colour_of)):
        own = [point for point in points if point[4] == colour]
        crosses = "".join(f"M{x - 6} {y - 6}l12 12m-12 0l12-12" for _, _, x, y, _ in own)
        dots = "".join(f"M{x} {y}h0" for x, y, *_ in own)
        second = colour if labels else 1
        marks.append(element("path", class_=f"cross k{second}", data_colour=colour, d=crosses))
        marks.append(element("path", class_=f"dot k{colour}", data_colour=colour, d=dots))
    drawing = element(
        "svg",
        *marks,
        element(
            "g", element("line"), element("circle", r=9), element("circle", r=9), class_="pair"
        ),
        class_="scatter",
        viewBox=f"0 0 {_WIDTH} {place.height}",
        role="img",
        aria_label=f"Target rows and aligned source rows, up to {scatter.up_to}",
    )
    return ScatterChart(
        drawing=drawing,
        categories=categories,
        points=points,
        labels=tuple(shorten(label) for label in labels),
        n_rows=n_rows,
    )


class _Placement:
    """Map from data to plot coordinates, with one scale for both axes to preserve distances."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        xs, ys = [x for x, _ in points], [y for _, y in points]
        width, depth = max(xs) - min(xs), max(ys) - min(ys)
        self.height = round(min(max(_WIDTH * depth / width if width else 600, 450), 720))
        room = (_WIDTH - 60, self.height - 60)
        self._scale = min(room[0] / (width or 1), room[1] / (depth or 1))
        self._centre = ((max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2)

    def __call__(self, point: tuple[float, float]) -> tuple[int, int]:
        x = _WIDTH / 2 + self._scale * (point[0] - self._centre[0])
        y = self.height / 2 - self._scale * (point[1] - self._centre[1])
        return round(x), round(y)


def _categories(labels: Sequence[str]) -> tuple[tuple[Category, ...], list[int]]:
    counts = Counter(labels)
    names = [name for name, _ in counts.most_common(N_COLOURS)]
    names.sort(key=lambda name: (len(name), name) if name.isdecimal() else (99, name))
    colour = {name: index for index, name in enumerate(names)}
    colours = [colour.get(label, N_COLOURS) for label in labels]
    categories = [Category(name=n, colour=c, count=counts[n]) for n, c in colour.items()]
    rest = colours.count(N_COLOURS)
    if rest:
        categories.append(Category(name=OTHER, colour=N_COLOURS, count=rest))
    return tuple(categories), colours
