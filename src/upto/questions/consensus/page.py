"""Page section of a consensus: components by runs, the runs, and what they share."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from upto.questions.consensus.result import number_ranges
from upto.report.axis_scale import Scale, range_scale
from upto.report.markup import Inert, counted, element, shorten, tell_apart
from upto.report.planes import WIDTH, Plane, Plot, counting_axis, level, path, picture, plane
from upto.report.section import Section
from upto.report.table_view import TableView, table_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Estimate
    from upto.questions.consensus.result import ConsensusComponent, ConsensusResult, ConsensusRun

N_LEVELS = 10
_HEIGHT, _RUNS_HEIGHT = 150, 170
_HEAT_HEIGHT, _HIGHEST_ROW, _LOWEST_ROW = 320, 22, 2
_SIDE = 52
_NUMBERED_ROW = 11
_CROWDED, _FEW = 120, 12
_MAX_NUMBERS = 8
_MAX_KEYS = 16
_MAX_CELLS = 4000
_MAX_TIP_RUNS, _MAX_TIP_LINES = 8, 3000
_WIDEST_BAR = 48.0
_SHARES = Scale(low=0.0, high=1.0, ticks=(0.0, 0.25, 0.5, 0.75, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence on where components appear, with its colour in the plot."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusBody:
    """Data of the template; without plots if nothing was tested."""

    components: Plot | None
    runs: Plot | None
    note: str
    kinds: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    n_more: int
    sentences: tuple[Sentence, ...]


def page(result: ConsensusResult) -> Section:
    """Return the page section of a consensus."""
    body, (tables, omitted) = consensus_body(result), consensus_tables(result)
    drawn = [plot for plot in (body.components, body.runs) if plot is not None]
    return Section(
        names=tuple(run.name for run in result.runs),
        badge=consensus_badge(result),
        facts=consensus_facts(result),
        tables=tables,
        body=body,
        data={"plots": [{"at": plot.at, "tips": plot.tips} for plot in drawn]},
        details="All components by run",
        omitted=omitted,
    )


def consensus_body(result: ConsensusResult) -> ConsensusBody:
    """Draw the components by runs and the runs, with sentences on what they share."""
    judged = result.chance_limit is not None
    kinds = {_kind(component, result) for component in result.components}
    words = (("every", "in every run"), ("some", "in some runs"), ("nowhere", "in no run"))
    note = "Not tested; see the verdict."
    if judged:
        note = (
            "Correlation of each run with the mean of the other runs, on "
            f"{result.n_judged:,} held-out rows; most reproducible components first."
        )
        if result.up_to == "ica":
            note += " ICA of the run and of the others was fitted to different rows."
    return ConsensusBody(
        components=_components(result) if judged else None,
        runs=_runs(result) if judged else None,
        note=note,
        kinds=tuple((kind, text) for kind, text in words if kind in kinds),
        names=tuple(run.name for run in result.runs[:_MAX_KEYS]),
        n_more=max(len(result.runs) - _MAX_KEYS, 0),
        sentences=shared_sentences(result),
    )


def consensus_badge(result: ConsensusResult) -> tuple[str, str]:
    """Return the badge above the verdict and its style."""
    if result.chance_limit is None:
        return "not tested", "fair"
    if result.is_matched:
        if len(result.in_every_run) == len(result.components):
            return "reproducible", "good"
        none = len(result.in_no_run) == len(result.components)
        return ("not reproducible", "poor") if none else ("partly reproducible", "fair")
    belonging, count = sum(bool(run.belongs) for run in result.runs), len(result.runs)
    if belonging == count:
        return "one shared space", "good"
    if belonging < 2:
        return "no consensus", "poor"
    return f"{belonging} of {count} runs belong", "fair"


def consensus_facts(result: ConsensusResult) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each number below the verdict."""
    count, total = len(result.runs), len(result.components)
    facts = [("runs", str(count), f"up to {result.up_to}")]
    if result.chance_limit is not None:
        belonging = sum(bool(run.belongs) for run in result.runs)
        belong = "belongs" if belonging == 1 else "belong"
        facts[0] = ("runs", str(count), f"{belonging} {belong}; up to {result.up_to}")
        every, none = len(result.in_every_run), len(result.in_no_run)
        facts.append(("components in every run", f"{every:,}", f"of {total:,}; {none:,} in no run"))
        shares = [run.explained.value for run in result.runs if run.explained is not None]
        ends = f"{min(shares):.3f} to {max(shares):.3f}"
        facts.append(("median explained share", f"{median(shares):.3f}", f"by the others; {ends}"))
        asked = f"correlation; chance limit {result.chance_limit:.3f}"
        facts.append(("needed to appear", f"{result.limit:.3f}", asked))
    if result.consistency is not None:
        kept = "of matches between two runs kept"
        facts.append(("consistency", f"{result.consistency:.0%}", kept))
    held_out = f"{result.n_held_out:,} held out" if result.n_held_out else "none held out"
    facts.append(("rows", f"{result.n_samples:,}", held_out))
    return tuple(facts)


