"""The result of `upto.lipschitz`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from upto.core.errors import MissingPartError
from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.fits import Diameter
from upto.core.panel import Marks, Panel
from upto.core.promise import Promise, conditions_table, constants_table, promise_table
from upto.core.provenance import Provenance
from upto.core.result import Result
from upto.core.short_repr import Record
from upto.core.table import Cell, Column, Table

Method = Literal["dense", "lanczos", "neighbours"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread(Record):
    """Summary of one constant over all points; None means infinite.

    `row` is the row of the latents with the worst value.
    """

    name: str
    mean: Estimate | None
    median: float | None
    q95: float | None
    worst: float | None
    row: int

    def at(self, where: Literal["worst", "q95", "median", "mean"]) -> float:
        """Return one of the statistics; infinity if infinite."""
        found = self.mean.value if where == "mean" and self.mean else getattr(self, where)
        return math.inf if found is None else float(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class PointStretch:
    """Largest and smallest stretch of the decoder at one point.

    Parameters
    ----------
    row
        Row of the latents.
    largest, smallest
        Extreme singular values of the Jacobian; with `neighbours`, extreme ratios of distances to
        the nearest rows.
    lipschitz, scaled
        max(largest, 1/smallest), and √(largest/smallest); None if infinite.
    by_directions
        Estimate of `lipschitz` from random directions; None if infinite or without directions.
    settled
        Whether the extremes converged; otherwise the constant is a lower bound.
    """

    row: int
    largest: float
    smallest: float
    lipschitz: float | None
    scaled: float | None
    by_directions: float | None
    settled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstPoint(Record):
    """The point with the largest constant, and the direction most stretched or shrunk there.

    `direction` is empty if the Jacobian was not formed.
    """

    row: int
    lipschitz: float | None
    side: Literal["stretch", "shrink"]
    factor: float
    direction: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Secants(Record):
    """Ratios of distances over all pairs of points, near and far.

    `lipschitz` is attained by a pair, so the global constant is at least this. None means infinite.
    """

    n_pairs: int
    largest: float
    smallest: float
    lipschitz: float | None
    scaled: float | None
    largest_pair: tuple[int, int]
    smallest_pair: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LipschitzResult(Result):
    """Bi-Lipschitz constants of a decoder at many points.

    Parameters
    ----------
    decoder
        Name of the decoder; None if only its outputs were given.
    method
        ``dense``: exact singular values; ``lanczos``: extremes from products with the Jacobian;
        ``neighbours``: ratios of distances to the nearest rows, without a decoder.
    scale, scaled
        The factor on the outputs that minimises the worst constant, and that constant.
    deviation
        δ: all singular values at all points are within 1 ± δ.
    near, share_near
        The fraction of singular values within 1 ± `near`; None if not all were computed.
    coordinates
        Root mean square stretch of each latent coordinate over points.
    certified
        Bound at every point from the weights, if the decoder is a chain of linear layers and leaky
        rectifiers.
    promises
        Bounds of Theorem 1 for the constants; empty if these are only lower bounds.

    See Also
    --------
    upto.lipschitz : Returns it.
    upto.Promise : Its bounds.
    upto.core.Result : Its other methods.
    """

    kind: ClassVar[str] = "lipschitz"
    schema: ClassVar[int] = 1

    decoder: str | None
    latents: str
    outputs: str | None
    method: Method
    n_samples: int
    n_points: int
    n_latents: int
    n_outputs: int
    n_directions: int
    diameter: Diameter
    points: tuple[PointStretch, ...]
    spreads: tuple[Spread, ...]
    worst: WorstPoint
    scale: float
    scaled: float | None
    deviation: float
    near: float
    share_near: float | None
    coordinates: tuple[float, ...]
    secants: Secants | None
    certified: Promise | None
    promises: tuple[Promise, ...]
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance

    def spread(self, name: str) -> Spread:
        """Return the summary of ``lipschitz``, ``scaled`` or ``directions``."""
        for each in self.spreads:
            if each.name == name:
                return each
        message = f"there is no spread {name!r}, only {', '.join(s.name for s in self.spreads)}."
        raise MissingPartError(message)

    @property
    def is_exact(self) -> bool:
        """Whether the constant is exact at every point, rather than a lower bound.

        Ratios of distances and Lanczos extremes that did not converge are lower bounds.
        """
        return self.method != "neighbours" and all(point.settled for point in self.points)

    @property
    def missed_by_directions(self) -> float | None:
        """Mean fraction of Λ - 1 that random directions miss; None without directions."""
        shares = [
            1.0 - (point.by_directions - 1.0) / (point.lipschitz - 1.0)
            for point in self.points
            if point.by_directions is not None
            and point.lipschitz is not None
            and point.lipschitz > 1.0 + 1e-9
        ]
        return sum(shares) / len(shares) if shares else None

    def tables(self) -> tuple[Table, ...]:
        """Return the tables of constants, of other facts, and of promises."""
        promised = (*self.promises, *((self.certified,) if self.certified else ()))
        tables = [self._constants(), self._facts()]
        if promised:
            tables.append(promise_table(promised))
        if self.promises:
            tables.append(constants_table(self.promises[0]))
        if promised:
            tables.append(conditions_table(promised))
        return tuple(tables)

    def data_table(self) -> Table:
        """Return a table with one row per point."""
        heads = ("row", "largest", "smallest", "lipschitz", "scaled", "by directions", "settled")
        return Table(
            title="Every point",
            columns=tuple(Column(name=name, spec=".6g") for name in heads),
            rows=tuple(
                (
                    point.row,
                    point.largest,
                    point.smallest,
                    point.lipschitz,
                    point.scaled,
                    point.by_directions,
                    "yes" if point.settled else "no",
                )
                for point in self.points
            ),
        )

    def panels(self) -> tuple[Panel, ...]:
        """Return the panels of constants, extreme stretches and latent coordinates."""
        panels = [self._distribution(), self._extremes()]
        if len(self.coordinates) > 1:
            panels.append(self._coordinates())
        return tuple(panels)

    def _constants(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (
                _SAYS[each.name].format(n=self.n_directions),
                each.mean if each.mean is not None else math.inf,
                _finite(each.median),
                _finite(each.q95),
                _finite(each.worst),
                each.row,
            )
            for each in self.spreads
        ]
        subject = self.decoder or f"{self.latents} to {self.outputs}"
        how = {
            "dense": "exact singular values",
            "lanczos": "extreme singular values by Lanczos",
            "neighbours": f"distances to {self.n_directions} nearest rows",
        }[self.method]
        return Table(
            title=f"{subject}: {self.n_latents} latents, {self.n_outputs} outputs",
            columns=(
                Column(name="constant Λ"),
                Column(name="mean", spec=".4g"),
                Column(name="median", spec=".4g"),
                Column(name="95 %", spec=".4g"),
                Column(name="worst", spec=".4g"),
                Column(name="at row"),
            ),
            rows=tuple(rows),
            caption=f"{self.n_points} of {self.n_samples} latents; {how}; 1 is an isometry",
        )

    def _facts(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            ("largest stretch", max(p.largest for p in self.points)),
            ("smallest stretch", min(p.smallest for p in self.points)),
            ("all stretches are within 1 ±", self.deviation),
            ("best scale of the outputs", self.scale),
            ("worst Λ after that scale", _finite(self.scaled)),
        ]
        if self.share_near is not None:
            rows.append((f"share of stretches in 1 ± {self.near:g}", self.share_near))
        if self.missed_by_directions is not None and self.method != "neighbours":
            words = f"share of Λ - 1 missed by {self.n_directions} directions"
            rows.append((words, self.missed_by_directions))
        if self.secants is not None:
            seen = self.secants
            rows += [
                (f"largest ratio over {seen.n_pairs} pairs", seen.largest),
                (f"smallest ratio over {seen.n_pairs} pairs", seen.smallest),
                ("global Λ is at least", _finite(seen.lipschitz)),
            ]
        rows.append(("diameter of the latents", self.diameter.upper))
        return Table(
            title="The whole map",
            columns=(Column(name="what"), Column(name="value", spec=".4g")),
            rows=tuple(rows),
        )

    def _distribution(self) -> Panel:
        exact = sorted(p.lipschitz for p in self.points if p.lipschitz is not None)
        marks = [_cumulative(_MARKS[self.method], exact, len(self.points))]
        tried = sorted(p.by_directions for p in self.points if p.by_directions is not None)
        if tried and self.method != "neighbours":
            name = f"{self.n_directions} random directions"
            marks.append(_cumulative(name, tried, len(self.points)))
        return Panel(
            title="Distribution of the bi-Lipschitz constant",
            x="bi-Lipschitz constant at a point",
            y="cumulative fraction of points",
            marks=tuple(each for each in marks if each.x),
            x_log=True,
            caption="1 is an isometry; points with an infinite constant are not drawn.",
        )

    def _extremes(self) -> Panel:
        ordered = sorted(
            self.points, key=lambda p: math.inf if p.lipschitz is None else p.lipschitz
        )
        places = tuple(float(place + 1) for place in range(len(ordered)))
        finite = [(place, p) for place, p in zip(places, ordered, strict=True) if p.smallest > 0]
        return Panel(
            title="Stretch and shrink at each point",
            x="points, from closest to an isometry to farthest",
            y="factor",
            marks=(
                Marks(
                    name="largest stretch", x=places, y=tuple(point.largest for point in ordered)
                ),
                Marks(
                    name="1 / smallest stretch",
                    x=tuple(place for place, _ in finite),
                    y=tuple(1.0 / point.smallest for _, point in finite),
                ),
            ),
            y_log=True,
        )

    def _coordinates(self) -> Panel:
        return Panel(
            title="Effect of each latent coordinate on the outputs",
            x="latent coordinate, from 0",
            y="root mean square stretch",
            marks=(
                Marks(
                    name="stretch",
                    x=tuple(float(place) for place in range(len(self.coordinates))),
                    y=self.coordinates,
                ),
            ),
            y_zero=True,
            caption="The decoder ignores coordinates near zero, so no data can identify them.",
        )


_SAYS = {
    "lipschitz": "at a point",
    "scaled": "after its best scale",
    "directions": "by {n} random directions",
}
_MARKS = {
    "dense": "exact",
    "lanczos": "Lanczos",
    "neighbours": "nearest rows",
}


def _finite(number: float | None) -> float:
    return math.inf if number is None else number


def _cumulative(name: str, ordered: list[float], count: int) -> Marks:
    return Marks(
        name=name,
        x=tuple(ordered),
        y=tuple((place + 1) / count for place in range(len(ordered))),
        kind="line",
    )
