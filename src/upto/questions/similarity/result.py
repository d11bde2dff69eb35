"""The result of `similarity`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from upto.core.chance_limit import BEYOND_CHANCE, Numbers
from upto.core.errors import MissingPartError
from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.short_repr import Record
from upto.core.table import Cell, Table, columns


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """One of the runs; `n_dead` of its coordinates are constant."""

    name: str
    n_features: int
    n_dead: int
    layer: str | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureSummary(Record):
    """Properties of one measure, and its summary over all pairs.

    `low` and `high` are the ends of its range, None if unbounded; `ignores` lists the
    transformations of a run that leave it unchanged. `held_out` is True if values are from held-out
    rows; measures without fitted parameters use all rows. `mean` is over all pairs, with an
    interval over runs if there are four or more. `order` places similar runs next to each other.
    """

    name: str
    title: str
    says: str
    source: str
    low: float | None
    high: float | None
    closer: Literal["higher", "lower"]
    symmetric: bool
    metric: bool
    ignores: tuple[str, ...]
    held_out: bool
    mean: Estimate
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity(Record):
    """One measure of two runs.

    `chance` is the mean over random pairings of rows and `limit` the value a pair must beat for a
    p-value of 5 %; `calibrated` is 0 at or within that limit and 1 at the best possible value. They
    are None if rows are too few, or the best value is infinite. `adjusted` is the p-value adjusted
    for all pairs and measures.
    """

    first: str
    second: str
    measure: str
    value: Estimate
    chance: float | None
    limit: float | None
    calibrated: float | None
    p_value: float
    adjusted: float

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the pair is closer than chance, adjusted for all pairs and measures."""
        return self.adjusted <= BEYOND_CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityResult(Result):
    """Similarity of every pair of two or more runs by every measure.

    `rows` has one entry per pair and measure, or two, one in each direction, if the measure is not
    symmetric. All use the same `n_used` samples. The null distributions come from `n_pairings`
    random pairings; if `complete`, these are all pairings and p-values are exact. If `n_fits` is a
    number, wide runs were fitted that often: pairings, with the true one, share the pairing of the
    fitted rows and differ in the held-out rows.

    See Also
    --------
    upto.similarity : Returns it.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "similarity"
    schema: ClassVar[int] = 1

    runs: tuple[MeasuredRun, ...]
    n_samples: int
    n_used: int
    n_held_out: int
    n_pairings: int
    complete: bool
    within: str | None
    measures: tuple[MeasureSummary, ...]
    rows: tuple[Similarity, ...]
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance
    n_fits: int | None = None

    def measure(self, name: str) -> MeasureSummary:
        """Return the summary of a measure; its name may omit the parameter."""
        for of in (str, lambda full: full.partition(":")[0]):
            for measure in self.measures:
                if of(measure.name) == name:
                    return measure
        names = ", ".join(measure.name for measure in self.measures)
        message = f"this result has no measure {name!r}: choose one of {names}."
        raise MissingPartError(message)

    def of(self, name: str) -> tuple[Similarity, ...]:
        """Return the rows of a measure."""
        name = self.measure(name).name
        return tuple(row for row in self.rows if row.measure == name)

    def matrix(
        self,
        name: str,
        what: Literal["value", "chance", "limit", "calibrated", "p_value", "adjusted"] = "value",
    ) -> Numbers:
        """Return one quantity of a measure for all pairs, in the order of `runs`."""
        summary, numbers = self.measure(name), {}
        for row in self.of(name):
            cell = row.value.value if what == "value" else getattr(row, what)
            numbers[row.first, row.second] = cell
            if summary.symmetric:
                numbers[row.second, row.first] = cell
        names = [run.name for run in self.runs]
        return tuple(tuple(numbers.get((first, second)) for second in names) for first in names)

    def tables(self) -> tuple[Table, ...]:
        """Return the values of a pair, or a summary of all pairs and one matrix per measure."""
        if len(self.runs) == 2:
            return (self._pair(),)
        return (self._summary(), *(self._matrix(measure) for measure in self.measures))

    def data_table(self) -> Table:
        """Return one row per pair and measure."""
        held_out = {measure.name: measure.held_out for measure in self.measures}
        heads = ("first", "second", "measure", "value", "chance", "limit", "calibrated", "p")
        return Table(
            title="All pairs and measures",
            columns=columns(*heads, "adjusted p", "held out"),
            rows=tuple(
                (
                    row.first,
                    row.second,
                    row.measure,
                    row.value,
                    row.chance,
                    row.limit,
                    row.calibrated,
                    row.p_value,
                    row.adjusted,
                    "yes" if held_out[row.measure] else "no",
                )
                for row in self.rows
            ),
        )

    def _pair(self) -> Table:
        first, second = (run.name for run in self.runs)
        rows: list[tuple[Cell, ...]] = []
        for row in self.rows:
            measure = self.measure(row.measure)
            onto = "" if measure.symmetric else f", {row.first} → {row.second}"
            rows.append(
                (
                    f"{measure.name}{onto}",
                    row.value,
                    row.chance,
                    row.limit,
                    row.calibrated,
                    row.p_value,
                    row.adjusted,
                )
            )
        return Table(
            title=f"{first} and {second}",
            columns=(
                *columns("measure", "value", "chance", "limit of chance", "calibrated", spec=".3f"),
                *columns("p", "adjusted p", spec=".2g"),
            ),
            rows=tuple(rows),
            caption=self._caption(),
        )

    def _summary(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for measure in self.measures:
            own = self.of(measure.name)
            values = sorted(row.value.value for row in own)
            levels = [row.chance for row in own if row.chance is not None]
            rows.append(
                (
                    measure.name,
                    measure.mean,
                    sum(levels) / len(levels) if levels else None,
                    values[0],
                    values[-1],
                    f"{sum(row.is_beyond_chance for row in own)} of {len(own)}",
                )
            )
        heads = ("measure", "mean", "chance", "lowest", "highest", "closer than chance")
        return Table(
            title=f"{len(self.runs)} runs, all pairs",
            columns=columns(*heads, spec=".3f"),
            rows=tuple(rows),
            caption=self._caption(),
        )

    def _matrix(self, measure: MeasureSummary) -> Table:
        numbers = self.matrix(measure.name)
        names = [self.runs[run].name for run in measure.order]
        return Table(
            title=f"{measure.title}: {measure.closer} is closer",
            columns=columns("similar runs side by side", *names, spec=".3f"),
            rows=tuple(
                (self.runs[first].name, *(numbers[first][second] for second in measure.order))
                for first in measure.order
            ),
        )

    def _caption(self) -> str:
        used = f"{self.n_used} of {self.n_samples} rows"
        fitted = [measure.name for measure in self.measures if measure.held_out]
        held_out = f", {self.n_held_out} of them held out for {', '.join(fitted)}" if fitted else ""
        kind = "all other" if self.complete else "random"
        within = f" within {self.within}" if self.within else ""
        fits = f" of {self.n_fits} fits" if self.n_fits else ""
        return f"{used}{held_out}; chance from {self.n_pairings} {kind} pairings{within}{fits}"
