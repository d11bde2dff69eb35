"""Chart lines of measures: value, interval and chance over the range of each measure."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from upto.core import Estimate
from upto.questions.similarity.result import MeasureSummary
from upto.report.markup import Inert, shorten
from upto.report.ranges import range_drawing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upto.questions.similarity.result import Similarity, SimilarityResult

_OPEN = "…"
_GROUPS = (
    ("linear", "Invariant to every invertible linear map"),
    ("rotation", "Invariant to rotations, not to other linear maps"),
    ("", "Not invariant to rotations"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A measure on its range; `others` are the values averaged in `value`.

    The axis runs from `far` to `near`, so a distance is drawn from its largest value to zero.
    """

    measure: MeasureSummary
    label: str
    far: float
    near: float
    value: Estimate
    chance: float | None
    limit: float | None
    is_beyond: bool
    last: str
    details: tuple[str, ...]
    others: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """A drawn line of the chart and its labels."""

    label: str
    says: str
    ends: tuple[str, str]
    drawing: Inert
    value: str
    interval: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureGroup:
    """Measures with the same invariance."""

    title: str
    rows: tuple[MeasureRow, ...]


def measure_chart(lines: Iterable[Line]) -> tuple[MeasureGroup, ...]:
    """Draw the lines, grouped by invariance."""
    return tuple(
        MeasureGroup(title=title, rows=tuple(_row(line) for line in members))
        for title, members in grouped_lines(lines)
    )


def measure_lines(result: SimilarityResult) -> list[Line]:
    """Return a line per measure of two runs (two if asymmetric), or the means of more runs."""
    if len(result.runs) > 2:
        return [_mean_line(result, measure) for measure in result.measures]
    return [
        _pair_line(result, measure, row)
        for measure in result.measures
        for row in result.of(measure.name)
    ]


def grouped_lines(lines: Iterable[Line]) -> list[tuple[str, list[Line]]]:
    """Group lines by invariance, the most invariant measures first."""
    found: dict[str, list[Line]] = {title: [] for _, title in _GROUPS}
    for line in lines:
        ignored = line.measure.ignores
        found[next(title for change, title in _GROUPS if change in (*ignored, ""))].append(line)
    return [(title, members) for title, members in found.items() if members]


def measure_label(measure: MeasureSummary) -> str:
    """Return the title of a measure with its parameter."""
    _, colon, parameter = measure.name.partition(":")
    return f"{measure.title} ({parameter})" if colon else measure.title


def _pair_line(result: SimilarityResult, measure: MeasureSummary, row: Similarity) -> Line:
    far, near = _axis_ends(measure, (row,))
    places = {run.name: place for place, run in enumerate(result.runs, start=1)}
    onto = "" if measure.symmetric else f", {places[row.first]} → {places[row.second]}"
    details = []
    if row.chance is not None:
        details.append(f"chance {row.chance:.3f}")
    if row.limit is not None:
        details.append(f"limit of chance {row.limit:.3f}")
    if row.calibrated is not None:
        details.append(f"calibrated {row.calibrated:.3f}")
    return Line(
        measure=measure,
        label=measure_label(measure) + onto,
        far=far,
        near=near,
        value=row.value,
        chance=row.chance,
        limit=row.limit,
        is_beyond=row.is_beyond_chance,
        last="–" if row.calibrated is None else f"{row.calibrated:.2f}",
        details=(f"value {row.value:.3f}", *details, f"adjusted p {row.adjusted:.2g}"),
    )


def _mean_line(result: SimilarityResult, measure: MeasureSummary) -> Line:
    rows = result.of(measure.name)
    far, near = _axis_ends(measure, rows)
    chances = [row.chance for row in rows if row.chance is not None]
    limits = [row.limit for row in rows if row.limit is not None]
    values = [row.value.value for row in rows]
    beyond = f"{sum(row.is_beyond_chance for row in rows)} of {len(rows)}"
    details = [f"mean {measure.mean:.3f}", f"pairs {min(values):.3f} to {max(values):.3f}"]
    if chances:
        details.append(f"mean chance {fmean(chances):.3f}")
    if limits:
        details.append(f"mean limit of chance {fmean(limits):.3f}")
    return Line(
        measure=measure,
        label=measure_label(measure),
        far=far,
        near=near,
        value=measure.mean,
        chance=fmean(chances) if chances else None,
        limit=fmean(limits) if limits else None,
        is_beyond=any(row.is_beyond_chance for row in rows),
        last=beyond,
        details=(*details, f"closer than chance {beyond}"),
        others=tuple(values),
    )


def _axis_ends(measure: MeasureSummary, rows: Iterable[Similarity]) -> tuple[float, float]:
    numbers = [
        number
        for row in rows
        for number in (row.value.value, row.value.low, row.value.high, row.chance, row.limit)
        if number is not None
    ]
    low = min(numbers) if measure.low is None else measure.low
    high = max(numbers) if measure.high is None else measure.high
    if low == high:
        low, high = low - 0.5, high + 0.5
    return (high, low) if measure.closer == "lower" else (low, high)


def _row(line: Line) -> MeasureRow:
    measure, value = line.measure, line.value
    interval = ""
    if value.low is not None and value.high is not None:
        interval = f"[{value.low:.2f}, {value.high:.2f}]"
    open_low, open_high = measure.low is None, measure.high is None
    opens = (open_high, open_low) if measure.closer == "lower" else (open_low, open_high)
    far, near = (
        _OPEN if is_open else f"{end:.3g}"
        for end, is_open in zip((line.far, line.near), opens, strict=True)
    )
    return MeasureRow(
        label=line.label,
        says=measure.says,
        ends=(far, near),
        drawing=_drawing(line),
        value=f"{value.value:.3f}",
        interval=interval,
        last=line.last,
    )


def _drawing(line: Line) -> Inert:
    return range_drawing(
        far=line.far,
        near=line.near,
        value=line.value,
        chance=line.chance,
        limit=line.limit,
        is_beyond=line.is_beyond,
        words=(shorten(line.label), *line.details, f"{line.measure.closer} is closer"),
        others=line.others,
    )
