"""All scores of mixing and conservation of rows, with distances computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.batch_metrics.mixing import kbet, lisi, whole
from upto.batch_metrics.mixing.catalogue import MIXING, MixingKind, Side, find_mixing
from upto.batch_metrics.mixing.nearest_rows import Neighbours, NeighbourSearch
from upto.batch_metrics.mixing.points import (
    Float,
    UndefinedScoreError,
    as_codes,
    as_rows,
    distance_blocks,
    find_points,
    within,
)
from upto.batch_metrics.mixing.silhouettes import (
    SilhouetteSums,
    batch_width,
    isolated_width,
    label_width,
)
from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

LISI_NEIGHBOURS, KBET_NEIGHBOURS, GRAPH_NEIGHBOURS = 90, 50, 15
"""How many rows are neighbours, the row itself included, as in scib-metrics' benchmark."""
BIOLOGY_WEIGHT = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingScore:
    """One score of rows.

    Parameters
    ----------
    name
        Its name in `MIXING`.
    side
        What it is about: ``batch``, ``biology`` or ``total``.
    value
        The score; None where it is not defined for these rows.
    says
        Why it is not defined, or what it hides; empty where there is nothing to say.
    """

    name: str
    side: Side
    value: float | None
    says: str = ""


def evaluate_mixing(
    rows: Float,
    batches: Sequence[Any] | NDArray[Any],
    labels: Sequence[Any] | NDArray[Any],
    *,
    before: Float | None = None,
    scores: str | Iterable[str] | None = None,
    seed: int = 0,
) -> tuple[MixingScore, ...]:
    """Score how well batches mix and labels are kept.

    Parameters
    ----------
    rows
        Samples in rows.
    batches, labels
        The batch and the label of each row.
    before
        The rows before a correction, which ``pcr`` compares with.
    scores
        Names of `MIXING`; all by default.
    seed
        Where k-means starts.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(200, 4))
    >>> found, = evaluate_mixing(rows, ["a", "b"] * 100, ["x"] * 200, scores="kbet")
    >>> bool(found.value > 0.8)
    True
    """
    kinds = find_mixing(scores)
    view = _View(rows, batches, labels, before, kinds, seed)
    return tuple(view.score(kind) for kind in kinds)


def scib_total(
    biology: Mapping[str, float | None], batch: Mapping[str, float | None]
) -> tuple[float | None, float | None, float | None]:
    """Return the mean of each side and 0.6 of biology and 0.4 of batch.

    Scores that are None are left out of their mean; a side without any has none, nor has the total.

    Examples
    --------
    >>> total = scib_total({"clisi": 1.0}, {"bras": 0.5, "kbet": None})[2]
    >>> print(f"{total:.2f}")
    0.80
    """
    kept, mixed = _mean(biology.values()), _mean(batch.values())
    if kept is None or mixed is None:
        return kept, mixed, None
    return kept, mixed, BIOLOGY_WEIGHT * kept + (1.0 - BIOLOGY_WEIGHT) * mixed


