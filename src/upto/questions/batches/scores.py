"""Batches, tasks and conditions: what a transform of the rows is worth on batches never seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from upto.core.estimate import Estimate

Carries = Literal["batch", "label", "both", "neither"]
Reading = Literal["difference", "ratio", "normalised"]
Measure = Literal["auroc", "within", "sparsity"]
MANY_COPIES = 0.1
"""The share of the judged rows from which copies are said before any AUROC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSummary:
    """One batch: its rows, and the fold in which it is held out.

    Where one batch trains at a time, `fold` is the fold in which it is the one that trains.
    """

    name: str
    n_rows: int
    n_controls: int
    fold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFold:
    """One fold: how many batches and rows train, and how many judge."""

    n_training_batches: int
    n_training: int
    n_held_out_batches: int
    n_held_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One question to a classifier: a label against the controls, or against all other labels.

    `n_batches` have rows of both sides, and `n_folds` could be judged; `says` is why some or all
    could not, and empty otherwise.
    """

    name: str
    n_perturbed: int
    n_others: int
    n_batches: int
    n_folds: int
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One transform of the rows, fitted anew in every fold.

    `needs` says what it asks beside rows: which batch they are of, or controls. `n_components` is
    its number of columns in the fit to all rows; `converged` is None where nothing was sought.
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
    """What one classifier reached on the held-out batches of one fold.

    `within` is the AUROC among rows of the same batch, `shuffled` the AUROC where the labels of the
    training rows were shuffled, and `sparsity` Hoyer's, of the shares of splits.
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
    """AUROC of the columns a classifier used most, and of all others; `percent` are at the top."""

    condition: str
    task: str
    fold: int
    percent: float
    top: float | None
    rest: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionScore:
    """A condition over all folds of a task, or of all tasks where `task` is None.

    Intervals are of means over folds, widened because folds share their training rows (Nadeau and
    Bengio) or, where one batch trains at a time, the rows that judge, and wider near an AUROC of 1
    and where batches lack a label; where label and batch go together (UP071) there is none.
    `standard_error` is the paper's, of folds and tasks as if they were independent.
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
class Concentration:
    """How much better the top columns predict than the rest, in one of three readings."""

    condition: str
    percent: float
    reading: Reading
    value: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionDifference:
    """One condition less another on the same folds.

    `p_value` is of no difference, two-sided, and adjusted (Holm) for the number of conditions that
    are compared with the same other one.
    """

    condition: str
    against: str
    measure: Measure
    value: Estimate
    p_value: float | None

    @property
    def is_gain(self) -> bool:
        """Whether the condition is better by more than folds differ."""
        return self.value.value > 0 and self.p_value is not None and self.p_value <= 0.05

    @property
    def is_loss(self) -> bool:
        """Whether the condition is worse by more than folds differ."""
        return self.value.value < 0 and self.p_value is not None and self.p_value <= 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchScore:
    """A score of mixing or of retrieval, in sample, as other tools give it.

    `side` says what a high value rewards: batches that mix, labels that stay apart, or both.
    """

    condition: str
    name: str
    title: str
    side: Literal["batch", "biology", "total"]
    value: float | None
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentCarries:
    """What one component carries: shares of its variance, each beyond the other.

    Components are counted from 0. A share is None where it is not defined.
    """

    component: int
    batch_share: float | None
    label_share: float | None
    batch_q: float | None
    label_q: float | None
    carries: Carries


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMap:
    """Rows on a plane, neighbours kept (t-SNE); `batch` and `label` count the result's lists."""

    condition: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    batch: tuple[int, ...]
    label: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """What could be predicted without any embedding, judged on the same folds.

    `well` is the AUROC of well positions, `batch` that of labels shuffled within batches: what the
    batches alone give away. None where it does not apply: where wells are not known, or batches
    have equal shares of every label. `n_copied` of `n_judged` rows that judge have an equal or
    nearly equal row in another part that is held out; of very many rows, some are looked at.
    """

    well: Estimate | None
    batch: Estimate | None
    n_repeated_wells: int
    n_repeated_rows: int
    n_copied: int = 0
    n_judged: int = 0

    @property
    def has_many_copies(self) -> bool:
        """Whether a tenth or more of the rows that judge may have been trained on."""
        return self.n_copied > 0 and self.n_copied >= MANY_COPIES * self.n_judged
