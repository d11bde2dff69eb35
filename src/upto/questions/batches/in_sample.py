"""In-sample summaries: mixing scores, batch and label shares of components, maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from upto.batch_metrics.effects import batch_and_label_shares
from upto.batch_metrics.mixing import MIXING, evaluate_mixing
from upto.batch_metrics.retrieval import mean_average_precision
from upto.questions.batches.conditions import CONDITIONS, fit_condition
from upto.questions.batches.parts import BatchMap, BatchScore, ComponentCarries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from upto.batch_metrics.folds import Codes
    from upto.questions.batches.conditions import Making, Rows
    from upto.questions.batches.screen import Screen

MAX_MIXED = 3000
MAX_MAPPED = 800
MIN_MAPPED = 8


def score_mixing(
    transformed: Mapping[str, Rows], base: Rows, screen: Screen, sample: Codes, seed: int
) -> list[BatchScore]:
    """Score batch mixing and label separation, as other tools do.

    Uses one thread: the matrices are small, and idle threads would spin.
    """
    with threadpool_limits(1):
        return _score_mixing(transformed, base, screen, sample, seed)


def _score_mixing(
    transformed: Mapping[str, Rows], base: Rows, screen: Screen, sample: Codes, seed: int
) -> list[BatchScore]:
    found = []
    batches, labels = screen.batch_names[sample], screen.labels[sample]
    for condition, rows in transformed.items():
        own = np.asarray(rows[sample], dtype=np.float64)
        for score in evaluate_mixing(
            own, batches, labels, before=np.asarray(base[sample], dtype=np.float64), seed=seed
        ):
            kind = MIXING[score.name]
            found.append(
                BatchScore(
                    condition=condition,
                    name=score.name,
                    title=kind.title,
                    side=score.side,
                    value=score.value,
                    says=score.says,
                )
            )
        retrieved = mean_average_precision(
            own,
            labels,
            batches=batches,
            control=screen.control,
            positives="other-batches",
            # Only the mean is shown, and the chance level would dominate the run time.
            null_size=0,
        )
        found.append(
            BatchScore(
                condition=condition,
                name="map",
                title="mAP",
                side="biology",
                value=retrieved.value,
                says="" if retrieved.value is not None else "no label has rows in two batches",
            )
        )
    return found


def find_components(
    rows: Rows, whole: Rows | None, screen: Screen, making: Making
) -> tuple[ComponentCarries, ...]:
    """Return which independent components carry batch and which carry label."""
    if whole is None:
        whole = fit_condition(CONDITIONS["ica"], making, rows, screen)[1]
    known = screen.labels != ""
    effects = batch_and_label_shares(
        whole[known],
        screen.batch[known],
        screen.labels[known],
        controls=None if screen.controls is None else screen.controls[known],
    )
    return tuple(
        ComponentCarries(
            component=effect.component,
            batch_share=effect.batch_share,
            label_share=effect.label_share,
            batch_q=effect.batch_q,
            label_q=effect.label_q,
            carries=effect.carries,
        )
        for effect in effects
    )


def map_rows(
    condition: str, rows: Rows, screen: Screen, labels: Sequence[str], sample: Codes, seed: int
) -> BatchMap:
    """Return a t-SNE map of the rows."""
    from sklearn.manifold import TSNE

    own: Any = np.asarray(rows[sample], dtype=np.float32)
    own = own - own.mean(axis=0)
    if own.shape[1] < 2:
        own = np.hstack([own, np.zeros_like(own)])
    spread = float(np.abs(own).max())
    search = TSNE(perplexity=min(30.0, (len(own) - 1) / 3), init="pca", random_state=seed, n_jobs=1)
    # Its thousand steps are too short for several threads.
    with threadpool_limits(1):
        plane = search.fit_transform(own / (spread or 1.0))
    place = {label: number for number, label in enumerate(labels)}
    return BatchMap(
        condition=condition,
        x=tuple(np.round(plane[:, 0].astype(np.float64), 3).tolist()),
        y=tuple(np.round(plane[:, 1].astype(np.float64), 3).tolist()),
        batch=tuple(screen.batch[sample].tolist()),
        label=tuple(place[label] for label in screen.labels[sample].tolist()),
    )
