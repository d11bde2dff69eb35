"""Layers of runs against each other, adjusted for looking at all of them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.assess.layers.counterparts import Sides, layer_pair
from upto.assess.layers.stacks import Stack, as_stacks
from upto.assess.layers.words import layer_findings, layer_verdict
from upto.assess.prepare import LARGEST, SMALLEST, place_runs, survey_runs
from upto.assess.similarities.sampling import check_options
from upto.assess.similarities.scoring import score_pairs
from upto.assess.split import row_keys, split_rows, take_rows
from upto.core import (
    InputError,
    Layer,
    LayeredRun,
    LayerMeasure,
    Layers,
    Provenance,
    SilentProgress,
    library_versions,
    unique_findings,
)
from upto.engines import ThreadsEngine, choose_engine
from upto.load import match_rows
from upto.measure.catalogue import find_measures

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.assess.layers.stacks import LayersOfRun
    from upto.assess.similarities.scoring import Scored
    from upto.core import LayerPair, Progress
    from upto.engines.base import Engine
    from upto.measure.kinds import Measure

Float = NDArray[np.float64]
LARGEST_MATRIX = 250_000
"""Pairs of layers that are scored at most: more take days, and nobody can look at them."""


def compare_layers(
    *runs: LayersOfRun,
    measures: str | Iterable[str] = ("linear-cka",),
    held_out: float = 0.5,
    permutations: int = 200,
    half_samples: int = 50,
    max_rows: int = 1024,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | None = None,
) -> Layers:
    """Compare every layer of each run with every layer of each other run.

    One run alone is compared with itself. Chance is what the same rows give when they are paired at
    random, and p-values are adjusted for the largest of all pairs of layers of two runs.

    Parameters
    ----------
    *runs
        Manifests that say the `name` and `layer` of each file, as `record_activations` writes
        them; mappings from layers to arrays, the first layer first; or `Embeddings` with a name
        and a layer. Layers of one name are one run, in the order given.
    measures
        Names of measures, with a parameter after a colon as in ``"svcca:20"``.
    held_out
        Fraction of the rows that fitted measures are scored on and not fitted to.
    permutations
        Random pairings behind chance and p-values; with few rows, all pairings.
    half_samples
        Halves of the rows behind each interval; 0 leaves intervals out.
    max_rows
        Rows to use, chosen by their content.
    seed
        Seed of every random choice.
    engine
        Engine of the passes, as an object or by name.
    progress
        What long work reports to.

    Raises
    ------
    InputError
        If the layers cannot be compared as given, or there is no such measure.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 100, 4))
    >>> found = compare_layers({"a": x, "b": y}, {"c": y * 2, "d": x + 1})
    >>> [found.runs[1].layers[each.closest].name for each in found.pairs[0].closest]
    ['d', 'c']
    """
    started = time.perf_counter()
    check_options(held_out, permutations, half_samples, max_rows, seed)
    wanted = find_measures([measures] if isinstance(measures, str) else measures)
    engine, progress = choose_engine(engine), progress or SilentProgress()
    stacks = as_stacks(runs)
    _refuse_number(stacks, wanted)
    named = [
        replace(layer, name=f"{stack.name}, layer {layer.layer}")
        for stack in stacks
        for layer in stack.layers
    ]
    matched, found = match_rows(named)
    with progress.task("read layers", len(matched) + 2) as advance:
        placed = place_runs(engine, matched)
        surveys = survey_runs(engine, placed, varying=False)
        advance(1)
        split = split_rows(engine, [layer.rows for layer in placed], held_out, seed)
        advance(1)
        index = split.order[~split.repeats[split.order]][:max_rows]
        rows = []
        for layer in placed:
            rows.append(_checked(take_rows(engine, layer.rows, index), layer.name))
            advance(1)
    sample = _Sample(
        stacks=stacks,
        runs=tuple(
            _layered_run(stack, own) for stack, own in zip(stacks, _cut(stacks, rows), strict=True)
        ),
        rows=_cut(stacks, rows),
        parts=split.parts[index],
    )
    if sample.n_used < 2:
        message = f"{sample.n_used} of {len(matched[0])} rows differ: use more rows."
        raise InputError(message)
    scores, pairs = sample.scored(wanted, permutations, half_samples, seed, progress)
    result = Layers(
        runs=sample.runs,
        n_samples=len(matched[0]),
        n_used=sample.n_used,
        n_held_out=int(sample.parts.sum()),
        n_pairings=len(scores[0].null) if scores else 0,
        complete=bool(scores and scores[0].complete),
        measures=tuple(_measure(each, scores) for each in wanted),
        pairs=tuple(pairs),
        verdict="",
        findings=(),
        provenance=Provenance(
            call=f"upto.compare_layers({', '.join(stack.name for stack in stacks)}, "
            f"measures=[{', '.join(each.name for each in wanted)}], held_out={held_out:g}, "
            f"permutations={permutations}, half_samples={half_samples}, max_rows={max_rows}, "
            f"seed={seed})",
            seed=seed,
            engine=engine.name,
            seconds=time.perf_counter() - started,
            versions=library_versions(),
        ),
    )
    remarks = layer_findings(
        result,
        asked=held_out,
        n_repeats=split.n_duplicates,
        same=sample.equal_runs(),
        n_dead=[int((survey.low == survey.high).sum()) for survey in surveys],
    )
    return replace(
        result,
        verdict=layer_verdict(result),
        findings=unique_findings([*found, *remarks]),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Sample:
    """The rows all measures see of every layer, run by run, in an order their content decides."""

    stacks: tuple[Stack, ...]
    runs: tuple[LayeredRun, ...]
    rows: tuple[tuple[Float, ...], ...]
    parts: NDArray[np.int8]

    @property
    def n_used(self) -> int:
        """Number of rows."""
        return len(self.parts)

    def equal_runs(self) -> list[str]:
        """Name the pairs of runs whose layers are equal in every value."""
        return [
            f"{self.runs[one].name} and {self.runs[other].name}"
            for one, other in combinations(range(len(self.runs)), 2)
            if len(self.rows[one]) == len(self.rows[other])
            and all(map(np.array_equal, self.rows[one], self.rows[other]))
        ]

    def scored(
        self,
        measures: Sequence[Measure],
        permutations: int,
        half_samples: int,
        seed: int,
        progress: Progress,
    ) -> tuple[list[Scored], list[LayerPair]]:
        """Score the layers of every two runs, or of one with itself."""
        alive = [
            [place for place, layer in enumerate(run.layers) if not layer.is_dead]
            for run in self.runs
        ]
        count = len(self.runs)
        meetings = [*combinations(range(count), 2)] if count > 1 else [(0, 0)]
        cells = {
            (one, other): [
                (i, j)
                for i in alive[one]
                for j in alive[other]
                if one != other or i < j or (i > j and not all(m.symmetric for m in measures))
            ]
            for one, other in meetings
        }
        where = self._places(seed)
        asked = [
            (where[one, i], where[other, j])
            for (one, other) in meetings
            for i, j in cells[one, other]
        ]
        if not asked:
            return [], [self._pair(one, other, {}, m) for one, other in meetings for m in measures]
        flat = {place: self.rows[run][layer] for (run, layer), place in where.items()}
        found = score_pairs(
            [flat[place] for place in range(len(flat))],
            asked,
            measures,
            parts=self.parts,
            permutations=permutations,
            half_samples=half_samples,
            seed=seed,
            progress=progress,
        )
        by_name = {(each.first, each.second, each.measure.name): each for each in found}
        pairs = []
        for one, other in meetings:
            for measure in measures:
                own = {
                    (i, j): by_name[where[one, i], where[other, j], measure.name]
                    for i, j in cells[one, other]
                    if one != other or i < j or not measure.symmetric
                }
                pairs.append(self._pair(one, other, own, measure))
        return found, pairs

    def _pair(
        self, one: int, other: int, scored: dict[tuple[int, int], Scored], measure: Measure
    ) -> LayerPair:
        sides = Sides(
            first=self.stacks[one].name,
            second=self.stacks[other].name,
            first_layers=self.stacks[one].names,
            second_layers=self.stacks[other].names,
        )
        return layer_pair(sides, scored, measure.name)

    def _places(self, seed: int) -> dict[tuple[int, int], int]:
        """Place runs by their content: the later of two is permuted, whichever is given first."""
        engine = ThreadsEngine()
        keys = [
            sum(int(row_keys(engine, rows, seed).sum(dtype=np.uint64)) for rows in own)
            for own in self.rows
        ]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        flat = [(run, layer) for run in order for layer in range(len(self.rows[run]))]
        return {each: place for place, each in enumerate(flat)}


def _cut(stacks: Sequence[Stack], rows: Sequence[Float]) -> tuple[tuple[Float, ...], ...]:
    """Cut a list of all layers into those of each run."""
    cut, start = [], 0
    for stack in stacks:
        cut.append(tuple(rows[start : start + len(stack.layers)]))
        start += len(stack.layers)
    return tuple(cut)


def _layered_run(stack: Stack, rows: Sequence[Float]) -> LayeredRun:
    return LayeredRun(
        name=stack.name,
        seed=stack.seed,
        layers=tuple(
            Layer(
                name=name,
                n_features=own.shape[1],
                n_dead=int(np.count_nonzero(np.ptp(own, axis=0) == 0)),
            )
            for name, own in zip(stack.names, rows, strict=True)
        ),
    )


def _measure(measure: Measure, scored: Sequence[Scored]) -> LayerMeasure:
    return LayerMeasure(
        name=measure.name,
        title=measure.title,
        says=measure.says,
        closer=measure.closer,
        low=measure.low if math.isfinite(measure.low) else None,
        high=measure.high if math.isfinite(measure.high) else None,
        held_out=any(each.held_out for each in scored if each.measure.name == measure.name),
    )


def _checked(rows: Float, name: str) -> Float:
    largest = float(np.abs(rows).max())
    extent = float(np.ptp(rows, axis=0).max())
    if largest > LARGEST or 0 < extent < SMALLEST:
        message = (
            f"{name} has values of size {largest:.2g}, whose squares leave the range of float64: "
            "rescale it."
        )
        raise InputError(message)
    return rows


def _refuse_number(stacks: Sequence[Stack], measures: Sequence[Measure]) -> None:
    if not stacks or not measures:
        message = f"{len(stacks)} runs and {len(measures)} measures are given: give at least one."
        raise InputError(message)
    counts = [len(stack.layers) for stack in stacks]
    if counts == [1]:
        message = (
            f"{stacks[0].name} has 1 layer and there is no other run: give more layers or runs."
        )
        raise InputError(message)
    total = sum(one * other for one, other in combinations(counts, 2)) or counts[0] ** 2
    if total > LARGEST_MATRIX:
        message = (
            f"{sum(counts)} layers of {len(counts)} runs make {total} pairs, but at most "
            f"{LARGEST_MATRIX} are compared: choose fewer layers or runs."
        )
        raise InputError(message)
