"""What a comparison of two runs is made of: errors, rows of the table, pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from upto.core.estimate import Estimate
from upto.core.group import Group

Agreement = Literal["identical", "same", "close", "image", "partial", "weak", "chance", "undecided"]


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

    `n_components` counts its independent components and `n_non_gaussian` those that are told from
    Gaussian ones on held-out rows; None where components were not looked for, or not judged.
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
class Errors:
    """Per-example errors over the diameter of the target, summarised."""

    mean: Estimate
    rms: float
    q99: float
    worst: float
    r2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Errors of predicting the mean of the target for every row."""

    in_sample: Errors
    held_out: Errors | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """The directions on which two runs agree, counted after both were whitened.

    `n_first` and `n_second` count the directions in which the runs vary beyond rounding, and
    `n_shared` those on which they agree: with a held-out R² of one half or more; on `n_closely`
    they do with 0.8 or more. `variance_first` and `variance_second` are the shares of their
    variance in what is shared. `rest` says what the others are: unrelated (R² below 0.1 for all of
    them), less alike, or not judged, where fewer rows than directions were fitted.
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
        """Share of the directions of the run with more of them on which the runs agree closely."""
        return self.n_closely / max(self.n_first, self.n_second, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Along:
    """What the verdict's map explains along the principal directions of one run, widest first.

    `variance` is the share of the run's variance in each direction, `r2` held out.
    """

    name: str
    variance: tuple[float, ...]
    r2: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """Agreement within classes, after the means of the classes were taken from both runs."""

    label: str
    n_classes: int
    between_r2: float
    within_r2: float
    within_p_value: float | None


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

    `unmixed` marks the rows in which both runs were first turned by ICA, without supervision, and
    then matched by a signed or scaled permutation. `supremum` brackets the smallest worst in-sample
    error of the group; `chance` is what shuffled rows give. `r2_per_direction` is R² of an average
    principal direction of the second run, and `r2_back` R² of the second run mapped onto the first,
    both on held-out rows.
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
        """Name of the row, which is the group, ``"ica"`` or ``"ica-scaled"``."""
        if self.unmixed:
            return "ica" if self.up_to is Group.SIGNED_PERMUTATION else "ica-scaled"
        return str(self.up_to)

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
