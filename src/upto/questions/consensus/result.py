"""The result of `consensus`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.short_repr import Record
from upto.core.table import Cell, Table, columns

SHOWN_RUNS = 12
"""Maximum number of runs with columns in the table of components; see also `data_table`."""
ConsensusUpTo = Literal["rigid", "similarity", "ica", "signed-permutation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusRun(Record):
    """One run compared with the consensus of the others.

    `explained` is the share of the run's held-out variance that the consensus of the other runs
    explains, and `chance` the share of rows drawn at random; the run `belongs` if this share is
    positive, by `p_value` above chance, and the run is at most twice as wide as predicted: `times`
    is the factor by which the prediction would explain most. `n_appearing` counts the components of
    the consensus that appear in the run. Values that could not be tested are None. `scale` is the
    factor applied to the run, 1 except for similarities; `converged` is that of ICA, if used.
    `n_near_gaussian` counts the matched components of the run that cannot be distinguished from
    Gaussian.
    """

    name: str
    n_features: int
    n_components: int
    scale: float
    explained: Estimate | None
    chance: float | None
    p_value: float | None
    belongs: bool | None
    n_appearing: int | None
    converged: bool | None
    n_near_gaussian: int | None = None
    times: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusComponent(Record):
    """One coordinate of the consensus: a principal axis, or an independent component.

    `variance` is its share of the variance of the consensus, or of a run on average.
    `correlations` contains, for each run, the held-out correlation of its coordinate with the mean
    of the other runs'; None if the run has none or no rows were held out. `mean` is their mean,
    with an interval over rows. After ICA, the two sides of a correlation were fitted to different
    rows. The component appears in the `n_runs` runs whose correlation exceeds the limit and where
    it is not free to rotate.
    """

    variance: float
    correlations: tuple[float | None, ...]
    mean: Estimate | None
    n_runs: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusResult(Result):
    """Consensus space of several runs, evaluated on held-out rows.

    `up_to` is the alignment: rigid motions, similarities, ICA followed by a signed permutation, or
    a signed permutation of the raw coordinates. `components` are in the order of the columns
    written. `n_judged` is the number of held-out rows used. `chance_limit` is the correlation that
    the best match of a component with shuffled rows exceeds in one of a hundred cases; to appear, a
    component must exceed both it and `least_correlation`, and must not be free to rotate (near
    Gaussian after ICA, or raw coordinates that agree no better than randomly rotated ones).
    `consistency` is the share of the matches between two runs that the common matching keeps; None
    without matching.

    See Also
    --------
    upto.consensus : Returns it.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "consensus"
    schema: ClassVar[int] = 1

    up_to: ConsensusUpTo
    runs: tuple[ConsensusRun, ...]
    components: tuple[ConsensusComponent, ...]
    n_samples: int
    n_held_out: int
    n_judged: int
    chance_limit: float | None
    consistency: float | None
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance
    least_correlation: float = 0.0

    @property
    def is_matched(self) -> bool:
        """Whether the coordinates are matched components of the runs."""
        return self.up_to in ("ica", "signed-permutation")

    @property
    def limit(self) -> float | None:
        """The correlation above which a component appears in a run; None if not tested."""
        if self.chance_limit is None:
            return None
        return max(self.chance_limit, self.least_correlation)

    @property
    def in_every_run(self) -> tuple[int, ...]:
        """The components in every run; after ICA, the identifiable part of the model."""
        return self._appearing_in(len(self.runs), len(self.runs))

    @property
    def in_some_runs(self) -> tuple[int, ...]:
        """The components that appear in some runs but not in all."""
        return self._appearing_in(1, len(self.runs) - 1)

    @property
    def in_no_run(self) -> tuple[int, ...]:
        """The components that no run shares with the others."""
        return self._appearing_in(0, 0)

    def _appearing_in(self, fewest: int, most: int) -> tuple[int, ...]:
        return tuple(
            number
            for number, component in enumerate(self.components)
            if component.n_runs is not None and fewest <= component.n_runs <= most
        )

    def _others(self, what: str) -> str:
        return "the other" if len(self.runs) == 2 else f"the {what} of the others"

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of runs, of shared components, and of all components."""
        return self._runs(), self._parts(), self._components()

    def data_table(self) -> Table:
        """Return one row per component and run."""
        rows: list[tuple[Cell, ...]] = [
            (number, component.variance, component.mean, component.n_runs, run.name, correlation)
            for number, component in enumerate(self.components)
            for run, correlation in zip(self.runs, component.correlations, strict=True)
        ]
        heads = ("component", "variance", "mean", "runs", "run", "correlation")
        return Table(title="All components and runs", columns=columns(*heads), rows=tuple(rows))

    def _components(self) -> Table:
        few = len(self.runs) <= SHOWN_RUNS
        rows: list[tuple[Cell, ...]] = [
            (
                number,
                component.mean,
                component.n_runs,
                component.variance,
                *(component.correlations if few else ()),
            )
            for number, component in enumerate(self.components)
        ]
        limit = ""
        if self.limit is not None:
            limit = f"; a component appears in a run if its correlation exceeds {self.limit:.3f}"
        return Table(
            title=f"Components: correlation of a run with {self._others('mean')}",
            columns=(
                *columns("component", "mean", "runs", spec=".3f"),
                *columns("variance", spec=".2%"),
                *columns(*(run.name for run in self.runs if few), spec=".3f"),
            ),
            rows=tuple(rows),
            caption=f"{self.n_judged} of {self.n_held_out} held-out rows{limit}",
        )

    def _runs(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for run in self.runs:
            belongs = None if run.belongs is None else "yes" if run.belongs else "no"
            cells = (run.explained, run.chance, run.p_value, belongs, run.n_appearing)
            counts = (run.n_features, run.n_components, run.n_near_gaussian)
            rows.append((run.name, *counts, run.scale, *cells))
        heads = [
            *columns("run", "coordinates", "components", "near-Gaussian", "scale", spec=".3g"),
            *columns("explained", "chance", spec=".3f"),
            *columns("p", "belongs", "appearing", spec=".2g"),
        ]
        wanted = {"scale": self.up_to == "similarity"}
        wanted |= dict.fromkeys(("components", "near-Gaussian"), self.is_matched)
        shown = [i for i, column in enumerate(heads) if wanted.get(column.name, True)]
        return Table(
            title=f"Variance of each run that {self._others('consensus')} explains",
            columns=tuple(heads[i] for i in shown),
            rows=tuple(tuple(row[i] for i in shown) for row in rows),
            caption=f"up to {self.up_to}; {self.n_held_out} of {self.n_samples} rows held out, "
            f"{self.n_judged} evaluated",
        )

    def _parts(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for name, members in (
            ("every run", self.in_every_run),
            ("some runs", self.in_some_runs),
            ("no run", self.in_no_run),
        ):
            found = [self.components[i].mean for i in members]
            means = [mean.value for mean in found if mean is not None]
            carried = sum((self.components[i].variance for i in members), 0.0)
            ends = (min(means, default=None), max(means, default=None))
            rows.append((name, len(members), carried, *ends, number_ranges(members)))
        caption = (
            "" if self.chance_limit is not None else "Too few rows were held out to test this."
        )
        if self.up_to == "ica" and not caption:
            caption = "Components in every run are the identifiable part of the model."
        return Table(
            title="What the runs share",
            columns=(
                *columns("appear in", "components", "variance", spec=".1%"),
                *columns("lowest mean", "highest mean", "which", spec=".3f"),
            ),
            rows=tuple(rows),
            caption=caption,
        )


def number_ranges(members: tuple[int, ...], limit: int = 12) -> str:
    """Format ascending numbers as ranges, at most `limit` of them.

    Examples
    --------
    >>> number_ranges((0, 1, 2, 5, 7, 8))
    '0–2, 5, 7–8'
    >>> number_ranges((1, 3, 5, 6), limit=2)
    '1, 3 and 2 more'
    """
    stretches: list[list[int]] = []
    for member in members:
        if stretches and member == stretches[-1][1] + 1:
            stretches[-1][1] = member
        else:
            stretches.append([member, member])
    written = ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in stretches[:limit])
    more = sum(b - a + 1 for a, b in stretches[limit:])
    return f"{written} and {more} more" if more else written
