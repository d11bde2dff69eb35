"""Agreement of word embeddings of two trainings: linear maps, errors and shared neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.core import random_stream
from upto_studies.agreement import Agreement, agreement_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto_studies.outcome import Work
    from upto_studies.train.texts.word_model import Loss
    from upto_studies.word_embeddings import Settings
    from upto_studies.word_runs import TrainedWords

Kind = Literal["seeds", "seeds of a half", "halves"]
KINDS: tuple[Kind, ...] = ("seeds", "seeds of a half", "halves")
Object = Literal["predictions", "targets"]
OBJECTS: tuple[Object, ...] = ("predictions", "targets")
N_NEIGHBOURS = 10
TITLES = {
    "seeds": "two seeds",
    "seeds of a half": "two seeds of one half",
    "halves": "one seed of each half",
    "predictions": "predictions for held-out gaps",
    "targets": "embeddings of words",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPair:
    """Agreement of two members that are in no other pair of the same kind.

    Parameters
    ----------
    loss, size
        Loss and size of both members.
    kind
        Two seeds of the whole text or of one half of it, or one seed of each half.
    what
        Predictions for held-out gaps, or embeddings of frequent words.
    agreement
        Errors up to groups and canonical correlations of standardised rows.
    r2_in_sample, r2_chance
        Share of the variance that a linear map without intercept explains where it was fitted, as
        in the paper, and the same with rows paired by chance.
    neighbours
        Share of the nearest words that both members have in common; None for predictions.
    """

    loss: str
    size: int
    kind: Kind
    what: Object
    agreement: Agreement
    r2_in_sample: float
    r2_chance: float
    neighbours: float | None


Score = Callable[[WordPair], float | None]


def planned_pairs(n_pairs: int) -> list[tuple[Kind, int, int]]:
    """Return the kind and the two members of each pair, in the order of `planned_parts`."""
    half, other = 2 * n_pairs, 4 * n_pairs
    found: list[tuple[Kind, int, int]] = []
    for number in range(n_pairs):
        found.append(("seeds", 2 * number, 2 * number + 1))
        found.append(("seeds of a half", half + 2 * number, half + 2 * number + 1))
        found.append(("halves", half + 2 * number, other + number))
    return found


def scored_pairs(settings: Settings, work: Work, trained: TrainedWords) -> list[WordPair]:
    """Compare all pairs of every loss and size."""
    planned = planned_pairs(settings.n_pairs)
    found = []
    total = len(trained.runs) * len(planned) * len(OBJECTS)
    with work.progress.task("comparing embeddings", total) as advance:
        for (loss, size), run in trained.runs.items():
            rows: dict[Object, NDArray[np.float32]] = {
                "predictions": run.predictions,
                "targets": run.targets,
            }
            for kind, first, second in planned:
                for what, members in rows.items():
                    one, other = members[first], members[second]
                    found.append(_scored(loss, size, kind, what, one, other, work.seed))
                    advance(1)
    return found


def _scored(
    loss: Loss,
    size: int,
    kind: Kind,
    what: Object,
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    seed: int,
) -> WordPair:
    one, other = standardised(first), standardised(second)
    order = random_stream(seed, "paired by chance").permutation(len(other))
    return WordPair(
        loss=loss,
        size=size,
        kind=kind,
        what=what,
        agreement=agreement_of(one, other, seed=seed),
        r2_in_sample=linear_r2(one, other),
        r2_chance=linear_r2(one, other[order]),
        neighbours=shared_neighbours(first, second) if what == "targets" else None,
    )


def standardised(rows: NDArray[np.float32]) -> Float:
    """Return coordinates with mean zero and variance one, as Figure 1 of the paper has them."""
    exact = rows.astype(np.float64)
    centred = exact - exact.mean(axis=0)
    spread = centred.std(axis=0)
    found: Float = centred / np.where(spread > 0, spread, 1.0)
    return found


def linear_map(first: Float, second: Float) -> Float:
    """Return the least-squares linear map without intercept."""
    found: Float = np.linalg.lstsq(first, second, rcond=None)[0].astype(np.float64)
    return found


def linear_r2(first: Float, second: Float) -> float:
    """Return the share of the variance of centred rows that the map explains in sample."""
    left = second - first @ linear_map(first, second)
    return float(1 - (left**2).sum() / (second**2).sum())


def nearest(rows: NDArray[np.float32], count: int = N_NEIGHBOURS) -> NDArray[np.intp]:
    """Return the nearest other rows of each row by cosine, the nearest first."""
    centred = rows.astype(np.float64) - rows.astype(np.float64).mean(axis=0)
    unit = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-300)
    likeness = unit @ unit.T
    np.fill_diagonal(likeness, -np.inf)
    return np.argsort(-likeness, axis=1, kind="stable")[:, :count]


def shared_neighbours(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return the share of each word's nearest words that two members have in common."""
    both = zip(nearest(first), nearest(second), strict=True)
    return float(np.mean([len(np.intersect1d(a, b)) / len(a) for a, b in both]))


def r2_held_out(pair: WordPair) -> float:
    """Return the share of the variance of held-out rows that an affine map explains."""
    return pair.agreement.r2["affine"]


def r2_in_sample(pair: WordPair) -> float:
    """Return the share of the variance that the paper's linear map explains in sample."""
    return pair.r2_in_sample


def r2_chance(pair: WordPair) -> float:
    """Return the same for rows paired by chance."""
    return pair.r2_chance


def pair_values(
    pairs: Sequence[WordPair], loss: str, size: int, kind: str, what: str, score: Score
) -> Float:
    """Return one score of every pair of a kind, which share no member."""
    found = [
        score(pair)
        for pair in pairs
        if (pair.loss, pair.size, pair.kind, pair.what) == (loss, size, kind, what)
    ]
    return np.array([each for each in found if each is not None])
