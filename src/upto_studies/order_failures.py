"""Why pairs break the order of Table 1 of Nelson et al. 2026, and how it depends on rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table, random_stream
from upto.core.table import columns
from upto_studies.table_one import leading, over_models
from upto_studies.unmixed_pairs import HELD_OUT_SHARE, UnmixedPair, unmixed_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core import Cell
    from upto_studies.model_pairs import Settings
    from upto_studies.outcome import Work
    from upto_studies.pretrained_families import Family
    from upto_studies.table_one import PairRow

WIDER = "more directions than the rows carry"
MATCHED = "coordinates correspond already"
SCALED = "widths of directions differ"
NOT_SHARED = "components do not correspond"
FEW_ROWS = "too few rows for a linear map"
"""Causes of a broken order, each with the experiment that shows it: see `cause`."""
_NUMBERS: dict[str, Callable[[UnmixedPair], float | None]] = {
    "efficiency": lambda pair: pair.efficiency,
    "random": lambda pair: pair.rotated,
    "apart": lambda pair: pair.apart,
    "recurring": lambda pair: pair.recurrence,
}
"""Columns of the sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptPair:
    """A pair with some of its rows.

    Parameters
    ----------
    family
        Name of the family, with the layer.
    models
        The two models.
    rows_each
        Fitted rows for each of the leading components.
    unmixed
        What was found.
    """

    family: str
    models: tuple[str, str]
    rows_each: int
    unmixed: UnmixedPair


def cause(row: PairRow) -> str:
    """Return why a pair breaks the order, by what mends it; nothing if none of these tells.

    In this sequence: keeping the leading directions only, so that there are more rows for each; for
    ICA that is no better than a permutation, rotating the coordinates of the first model at random,
    which ICA does not notice; for ICA that is better than a rigid motion, whitening, which lets
    a rotation change the widths of directions as ICA does, and makes it better too. A linear map
    that is worse than a rigid one, which it contains, was fitted to too few rows.
    """
    found = row.unmixed
    if found is None:
        return ""
    if not found.failure:
        return WIDER if found.n_components < min(row.widths) else ""
    if found.failure == "rigid < linear":
        return FEW_ROWS
    if found.failure == "ICA ≤ rigid":
        return SCALED if found.whitened < found.errors["rigid"] else ""
    return NOT_SHARED if found.turned_failure else MATCHED


def failures_table(rows: Sequence[PairRow]) -> Table:
    """Return the pairs that break the order, in sample or held out, and what mends it."""
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        if all(row.in_order(in_sample=inside) for inside in (True, False)):
            continue
        found = row.unmixed
        shown: tuple[Cell, ...] = (None,) * 9
        if found is not None:
            unit = found.errors["rigid"]
            shown = (
                found.failure or "yes",
                *(each / unit for each in (found.errors["permutation"], found.errors["ICA"])),
                *(each / unit for each in (found.turned, found.whitened)),
                found.halved,
                found.efficiency,
                f"{found.n_non_gaussian} of {found.n_components}",
                found.recurrence,
            )
        cells.append(
            (
                row.family,
                " → ".join(row.models),
                *(row.failure(in_sample=inside) or "yes" for inside in (True, False)),
                *shown,
                cause(row),
            )
        )
    return Table(
        title="Pairs that break the order, and what mends it",
        columns=(
            *columns("family", "models", "order in sample", "order held out"),
            Column(name="order, leading directions"),
            *columns("permutation", "ICA", "permutation, turned", "whitened", spec=".2f"),
            *columns("efficiency, half the rows", "all rows", spec=".2f"),
            Column(name="non-Gaussian"),
            Column(name="recurring", spec=".2f"),
            Column(name="cause"),
        ),
        rows=tuple(cells),
        caption="Numbers are of the leading directions, held out; errors over that of a rigid "
        "motion. Turned: after a random rotation of the first model's coordinates, which ICA does "
        "not notice. Whitened: a rotation between whitened models. Non-Gaussian: components that "
        "can be told from a Gaussian, of the model with fewer.",
    )