def consensus_tables(result: ConsensusResult) -> tuple[tuple[TableView, ...], str]:
    """Return the tables of a page, and a note on omitted components."""
    *others, components = result.tables()
    limit, omitted = _MAX_CELLS // len(components.columns), ""
    if len(components.rows) > limit:
        omitted = f"Components after the first {limit:,} are in the JSON only."
        components = replace(components, rows=components.rows[:limit])
    return tuple(table_view(table) for table in (*others, components)), omitted


def shared_sentences(result: ConsensusResult) -> tuple[Sentence, ...]:
    """Return sentences on the components in every run, in some and in none."""
    if result.chance_limit is None:
        return (Sentence(kind="", text="Too few rows were held out to test what the runs share."),)
    sentences = []
    part = "the identifiable part of the model" if result.up_to == "ica" else "what all share"
    for kind, members, where in (
        ("every", result.in_every_run, f"in every run: {part}"),
        ("some", result.in_some_runs, "in some runs only"),
        ("nowhere", result.in_no_run, "in no run"),
    ):
        if len(members) == len(result.components):
            text = f"All {counted(len(members), 'component')} appear {where}."
        elif len(members) == 1:
            text = f"Component {members[0]} appears {where}."
        elif members:
            text = f"Components {number_ranges(members)} appear {where}."
        else:
            continue
        sentences.append(Sentence(kind=kind, text=text))
    return tuple(sentences)


def reproducible_order(result: ConsensusResult) -> list[int]:
    """Return the numbers of components, most reproducible first and untested last."""

    def falling(number: int) -> float:
        mean = result.components[number].mean
        return 1.0 if mean is None else -mean.value

    return sorted(range(len(result.components)), key=falling)


def _kind(component: ConsensusComponent, result: ConsensusResult) -> str:
    if component.n_runs == len(result.runs):
        return "every"
    return "some" if component.n_runs else "nowhere"


def _components(result: ConsensusResult) -> Plot:
    order = reproducible_order(result)
    count = len(order)
    every = next(s for s in _steps() if count <= s * _MAX_NUMBERS)
    places = [(_centre(place, count) / 10, str(order[place])) for place in range(0, count, every)]
    return Plot(
        planes=(_means(result, order), _heat(result, order)),
        axis=counting_axis(places),
        axis_name="component",
        at=tuple(round(_centre(place, count) / 10, 3) for place in range(count)),
        tips=_component_tips(result, order),
        few=count <= _FEW,
    )


def _steps() -> itertools.chain[int]:
    return itertools.chain.from_iterable((10**e, 2 * 10**e, 5 * 10**e) for e in range(9))


def _centre(place: int, count: int) -> float:
    return WIDTH * (place + 0.5) / count


def _sides(place: int, count: int, *, widest: float = WIDTH) -> tuple[float, float]:
    slot = WIDTH / count
    width = slot if count > _CROWDED else min(0.8 * slot, widest)
    return _centre(place, count) - width / 2, _centre(place, count) + width / 2


def _means(result: ConsensusResult, order: Sequence[int]) -> Plane:
    found = [(result.components[number].mean, result.components[number]) for number in order]
    kinds = [_kind(component, result) for _, component in found]
    limit = level(_SHARES, result.limit or 0.0, _HEIGHT)
    marks = _bars([mean for mean, _ in found], kinds, _SHARES, _HEIGHT)
    return plane(
        picture(*marks, height=_HEIGHT),
        element("line", class_="chance", x1="0%", x2="100%", y1=limit, y2=limit),
        name="mean correlation",
        label=f"Mean correlation of {len(order)} components over {len(result.runs)} runs",
        height=_HEIGHT,
        scale=_SHARES,
    )


def _bars(
    values: Sequence[Estimate | None], kinds: Sequence[str], scale: Scale, height: int
) -> list[Inert]:
    count, zero = len(values), level(scale, 0.0, height)
    bars: dict[str, list[str]] = {}
    whiskers: list[str] = []
    for place, (estimate, kind) in enumerate(zip(values, kinds, strict=True)):
        if estimate is None:
            continue
        left, right = _sides(place, count, widest=_WIDEST_BAR)
        # Negative values are not agreement and are drawn at zero.
        top = level(scale, max(estimate.value, 0.0), height)
        bars.setdefault(kind, []).append(
            f"M{left:.2f} {zero:.1f}V{top:.1f}H{right:.2f}V{zero:.1f}Z"
        )
        if estimate.low is not None and estimate.high is not None and count <= _CROWDED:
            ends = [level(scale, max(end, 0.0), height) for end in (estimate.low, estimate.high)]
            whiskers.append(f"M{_centre(place, count):.2f} {ends[0]:.1f}V{ends[1]:.1f}")
    drawn = [path(f"pillar {kind}", bars[kind]) for kind in sorted(bars)]
    return [*drawn, path("whisker alone", whiskers)] if whiskers else drawn


