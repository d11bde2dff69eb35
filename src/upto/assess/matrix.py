"""Every ordered pair of three runs or more, each run prepared once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.assess.intervals import MIN_ROWS, r_squared
from upto.assess.nulls import smallest_p_value
from upto.assess.pair import (
    CONSTANT,
    ICA_ROW,
    Pair,
    candidate_maps,
    held_out_p_values,
    iterate_errors,
    pair_moments,
    r2_per_direction,
    robust_r2,
)
from upto.assess.verdict import (
    LEVEL,
    Candidate,
    agreement_of,
    is_carried_by_few,
    strictest_group,
    tempered,
    undecided,
)
from upto.core import Agreement, ComparisonMatrix, Finding, Group, Matrix, Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.assess.options import Options
    from upto.assess.pair import PairMoments
    from upto.assess.prepare import PreparedRun
    from upto.assess.split import Split
    from upto.core import Progress
    from upto.engines.base import Arrays, Engine

Cells = dict[str, Candidate]
Key = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One ordered pair: its errors, and its verdict with R² per direction."""

    cells: Cells
    up_to: Group | None
    agreement: Agreement
    even: float | None


def compare_all(
    engine: Engine,
    runs: Sequence[PreparedRun],
    split: Split,
    options: Options,
    progress: Progress,
) -> ComparisonMatrix:
    """Compare every run with every other, in both directions."""
    count = len(runs)
    judged: dict[Key, Judged] = {}
    with progress.task("compare pairs", count * (count - 1) // 2) as advance:
        for i in range(count):
            for j in range(i + 1, count):
                pair = Pair(engine=engine, source=runs[i], target=runs[j], split=split)
                moments = pair_moments(pair)
                judged[i, j] = _judge(pair, moments, options)
                judged[j, i] = _judge(pair.flipped(), moments.flipped(), options)
                advance(1)
    found = {name for each in judged.values() for name in each.cells}
    names = [name for name in (*map(str, Group), ICA_ROW) if name in found]
    keys = [[(i, j) for j in range(count)] for i in range(count)]
    return ComparisonMatrix(
        runs=tuple(run.summary for run in runs),
        n_samples=len(split.parts),
        n_held_out=split.n_held_out,
        matrices=tuple(
            Matrix(
                up_to=Group.SIGNED_PERMUTATION if name == ICA_ROW else Group(name),
                unmixed=name == ICA_ROW,
                error=_matrix(keys, judged, name, "error"),
                r2=_matrix(keys, judged, name, "r2"),
                p_value=_matrix(keys, judged, name, "p_value"),
            )
            for name in names
        ),
        up_to=tuple(tuple(_of(judged, key, "up_to") for key in row) for row in keys),
        agreement=tuple(tuple(_of(judged, key, "agreement") for key in row) for row in keys),
        verdict=_sentence(runs, judged, split, options),
        findings=tuple(_findings(runs, judged, split)),
        provenance=Provenance(call="", seed=options.seed, engine="", seconds=0.0, versions={}),
    )


def _judge(pair: Pair, moments: PairMoments, options: Options) -> Judged:
    holding = pair.split.n_held_out > 0
    maps = candidate_maps(
        options.groups,
        moments.fitted if holding else moments.everything,
        (pair.source.unmixing, pair.target.unmixing),
    )
    errors = dict(iterate_errors(pair, maps, held_out=holding))
    part = pair.target.held_out if holding else pair.target.everything
    total = float(np.trace(part.scatter)) / pair.extent**2
    p_values: dict[str, float] = {}
    if holding:
        p_values = held_out_p_values(
            pair, maps, permutations=options.permutations, seed=options.seed
        )
    cells = {
        name: Candidate(
            error=float(found.mean()),
            r2=r_squared(found, total),
            p_value=p_values.get(name),
            robust_r2=robust_r2(pair, maps[name], r_squared(found, total)),
        )
        for name, found in errors.items()
    }
    if _are_equal(pair, cells):
        return Judged(cells=cells, up_to=Group.IDENTITY, agreement="identical", even=None)
    n_paired = len(pair.source.paired)
    if n_paired == 0 or smallest_p_value(n_paired, options.permutations) > LEVEL:
        return Judged(cells=cells, up_to=None, agreement="undecided", even=None)
    candidates = {group: cells[group] for group in Group if str(group) in cells}
    up_to = strictest_group(candidates, cells[CONSTANT].error, options.tolerance)
    agreement = agreement_of(candidates, up_to)
    if up_to is None:
        return Judged(cells=cells, up_to=None, agreement=agreement, even=None)
    even = r2_per_direction(pair, maps[up_to])
    agreement = tempered(agreement, cells[up_to].r2, even)
    return Judged(cells=cells, up_to=up_to, agreement=agreement, even=even)


def _are_equal(pair: Pair, cells: Cells) -> bool:
    """Say whether two runs are equal in every row, and not on the judged ones only."""
    if "identity" not in cells or cells["identity"].error > 0.0:
        return False
    source, target = pair.source.rows, pair.target.rows
    unequal = pair.engine.reduce_blocks(_count_unequal, source, target)[0]
    return int(unequal) == 0


def _count_unequal(xp: Any, x: Any, y: Any) -> Arrays:
    return (xp.sum(xp.astype(x != y, xp.int64)),)


def _of(judged: dict[Key, Judged], key: Key, field: str) -> Any:
    return getattr(judged[key], field) if key in judged else None


def _matrix(
    keys: list[list[Key]], judged: dict[Key, Judged], name: str, field: str
) -> tuple[tuple[float | None, ...], ...]:
    def value(key: Key) -> float | None:
        cell = judged[key].cells.get(name) if key in judged else None
        return None if cell is None else getattr(cell, field)

    return tuple(tuple(value(key) for key in row) for row in keys)


def _sentence(
    runs: Sequence[PreparedRun], judged: dict[Key, Judged], split: Split, options: Options
) -> str:
    if all(each.agreement == "undecided" for each in judged.values()):
        return undecided(runs[0].summary.n_samples, asked=options.held_out)
    agreeing = [each for each in judged.values() if each.up_to is not None]
    among = f"{len(judged)} ordered pairs of {len(runs)} runs"
    if not agreeing:
        return f"None of {among} agree up to any group."
    counts = Counter(each.up_to for each in agreeing)
    groups = ", ".join(f"{counts[group]} up to {group.phrase}" for group in Group if counts[group])
    errors = [each.cells[each.up_to].error for each in agreeing if each.up_to is not None]
    words = Counter(each.agreement for each in agreeing).most_common(1)[0][0]
    kind = "held-out" if split.n_held_out else "in-sample"
    return (
        f"{len(agreeing)} of {among} agree: {groups}, with {kind} errors from {min(errors):.3f} to "
        f"{max(errors):.3f} of the diameter; most are called {words}."
    )


def _findings(
    runs: Sequence[PreparedRun], judged: dict[Key, Judged], split: Split
) -> list[Finding]:
    findings = []
    for (i, j), each in judged.items():
        onto = f"{runs[i].name} mapped onto {runs[j].name}"
        if each.agreement == "identical" and i < j:
            message = f"{runs[i].name} and {runs[j].name} are equal in every value."
            findings.append(Finding(code="UP014", message=message))
        if each.agreement == "chance":
            message = f"{onto} is no better than chance."
            findings.append(Finding(code="UP009", message=message))
        if each.up_to is not None and each.even is not None:
            r2 = each.cells[each.up_to].r2
            if is_carried_by_few(r2, each.even):
                message = f"{onto}: {r2:.0%} of the variance, {each.even:.0%} of a direction."
                findings.append(Finding(code="UP019", message=message))
    if split.n_held_out < MIN_ROWS:
        message = f"{split.n_held_out} of {len(split.parts)} rows are held out."
        findings.append(Finding(code="UP015", message=message))
    if len({run.summary.n_features for run in runs}) > 1:
        widths = ", ".join(str(run.summary.n_features) for run in runs)
        message = f"the runs have {widths} coordinates."
        findings.append(Finding(code="UP018", message=message))
    return findings
