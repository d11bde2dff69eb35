"""Compare every ordered pair of three or more runs, preparing each run once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from upto.core import UNRECORDED, Finding, Group
from upto.engines import items_side_by_side
from upto.evidence.intervals import MIN_ROWS
from upto.questions.compare.judge import Outcome, judge
from upto.questions.compare.matrix import Matrix, Pairs
from upto.questions.compare.pair import UNMIXED, Pair, pair_moments
from upto.questions.compare.relation import relate
from upto.questions.compare.result import CompareResult
from upto.questions.compare.side import Side
from upto.questions.compare.verdict import is_carried_by_few, undecided

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from upto.core import Agreement, Progress
    from upto.engines.base import Engine
    from upto.evidence.prepare import PreparedRun
    from upto.evidence.split import Split
    from upto.questions.compare.pair_options import Options

Key = tuple[int, int]

AGREE = ("identical", "same", "close")
OTHERWISE: dict[Agreement, str] = {
    "image": "with one run an image of the other",
    "partial": "partly the same",
    "weak": "weakly related",
    "chance": "no better than chance",
    "undecided": "undecided",
}
"""Phrases for pairs that are neither the same nor close."""


def compare_all(
    engine: Engine, runs: Sequence[PreparedRun], split: Split, options: Options, progress: Progress
) -> CompareResult:
    """Compare every pair of runs in both directions."""
    count = len(runs)
    width = max(run.summary.n_features for run in runs)
    monotone = Group.MONOTONE_PERMUTATION in options.groups
    sides: dict[int, Side] = {}

    def prepare(_: Engine, run: PreparedRun) -> Side:
        side = Side(run, split)
        side.prepare(monotone=monotone)
        return side

    def both_ways(engine: Engine, key: Key) -> tuple[Outcome, Outcome]:
        source, target = (runs[place] for place in key)
        pair = Pair(engine=engine, source=source, target=target, split=split, sides=sides)
        relation = relate(pair, pair_moments(pair), options, both_in_full=True)
        found = judge(pair, relation, options)
        return found.alone(), found.flipped(relation.backward).alone()

    places = [(i, j) for i in range(count) for j in range(i + 1, count)]
    judged: dict[Key, Outcome] = {}
    with progress.task("compare pairs", len(places)) as advance:
        with items_side_by_side(engine, prepare, runs, width=width) as found:
            sides.update((id(side.run), side) for side in found)
        with items_side_by_side(engine, both_ways, places, width=width) as outcomes:
            for (i, j), (forward, backward) in zip(places, outcomes, strict=True):
                judged[i, j], judged[j, i] = forward, backward
                advance(1)
    fitted = {name for each in judged.values() for name in each.candidates}
    names = [name for name in (*map(str, Group), *UNMIXED) if name in fitted]
    keys = [[(i, j) for j in range(count)] for i in range(count)]
    return CompareResult(
        runs=tuple(run.summary for run in runs),
        n_samples=len(split.parts),
        n_held_out=split.n_held_out,
        pairs=Pairs(
            matrices=tuple(
                Matrix(
                    up_to=UNMIXED.get(name) or Group(name),
                    unmixed=name in UNMIXED,
                    error=_matrix(keys, judged, name, "error"),
                    r2=_matrix(keys, judged, name, "r2"),
                    p_value=_matrix(keys, judged, name, "p_value"),
                )
                for name in names
            ),
            up_to=tuple(tuple(_of(judged, key, "up_to") for key in row) for row in keys),
            agreement=tuple(tuple(_of(judged, key, "agreement") for key in row) for row in keys),
        ),
        verdict=_sentence(runs, judged, split, options),
        findings=tuple(
            Finding(code=code, message=message) for code, message in _findings(runs, judged, split)
        ),
        provenance=UNRECORDED,
    )


def _of(judged: dict[Key, Outcome], key: Key, field: str) -> Any:
    return getattr(judged[key], field) if key in judged else None


def _matrix(
    keys: list[list[Key]], judged: dict[Key, Outcome], name: str, field: str
) -> tuple[tuple[float | None, ...], ...]:
    def value(key: Key) -> float | None:
        cell = judged[key].candidates.get(name) if key in judged else None
        return None if cell is None else getattr(cell, field)

    return tuple(tuple(value(key) for key in row) for row in keys)


def _sentence(
    runs: Sequence[PreparedRun], judged: dict[Key, Outcome], split: Split, options: Options
) -> str:
    if all(each.agreement == "undecided" for each in judged.values()):
        return undecided(
            runs[0].summary.n_samples,
            asked=options.held_out,
            n_units=split.n_units,
            within=split.strata is not None,
        )
    among = f"{len(judged)} ordered pairs of {len(runs)} runs"
    kind = "held-out" if split.n_held_out else "in-sample"
    found = list(judged.values())
    agreeing = [each for each in found if each.agreement in AGREE]
    said = [f"{len(agreeing) or 'None'} of {among} are the same or nearly the same"]
    if agreeing:
        said[0] += f": {_groups(agreeing)}, {_errors(agreeing, kind)}"
    for word, phrase in OTHERWISE.items():
        others = [each for each in found if each.agreement == word]
        grouped = [each for each in others if each.up_to is not None]
        if others:
            more = f" ({_groups(grouped)}, {_errors(grouped, kind)})" if grouped else ""
            said.append(f"{len(others)} {phrase}{more}")
    return "; ".join(said) + "."


def _groups(outcomes: Sequence[Outcome]) -> str:
    counts = Counter(each.up_to for each in outcomes)
    return ", ".join(f"{counts[group]} up to {group.phrase}" for group in Group if counts[group])


def _errors(outcomes: Sequence[Outcome], kind: str) -> str:
    errors = [each.candidates[each.up_to].error for each in outcomes if each.up_to is not None]
    low, high = (f"{limit:.3g}" for limit in (min(errors), max(errors)))
    span = f"errors of {low}" if low == high else f"errors from {low} to {high}"
    return f"with {kind} {span} of the diameter"


def _findings(
    runs: Sequence[PreparedRun], judged: dict[Key, Outcome], split: Split
) -> Iterator[tuple[str, str]]:
    for (i, j), each in judged.items():
        onto = f"{runs[i].name} mapped onto {runs[j].name}"
        if each.agreement == "identical" and i < j:
            yield "UP014", f"{runs[i].name} and {runs[j].name} are equal in every value."
        if each.shared is not None and not each.shared.is_bijective and i < j:
            yield (
                "UP034",
                f"{runs[i].name} and {runs[j].name} agree on {each.shared.n_shared} directions, "
                f"out of {each.shared.n_first} and {each.shared.n_second}.",
            )
        if each.agreement == "chance":
            yield "UP009", f"{onto} is no better than chance."
        if each.up_to is not None and each.even is not None:
            r2 = each.candidates[each.up_to].r2
            if is_carried_by_few(r2, each.even):
                evenly = f"{each.even:.0%} per direction on average"
                yield "UP019", f"{onto}: {r2:.0%} of the variance, {evenly}."
    if split.n_held_out < MIN_ROWS:
        yield "UP015", f"{split.n_held_out} of {len(split.parts)} rows are held out."
    if len({run.summary.n_features for run in runs}) > 1:
        widths = ", ".join(str(run.summary.n_features) for run in runs)
        yield "UP018", f"the runs have {widths} coordinates."
