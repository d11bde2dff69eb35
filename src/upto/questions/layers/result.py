"""The result of `layers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from upto.core.chance_limit import BEYOND_CHANCE, Numbers
from upto.core.errors import InputError, MissingPartError
from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.provenance import Provenance
from upto.core.result import Result, pick
from upto.core.short_repr import Record
from upto.core.table import Cell, Column, Table, columns

if TYPE_CHECKING:
    from collections.abc import Iterator

Alignment = Literal["name", "depth", "next"]
"""Alignment of layers: by name, by depth, or each with the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer; `n_dead` of its coordinates are constant."""

    name: str
    n_features: int
    n_dead: int

    @property
    def is_dead(self) -> bool:
        """Whether all its rows are equal."""
        return self.n_dead == self.n_features


@dataclass(frozen=True, slots=True, kw_only=True)
class LayeredRun(Record):
    """A run and its layers, first layer first."""

    name: str
    layers: tuple[Layer, ...]
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerMeasure:
    """A measure of layers; `low` and `high` are the ends of its range, None if unbounded."""

    name: str
    title: str
    says: str
    closer: Literal["higher", "lower"]
    low: float | None
    high: float | None
    held_out: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterpart(Record):
    """The layer of the second run closest to a layer of the first.

    Layers are positions in their runs. `p_value` is adjusted for all pairs of layers; `share` is
    the share of half-samples in which the same layer is closest, None without half-samples.
    """

    layer: int
    closest: int
    value: Estimate
    p_value: float
    share: float | None

    @property
    def is_beyond_chance(self) -> bool:
        """Whether it is closer than chance, adjusted for all pairs of layers."""
        return self.p_value <= BEYOND_CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerStep(Record):
    """A layer of the first run and the layer aligned with it by name, depth or order.

    `chance` is the mean over random pairings of rows, and `limit` the value that a pair of layers
    must beat, adjusted for all pairs.
    """

    layer: int
    beside: int
    value: Estimate
    chance: float | None
    limit: float | None
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPair(Record):
    """The layers of two runs, or of one run, by one measure.

    The rows of `value`, `limit` and `p_value` are the layers of the first run and the columns those
    of the second; entries of a layer with itself and of dead layers are None. `closest` has an
    entry per layer of the first run that is not dead, `along` one per such layer that is aligned
    with a layer that is not dead.
    """

    first: str
    second: str
    measure: str
    aligned_by: Alignment
    value: Numbers
    limit: Numbers
    p_value: Numbers
    closest: tuple[Counterpart, ...]
    along: tuple[LayerStep, ...]

    @property
    def is_own(self) -> bool:
        """Whether a run is compared with itself."""
        return self.first == self.second

    @property
    def n_level(self) -> int:
        """Number of layers whose closest layer is aligned with them, or adjacent in one run."""
        return sum(self.is_level(each) for each in self.closest)

    def is_level(self, each: Counterpart) -> bool:
        """Return whether the closest layer is the aligned one, or adjacent in one run."""
        if self.is_own:
            return abs(each.layer - each.closest) == 1
        return any((each.layer, each.closest) == (step.layer, step.beside) for step in self.along)

    @property
    def n_beyond(self) -> int:
        """Number of layers whose closest layer is closer than chance."""
        return sum(each.is_beyond_chance for each in self.closest)

    def problems(self, n_first: int, n_second: int) -> Iterator[str]:
        """Yield inconsistencies with the numbers of layers."""
        for name in ("value", "limit", "p_value"):
            numbers: Numbers = getattr(self, name)
            if len(numbers) != n_first or any(len(row) != n_second for row in numbers):
                yield f"{name} of {self.first} and {self.second} is not {n_first} × {n_second}"
        places = [("closest layer", each.layer, each.closest) for each in self.closest]
        places += [("aligned layer", step.layer, step.beside) for step in self.along]
        for what, layer, other in places:
            if not 0 <= layer < n_first:
                yield f"it has the {what} of layer {layer}, but {self.first} has {n_first} layers"
            if not 0 <= other < n_second:
                yield f"it has the {what} {other}, but {self.second} has {n_second} layers"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersResult(Result):
    """Similarity of layers: every two runs by every measure, or one run with itself.

    All numbers use the same `n_used` samples. The null distributions come from `n_pairings` random
    pairings; if `complete`, these are all pairings and p-values are exact.

    See Also
    --------
    upto.layers : Returns it.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "layers"
    schema: ClassVar[int] = 1

    runs: tuple[LayeredRun, ...]
    n_samples: int
    n_used: int
    n_held_out: int
    n_pairings: int
    complete: bool
    measures: tuple[LayerMeasure, ...]
    pairs: tuple[LayerPair, ...]
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    def __post_init__(self) -> None:
        # Results may be read from files that were edited.
        for problem in self._problems():
            raise InputError(problem)

    def run(self, name: str) -> LayeredRun:
        """Return the run with this name."""
        return pick(self.runs, name, "this result has no run {!r}: choose one of {}.")

    def measure(self, name: str) -> LayerMeasure:
        """Return the measure with this name, which may omit the parameter."""
        for measure in self.measures:
            if name in (measure.name, measure.name.partition(":")[0]):
                return measure
        names = ", ".join(measure.name for measure in self.measures)
        message = f"this result has no measure {name!r}: choose one of {names}."
        raise MissingPartError(message)

    def names(self, pair: LayerPair) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the layers of both runs of a pair."""
        first, second = (
            tuple(layer.name for layer in self.run(name).layers)
            for name in (pair.first, pair.second)
        )
        return first, second

    def tables(self) -> tuple[Table, ...]:
        """Return the closest layers, the aligned layers, and one matrix per pair."""
        return self._closest(), self._along(), *(self._matrix(pair) for pair in self.pairs)

    def data_table(self) -> Table:
        """Return one row per pair of layers and measure."""
        rows: list[tuple[Cell, ...]] = []
        for pair in self.pairs:
            first, second = self.names(pair)
            rows += [
                (
                    pair.measure,
                    pair.first,
                    layer,
                    pair.second,
                    other,
                    pair.value[i][j],
                    pair.limit[i][j],
                    pair.p_value[i][j],
                )
                for i, layer in enumerate(first)
                for j, other in enumerate(second)
                if pair.value[i][j] is not None
            ]
        heads = ("measure", "first", "layer", "second", "layer of the second", "value", "limit")
        return Table(
            title="All pairs of layers", columns=columns(*heads, "adjusted p"), rows=tuple(rows)
        )

    def _problems(self) -> Iterator[str]:
        if not self.runs or not self.measures:
            yield f"it has {len(self.runs)} runs and {len(self.measures)} measures"
        runs = {run.name: len(run.layers) for run in self.runs}
        for name, count in runs.items():
            if [run.name for run in self.runs].count(name) > 1:
                yield f"two runs are called {name}"
            if not count:
                yield f"{name} has no layers"
        measures = {measure.name for measure in self.measures}
        for pair in self.pairs:
            if pair.measure not in measures:
                yield f"it has no measure {pair.measure!r}"
            for name in (pair.first, pair.second):
                if name not in runs:
                    yield f"it has no run {name!r}"
            yield from pair.problems(runs[pair.first], runs[pair.second])
        for name in sorted(measures - {pair.measure for pair in self.pairs}):
            yield f"it has no pair of runs by {name}"

    def _closest(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for pair in self.pairs:
            first, second = self.names(pair)
            rows += [
                (
                    first[each.layer],
                    second[each.closest],
                    each.value,
                    each.p_value,
                    each.share,
                    "yes" if pair.is_level(each) else "no",
                    *self._which(pair),
                )
                for each in pair.closest
            ]
        return Table(
            title=self._title("closest layers"),
            columns=(
                *columns("layer", "closest", "value", spec=".3f"),
                *columns("adjusted p", spec=".2g"),
                *columns("of half-samples", self._beside(), spec=".0%"),
                *self._which_columns(),
            ),
            rows=tuple(rows),
            caption=self._caption(),
        )

    def _beside(self) -> str:
        kinds = {pair.aligned_by for pair in self.pairs}
        words = {"next": "next to it", "name": "of the same name"}
        return (
            words.get(next(iter(kinds)), "at the same depth")
            if len(kinds) == 1
            else "aligned with it"
        )

    def _along(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for pair in self.pairs:
            first, second = self.names(pair)
            rows += [
                (
                    first[step.layer],
                    second[step.beside],
                    step.value,
                    step.chance,
                    step.limit,
                    step.p_value,
                    *self._which(pair),
                )
                for step in pair.along
            ]
        return Table(
            title=self._title("aligned layers"),
            columns=(
                *columns("layer", "aligned with", "value", "chance", "limit of chance", spec=".3f"),
                *columns("adjusted p", spec=".2g"),
                *self._which_columns(),
            ),
            rows=tuple(rows),
        )

    def _matrix(self, pair: LayerPair) -> Table:
        first, second = self.names(pair)
        measure = self.measure(pair.measure)
        runs = pair.first if pair.is_own else f"{pair.first} (rows) and {pair.second} (columns)"
        return Table(
            title=f"{runs}: {measure.title}, {measure.closer} is closer",
            columns=columns("layer", *second, spec=".3f"),
            rows=tuple((name, *row) for name, row in zip(first, pair.value, strict=True)),
        )

    def _which(self, pair: LayerPair) -> tuple[Cell, ...]:
        runs = pair.first if pair.is_own else f"{pair.first} → {pair.second}"
        many = (len(self.runs) > 2, len(self.measures) > 1)
        return tuple(cell for cell, shown in zip((runs, pair.measure), many, strict=True) if shown)

    def _which_columns(self) -> tuple[Column, ...]:
        many = (("runs", len(self.runs) > 2), ("measure", len(self.measures) > 1))
        return columns(*(name for name, shown in many if shown))

    def _title(self, what: str) -> str:
        names = " → ".join(run.name for run in self.runs)
        return f"{names if len(self.runs) < 3 else f'{len(self.runs)} runs'}: {what}"

    def _caption(self) -> str:
        held_out = ""
        if any(measure.held_out for measure in self.measures):
            held_out = f", {self.n_held_out} of them held out"
        kind = "all other" if self.complete else "random"
        return (
            f"{self.n_used} of {self.n_samples} rows{held_out}; p-values adjusted for all pairs of "
            f"layers of two runs, from {self.n_pairings} {kind} pairings"
        )
