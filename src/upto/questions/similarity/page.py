"""Page section of similarities: measures on their ranges, and heat maps of all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from upto.questions.similarity.measure_lines import (
    MeasureGroup,
    measure_chart,
    measure_label,
    measure_lines,
)
from upto.report.heat import HeatCell, closeness_level, colour_ends
from upto.report.markup import counted, shorten, tell_apart
from upto.report.section import Section
from upto.report.table_view import TableView, table_view

if TYPE_CHECKING:
    from upto.questions.similarity.result import MeasureSummary, Similarity, SimilarityResult

_MAX_CELLS = 6000
_MAX_TABLE_CELLS = 2000
_MAX_TABLE_RUNS = 24
_MAX_NUMBERED_RUNS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureMap:
    """Heat map of one measure, with similar runs next to each other."""

    label: str
    says: str
    closer: str
    symmetric: bool
    names: tuple[str, ...]
    labels: tuple[str, ...]
    rows: tuple[tuple[HeatCell, ...], ...]
    ends: tuple[str, str]
    mean: str
    has_interval: bool
    n_beyond: str
    dense: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityBody:
    """Data of the template; `maps` need three or more runs, `numbered` two."""

    groups: tuple[MeasureGroup, ...]
    maps: tuple[MeasureMap, ...]
    numbered: tuple[str, ...]
    any_within: bool


def page(result: SimilarityResult) -> Section:
    """Return the page section of similarities."""
    tables, omitted = similarity_tables(result)
    return Section(
        names=tuple(run.name for run in result.runs),
        headline=(result.verdict, "") if len(result.runs) > 2 else None,
        facts=similarity_facts(result),
        tables=tables,
        body=similarity_body(result),
        data=similarity_data(result),
        details="Tables of all pairs" if len(tables) > 1 else "",
        omitted=omitted,
    )


def similarity_body(result: SimilarityResult) -> SimilarityBody:
    """Draw every measure on its range and, for three or more runs, a heat map per measure."""
    lines = measure_lines(result)
    directed = any(not measure.symmetric for measure in result.measures)
    is_pair = len(result.runs) == 2
    return SimilarityBody(
        groups=measure_chart(lines),
        maps=tuple(_map(result, measure) for measure in _mapped(result)),
        numbered=tuple(run.name for run in result.runs) if is_pair and directed else (),
        any_within=any(not line.is_beyond for line in lines),
    )


def map_ends(result: SimilarityResult, measure: MeasureSummary) -> tuple[float, float]:
    """Return the values of the palest and darkest colours of a heat map."""
    values = [row.value.value for row in result.of(measure.name)]
    return colour_ends(values, low=measure.low, high=measure.high, closer=measure.closer)


def pairs_in_order(
    result: SimilarityResult, measure: MeasureSummary
) -> tuple[tuple[Similarity | None, ...], ...]:
    """Return every ordered pair, with similar runs next to each other."""
    found = {}
    for row in result.of(measure.name):
        found[row.first, row.second] = row
        if measure.symmetric:
            found[row.second, row.first] = row
    names = [result.runs[place].name for place in measure.order]
    return tuple(tuple(found.get((first, second)) for second in names) for first in names)


def similarity_data(result: SimilarityResult) -> dict[str, Any]:
    """Return the tooltip data of the page's script, one entry per heat map."""
    maps = []
    for measure in _mapped(result):
        pairs = pairs_in_order(result, measure)
        maps.append(
            {
                "names": [shorten(result.runs[place].name) for place in measure.order],
                "measure": shorten(measure_label(measure)),
                "joint": "and" if measure.symmetric else "→",
                "value": [[pair and _rounded(pair.value.value) for pair in row] for row in pairs],
                "low": [[pair and _rounded(pair.value.low) for pair in row] for row in pairs],
                "high": [[pair and _rounded(pair.value.high) for pair in row] for row in pairs],
                "limit": [[pair and _rounded(pair.limit) for pair in row] for row in pairs],
                "calibrated": [
                    [pair and _rounded(pair.calibrated) for pair in row] for row in pairs
                ],
                "p": [[pair and _rounded(pair.adjusted) for pair in row] for row in pairs],
            }
        )
    return {"similarities": maps} if maps else {}


