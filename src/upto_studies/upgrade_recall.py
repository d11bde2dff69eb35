"""Recall of pairs of models by `upto.align` and its parts, for the study `index-upgrade`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

import upto
from upto.core import Embeddings, Estimate, random_stream
from upto.engines import choose_engine
from upto.measures.nearest import Searchable, largest
from upto.measures.recall import LEVEL, N_SPLITS, depth_for, recall_estimates, search
from upto.questions.align.carriers import fit_carrier
from upto.questions.align.growth import index_sizes, learning_curve
from upto.questions.align.judged import Searching, judge
from upto.questions.align.pairs import Pairs, find_pairs
from upto.questions.align.result import (
    AlignResult,
    CarryingMap,
    PairsPoint,
    Yardstick,
)
from upto.questions.align.unlike import share_unlike
from upto_studies.upgraded_models import Upgrade, next_version

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.measures.recall import Searches
    from upto.questions.align.carriers import Carrier
    from upto_studies.index_upgrade import Settings

HELD_OUT = 0.3
COUNT = 10
"""Number of rows retrieved whose recall decides."""
NETWORK = "network"
_T_QUANTILE = 2.04
"""0.975 quantile of Student's t for one degree of freedom fewer than there are splits."""
_FEWEST_IN_PART = 400
"""Rows of the smallest part of an index from which the recall in all of it is predicted."""
_EDGE = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedUpgrade:
    """What every map achieves on one pair of models.

    Parameters
    ----------
    upgrade
        The rows.
    result
        The result of `upto.align`.
    maps
        Its maps, and the network.
    baselines
        What is reached without a map.
    differences
        Recall@10 of one search less that of another, on the same queries.
    own
        Share of new queries, carried back, that find the old row of their own input, by map.
    curves
        Recall of several maps by the number of pairs.
    """

    upgrade: Upgrade
    result: AlignResult
    maps: tuple[CarryingMap, ...]
    baselines: tuple[Yardstick, ...]
    differences: Mapping[str, Estimate]
    own: Mapping[str, float]
    curves: tuple[PairsPoint, ...]

    @property
    def chosen(self) -> str:
        """The map that `upto.align` chose."""
        return self.result.chosen

    @property
    def place(self) -> int:
        """Position of the recall that decides."""
        return self.result.at.index(self.result.decides)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedSize:
    """Recall in an index, predicted from a part of its rows, and measured in all of them."""

    case: str
    search: str
    n_searched: int
    n_rows: int
    predicted: Estimate
    measured: float

    @property
    def is_covered(self) -> bool:
        """Whether the predicted interval contains the recall measured."""
        low, high = self.predicted.low, self.predicted.high
        return low is not None and high is not None and low <= self.measured <= high

    @property
    def doublings(self) -> float:
        """How often the size doubles."""
        return math.log2(self.n_rows / self.n_searched)

    @property
    def height_error(self) -> float:
        """Prediction less measurement for each doubling, on the scale of the normal quantile."""
        ends = np.clip([self.predicted.value, self.measured], _EDGE, 1.0 - _EDGE)
        first, second = ndtri(ends)
        return float(first - second) / self.doublings


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Recall among rows of another kind, by a map fitted to the pairs and by one of their own."""

    case: str
    map: str
    n_fitted: tuple[int, int]
    n_rows: int
    by_pairs: Estimate
    by_own: Estimate
    difference: Estimate
    unlike: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A simulated next version of a model: how much drifted, R², and recall."""

    case: str
    drift: float
    r2: float
    recall: Estimate
    advice: str


def judged_upgrade(upgrade: Upgrade, settings: Settings, seed: int) -> JudgedUpgrade:
    """Judge every map on one pair of models."""
    old, new = _runs(upgrade.old, upgrade.new)
    result = upto.align(
        old, new, metric=settings.metric, held_out=HELD_OUT, seed=seed, progress=False
    )
    pairs = _pairs(old, new, HELD_OUT, settings.metric, seed)
    carriers = [
        *result.kept.carriers.values(),
        fit_carrier(NETWORK, pairs.old.fitted, pairs.new.fitted, seed=seed),
    ]
    searching = Searching.of(carriers[0], settings.metric)
    found = judge(
        pairs, carriers, searching, result.at, chosen=result.chosen, decides=COUNT, seed=seed
    )
    recalls = {each.name: each.recall[result.at.index(COUNT)] for each in found.maps}
    curves = [
        point
        for name in settings.curves
        for point in learning_curve(
            pairs, name, recalls[name], searching, COUNT, seed, lambda _: None
        )
    ]
    return JudgedUpgrade(
        upgrade=upgrade,
        result=result,
        maps=found.maps,
        baselines=found.baselines,
        differences=_differences(found.searches, result.chosen, seed),
        own={each.name: _own_row(pairs, each, searching) for each in carriers},
        curves=tuple(curves),
    )


