"""Compare the layers of runs, with p-values adjusted for all pairs of layers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import (
    UNRECORDED,
    Finding,
    InputError,
    choose_progress,
    refuse_scale,
    unique_findings,
    with_provenance,
)
from upto.core.array_types import Float
from upto.engines import ThreadsEngine, choose_engine
from upto.evidence.sampled_rows import check_options, choose_rows
from upto.evidence.split import row_keys, split_rows, take_rows
from upto.files import match_rows
from upto.files.survey import place_runs, survey_runs
from upto.measures.catalogue import as_measures
from upto.measures.permutation import score_pairs, score_usable
from upto.questions.layers.counterparts import Cell, Sides, layer_pair
from upto.questions.layers.result import Layer, LayeredRun, LayerMeasure, LayersResult
from upto.questions.layers.stacks import Stack, as_stacks
from upto.questions.layers.text import layer_findings, layer_verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from upto.core import Progress
    from upto.engines.base import Engine
    from upto.measures.kinds import Measure
    from upto.measures.pair_scores import Scored
    from upto.questions.layers.result import LayerPair
    from upto.questions.layers.stacks import LayersOfRun

LARGEST_MATRIX = 250_000
"""Maximum number of pairs of layers; more would take days."""


@with_provenance
def layers(
    *runs: LayersOfRun,
    measures: str | Measure | Iterable[str | Measure] = ("linear-cka",),
    held_out: float = 0.5,
    permutations: int = 199,
    half_samples: int = 50,
    max_rows: int = 1024,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> LayersResult:
    """Compare every layer of each run with every layer of each other run.

    A single run is compared with itself. Chance levels come from random re-pairing of the rows, and
    p-values are adjusted for the maximum over all pairs of layers of two runs.

    Parameters
    ----------
    *runs
        Folders that `record_activations` wrote; manifests with the `name` and `layer` of each
        file; mappings from layers to arrays, tensors, data frames, AnnData or xarray objects, paths
        or `Embeddings`, first layer first; or `Embeddings` with a name and a layer. Layers with the
        same name form one run, in input order.
    measures
        Measures or their names, with a parameter after a colon as in ``"svcca:20"``.
    held_out
        Fraction of the rows held out to score fitted measures.
    permutations
        Number of random re-pairings for chance levels and p-values; with few rows, all of them.
    half_samples
        Number of half-samples for each interval; 0 for no intervals.
    max_rows
        Maximum number of rows to use, chosen by their content.
    seed
        Seed of the random number generator.
    engine
        Engine or its name; chosen automatically by default.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    LayersResult
        Scores of every pair of layers, and the closest layer of each.

    Raises
    ------
    InputError
        If the layers cannot be compared, or a measure does not exist.

    See Also
    --------
    upto.LayersResult : What it returns.
    upto.record_activations : Write the layers of a torch module to files.
    upto.similarity : The same measures between whole runs.

    References
    ----------
    Kornblith et al. (2019). Similarity of neural network representations revisited. International
    Conference on Machine Learning.

    Westfall and Young (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 100, 4))
    >>> found = upto.layers({"a": x, "b": y}, {"c": y * 2, "d": x + 1})
    >>> [found.runs[1].layers[each.closest].name for each in found.pairs[0].closest]
    ['d', 'c']
    """
    check_options(held_out, permutations, half_samples, max_rows, seed)
    wanted = as_measures(measures)
    engine, progress = choose_engine(engine), choose_progress(progress)
    stacks = as_stacks(runs)
    _refuse_number(stacks)
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
        index = choose_rows(split, None, max_rows)
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
        places=_places(_cut(stacks, rows), seed),
        parts=split.parts[index],
    )
    if sample.n_used < 2:
        message = f"{sample.n_used} of {len(matched[0])} rows are distinct: use more rows."
        raise InputError(message)
    usable, scores, refused = sample.scored(wanted, permutations, half_samples, seed, progress)
    result = LayersResult(
        runs=sample.runs,
        n_samples=len(matched[0]),
        n_used=sample.n_used,
        n_held_out=int(sample.parts.sum()),
        n_pairings=len(scores[0].null) if scores else 0,
        complete=bool(scores and scores[0].complete),
        measures=tuple(_measure(each, scores) for each in usable),
        pairs=tuple(sample.pairs(usable, scores)),
        verdict="",
        findings=(),
        provenance=UNRECORDED,
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
        findings=unique_findings([*found, *refused, *remarks]),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Sample:
    """The rows that all measures use of every layer, in an order decided by their content.

    `places` is the position of each layer of each run in the list that is scored.
    """

    stacks: tuple[Stack, ...]
    runs: tuple[LayeredRun, ...]
    rows: tuple[tuple[Float, ...], ...]
    places: dict[Cell, int]
    parts: NDArray[np.int8]

    @property
    def n_used(self) -> int:
        """Number of rows."""
        return len(self.parts)

    def equal_runs(self) -> list[str]:
        """Return the names of pairs of runs whose layers are equal in every value."""
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
    ) -> tuple[list[Measure], list[Scored], list[Finding]]:
        """Score the layers of every two runs, or of a single run with itself.

        A measure that needs more rows is skipped, unless it is the only one.
        """
        if not any(self._cells(*both) for both in self._meetings()):
            return list(measures), [], []
        flat = {place: self.rows[run][layer] for (run, layer), place in self.places.items()}
        rows = [flat[place] for place in range(len(flat))]

        def score(some: Sequence[Measure], permutations: int, half_samples: int) -> list[Scored]:
            is_symmetric = all(measure.symmetric for measure in some)
            return score_pairs(
                rows,
                [
                    (self.places[one, i], self.places[other, j])
                    for one, other in self._meetings()
                    for i, j in self._cells(one, other, symmetric=is_symmetric)
                ],
                some,
                parts=self.parts,
                permutations=permutations,
                half_samples=half_samples,
                seed=seed,
                progress=progress,
            )

        found, findings = score_usable(score, measures, permutations, half_samples)
        used = {each.measure.name for each in found}
        return [measure for measure in measures if measure.name in used], found, findings

    def pairs(self, measures: Sequence[Measure], scored: Sequence[Scored]) -> Iterator[LayerPair]:
        """Yield the scores of every two runs by each measure."""
        by_name = {(each.first, each.second, each.measure.name): each for each in scored}
        for one, other in self._meetings():
            sides = Sides(
                first=self.stacks[one].name,
                second=self.stacks[other].name,
                first_layers=self.stacks[one].names,
                second_layers=self.stacks[other].names,
            )
            for measure in measures:
                own = {
                    (i, j): by_name[self.places[one, i], self.places[other, j], measure.name]
                    for i, j in self._cells(one, other, symmetric=measure.symmetric)
                }
                yield layer_pair(sides, own, measure.name)

    def _meetings(self) -> list[Cell]:
        count = len(self.runs)
        return [*combinations(range(count), 2)] if count > 1 else [(0, 0)]

    def _cells(self, one: int, other: int, *, symmetric: bool = True) -> list[Cell]:
        """Return the pairs of varying layers; within one run, each pair once if `symmetric`."""
        first, second = (
            [place for place, layer in enumerate(self.runs[run].layers) if not layer.is_dead]
            for run in (one, other)
        )
        return [
            (i, j)
            for i in first
            for j in second
            if one != other or i < j or (i > j and not symmetric)
        ]


def _places(rows: Sequence[Sequence[Float]], seed: int) -> dict[Cell, int]:
    """Order runs by content, so that the one that is permuted does not depend on input order."""
    engine = ThreadsEngine()
    keys = [
        sum(int(row_keys(engine, layer, seed).sum(dtype=np.uint64)) for layer in own)
        for own in rows
    ]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    flat = [(run, layer) for run in order for layer in range(len(rows[run]))]
    return {each: place for place, each in enumerate(flat)}


def _cut(stacks: Sequence[Stack], rows: Sequence[Float]) -> tuple[tuple[Float, ...], ...]:
    """Split a list of all layers by run."""
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
    refuse_scale(name, rows.min(axis=0), rows.max(axis=0), rows.size, what="it")
    return rows


def _refuse_number(stacks: Sequence[Stack]) -> None:
    if not stacks:
        message = "0 runs are given: pass at least one."
        raise InputError(message)
    counts = [len(stack.layers) for stack in stacks]
    if counts == [1]:
        message = (
            f"{stacks[0].name} has 1 layer and there is no other run: pass more layers or runs."
        )
        raise InputError(message)
    total = sum(one * other for one, other in combinations(counts, 2)) or counts[0] ** 2
    if total > LARGEST_MATRIX:
        message = (
            f"{sum(counts)} layers of {len(counts)} runs make {total} pairs, but at most "
            f"{LARGEST_MATRIX} are compared: choose fewer layers or runs."
        )
        raise InputError(message)
