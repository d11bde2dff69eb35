"""Verdict and findings of `layers`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Finding
from upto.evidence.intervals import MIN_ROWS
from upto.measures.resample import LEVEL, MIN_HALF

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from upto.questions.layers.result import LayersResult

_BESIDE = {"name": "under the same name", "depth": "at the same depth"}


def layer_verdict(result: LayersResult) -> str:
    """Write the verdict: where the closest counterparts of layers are, by the first measure."""
    measure = result.measures[0]
    pairs = [pair for pair in result.pairs if pair.measure == measure.name]
    total = sum(len(pair.closest) for pair in pairs)
    beyond = sum(pair.n_beyond for pair in pairs)
    names = " and ".join(run.name for run in result.runs)
    if len(result.runs) > 2:
        names = f"{len(result.runs)} runs"
    if not total:
        return f"No layer of {names} varies: nothing can be compared."
    if not beyond:
        other = "any other" if len(result.runs) == 1 else "any layer of the other run"
        return f"No layer of {names} is closer to {other} than chance by {measure.title}."
    values = [step.value.value for pair in pairs for step in pair.along]
    spread = f"{measure.title} {_range(values)}" if values else ""
    count = f"{beyond} of {total} closest layers beat chance"
    if len(result.runs) == 1:
        near = f"{pairs[0].n_level} of {total} layers of {names}"
        return (
            f"{near} are closest to an adjacent layer: {spread} between adjacent layers, {count}."
        )
    of, where = f"layers of {pairs[0].first}", f" in {pairs[0].second}"
    if len(pairs) > 1:
        of, where = f"layers, over {len(pairs)} pairs of runs,", ""
    beside = " or ".join(dict.fromkeys(_BESIDE[pair.aligned_by] for pair in pairs))
    steps = f"{spread} between aligned layers, " if values else ""
    level = sum(pair.n_level for pair in pairs)
    near = f"{level} of {total} {of} have their closest counterpart {beside}{where}"
    return f"{near}: {steps}{count}."


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def layer_findings(
    result: LayersResult, *, asked: float, n_repeats: int, same: list[str], n_dead: Sequence[int]
) -> Iterator[Finding]:
    """Yield findings about rows, layers and chance.

    `asked` is the requested held-out fraction, `n_repeats` counts duplicate rows, `same` lists
    pairs of equal runs, and `n_dead` counts constant coordinates of each layer over all rows.
    """
    for code, message in (
        *_of_rows(result, asked, n_repeats),
        *_of_layers(result, same, n_dead),
        *_of_chance(result),
    ):
        yield Finding(code=code, message=message)


def _of_rows(result: LayersResult, asked: float, n_repeats: int) -> Iterator[tuple[str, str]]:
    n, used = result.n_samples, result.n_used
    if n_repeats:
        yield "UP007", f"{n_repeats} of {n} rows repeat another in every layer and are left out."
    if used < n - n_repeats:
        yield "UP024", f"{used} of {n - n_repeats} rows are used."
    fitted = [measure.name for measure in result.measures if measure.held_out]
    if fitted and result.n_held_out < MIN_ROWS:
        held_out = f"{result.n_held_out} of {used} rows are held out"
        yield "UP015", f"{held_out} for {', '.join(fitted)}."
    if asked and not result.n_held_out:
        yield "UP015", f"{used} rows are too few to hold some out: all values are in-sample."
    if used < 2 * MIN_HALF:
        yield "UP015", f"{used} rows are too few for intervals."


def _of_layers(
    result: LayersResult, same: list[str], n_dead: Sequence[int]
) -> Iterator[tuple[str, str]]:
    counts = iter(n_dead)
    for run in result.runs:
        for layer in run.layers:
            dead = next(counts)
            if layer.is_dead:
                rows = "all rows" if dead == layer.n_features else f"all {result.n_used} rows used"
                yield "UP040", f"{rows} of layer {layer.name} of {run.name} are equal."
            elif dead:
                many = f"{dead} of {layer.n_features} coordinates"
                yield "UP013", f"{many} of layer {layer.name} of {run.name} are constant."
    for names in same:
        yield "UP014", f"{names} are equal in every value of every layer."


def _of_chance(result: LayersResult) -> Iterator[tuple[str, str]]:
    if result.n_pairings and (result.n_pairings + 1) * LEVEL < 1:
        smallest = 1 / (result.n_pairings + 1)
        many = f"{result.n_used} rows can be paired in {result.n_pairings + 1} ways"
        yield "UP028", f"{many}: no p-value is below {smallest:.2g}."
        return
    for pair in result.pairs:
        if pair.closest and not pair.n_beyond:
            lowest = min(p for row in pair.p_value for p in row if p is not None)
            runs = pair.first if pair.is_own else f"{pair.first} and {pair.second}"
            yield (
                "UP041",
                f"the smallest adjusted p-value of the layers of {runs} by {pair.measure} is "
                f"{lowest:.2g}.",
            )
