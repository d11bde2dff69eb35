"""The answer to the main question: whether runs are the same representation, and up to what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.group import Group
from upto.core.promise import Promised, conditions_table, promised_table
from upto.core.result import Provenance, Result
from upto.core.table import Cell, Column, Table

Agreement = Literal["identical", "same", "close", "partial", "weak", "chance", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diameter:
    """The largest distance between two rows, or a certified bracket of it.

    `value` is the exact diameter or the lower end of the bracket, so that an error over it is
    never understated; `quantile` is the 99.9 % quantile of the distances.
    """

    value: float
    upper: float
    exact: bool
    quantile: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What was learned of one run before it met the others.

    `n_components` counts its independent components and `n_identifiable` those that cannot turn
    into another; None where components were not looked for, or not judged.
    """

    name: str
    n_samples: int
    n_features: int
    rank: int
    n_dead: int
    diameter: Diameter
    spread: float
    layer: str | None = None
    seed: int | None = None
    n_components: int | None = None
    n_identifiable: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Per-example errors over the diameter of the target, summarised."""

    mean: Estimate
    rms: float
    q99: float
    worst: float
    r2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts of per-example errors in bins of equal width from `low` to `high`."""

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supremum:
    """The ε of Definition 1 on the rows at hand: the smallest worst error of a group.

    An element of the group with worst error `high` was found; where `low` is known, it is proved
    that none has a smaller one.
    """

    high: float
    low: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How well the first run predicts the second up to one group.

    `unmixed` marks the row in which both runs were first turned by ICA, without supervision, and
    then matched by a signed permutation. `supremum` brackets the smallest worst in-sample error
    of the group; `chance` is what shuffled rows give.
    """

    up_to: Group
    unmixed: bool
    in_sample: Errors
    held_out: Errors | None
    chance_in_sample: Errors | None
    chance: Errors | None
    p_value: float | None
    supremum: Supremum | None
    histogram: Histogram | None
    chance_histogram: Histogram | None

    @property
    def name(self) -> str:
        """Name of the row, which is the group or ``"ica"``."""
        return "ica" if self.unmixed else str(self.up_to)

    @property
    def error(self) -> Estimate:
        """Mean held-out error, or in sample where nothing could be held out."""
        return (self.held_out or self.in_sample).mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """How far the pair is from an isometry: half of it bounds ε from below for rigid maps."""

    value: float
    lower_bound: float
    n_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Rows of the target and of the aligned source in the target's two widest directions."""

    up_to: Group
    target: tuple[tuple[float, float], ...]
    aligned: tuple[tuple[float, float], ...]
    label: str | None
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        n_points, n_labels = len(self.target), len(self.labels)
        if len(self.aligned) != n_points or n_labels not in (0, n_points):
            message = f"{n_points} points have {len(self.aligned)} partners and {n_labels} labels"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Result):
    """Two runs compared: the first is mapped onto the second.

    `r2_per_direction` is what the verdict's map explains of the target's principal directions on
    held-out rows, each direction counted alike however little variance it has. `promised` is what
    the theorems promise beside what was measured, over the diameter too, where the decoders' L was
    given.
    """

    kind: ClassVar[str] = "comparison"
    schema: ClassVar[int] = 1

    first: RunSummary
    second: RunSummary
    n_samples: int
    n_held_out: int
    fits: tuple[Fit, ...]
    defect: Defect
    r2_per_direction: float | None
    efficiency: float | None
    efficiency_in_sample: float | None
    up_to: Group | None
    agreement: Agreement
    verdict: str
    findings: tuple[Finding, ...]
    scatter: Scatter | None
    provenance: Provenance
    promised: tuple[Promised, ...] = ()

    def fit(self, name: str) -> Fit:
        """Return the row of a group, or of ``"ica"``."""
        for fit in self.fits:
            if fit.name == name:
                return fit
        names = ", ".join(fit.name for fit in self.fits)
        message = f"this comparison has no row {name!r}; it has {names}."
        raise KeyError(message)

    @property
    def identity(self) -> Fit:
        """The row of the identity."""
        return self.fit("identity")

    @property
    def signed_permutation(self) -> Fit:
        """The row of signed permutations."""
        return self.fit("signed-permutation")

    @property
    def signed_similarity(self) -> Fit:
        """The row of signed permutations with one scale."""
        return self.fit("signed-similarity")

    @property
    def scaled_permutation(self) -> Fit:
        """The row of scaled permutations."""
        return self.fit("scaled-permutation")

    @property
    def rigid(self) -> Fit:
        """The row of rigid motions."""
        return self.fit("rigid")

    @property
    def similarity(self) -> Fit:
        """The row of rigid motions with one scale."""
        return self.fit("similarity")

    @property
    def affine(self) -> Fit:
        """The row of affine maps."""
        return self.fit("affine")

    @property
    def ica(self) -> Fit:
        """The row of ICA followed by a signed permutation."""
        return self.fit("ica")

    def tables(self) -> tuple[Table, ...]:
        """Return the errors per group, what was promised if anything was, and the details."""
        return *self.brief_tables(), *self._conditions(), self._details()

    def brief_tables(self) -> tuple[Table, ...]:
        """Return the errors per group, and what was promised if anything was."""
        return self._headline(), *((promised_table(self.promised),) if self.promised else ())

    def _conditions(self) -> tuple[Table, ...]:
        if not self.promised:
            return ()
        return (conditions_table(each.promise for each in self.promised),)

    def _headline(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for fit in self.fits:
            mark = " ←" if fit.up_to is self.up_to and not fit.unmixed else ""
            rows.append(
                (
                    fit.name + mark,
                    fit.held_out.mean if fit.held_out else None,
                    fit.in_sample.mean.value,
                    fit.chance.mean.value if fit.chance else None,
                    fit.p_value,
                    fit.held_out.r2 if fit.held_out else None,
                    fit.in_sample.r2,
                )
            )
        rows_text = f"{self.n_held_out} of {self.n_samples} rows held out"
        return Table(
            title=f"{self.first.name} → {self.second.name}: mean error over the diameter",
            columns=(
                Column(name="up to"),
                Column(name="held out", spec=".4f"),
                Column(name="in sample"),
                Column(name="chance"),
                Column(name="p", spec=".2g"),
                Column(name="R² held out", spec=".3f"),
                Column(name="R² in sample", spec=".3f"),
            ),
            rows=tuple(rows),
            caption=f"{rows_text}{self._direction_text()}{self._efficiency_text()}"
            f"{self._identifiable_text()}",
        )

    def _identifiable_text(self) -> str:
        counts = [
            f"{run.n_identifiable} of {run.n_components}"
            for run in (self.first, self.second)
            if run.n_identifiable is not None
        ]
        if len(counts) < 2:
            return ""
        return f"; held out, ica matches the identifiable components: {' and '.join(counts)}"

    def _direction_text(self) -> str:
        if self.r2_per_direction is None:
            return ""
        return f"; R² of an average direction {self.r2_per_direction:.3f}"

    def _efficiency_text(self) -> str:
        if self.efficiency is None:
            return ""
        return f"; efficiency of ICA {self.efficiency:.0%}"

    def _details(self) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for fit in self.fits:
            columns = [("held out", fit.held_out), ("in sample", fit.in_sample)]
            columns += [("chance", fit.chance), ("chance in sample", fit.chance_in_sample)]
            for kind, errors in columns:
                if errors is not None:
                    sup = fit.supremum if kind == "in sample" else None
                    bracket = (sup.low, sup.high) if sup else (None, None)
                    rows.append(
                        (
                            fit.name,
                            kind,
                            errors.mean.value,
                            errors.rms,
                            errors.q99,
                            errors.worst,
                            *bracket,
                        )
                    )
        bound = self.defect
        return Table(
            title="Every error over the diameter",
            columns=(
                Column(name="up to"),
                Column(name="rows"),
                Column(name="mean"),
                Column(name="RMS"),
                Column(name="99 %"),
                Column(name="worst"),
                Column(name="ε at least"),
                Column(name="ε at most"),
            ),
            rows=tuple(rows),
            caption=f"near-isometry defect {bound.value:.4f} over {bound.n_rows} rows: "
            f"no rigid map has a worst error below {bound.lower_bound:.4f}",
        )
