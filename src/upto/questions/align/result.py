"""The result of `upto.align`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from upto.core.errors import InputError
from upto.core.estimate import Estimate
from upto.core.finding import Finding
from upto.core.panel import Marks, Panel
from upto.core.provenance import Provenance
from upto.core.result import Result, pick
from upto.core.short_repr import Record
from upto.core.table import Cell, Column, Marked, Table, columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Advice = Literal["carry", "unclear", "embed again"]
MIXED = "half new"
"""Baseline: half of the index is carried, and the other half is embedded again."""
BACK = " back"
"""What follows the name of a map by which queries are carried back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryingMap(Record):
    """One map from the old space to the new one, judged on held-out rows.

    `n_numbers` counts the numbers it stores. `error` is the mean distance between a mapped row and
    the new one, over the diameter of the new rows, and `r2` the variance explained, both as in
    `compare`. `recall` is that of new queries in the carried index, and `back` that of new queries
    carried back into the old index, by a map fitted the other way round.
    """

    name: str
    n_numbers: int
    error: Estimate
    r2: float
    recall: tuple[Estimate, ...]
    back: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick(Record):
    """Recall to compare maps with.

    It is that of embedding everything again, of an index of which half is embedded again and half
    carried, of the old model alone, of new queries in the old index without a map (if the widths
    are equal), or of chance.
    """

    name: str
    recall: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsPoint(Record):
    """Recall of a map fitted to fewer pairs."""

    n_pairs: int
    name: str
    recall: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint(Record):
    """Recall in an index of another size: measured in a part of the rows, or extrapolated."""

    size: int
    name: str
    recall: Estimate
    extrapolated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignResult(Result):
    r"""What retrieval loses if an index is carried to a new model instead of embedded again.

    Every recall is the share of the nearest rows in the new space that a search finds, one for each
    number of rows retrieved in `at`; verdict and figures use the number `decides`. `chosen` is the
    map of the verdict, `at_size` its recall in an index of `index_size` rows, by default those that
    both models embedded. `n_rows` held-out
    rows are searched by `n_queries` of them. `enough` is the recall from which an index is worth
    carrying. `length` is the common length of the new rows, to which mapped rows are scaled, if
    they have one.

    `aligner` gives a map as a fitted estimator. The maps are in `kept`, in memory only.

    See Also
    --------
    upto.align : Returns it.
    upto.Aligner : The maps, as estimators.
    upto.core.Result : Its other methods.

    Notes
    -----
    For each of the n queries, let :math:`N_k` be its k nearest rows in the new space and
    :math:`S_k` the k rows that a search finds. The recall is

    .. math::

        \text{recall@}k = \frac{1}{n} \sum_{i=1}^n \frac{\lvert N_k(i) \cap S_k(i) \rvert}{k}
    """

    kind: ClassVar[str] = "align"
    schema: ClassVar[int] = 1

    old: str
    new: str
    n_pairs: int
    n_fitted: int
    n_held_out: int
    n_rows: int
    n_queries: int
    old_width: int
    new_width: int
    metric: str
    at: tuple[int, ...]
    decides: int
    enough: float
    index_size: int
    is_size_known: bool
    length: float | None
    chosen: str
    advice: Advice
    at_size: Estimate
    maps: tuple[CarryingMap, ...]
    baselines: tuple[Yardstick, ...]
    curve: tuple[PairsPoint, ...]
    sizes: tuple[SizePoint, ...]
    unlike: float | None
    verdict: str
    findings: tuple[Finding, ...]
    provenance: Provenance
    kept: Any = field(default=None, repr=False, compare=False)

    def map(self, name: str | None = None) -> CarryingMap:
        """Return a map by name, by default the chosen one."""
        return pick(self.maps, name or self.chosen, "there is no map {!r}, only {}.")

    def baseline(self, name: str) -> Yardstick:
        """Return a baseline by name."""
        return pick(self.baselines, name, "there is no baseline {!r}, only {}.")

    def recall(self, name: str | None = None) -> Estimate:
        """Return the recall that decides, of a map or a baseline; by default the chosen map's."""
        known = {each.name: each.recall for each in self.maps}
        known |= {each.name: each.recall for each in self.baselines}
        return known[name or self.chosen][self.at.index(self.decides)]

    def aligner(self, name: str | None = None, *, back: bool = False) -> Any:
        """Return the map whose recall a row states, as a fitted estimator.

        Parameters
        ----------
        name
            Name of the map; by default the chosen one.
        back
            Return the map that carries new queries back into the old space.

        Raises
        ------
        InputError
            If the result was read from a file, which has no maps.

        Examples
        --------
        >>> import upto, numpy as np
        >>> old = np.random.default_rng(0).normal(size=(400, 8))
        >>> result = upto.align(old, old[:, ::-1])
        >>> bool(np.allclose(result.aligner().transform(old), old[:, ::-1]))
        True
        """
        if self.kept is None:
            message = (
                "this result was read from a file, which has no maps: align again with save=, or "
                "keep a map with upto.save_transform."
            )
            raise InputError(message)
        return self.kept.aligner(self.map(name).name, back=back)

    def tables(self) -> tuple[Table, ...]:
        """Return the maps, the recall by number of pairs, and by size of the index."""
        found = [self._maps()]
        if self.curve:
            found.append(self._curve())
        return (*found, self._sizes())

    def data_table(self) -> Table:
        """Return one row per map and number of rows retrieved."""
        rows: list[tuple[Cell, ...]] = []
        for place, count in enumerate(self.at):
            for each in self.maps:
                ends = each.recall[place], each.back[place], each.error
                rows.append((each.name, count, *ends, each.r2, each.n_numbers))
            for other in self.baselines:
                rows.append((other.name, count, other.recall[place], *(None,) * 4))
        heads = ("map", "k", "recall", "back", "error", "R²", "numbers")
        return Table(title="All recalls", columns=columns(*heads), rows=tuple(rows))

    def panels(self) -> tuple[Panel, ...]:
        """Return the recall of each map, by number of pairs, and by size of the index."""
        return tuple(self._panels())

    def _maps(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            self._yardstick(each) for each in self.baselines if each.name == "embed again"
        ]
        for each in self.maps:
            is_chosen = each.name == self.chosen
            name = Marked(each.name, is_marked=is_chosen, mark=" ←", says="chosen")
            back = each.back[self.at.index(self.decides)]
            rows.append((name, *each.recall, back, each.error.value, each.r2, each.n_numbers))
        rows += [self._yardstick(each) for each in self.baselines if each.name != "embed again"]
        return Table(
            title=f"Recall of the nearest rows of {self.new}, held out",
            columns=(
                *columns("map"),
                *columns(*(f"recall@{k}" for k in self.at), spec=".3f"),
                *columns(f"back@{self.decides}", spec=".3f"),
                *columns("error", spec=".4f"),
                *columns("R²", spec=".3f"),
                Column(name="numbers", spec=",d"),
            ),
            rows=tuple(rows),
            caption=self._caption(),
        )

    def _yardstick(self, each: Yardstick) -> tuple[Cell, ...]:
        empty: tuple[Cell, ...] = (None,) * 4
        return (each.name, *each.recall, *empty)

    def _caption(self) -> str:
        parts = [
            f"{self.n_queries} queries among {self.n_rows} held-out rows, by {self.metric}; "
            f"{self.n_fitted} pairs fitted",
            f"recall: {self.new} queries in the carried index",
            f"back: {self.new} queries carried into the space of {self.old}",
        ]
        if self.length is not None and self.metric != "cosine":
            parts.append(f"mapped rows are scaled to the length {self.length:.4g}")
        return "; ".join(parts)

    def _curve(self) -> Table:
        return Table(
            title=f"Recall@{self.decides} by the number of pairs fitted",
            columns=(Column(name="pairs", spec=",d"), *columns("map", "recall", spec=".3f")),
            rows=tuple((each.n_pairs, each.name, each.recall) for each in self.curve),
        )

    def _sizes(self) -> Table:
        return Table(
            title=f"Recall@{self.decides} by the size of the index",
            columns=(
                Column(name="rows", spec=",d"),
                *columns("map", "recall", spec=".3f"),
                *columns("how"),
            ),
            rows=tuple(
                (
                    each.size,
                    each.name,
                    each.recall,
                    "extrapolated" if each.extrapolated else "measured",
                )
                for each in self.sizes
            ),
        )

    def _panels(self) -> Iterator[Panel]:
        if len(self.maps) > 1:
            yield self._every_map()
        for title, x, points in (
            ("by the number of pairs fitted", "pairs", self.curve),
            ("by the size of the index", "rows in the index", self.sizes),
        ):
            if len(points) > 1:
                yield Panel(
                    title=f"Recall@{self.decides} {title}",
                    x=x,
                    y=f"recall@{self.decides}",
                    marks=tuple(_lines(points)),
                    x_log=True,
                    y_zero=True,
                )

    def _every_map(self) -> Panel:
        names = [each.name for each in self.maps]
        places = tuple(float(number) for number in range(1, len(names) + 1))
        carried = [self.recall(name) for name in names]
        back = [each.back[self.at.index(self.decides)] for each in self.maps]
        marks = [
            _marks("carried index", places, carried, kind="points"),
            _marks("queries carried back", tuple(place + 0.15 for place in places), back),
        ]
        for name in ("old model", "chance"):
            level = self.recall(name).value
            ends = (places[0], places[-1])
            marks.append(Marks(name=name, x=ends, y=(level, level), kind="line"))
        return Panel(
            title=f"Recall@{self.decides} of each map, held out",
            x="map",
            y=f"recall@{self.decides}",
            marks=tuple(marks),
            y_zero=True,
            x_names=tuple(names),
        )


def _marks(
    name: str,
    x: tuple[float, ...],
    found: Sequence[Estimate],
    kind: Literal["points", "line"] = "points",
) -> Marks:
    ends = [(each.low, each.high) for each in found]
    whole = all(low is not None and high is not None for low, high in ends)
    return Marks(
        name=name,
        x=x,
        y=tuple(each.value for each in found),
        low=tuple(low for low, _ in ends if low is not None) if whole else (),
        high=tuple(high for _, high in ends if high is not None) if whole else (),
        kind=kind,
    )


def _lines(points: Sequence[PairsPoint | SizePoint]) -> Iterator[Marks]:
    groups: dict[str, list[tuple[float, Estimate]]] = {}
    for each in points:
        size = each.n_pairs if isinstance(each, PairsPoint) else each.size
        beyond = isinstance(each, SizePoint) and each.extrapolated
        name = f"{each.name}, extrapolated" if beyond else each.name
        groups.setdefault(name, []).append((float(size), each.recall))
    for name, found in groups.items():
        yield _marks(
            name,
            tuple(size for size, _ in found),
            [recall for _, recall in found],
            kind="line" if len(found) > 1 else "points",
        )