def _differences(searches: Searches, chosen: str, seed: int) -> dict[str, Estimate]:
    wanted = {
        "chosen less old model": (chosen, "old model"),
        "kernel less ridge": ("kernel", "ridge"),
        "network less ridge": (NETWORK, "ridge"),
        "half new less carried": ("half new", chosen),
        "back less carried": (f"{chosen} back", chosen),
        "back: rigid less ridge": ("rigid back", "ridge back"),
        "rigid less ridge": ("rigid", "ridge"),
    }
    return {
        name: recall_difference(searches, first, second, seed)
        for name, (first, second) in wanted.items()
        if first in searches.others and second in searches.others
    }


def recall_difference(searches: Searches, first: str, second: str, seed: int) -> Estimate:
    """Return the recall@10 of one search less that of another, with an interval.

    As for a recall, the error is from random halves of the rows that have no row in common.
    """
    searches = replace(searches, others={name: searches.others[name] for name in (first, second)})
    stream = random_stream(seed, "halves of queries")
    squares = 0.0
    for _ in range(N_SPLITS):
        half = stream.permutation(searches.n_rows) < searches.n_rows // 2
        gains = [_gain(searches.recalls([COUNT], each), first, second) for each in (half, ~half)]
        squares += (gains[0] - gains[1]) ** 2
    value = _gain(searches.recalls([COUNT]), first, second)
    step = _T_QUANTILE * math.sqrt(squares / N_SPLITS) / 2
    return Estimate(value=value, low=value - step, high=value + step, level=LEVEL)


def _gain(recalls: Mapping[str, Float], first: str, second: str) -> float:
    return float((recalls[first] - recalls[second]).mean())


def _own_row(pairs: Pairs, carrier: Carrier, searching: Searching) -> float:
    """Return the share of new queries, carried back, whose nearest old row is their own."""
    old, new = pairs.old.judged, pairs.new.judged
    n_queries = min(2_000, len(new))
    space = searching.back(old, carrier.carried_back(new[:n_queries]), n_queries)
    hits = 0
    for block in space.blocks():
        nearest = largest(space.scores(block), 1)[:, 0]
        hits += int(np.count_nonzero(nearest == np.arange(block.start, block.stop)))
    return hits / n_queries


def predicted_sizes(
    upgrade: Upgrade, chosen: str, settings: Settings, seed: int
) -> list[PredictedSize]:
    """Predict the recall in an index from parts of its rows, and measure it in all of them.

    The map stays the same, fitted to rows that are in no part.
    """
    old, new = _runs(upgrade.old, upgrade.new)
    pairs = _pairs(old, new, settings.searched, settings.metric, seed)
    carrier = fit_carrier(chosen, pairs.old.fitted, pairs.new.fitted, seed=seed)
    searching = Searching.of(carrier, settings.metric)
    n_rows = len(pairs.new.judged)
    truth = _recalls_of_both(pairs, carrier, searching, min(settings.n_queries, n_rows))
    found = []
    order = random_stream(seed, "parts of the index").permutation(n_rows)
    for halving in range(1, settings.halvings + 1):
        size = n_rows >> halving
        if size < _FEWEST_IN_PART:
            break
        for number in range(min(2**halving, settings.most_parts)):
            rows = order[number * size : (number + 1) * size]
            part = replace(
                pairs,
                old=replace(pairs.old, judged=pairs.old.judged[rows]),
                new=replace(pairs.new, judged=pairs.new.judged[rows]),
            )
            judged = judge(
                part, [carrier], searching, [COUNT], chosen=chosen, decides=COUNT, seed=seed
            )
            staying = next(each for each in judged.baselines if each.name == "old model")
            points = index_sizes(
                part,
                carrier,
                searching,
                judged.searches,
                {chosen: judged.maps[0].recall[0], "old model": staying.recall[0]},
                index_size=n_rows,
                count=COUNT,
                seed=seed,
            )
            found += [
                PredictedSize(
                    case=upgrade.name,
                    search=each.name,
                    n_searched=size,
                    n_rows=n_rows,
                    predicted=each.recall,
                    measured=truth[each.name],
                )
                for each in points
                if each.extrapolated
            ]
    return found


