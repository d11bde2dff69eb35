"""Cost of dropping components, measured by predicting labels on held-out batches.

A label may change the variance of a component, or reverse its effect from batch to batch, and leave
every mean unchanged: no statistic of single components captures all that a classifier can use.
Training batches are therefore held out in turn, and labels are predicted on them from the raw rows
and from rows without the components.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.batch_metrics.classifiers import auroc, prepare, side_by_side
from upto.batch_metrics.fold_means import mean_over_folds
from upto.batch_metrics.folds import shared_by_folds, split_batches
from upto.batch_metrics.tasks import ask, can_judge, places_of
from upto.core import Estimate, MissingExtraError, random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.batch_metrics.folds import Mask, Names, Split
    from upto.batch_metrics.tasks import Question

MOST_LOST = 0.005
"""Allowed loss of AUROC: the lower 95 % limit of the gain must lie above minus this."""
JUDGES = {"boosted-fast": "boosted trees", "linear": "logistic regression"}
"""Trees detect nonlinear effects, a linear classifier many small shifts: both must agree."""
N_FOLDS = 5
MOST_LABELS = 60
MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppingCost:
    """Change of the AUROC on held-out batches when components are dropped.

    Parameters
    ----------
    n_components
        Number of components to drop.
    gains
        Mean change over labels and folds, for each classifier.
    missing
        Reason why there is no estimate, if there is none.

    See Also
    --------
    upto.corrections.BiologyComponents : Has it as ``cost_``.
    upto.questions.batches.remove_batch.keep_biology : Returns it with the components.
    """

    n_components: int
    gains: Mapping[str, Estimate] = field(default_factory=dict)
    missing: str = ""

    @property
    def most(self) -> float | None:
        """Largest plausible loss of AUROC, the lower limit of the worse classifier."""
        lows = [each.low for each in self.gains.values()]
        known = [low for low in lows if low is not None]
        return max(-min(known), 0.0) if known and len(known) == len(lows) else None

    @property
    def is_small(self) -> bool:
        """Whether dropping is shown to cost less than `MOST_LOST`."""
        return self.most is not None and self.most < MOST_LOST

    @property
    def says(self) -> str:
        """Summary of the measured cost, or the reason why it is unknown."""
        what = f"{self.n_components} component{'s' * (self.n_components != 1)}"
        if self.most is None:
            return f"the cost of dropping {what} is unknown: {self.missing}"
        if self.is_small:
            limit = "less than 0.001" if self.most < 0.001 else f"at most {self.most:.3f}"
            return f"dropping {what} costs {limit} of AUROC on held-out batches"
        worst = min(self.gains, key=lambda name: self.gains[name].low or 0.0)
        return (
            f"dropping {what} changes the AUROC on held-out batches by {self.gains[worst]:+.3f} "
            f"({JUDGES[worst]}), so it may cost {self.most:.3f}, and at most {MOST_LOST:g} is "
            "allowed"
        )


def draw_batches(batches: Names, seed: int) -> Mask:
    """Return a mask of rows to evaluate on: whole batches, up to `MOST_ROWS` rows.

    Batches are sampled, at least as many as there are folds; if these have more rows, rows are
    sampled too.
    """
    names, codes, counts = np.unique(batches, return_inverse=True, return_counts=True)
    random = random_stream(seed, "batches to drop by")
    drawn = random.permutation(len(names))
    n_drawn = int(np.searchsorted(np.cumsum(counts[drawn]), MOST_ROWS, side="right"))
    chosen: Mask = np.isin(codes, drawn[: max(n_drawn, N_FOLDS)])
    rows = np.flatnonzero(chosen)
    if len(rows) > MOST_ROWS:
        chosen[random.permutation(rows)[MOST_ROWS:]] = False
    return chosen


def dropping_cost(
    rows: NDArray[Any],
    without: NDArray[Any],
    n_components: int,
    *,
    labels: Names,
    batches: Names,
    controls: Mask | None,
    seed: int,
) -> DroppingCost:
    """Predict labels on held-out batches from raw rows and from rows without components.

    Parameters
    ----------
    rows, without
        The raw rows, and the same rows without the components.
    n_components
        Number of these components.
    labels, batches
        Label and batch of each row; a label is empty if there is none.
    controls
        Rows that labels are predicted against; by default all other labels.
    seed
        Seed of the folds, of the sample of labels if there are more than `MOST_LABELS`, and of the
        trees.
    """
    held = np.unique(batches, return_inverse=True)[1]
    if held.max() == 0:
        return DroppingCost(n_components=n_components, missing="there is one batch")
    splits = split_batches(held, labels, scheme="folds", n_folds=N_FOLDS, seed=seed)[1]
    given = None if controls is None or not controls.any() else controls
    asked = [
        question
        for question in ask(labels, controls=given)
        if any(can_judge(question, split) for split in splits)
    ]
    if len(asked) > MOST_LABELS:
        drawn = random_stream(seed, "labels to drop by").permutation(len(asked))[:MOST_LABELS]
        asked = [asked[place] for place in np.sort(drawn)]
    if not asked:
        why = "no label can be evaluated on held-out batches"
        return DroppingCost(n_components=n_components, missing=why)
    shared, gains = shared_by_folds(splits), {}
    for name in JUDGES:
        try:
            before, after = (_areas(each, splits, asked, name, seed) for each in (rows, without))
        except MissingExtraError as error:
            return DroppingCost(n_components=n_components, missing=str(error).rstrip("."))
        found = mean_over_folds(after - before, shared=shared)
        if found is None or found.low is None:
            why = "labels can be evaluated on one fold only"
            return DroppingCost(n_components=n_components, missing=why)
        gains[name] = found
    return DroppingCost(n_components=n_components, gains=gains)


def _areas(
    rows: NDArray[Any], splits: list[Split], asked: list[Question], classifier: str, seed: int
) -> NDArray[np.float64]:
    """Return AUROCs, folds by labels; NaN where a fold cannot be evaluated."""
    found = np.full((len(splits), len(asked)), np.nan)
    for number, split in enumerate(splits):
        judged = [place for place, each in enumerate(asked) if can_judge(each, split)]
        if judged:
            prepared = prepare(rows[split.training], classifier=classifier, seed=seed)
            calls = [
                partial(_area, prepared, rows[split.judging], asked[place], split)
                for place in judged
            ]
            found[number, judged] = side_by_side(calls, None, lambda _: None)
    return found


def _area(prepared: Any, held: NDArray[Any], question: Question, split: Split) -> float | None:
    model = prepared.fit(*places_of(question, split.training))
    place, truth = places_of(question, split.judging)
    return auroc(truth, model.score(held[place]))
