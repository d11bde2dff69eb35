"""Judge maps on held-out rows: error, R², and the recall of searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Estimate, random_stream
from upto.evidence.intervals import mean_intervals, r_squared
from upto.measures.nearest import Metric, Searchable, unit_rows
from upto.measures.recall import Searches, depth_for, recall_estimates, search
from upto.questions.align.result import BACK, MIXED, CarryingMap, Yardstick

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from upto.core.array_types import Float, Index
    from upto.questions.align.carriers import Carrier
    from upto.questions.align.pairs import Pairs

MOST_QUERIES = 2_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Judged:
    """What each map achieves, and the searches behind it."""

    maps: tuple[CarryingMap, ...]
    baselines: tuple[Yardstick, ...]
    searches: Searches


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Searching:
    """How rows are searched: the metric, and the length that mapped rows are scaled to."""

    metric: Metric
    old_length: float | None
    new_length: float | None

    @classmethod
    def of(cls, carrier: Carrier, metric: Metric) -> Searching:
        """Take the lengths that a map found the rows of both models to have."""
        return cls(
            metric=metric, old_length=carrier.back.length_, new_length=carrier.forward.length_
        )

    def truth(self, new: Float, n_queries: int) -> Searchable:
        """Return the space in which the nearest rows are the right ones."""
        return self.space(new[:n_queries], new)

    def carried(self, new: Float, images: Float, n_queries: int) -> Searchable:
        """Return the space of new queries among mapped rows."""
        return self.space(new[:n_queries], scaled(images, self.new_length))

    def back(self, old: Float, images: Float, n_queries: int) -> Searchable:
        """Return the space of queries that were mapped back, among old rows."""
        return self.space(scaled(images[:n_queries], self.old_length), old)

    def old(self, queries: Float, old: Float, n_queries: int) -> Searchable:
        """Return the space of the old model's rows, with any queries of their width."""
        return self.space(queries[:n_queries], old)

    def space(self, queries: Float, rows: Float) -> Searchable:
        """Return a space of queries and rows that are of one length already."""
        return Searchable.by(self.metric, queries, rows)


def scaled(rows: Float, length: float | None) -> Float:
    """Scale rows to a length, if there is one."""
    return rows if length is None else unit_rows(rows) * length


def judge(
    pairs: Pairs,
    carriers: Sequence[Carrier],
    searching: Searching,
    at: Sequence[int],
    *,
    chosen: str,
    decides: int,
    seed: int,
) -> Judged:
    """Judge every map, and what is reached without one.

    Parameters
    ----------
    pairs, carriers, searching
        The pairs, the maps, and how rows are searched.
    at
        Numbers of rows that are retrieved.
    chosen
        The map by which one half of an index is carried while the other is embedded again.
    decides
        The number of rows retrieved whose recall has intervals.
    seed
        Seed of the random number generator.
    """
    old, new = pairs.old.judged, pairs.new.judged
    n_rows = len(new)
    n_queries = min(MOST_QUERIES, n_rows)
    images = {each.name: each.carried(old) for each in carriers}
    others = {name: searching.carried(new, rows, n_queries) for name, rows in images.items()}
    for each in carriers:
        queries = each.carried_back(new[:n_queries])
        others[each.name + BACK] = searching.back(old, queries, n_queries)
    is_fresh = random_stream(seed, "fresh rows").permutation(n_rows) < n_rows // 2
    mixed = np.where(is_fresh[:, None], new, scaled(images[chosen], searching.new_length))
    others[MIXED] = searching.space(new[:n_queries], mixed)
    others["old model"] = searching.old(old, old, n_queries)
    if old.shape[1] == new.shape[1] and "identity" not in images:
        others["no map"] = searching.old(new, old, n_queries)
    truth = searching.truth(new, n_queries)
    searches = search(truth, others, n_queries, max(*at, depth_for(decides)))
    deciding = recall_estimates(searches, decides, seed)
    recalls = {
        name: tuple(
            deciding[name] if count == decides else Estimate(value=float(mean))
            for count, mean in zip(at, values.mean(axis=0), strict=True)
        )
        for name, values in searches.recalls(at).items()
    }
    length = searching.new_length
    errors = _errors({name: scaled(rows, length) for name, rows in images.items()}, pairs, seed)
    maps = tuple(
        CarryingMap(
            name=each.name,
            n_numbers=each.n_numbers,
            error=errors[each.name][0],
            r2=errors[each.name][1],
            recall=recalls[each.name],
            back=recalls[each.name + BACK],
        )
        for each in carriers
    )
    chance = tuple(Estimate(value=count / (n_rows - 1)) for count in at)
    baselines = [Yardstick(name="embed again", recall=(Estimate(value=1.0),) * len(at))]
    baselines += [
        Yardstick(name=name, recall=recalls[name])
        for name in (MIXED, "old model", "no map")
        if name in recalls
    ]
    baselines.append(Yardstick(name="chance", recall=chance))
    return Judged(maps=maps, baselines=tuple(baselines), searches=searches)


def _errors(
    images: Mapping[str, Float], pairs: Pairs, seed: int
) -> dict[str, tuple[Estimate, float]]:
    new = pairs.new.judged
    extent = pairs.new.diameter
    errors = np.stack(
        [np.linalg.norm(rows - new, axis=1) / extent for rows in images.values()], axis=1
    )
    centre = pairs.new.fitted.mean(axis=0) if len(new) == 1 else new.mean(axis=0)
    total = float(np.sum(((new - centre) / extent) ** 2))
    means = mean_intervals(errors, seed)
    return {
        name: (mean, r_squared(column, total))
        for name, mean, column in zip(images, means, errors.T, strict=True)
    }


def choose(
    pairs: Pairs, carriers: Sequence[Carrier], searching: Searching, fitted: Index, count: int
) -> str:
    """Return the simplest map whose recall on pairs set aside is within error of the best.

    Parameters
    ----------
    pairs, carriers
        The pairs, and the maps fitted to some of the fitted ones, the simplest first.
    searching
        How rows are searched.
    fitted
        Mask of the fitted pairs that the maps were not fitted to.
    count
        Number of rows that are retrieved.
    """
    old, new = pairs.old.fitted[fitted], pairs.new.fitted[fitted]
    n_queries = min(MOST_QUERIES, len(new))
    count = min(count, max(1, (len(new) - 1) // 4))
    others = {each.name: searching.carried(new, each.carried(old), n_queries) for each in carriers}
    found = search(searching.truth(new, n_queries), others, n_queries, count).recalls([count])
    recalls = {name: values[:, 0] for name, values in found.items()}
    best = max(recalls, key=lambda name: float(recalls[name].mean()))
    for name in recalls:
        behind = recalls[best] - recalls[name]
        error = float(behind.std(ddof=1)) / np.sqrt(n_queries) if n_queries > 1 else 0.0
        if float(behind.mean()) <= error:
            return name
    return best