def _recalls_of_both(
    pairs: Pairs, carrier: Carrier, searching: Searching, n_queries: int
) -> dict[str, float]:
    old, new = pairs.old.judged, pairs.new.judged
    others = {
        carrier.name: searching.carried(new, carrier.carried(old), n_queries),
        "old model": searching.old(old, old, n_queries),
    }
    found = search(searching.truth(new, n_queries), others, n_queries, COUNT)
    return {name: float(each.mean()) for name, each in found.recalls([COUNT]).items()}


def elsewhere(upgrade: Upgrade, chosen: str, settings: Settings, seed: int) -> Elsewhere:
    """Judge on rows of another kind a map fitted to the pairs, and one fitted to such rows."""
    assert upgrade.elsewhere is not None
    home = _pairs(*_runs(upgrade.old, upgrade.new), HELD_OUT, settings.metric, seed)
    away = _pairs(*_runs(*upgrade.elsewhere), HELD_OUT, settings.metric, seed)
    maps = [
        fit_carrier(chosen, each.old.fitted, each.new.fitted, seed=seed) for each in (home, away)
    ]
    searching = Searching.of(maps[0], settings.metric)
    old, new = away.old.judged, away.new.judged
    n_queries = min(2_000, len(new))
    spaces: dict[str, Searchable] = {
        name: searching.carried(new, each.carried(old), n_queries)
        for name, each in zip(("pairs", "own"), maps, strict=True)
    }
    found = search(searching.truth(new, n_queries), spaces, n_queries, depth_for(COUNT))
    ends = recall_estimates(found, COUNT, seed)
    unlike = share_unlike(
        [_runs(*upgrade.elsewhere)[0]], home.old.fitted, home.old.judged, settings.metric, seed
    )
    assert unlike is not None
    return Elsewhere(
        case=upgrade.name,
        map=chosen,
        n_fitted=(home.n_fitted, away.n_fitted),
        n_rows=len(new),
        by_pairs=ends["pairs"],
        by_own=ends["own"],
        difference=recall_difference(found, "pairs", "own", seed),
        unlike=unlike,
    )


def drifted(upgrade: Upgrade, settings: Settings, seed: int) -> list[Version]:
    """Align a model with simulated next versions of itself."""
    rows = upgrade.new
    if len(rows) > settings.most_drifted:
        chosen = random_stream(seed, "drifted rows").choice(
            len(rows), size=settings.most_drifted, replace=False
        )
        rows = rows[chosen]
    found = []
    for drift in settings.drifts:
        old, new = _runs(rows, next_version(rows, drift, seed))
        result = upto.align(
            old,
            new,
            up_to="rigid",
            metric=settings.metric,
            held_out=HELD_OUT,
            seed=seed,
            progress=False,
        )
        found.append(
            Version(
                case=upgrade.name,
                drift=drift,
                r2=result.map().r2,
                recall=result.recall(),
                advice=result.advice,
            )
        )
    return found


def fewer_pairs(curve: tuple[PairsPoint, ...], name: str, halvings: int) -> float | None:
    """Return the recall of a map with fewer pairs over that with all of them."""
    points = sorted((each for each in curve if each.name == name), key=lambda each: each.n_pairs)
    if len(points) <= halvings or points[-1].recall.value == 0:
        return None
    return points[-1 - halvings].recall.value / points[-1].recall.value


def _runs(old: Float, new: Float) -> tuple[Embeddings, Embeddings]:
    return Embeddings(rows=old, name="old"), Embeddings(rows=new, name="new")


def _pairs(old: Embeddings, new: Embeddings, held_out: float, metric: str, seed: int) -> Pairs:
    return find_pairs(choose_engine(None), old, new, held_out=held_out, metric=metric, seed=seed)
