"""Parts of a comparison of two runs: errors, fits per group, and data for its plots."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from upto.core.estimate import Estimate
from upto.core.group import Group
from upto.core.html_view import table_html
from upto.core.short_repr import Record
from upto.core.table import Table, columns

Agreement = Literal["identical", "same", "close", "image", "partial", "weak", "chance", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diameter(Record):
    """The largest distance between two rows, or certified bounds on it.

    `value` is the exact diameter or its lower bound, so errors over the diameter are never
    understated; `quantile` is the 99.9 % quantile of the distances.
    """

    value: float
    upper: float
    exact: bool
    quantile: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary(Record):
    """Properties of one run on its own.

    `n_components` counts its independent components and `n_non_gaussian` those significantly
    non-Gaussian on held-out rows; None if components were not estimated or not tested.

    See Also
    --------
    upto.InspectResult : Has one as `run`.
    upto.CompareResult : Has one for each run.
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
    n_non_gaussian: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors(Record):
    """Summary of the errors per row, over the diameter of the target."""

    mean: Estimate
    rms: float
    q99: float
    worst: float
    r2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline(Record):
    """Errors of predicting the target's mean for every row."""

    in_sample: Errors
    held_out: Errors | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Record):
    """Directions on which two runs agree, counted after whitening both.

    `n_first` and `n_second` count the directions in which the runs vary beyond rounding,
    `n_shared` those with a held-out R² of at least 0.5 and `n_closely` those with at least 0.8.
    `variance_first` and `variance_second` are the fractions of each run's variance in the shared
    directions. `rest` describes the remaining directions: unrelated (all R² below 0.1), less
    alike, or not judged (fewer rows than directions were fitted).
    """

    n_shared: int
    n_closely: int
    n_first: int
    n_second: int
    variance_first: float
    variance_second: float
    rest: Literal["unrelated", "less alike", "not judged"]

    @property
    def is_bijective(self) -> bool:
        """Whether the runs agree on every direction of both."""
        return self.n_shared == self.n_first == self.n_second

    @property
    def share(self) -> float:
        """Fraction of directions with close agreement, relative to the run with more of them."""
        return self.n_closely / max(self.n_first, self.n_second, 1)

    def flipped(self) -> Shared:
        """Exchange the runs."""
        return replace(
            self,
            n_first=self.n_second,
            n_second=self.n_first,
            variance_first=self.variance_second,
            variance_second=self.variance_first,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Along(Record):
    """R² of the verdict's map along the principal directions of one run, widest first.

    `variance` is the fraction of the run's variance in each direction; `r2` is held-out.
    """

    name: str
    variance: tuple[float, ...]
    r2: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes(Record):
    """Agreement within classes, after subtracting class means from both runs."""

    label: str
    n_classes: int
    between_r2: float
    within_r2: float
    within_p_value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(Record):
    """Counts of errors per row in bins of equal width from `low` to `high`."""

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Supremum(Record):
    """The ε of Definition 1 on these rows: the smallest worst-case error over a group.

    `high` is attained by an element of the group; `low`, where known, is a proved lower bound.
    """

    high: float
    low: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit(Record):
    """How well the first run predicts the second up to one group.

    `unmixed` marks fits in which both runs were first rotated by ICA, without supervision, and
    then matched by a signed or scaled permutation. `supremum` bounds the smallest worst-case
    in-sample error over the group; `chance` is the error of permuted rows. `r2_per_direction`
    is R² averaged over the principal directions of the second run, and `r2_back` R² of mapping the
    second run onto the first, both held-out.

    See Also
    --------
    upto.CompareResult : Its method `fit` returns one.
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
    r2_per_direction: float | None = None
    r2_back: float | None = None

    @property
    def name(self) -> str:
        """Name of the fit: its group, ``"ica"`` or ``"ica-scaled"``."""
        if self.unmixed:
            return "ica" if self.up_to is Group.SIGNED_PERMUTATION else "ica-scaled"
        return str(self.up_to)

    @property
    def error(self) -> Estimate:
        """Mean held-out error, or the in-sample error if no rows were held out."""
        return (self.held_out or self.in_sample).mean

    def table(self) -> Table:
        """Return the errors over the diameter: held-out, in-sample and of permuted rows."""
        errors = {
            "held-out": self.held_out,
            "in-sample": self.in_sample,
            "chance, held-out": self.chance,
            "chance, in-sample": self.chance_in_sample,
        }
        return Table(
            title=f"Errors over the diameter, up to {self.name}",
            columns=columns("rows", "mean error", "RMS", "99 %", "worst", "R²"),
            rows=tuple(
                (rows, each.mean, each.rms, each.q99, each.worst, each.r2)
                for rows, each in errors.items()
                if each is not None
            ),
            caption="" if self.p_value is None else f"p-value {self.p_value:.3g}",
        )

    def __repr__(self) -> str:
        r2 = (self.held_out or self.in_sample).r2
        p_value = "" if self.p_value is None else f", p_value={self.p_value:.3g}"
        return f"Fit({self.name!r}, error={self.error}, r2={r2:.4g}{p_value})"

    def _repr_html_(self) -> str:
        return table_html(self.table())


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect(Record):
    """Isometry defect of a pair; half of it bounds ε of rigid motions from below."""

    value: float
    lower_bound: float
    n_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter(Record):
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