class _View:
    """What scores see of rows, each thing computed once."""

    def __init__(
        self,
        rows: Any,
        batches: Any,
        labels: Any,
        before: Any,
        kinds: tuple[MixingKind, ...],
        seed: int,
    ) -> None:
        values = as_rows(rows)
        codes = (
            as_codes(labels, len(values), what="labels"),
            as_codes(batches, len(values), what="batches"),
        )
        self.points, (self.labels, self.batches) = find_points(values, *codes)
        self.nested, self.outer = within(self.labels, self.batches)
        self.rows = values[self.points.order]
        self.before = None
        if before is not None:
            earlier = as_rows(before, what="the array of rows before")
            if len(earlier) != len(values):
                message = f"there are {len(earlier)} rows before and {len(values)} rows now."
                raise InputError(message)
            self.before = earlier[self.points.order]
        self.seed = seed
        self._found: dict[str, MixingScore] = {}
        names = {kind.name for kind in kinds}
        if names & {"batch", "biology", "total"}:
            names |= {kind.name for kind in MIXING.values() if kind.counts}
        self._look(names)

    def _look(self, names: set[str]) -> None:
        """Go once over all distances, for what the scores of these names need."""
        points, flat = self.points, np.zeros(self.labels.n_groups, dtype=np.intp)
        search, cosine, euclidean = None, [], []
        if names & {"clisi", "ilisi", "kbet", "graph-connectivity"}:
            search = NeighbourSearch(points.values, points.counts, LISI_NEIGHBOURS)
        if names & {"silhouette-label", "isolated-labels"}:
            self.by_label = SilhouetteSums(points, self.labels, flat, "nearest")
            euclidean.append(self.by_label)
        if "silhouette-batch" in names:
            self.by_batch = SilhouetteSums(points, self.nested, self.outer, "nearest")
            euclidean.append(self.by_batch)
        if "bras" in names:
            self.by_angle = SilhouetteSums(points, self.nested, self.outer, "mean-other")
            cosine.append(self.by_angle)
        if not (search or euclidean or cosine):
            return
        metric = None if cosine else "euclidean"
        for block in distance_blocks(points.values, metric=metric):  # type: ignore[arg-type]
            if search:
                search.take(block)
            for sums in cosine:
                assert block.cosine is not None
                sums.take(block.points, block.cosine)
            if euclidean:
                assert block.squared is not None
                distances = np.sqrt(block.squared, out=block.squared)
                for sums in euclidean:
                    sums.take(block.points, distances)
        if search:
            self.near = search.finish()

    def score(self, kind: MixingKind) -> MixingScore:
        """Return one score, or say why there is none."""
        if kind.name not in self._found:
            value, says = None, ""
            try:
                if kind.side == "total":
                    value, says = self._total(kind.name)
                else:
                    value = _COMPUTE[kind.name](self)
            except UndefinedScoreError as reason:
                says = str(reason)
            self._found[kind.name] = MixingScore(
                name=kind.name, side=kind.side, value=value, says=says
            )
        return self._found[kind.name]

    @cached_property
    def clusters(self) -> whole.ClusterAgreement:
        """K-means and the labels."""
        return whole.agreement(self.rows, self.points.n_points, self.labels, self.seed)

    def nearest(self, k: int) -> Neighbours:
        """Return the neighbours that a score looks at."""
        return self.near.nearest(k)

    def several_batches(self) -> None:
        """Say that there is nothing to mix, where there is not."""
        if self.batches.n_groups < 2:
            message = "There is one batch: mixing needs two."
            raise UndefinedScoreError(message)

    def pcr(self) -> float:
        """Return what a correction removed."""
        self.several_batches()
        if self.before is None:
            message = "Give the rows before the correction to compare with."
            raise UndefinedScoreError(message)
        first = whole.explained_by(self.before, self.batches)
        return whole.removed(first, whole.explained_by(self.rows, self.batches))

    def kbet(self) -> float:
        """Return the share of neighbourhoods that are samples of batches."""
        self.several_batches()
        near = self.nearest(KBET_NEIGHBOURS)
        return kbet.acceptance(self.points, near, self.batches, self.labels)

    def lisi(self, side: str) -> float:
        """Return how many batches or labels are around rows."""
        near = self.nearest(LISI_NEIGHBOURS)
        if side == "batch":
            self.several_batches()
            inverse = lisi.inverse_simpson(self.points, near, self.batches)
            return lisi.scaled_ilisi(inverse, self.batches)
        inverse = lisi.inverse_simpson(self.points, near, self.labels)
        return lisi.scaled_clisi(inverse, self.labels)

    def _total(self, name: str) -> tuple[float | None, str]:
        sides: dict[str, dict[str, float | None]] = {"biology": {}, "batch": {}}
        for kind in MIXING.values():
            if kind.counts:
                sides[kind.side][kind.name] = self.score(kind).value
        asked = list(sides) if name == "total" else [name]
        missing = [each for side in asked for each, value in sides[side].items() if value is None]
        left_out = f"Without {', '.join(missing)}, not defined here. " if missing else ""
        kept, mixed, total = scib_total(sides["biology"], sides["batch"])
        hides = MIXING["total"].gamed if name == "total" else ""
        value = {"biology": kept, "batch": mixed, "total": total}[name]
        return value, (left_out + hides).strip()


_COMPUTE: dict[str, Callable[[_View], float]] = {
    "silhouette-label": lambda view: label_width(view.by_label.widths, view.labels),
    "isolated-labels": lambda view: isolated_width(view.by_label.widths, view.labels, view.outer),
    "clisi": lambda view: view.lisi("biology"),
    "kmeans-nmi": lambda view: view.clusters.nmi,
    "kmeans-ari": lambda view: view.clusters.ari,
    "silhouette-batch": lambda view: batch_width(view.by_batch.widths, view.labels, view.outer),
    "bras": lambda view: batch_width(view.by_angle.widths, view.labels, view.outer),
    "ilisi": lambda view: view.lisi("batch"),
    "kbet": _View.kbet,
    "graph-connectivity": lambda view: whole.connectivity(
        view.points, view.nearest(GRAPH_NEIGHBOURS), view.labels
    ),
    "pcr": _View.pcr,
}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
