"""Every ordered pair of three runs or more, each run prepared once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.assess.intervals import r_squared
from upto.assess.nulls import smallest_p_value
from upto.assess.pair import (
    CONSTANT,
    Pair,
    candidate_maps,
    errors_by_map,
    held_out_p_values,
    pair_moments,
)
from upto.assess.verdict import LEVEL, Candidate, agreement_of, strictest_group, undecided
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


def compare_all(
    engine: Engine,
    runs: Sequence[PreparedRun],
    split: Split,
    options: Options,
    progress: Progress,
) -> ComparisonMatrix:
    """Compare every run with every other, in both directions."""
    count = len(runs)
    cells: dict[tuple[int, int], Cells] = {}
    groups: dict[tuple[int, int], tuple[Group | None, Agreement]] = {}
    with progress.task("compare pairs", count * (count - 1) // 2) as advance:
        for i in range(count):
            for j in range(i + 1, count):
                pair = Pair(engine=engine, source=runs[i], target=runs[j], split=split)
                moments = pair_moments(pair)
                cells[i, j] = _cells(pair, moments, options)
                cells[j, i] = _cells(pair.flipped(), moments.flipped(), options)
                equal = _are_equal(pair, cells[i, j])
                for key in ((i, j), (j, i)):
                    groups[key] = _decide(cells[key], len(runs[0].paired), options, equal=equal)
                advance(1)
    names = list(dict.fromkeys(name for each in cells.values() for name in each))
    pairs = [[(i, j) for j in range(count)] for i in range(count)]
    return ComparisonMatrix(
        runs=tuple(run.summary for run in runs),
        n_samples=len(split.parts),
        n_held_out=split.n_held_out,
        matrices=tuple(
            Matrix(
                up_to=Group.SIGNED_PERMUTATION if name == "ica" else Group(name),
                unmixed=name == "ica",
                error=_matrix(pairs, cells, name, "error"),
                r2=_matrix(pairs, cells, name, "r2"),
                p_value=_matrix(pairs, cells, name, "p_value"),
            )
            for name in names
            if name != CONSTANT
        ),
        up_to=tuple(tuple(groups.get(pair, (None, None))[0] for pair in row) for row in pairs),
        agreement=tuple(tuple(groups.get(pair, (None, None))[1] for pair in row) for row in pairs),
        verdict=_sentence(runs, cells, groups, options),
        findings=tuple(_findings(runs, groups)),
        provenance=Provenance(call="", seed=options.seed, engine="", seconds=0.0, versions={}),
    )


def _cells(pair: Pair, moments: PairMoments, options: Options) -> Cells:
    judged = pair.split.n_held_out > 0
    maps = candidate_maps(
        options.groups,
        moments.fitted if judged else moments.everything,
        (pair.source.unmixing, pair.target.unmixing),
    )
    errors = errors_by_map(pair, maps, held_out=judged)
    part = pair.target.held_out if judged else pair.target.everything
    total = float(np.trace(part.scatter)) / pair.extent**2
    p_values: dict[str, float] = {}
    if judged:
        p_values = held_out_p_values(
            pair, maps, permutations=options.permutations, seed=options.seed
        )
    return {
        name: Candidate(
            error=float(found.mean()), r2=r_squared(found, total), p_value=p_values.get(name)
        )
        for name, found in errors.items()
    }


def _are_equal(pair: Pair, cells: Cells) -> bool:
    """Say whether two runs are equal in every row, and not on the judged ones only."""
    if "identity" not in cells or cells["identity"].error > 0.0:
        return False
    source, target = pair.source.rows, pair.target.rows
    unequal = pair.engine.reduce_blocks(_count_unequal, source, target)[0]
    return int(unequal) == 0


def _count_unequal(xp: Any, x: Any, y: Any) -> Arrays:
    return (xp.sum(xp.astype(x != y, xp.int64)),)


def _decide(
    cells: Cells, n_paired: int, options: Options, *, equal: bool
) -> tuple[Group | None, Agreement]:
    if equal:
        return Group.IDENTITY, "identical"
    if n_paired == 0 or smallest_p_value(n_paired, options.permutations) > LEVEL:
        return None, "undecided"
    candidates = {group: cells[group] for group in Group if str(group) in cells}
    up_to = strictest_group(candidates, cells[CONSTANT].error, options.tolerance)
    return up_to, agreement_of(candidates, up_to)


def _matrix(
    pairs: list[list[tuple[int, int]]], cells: dict[tuple[int, int], Cells], name: str, field: str
) -> tuple[tuple[float | None, ...], ...]:
    def value(pair: tuple[int, int]) -> float | None:
        cell = cells[pair].get(name) if pair in cells else None
        return None if cell is None else getattr(cell, field)

    return tuple(tuple(value(pair) for pair in row) for row in pairs)


def _sentence(
    runs: Sequence[PreparedRun],
    cells: dict[tuple[int, int], Cells],
    groups: dict[tuple[int, int], tuple[Group | None, Agreement]],
    options: Options,
) -> str:
    if all(word == "undecided" for _, word in groups.values()):
        return undecided(runs[0].summary.n_samples, asked=options.held_out)
    counts = Counter(group for group, _ in groups.values())
    group, often = counts.most_common(1)[0]
    if group is None:
        return f"{often} of {len(groups)} ordered pairs of {len(runs)} runs agree up to no group."
    errors = [cells[pair][group].error for pair, (own, _) in groups.items() if own is group]
    words = Counter(word for own, word in groups.values() if own is group).most_common(1)[0][0]
    return (
        f"{often} of {len(groups)} ordered pairs of {len(runs)} runs agree up to {group.phrase}, "
        f"with held-out errors from {min(errors):.3f} to {max(errors):.3f} of the diameter; "
        f"most are called {words}."
    )


def _findings(
    runs: Sequence[PreparedRun],
    groups: dict[tuple[int, int], tuple[Group | None, Agreement]],
) -> list[Finding]:
    findings = []
    for (i, j), (_, word) in groups.items():
        pair = f"{runs[i].name} and {runs[j].name}"
        if word == "identical" and i < j:
            findings.append(Finding(code="UP014", message=f"{pair} are equal in every value."))
        if word == "chance":
            message = f"{runs[i].name} mapped onto {runs[j].name} is no better than chance."
            findings.append(Finding(code="UP009", message=message))
    if len({run.summary.n_features for run in runs}) > 1:
        widths = ", ".join(str(run.summary.n_features) for run in runs)
        message = f"the runs have {widths} coordinates."
        findings.append(Finding(code="UP018", message=message))
    return findings
