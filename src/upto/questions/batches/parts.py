"""Records of batches, tasks, conditions and their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from upto.core.estimate import Estimate
from upto.core.short_repr import Record

Carries = Literal["batch", "label", "both", "neither"]
Reading = Literal["difference", "ratio", "normalised"]
Measure = Literal["auroc", "within", "sparsity"]
MANY_COPIES = 0.1
"""Fraction of copies among evaluated rows from which the verdict starts with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSummary:
    """One batch: its rows, and the fold in which it is held out.

    With ``"one-trains"``, `fold` is the fold in which it is the training batch.
    """

    name: str
    n_rows: int
    n_controls: int
    fold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFold:
    """Numbers of training and held-out batches and rows in one fold."""

    n_training_batches: int
    n_training: int
    n_held_out_batches: int
    n_held_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One classification task: a label against the controls, or against all other labels.

    `n_batches` batches contain both classes, and `n_folds` folds could be evaluated; `says` is the
    reason if some could not, otherwise empty.
    """

    name: str
    n_perturbed: int
    n_others: int
    n_batches: int
    n_folds: int
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One transform of the rows, refit in every fold.

    `needs` is what it requires of a new batch besides its rows: their batch, or controls.
    `n_components` is the number of columns in the fit to all rows; `converged` is None for
    transforms without iterations.
    """

    name: str
    title: str
    says: str
    needs: Literal["nothing", "batch", "controls"]
    n_components: int
    converged: bool | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldScore:
    """Scores of one classifier on the held-out batches of one fold.

    `within` is the AUROC among rows of the same batch, `shuffled` the AUROC after training on
    shuffled labels, and `sparsity` Hoyer's sparsity of the splits per column.
    """

    condition: str
    task: str
    fold: int
    auroc: float | None
    within: float | None
    shuffled: float | None
    sparsity: float | None
    shuffled_sparsity: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopScore:
    """AUROC of the top `percent` of columns by classifier use, and of the others."""

    condition: str
    task: str
    fold: int
    percent: float
    top: float | None
    rest: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionScore(Record):
    """Scores of a condition over all folds of a task, or of all tasks if `task` is None.

    Intervals of means over folds are widened because folds share training rows (Nadeau and Bengio)
    or, with ``"one-trains"``, test rows; they are wider near an AUROC of 1 and where batches lack a
    label, and missing where label and batch are confounded (UP071). `standard_error` is the
    paper's, which treats folds and tasks as independent.
    """

    condition: str
    task: str | None
    n_folds: int
    auroc: Estimate | None
    standard_error: float | None
    within: Estimate | None
    shuffled: Estimate | None
    sparsity: Estimate | None
    shuffled_sparsity: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Concentration(Record):
    """Predictive advantage of the top columns over the rest, in one of three readings."""

    condition: str
    percent: float
    reading: Reading
    value: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionDifference(Record):
    """Difference between two conditions on the same folds.

    `p_value` is two-sided and Holm-adjusted for the number of conditions compared with `against`.
    """

    condition: str
    against: str
    measure: Measure
    value: Estimate
    p_value: float | None

    @property
    def is_gain(self) -> bool:
        """Whether the condition is better, beyond the variation between folds."""
        return self.value.value > 0 and self.p_value is not None and self.p_value <= 0.05

    @property
    def is_loss(self) -> bool:
        """Whether the condition is worse, beyond the variation between folds."""
        return self.value.value < 0 and self.p_value is not None and self.p_value <= 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchScore:
    """A mixing or retrieval score, in sample, as computed by other tools.

    `side` is what a high value rewards: batch mixing, label separation, or both.
    """

    condition: str
    name: str
    title: str
    side: Literal["batch", "biology", "total"]
    value: float | None
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentCarries:
    """Fractions of a component's variance explained by batch and by label, each beyond the other.

    Components are numbered from 0. A share is None where it is not defined.
    """

    component: int
    batch_share: float | None
    label_share: float | None
    batch_q: float | None
    label_q: float | None
    carries: Carries


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMap(Record):
    """t-SNE map; `batch` and `label` are indices into the result's lists."""

    condition: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    batch: tuple[int, ...]
    label: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak(Record):
    """Label predictability without the embedding, on the same folds.

    `well` is the AUROC of well positions, None if they are unknown. `batch` is that of labels
    shuffled within batches, i.e. of batches alone, None if all labels are equally frequent in all
    batches. `n_copied` of `n_judged` evaluated rows have an exact or near copy in another held-out
    part; only some rows of very large runs are examined.
    """

    well: Estimate | None
    batch: Estimate | None
    n_repeated_wells: int
    n_repeated_rows: int
    n_copied: int = 0
    n_judged: int = 0

    @property
    def has_many_copies(self) -> bool:
        """Whether at least a tenth of the evaluated rows may have been trained on."""
        return self.n_copied > 0 and self.n_copied >= MANY_COPIES * self.n_judged