def _heat(result: ConsensusResult, order: Sequence[int]) -> Plane:
    n_runs, count = len(result.runs), len(order)
    row = max(min(_HEAT_HEIGHT // n_runs, _HIGHEST_ROW), _LOWEST_ROW)
    gap = 2 if row > 8 else 0
    cells: dict[str, list[str]] = {}
    for run in range(n_runs):
        top, bottom = row * run, row * (run + 1) - gap
        # Adjacent cells of one colour are merged if there is no gap between them.
        keys = [
            (_step(result.components[number].correlations[run]), 0 if count > _CROWDED else place)
            for place, number in enumerate(order)
        ]
        for (kind, _), members in itertools.groupby(range(count), key=keys.__getitem__):
            inside = list(members)
            left, right = _sides(inside[0], count)[0], _sides(inside[-1], count)[1]
            wide = f"{right - left:.4g}"
            piece = f"M{left:.5g} {top}h{wide}v{bottom - top}h-{wide}z"
            cells.setdefault(kind, []).append(piece)
    height = row * n_runs
    drawn = plane(
        picture(*(path(f"cell {kind}", cells[kind]) for kind in sorted(cells)), height=height),
        name="runs",
        label=f"Correlation of {count} components in each of {n_runs} runs",
        height=height,
        stop=False,
    )
    numbers = [
        element("text", str(run + 1), x=_SIDE, y=row * run + row / 2 + 4, text_anchor="end")
        for run in range(n_runs)
        if row >= _NUMBERED_ROW
    ]
    side = element("svg", *numbers, class_="side", width=_SIDE, height=height, aria_hidden="true")
    return replace(drawn, numbers=side)


def _step(correlation: float | None) -> str:
    return (
        "absent"
        if correlation is None
        else f"h{min(max(int(N_LEVELS * correlation), 0), N_LEVELS - 1)}"
    )


def _component_tips(result: ConsensusResult, order: Sequence[int]) -> tuple[str, ...]:
    names = [shorten(name, 40) for name in tell_apart([run.name for run in result.runs])]
    shown = min(_MAX_TIP_RUNS, max(_MAX_TIP_LINES // len(order), 2), len(names))
    tips = []
    for number in order:
        component = result.components[number]
        lines = [f"component {number}"]
        if component.mean is not None:
            lines.append(f"mean correlation {component.mean:.3f}")
        lines.append(f"in {component.n_runs} of {counted(len(names), 'run')}")
        lines.append(f"variance {component.variance:.2%}")
        for name, value in zip(names[:shown], component.correlations, strict=False):
            lines.append(f"{name} {'–' if value is None else f'{value:.3f}'}")
        if len(names) > shown:
            lines.append(f"and {counted(len(names) - shown, 'more run')}")
        tips.append("\n".join(lines))
    return tuple(tips)


def _runs(result: ConsensusResult) -> Plot:
    runs = result.runs
    count = len(runs)
    found = [run.explained for run in runs]
    ends = [end for e in found if e is not None for end in (e.low, e.value, e.high) if end]
    scale = range_scale([0.0, 1.0, *ends])
    kinds = ["every" if run.belongs else "nowhere" for run in runs]
    every = next(s for s in _steps() if count <= s * _MAX_NUMBERS)
    return Plot(
        planes=(
            plane(
                picture(*_bars(found, kinds, scale, _RUNS_HEIGHT), height=_RUNS_HEIGHT),
                name="explained share of the variance",
                label=f"Share of the variance of each of {count} runs explained by the others",
                height=_RUNS_HEIGHT,
                scale=scale,
            ),
        ),
        axis=counting_axis(
            (_centre(place, count) / 10, str(place + 1)) for place in range(0, count, every)
        ),
        axis_name="run",
        at=tuple(round(_centre(place, count) / 10, 3) for place in range(count)),
        tips=tuple(_run_tip(number, run) for number, run in enumerate(runs, start=1)),
        few=count <= _FEW,
    )


def _run_tip(number: int, run: ConsensusRun) -> str:
    lines = [f"{number} {shorten(run.name)}"]
    if run.explained is not None:
        lines.append(f"explained {run.explained:.3f}")
    if run.chance is not None:
        lines.append(f"chance {run.chance:.3f}")
    if run.p_value is not None:
        lines.append(f"p {run.p_value:.2g}")
    lines.append(f"components that appear {run.n_appearing}")
    return "\n".join(lines)