def similarity_tables(result: SimilarityResult) -> tuple[tuple[TableView, ...], str]:
    """Return the tables that fit on the page, and a note on the others."""
    headline, *matrices = result.tables()
    shown = len(_mapped(result))
    omitted = []
    if shown < len(result.measures) and matrices:
        omitted.append(f"the heat maps after the first{f' {shown}' if shown > 1 else ''}")
    room = _MAX_TABLE_CELLS // len(result.runs) ** 2
    if len(result.runs) > _MAX_TABLE_RUNS:
        room = 0
    if room < len(matrices):
        after = f" after the first{f' {room}' if room > 1 else ''}" if room else ""
        omitted.append(f"the tables of pairs{after}")
    words = f"In the JSON only: {' and '.join(omitted)}."
    tables = tuple(table_view(table) for table in (headline, *matrices[:room]))
    return tables, words if omitted else ""


def similarity_facts(result: SimilarityResult) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each number below the verdict."""
    used = f"of {result.n_samples:,}" if result.n_used < result.n_samples else "all of them"
    if result.n_held_out:
        used += f"; {result.n_held_out:,} held out"
    kind = "all other" if result.complete else "random"
    pairings = f"{kind} pairings of rows"
    if result.within is not None:
        pairings += f" within {shorten(result.within, 40)}"
    if result.n_fits is not None:
        pairings += f"; {result.n_fits:,} fits"
    return (
        *(_pair_facts(result) if len(result.runs) == 2 else _matrix_facts(result)),
        ("rows", f"{result.n_used:,}", used),
        ("chance", f"{result.n_pairings:,}", pairings),
    )


def _pair_facts(result: SimilarityResult) -> tuple[tuple[str, str, str], ...]:
    close = {row.measure for row in result.rows if row.is_beyond_chance}
    numbers = [row.calibrated for row in result.rows if row.calibrated is not None]
    many = len(result.measures)
    spread = "not measured"
    if numbers:
        spread = f"{min(numbers):.2f} to {max(numbers):.2f}; 0 is chance, 1 the best value"
    return (
        ("closer than chance", f"{len(close)} of {many}", "measure" if many == 1 else "measures"),
        ("median calibrated value", f"{median(numbers):.2f}" if numbers else "–", spread),
    )


def _matrix_facts(result: SimilarityResult) -> tuple[tuple[str, str, str], ...]:
    count = len(result.runs)
    first = result.measures[0]
    rows = result.of(first.name)
    mean = first.mean
    interval = "no interval; it needs four runs"
    if mean.low is not None and mean.high is not None:
        interval = f"{mean.low:.3f} to {mean.high:.3f} at\u00a0{100 * mean.level:.3g}\u00a0%"
    beyond = sum(row.is_beyond_chance for row in rows)
    return (
        ("runs", str(count), f"{count * (count - 1) // 2:,} pairs"),
        (f"mean {measure_label(first)}", f"{mean.value:.3f}", interval),
        ("pairs closer than chance", f"{beyond:,} of {len(rows):,}", f"by {measure_label(first)}"),
    )


def _mapped(result: SimilarityResult) -> tuple[MeasureSummary, ...]:
    count = len(result.runs)
    if count == 2:
        return ()
    return result.measures[: max(_MAX_CELLS // count**2, 1)]


def _map(result: SimilarityResult, measure: MeasureSummary) -> MeasureMap:
    far, near = map_ends(result, measure)
    names = tuple(result.runs[place].name for place in measure.order)
    rows = result.of(measure.name)
    beyond = sum(row.is_beyond_chance for row in rows)
    return MeasureMap(
        label=measure_label(measure),
        says=measure.says,
        closer=measure.closer,
        symmetric=measure.symmetric,
        names=names,
        labels=tuple(tell_apart(names)),
        rows=tuple(
            tuple(_cell(pair, far, near) for pair in row) for row in pairs_in_order(result, measure)
        ),
        ends=(f"{far:.3g}", f"{near:.3g}"),
        mean=f"{measure.mean:.3f}",
        has_interval=measure.mean.low is not None,
        n_beyond=f"{beyond:,} of {counted(len(rows), 'pair')}",
        dense=len(names) > _MAX_NUMBERED_RUNS,
    )


def _cell(pair: Similarity | None, far: float, near: float) -> HeatCell:
    if pair is None:
        return HeatCell(text="–", level=None)
    value = pair.value.value
    return HeatCell(
        text=f"{value:.2f}", level=closeness_level(value, far, near), beyond=pair.is_beyond_chance
    )


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.4g}")