def swept_rows(families: Sequence[Family], settings: Settings, work: Work) -> list[SweptPair]:
    """Compare some pairs of every family, and layer, with fewer and more of their rows."""
    planned = [
        (family, pair, rows_each)
        for family in families
        for pair in _some_pairs(family, settings.swept_pairs, work.seed)
        for rows_each in settings.rows_each
        if rows_each * leading(family, *pair) <= _n_fitted(family)
    ]
    found = []
    with work.progress.task("fewer and more rows", len(planned)) as advance:
        for family, (first, second), rows_each in planned:
            k = leading(family, first, second)
            order = random_stream(work.seed, "rows", family.title).permutation(
                len(family.runs[first])
            )
            rows = np.sort(order[: round(rows_each * k / (1 - HELD_OUT_SHARE))])
            unmixed = unmixed_pair(
                family.runs[first][rows],
                family.runs[second][rows],
                n_directions=k,
                groups=None if family.groups is None else family.groups[rows],
                seed=work.seed,
            )
            layer = family.layer(first)
            found.append(
                SweptPair(
                    family=f"{family.title}, {layer}" if layer else family.title,
                    models=(first, second),
                    rows_each=rows_each,
                    unmixed=unmixed,
                )
            )
            advance(1)
    return found


def _n_fitted(family: Family) -> int:
    return round((1 - HELD_OUT_SHARE) * len(next(iter(family.runs.values()))))


def _some_pairs(family: Family, most: int, seed: int) -> list[tuple[str, str]]:
    """Return some pairs of each layer, drawn at random."""
    by_layer: dict[str, list[tuple[str, str]]] = {}
    for pair in family.pairs():
        by_layer.setdefault(family.layer(pair[0]), []).append(pair)
    stream = random_stream(seed, "pairs", family.title)
    return [
        pairs[index]
        for pairs in by_layer.values()
        for index in sorted(stream.permutation(len(pairs))[:most])
    ]


def rows_table(swept: Sequence[SweptPair]) -> Table:
    """Return the share of pairs in order, and the efficiency, by rows for each component."""
    cells: list[tuple[Cell, ...]] = [
        (
            family,
            rows_each,
            len(own),
            float(np.mean([not each.unmixed.failure for each in own])),
            *(_mean(own, number) for number in _NUMBERS.values()),
        )
        for (family, rows_each), own in _by_point(swept).items()
    ]
    return Table(
        title="The order with fewer and more rows",
        columns=(
            *columns("family", "rows for each component", "pairs"),
            *columns("in order", *_NUMBERS, spec=".2f"),
        ),
        rows=tuple(cells),
        caption="Pairs drawn at random, in the leading directions, held out. Intervals leave out "
        "one model at a time. Random: the efficiency of random rotations.",
    )


def _mean(own: Sequence[SweptPair], number: Callable[[UnmixedPair], float | None]) -> Cell:
    found = over_models(own, lambda each: number(each.unmixed))
    return found if math.isfinite(found.value) else None


def rows_panel(swept: Sequence[SweptPair]) -> Panel:
    """Plot the share of the gap that ICA closes over rows for each component."""
    points = _by_point(swept)
    marks = []
    for family in dict.fromkeys(each.family for each in swept):
        found = {
            rows_each: mean.value
            for (name, rows_each), own in points.items()
            if name == family and isinstance(mean := _mean(own, _NUMBERS["efficiency"]), Estimate)
        }
        if found:
            marks.append(
                Marks(name=family, x=tuple(map(float, found)), y=tuple(found.values()), kind="line")
            )
    return Panel(
        title="Fewer and more rows",
        x="fitted rows for each component",
        y="efficiency of ICA",
        marks=tuple(marks),
        x_log=True,
        caption="Leading directions, held out; means over pairs.",
    )


def order_by_rows(swept: Sequence[SweptPair]) -> dict[str, Estimate]:
    """Return the share of pairs in order with fewest and most rows, families weighing the same."""
    points = _by_point(swept)
    found = {}
    for name, choose in (("fewest", min), ("most", max)):
        shares = []
        for family in dict.fromkeys(each.family for each in swept):
            chosen = choose(rows_each for own, rows_each in points if own == family)
            shares.append(np.mean([not each.unmixed.failure for each in points[family, chosen]]))
        found[f"order with {name} rows"] = Estimate(value=float(np.mean(shares)))
    return found


def _by_point(swept: Sequence[SweptPair]) -> dict[tuple[str, int], list[SweptPair]]:
    found: dict[tuple[str, int], list[SweptPair]] = {}
    for each in swept:
        found.setdefault((each.family, each.rows_each), []).append(each)
    return found
