"""Quantities, tables and plots of the efficiency of ICA."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

from upto.core import Column, Estimate, Marks, Panel, Table, random_stream
from upto.core.table import columns
from upto_studies.agreement import over_pairs
from upto_studies.outcome import Outcome
from upto_studies.train.curves import correlation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.ica_efficiency import Condition, Settings, SweepPoint
    from upto_studies.unmixed_pairs import UnmixedPair

HALF, TRUSTED = 0.5, 0.75
"""Shares of components that recur in both runs: our first guess of a limit above which an ICA row
can be trusted, and the limit after a pilot."""
KINDS: dict[str, Callable[[UnmixedPair], float | None]] = {
    "efficiency": lambda pair: pair.efficiency,
    "in sample": lambda pair: pair.efficiency_in_sample,
    "half of the rows": lambda pair: pair.halved,
    "rows apart": lambda pair: pair.apart,
    "principal directions": lambda pair: pair.principal,
    "random rotation": lambda pair: pair.rotated,
}
"""Efficiencies by their name in tables; held out but for the second."""
CAUSES: dict[str, Callable[[UnmixedPair], float]] = {
    "rows": lambda pair: pair.rows_each,
    "non-Gaussianity": lambda pair: pair.non_gaussianity,
    "shared": lambda pair: pair.shared,
    "recurrence": lambda pair: pair.recurrence,
}
"""What may decide an efficiency."""


def outcome_of(
    settings: Settings, cells: Sequence[SweepPoint], conditions: Sequence[Condition], *, seed: int
) -> Outcome:
    """Return the outcome of the study."""
    measured = {**_of_cells(settings, cells, seed), **_of_conditions(settings, conditions, seed)}
    sweeps = list(dict.fromkeys(cell.sweep for cell in cells))
    tables = [_sweep_table(sweep, [c for c in cells if c.sweep == sweep]) for sweep in sweeps]
    if conditions:
        tables = [_causes_table(settings, conditions, seed), _rule_table(conditions), *tables]
        tables.append(_conditions_table(conditions))
    panels = [_sweep_panel(sweep, [c for c in cells if c.sweep == sweep]) for sweep in sweeps]
    if conditions:
        panels = [_recurrence_panel(conditions), *panels]
    return Outcome(
        measured=measured,
        says=_says(measured),
        tables=tuple(tables),
        panels=tuple(panels),
    )


def _values(pairs: Sequence[UnmixedPair], kind: str) -> Float:
    found = (KINDS[kind](pair) for pair in pairs)
    return np.array([value for value in found if value is not None])


def _mean(pairs: Sequence[UnmixedPair], kind: str) -> Estimate | None:
    values = _values(pairs, kind)
    return over_pairs(values) if len(values) else None


def _of_cells(settings: Settings, cells: Sequence[SweepPoint], seed: int) -> dict[str, Estimate]:
    from upto_studies.ica_efficiency import FEW, MANY, SOME, WIDTH

    by_name = {(cell.sweep, cell.name): cell.pairs for cell in cells}
    found: dict[str, Estimate | None] = {}
    places = {
        "rotation/few rows": ("rows", f"{WIDTH} sources, {FEW} rows each"),
        "rotation/many rows": ("rows", f"{WIDTH} sources, {MANY} rows each"),
        "gaussian": ("sources", "gaussian"),
    }
    for name, place in places.items():
        if place in by_name:
            found[name] = _mean(by_name[place], "efficiency")
            found[f"{name}, rows apart"] = _mean(by_name[place], "rows apart")
    for name, kind in (("width", "efficiency"), ("width, rows apart", "rows apart")):
        means = [
            mean.value
            for width in settings.widths
            if (pairs := by_name.get(("rows", f"{width} sources, {SOME} rows each")))
            and (mean := _mean(pairs, kind)) is not None
        ]
        if len(means) > 1:
            found[name] = Estimate(value=max(means) - min(means))
    for name, sweep in (
        ("depth", "depth"),
        ("shared", "shared variance"),
        ("training", "training time"),
    ):
        own = [cell for cell in cells if cell.sweep == sweep]
        points = [(cell.x, value) for cell in own for value in _values(cell.pairs, "efficiency")]
        if len(own) > 2:
            x, y = np.array(points).T
            found[name] = correlation(x, y, n_resamples=settings.n_resamples, seed=seed, ranks=True)
    return {name: each for name, each in found.items() if each is not None}


def _of_conditions(
    settings: Settings, conditions: Sequence[Condition], seed: int
) -> dict[str, Estimate]:
    kept = [each for each in conditions if each.pair.efficiency is not None]
    if not kept:
        return {}
    found = {
        f"real/{cause}": _correlation(settings, kept, cause, "efficiency", seed) for cause in CAUSES
    }
    found |= {
        f"real/{cause}, rows apart": _correlation(settings, kept, cause, "rows apart", seed)
        for cause in CAUSES
    }
    found["rule"] = _over_pairs(settings, kept, _gap("efficiency", HALF), seed)
    found["rule, rows apart"] = _over_pairs(settings, kept, _gap("rows apart", TRUSTED), seed)
    found["lost apart"] = _over_pairs(settings, kept, _lost(recurring=False), seed)
    found["lost apart, trusted"] = _over_pairs(settings, kept, _lost(recurring=True), seed)
    return {name: each for name, each in found.items() if np.isfinite(each.value)}


def _gap(kind: str, limit: float) -> Callable[[Sequence[Condition]], float]:
    """Return a function: the median of conditions above a limit of recurrence less that below."""

    def gap(conditions: Sequence[Condition]) -> float:
        trusted = [each.pair for each in conditions if each.pair.recurrence >= limit]
        others = [each.pair for each in conditions if each.pair.recurrence < limit]
        if not trusted or not others:
            return np.nan
        return float(np.median(_values(trusted, kind)) - np.median(_values(others, kind)))

    return gap


def _lost(*, recurring: bool) -> Callable[[Sequence[Condition]], float]:
    """Return a function: the median of what is lost where runs are unmixed on different rows."""

    def lost(conditions: Sequence[Condition]) -> float:
        own = [
            each.pair.halved - each.pair.apart
            for each in conditions
            if (each.pair.recurrence >= TRUSTED) == recurring
            and each.pair.halved is not None
            and each.pair.apart is not None
        ]
        return float(np.median(own)) if own else np.nan

    return lost


def _correlation(
    settings: Settings, conditions: Sequence[Condition], cause: str, kind: str, seed: int
) -> Estimate:
    def ranked(some: Sequence[Condition]) -> float:
        points = [
            (CAUSES[cause](each.pair), value)
            for each in some
            if (value := KINDS[kind](each.pair)) is not None
        ]
        x, y = np.array(points).T
        return _rank_correlation(x, y)

    return _over_pairs(settings, conditions, ranked, seed)


def _over_pairs(
    settings: Settings,
    conditions: Sequence[Condition],
    number: Callable[[Sequence[Condition]], float],
    seed: int,
) -> Estimate:
    """Return a number with a bootstrap interval over families, whose conditions go together."""
    groups: dict[str, list[Condition]] = {}
    for each in conditions:
        groups.setdefault(each.family, []).append(each)
    held = list(groups.values())
    stream, drawn = random_stream(seed, "families"), []
    for _ in range(settings.n_resamples):
        chosen = stream.integers(len(held), size=len(held))
        drawn.append(number([each for index in chosen for each in held[index]]))
    finite = np.array(drawn)[np.isfinite(drawn)]
    value = number(conditions)
    if len(held) < 3 or len(finite) < settings.n_resamples // 2:
        return Estimate(value=value)
    low, high = np.quantile(finite, [0.025, 0.975])
    return Estimate(value=value, low=float(low), high=float(high))


def _rank_correlation(x: Float, y: Float) -> float:
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def _sweep_table(sweep: str, cells: Sequence[SweepPoint]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            cell.name,
            *(_mean(cell.pairs, kind) for kind in KINDS),
            *(float(np.mean([cause(pair) for pair in cell.pairs])) for cause in CAUSES.values()),
        )
        for cell in cells
    ]
    return Table(
        title=f"Efficiency of ICA: {sweep}",
        columns=(Column(name=sweep), *columns(*KINDS, *CAUSES, spec=".2f")),
        rows=tuple(rows),
        caption="Held out unless in sample; a random rotation is chance. With rows apart, each run "
        "is unmixed on half of the rows, not the same half.",
    )


def _causes_table(settings: Settings, conditions: Sequence[Condition], seed: int) -> Table:
    kept = [each for each in conditions if each.pair.efficiency is not None]
    kinds = ("efficiency", "rows apart")
    rows: list[tuple[Cell, ...]] = [
        (cause, *(_correlation(settings, kept, cause, kind, seed) for kind in kinds))
        for cause in CAUSES
    ]
    return Table(
        title="What goes with the efficiency, real pairs",
        columns=(Column(name="cause"), *columns("same rows", "rows apart", spec=".2f")),
        rows=tuple(rows),
        caption=f"Rank correlations over {len(kept)} conditions; intervals over families. "
        f"{len(conditions) - len(kept)} conditions without a gap to close are left out.",
    )


def _rule_table(conditions: Sequence[Condition]) -> Table:
    edges = (0.0, 0.25, 0.5, 0.75, 1.01)
    rows: list[tuple[Cell, ...]] = []
    for low, high in itertools.pairwise(edges):
        own = [each.pair for each in conditions if low <= each.pair.recurrence < high]
        own = [pair for pair in own if pair.efficiency is not None]
        if own:
            medians = [float(np.median(_values(own, kind))) for kind in KINDS]
            worse = float(np.mean(_values(own, "rows apart") <= 0))
            rows.append((f"{low:.0%} to {min(high, 1):.0%}", len(own), *medians, worse))
    return Table(
        title="Efficiency by the share of components that recur",
        columns=(
            Column(name="recurring"),
            Column(name="conditions"),
            *columns(*KINDS, "no gain apart", spec=".2f"),
        ),
        rows=tuple(rows),
        caption="Medians over conditions of real pairs; the last column is the share in which "
        "components of different rows match no better than coordinates.",
    )


def _conditions_table(conditions: Sequence[Condition]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            each.family,
            each.models,
            each.n_directions,
            each.row_share,
            *(kind(each.pair) for kind in KINDS.values()),
            *(cause(each.pair) for cause in CAUSES.values()),
        )
        for each in conditions
    ]
    return Table(
        title="Real pairs",
        columns=(
            *columns("family", "models", "directions"),
            *columns("share of rows", *KINDS, *CAUSES, spec=".2f"),
        ),
        rows=tuple(rows),
    )


def _sweep_panel(sweep: str, cells: Sequence[SweepPoint]) -> Panel:
    named = sweep == "sources"
    marks = []
    for kind in ("efficiency", "rows apart", "principal directions", "random rotation"):
        found = [(cell.x, mean) for cell in cells if (mean := _mean(cell.pairs, kind)) is not None]
        if found:
            marks.append(
                Marks(
                    name=kind,
                    x=tuple(float(x) for x, _ in found),
                    y=tuple(mean.value for _, mean in found),
                    low=tuple(mean.value if mean.low is None else mean.low for _, mean in found),
                    high=tuple(mean.value if mean.high is None else mean.high for _, mean in found),
                )
            )
    return Panel(
        title=f"Efficiency and {sweep}",
        x=sweep if sweep != "rows" else "fitted rows for each component",
        y="efficiency of ICA, held out",
        marks=tuple(marks),
        x_log=sweep in ("rows", "training time", "code width"),
        x_names=tuple(cell.name for cell in cells) if named else (),
        caption="Means with intervals over pairs; a random rotation is chance.",
    )


def _recurrence_panel(conditions: Sequence[Condition]) -> Panel:
    families = list(dict.fromkeys(each.family for each in conditions))
    marks = []
    for family in families:
        points = [
            (each.pair.recurrence, each.pair.apart)
            for each in conditions
            if each.family == family and each.pair.apart is not None
        ]
        if points:
            x, y = zip(*points, strict=True)
            marks.append(Marks(name=family, x=x, y=y))
    return Panel(
        title="Real pairs: efficiency with rows apart",
        x="share of components that recur in both runs",
        y="efficiency of ICA, held out",
        marks=tuple(marks),
        caption="One point is a pair with some of its rows and leading directions.",
    )


def _says(measured: dict[str, Estimate]) -> str:
    parts = []
    same, apart = (measured.get(f"gaussian{end}") for end in ("", ", rows apart"))
    if same is not None and apart is not None:
        parts.append(
            f"between rotated copies of Gaussian rows the efficiency of ICA is {same.value:.2f} if "
            f"both are unmixed on the same rows and {apart.value:.2f} if not"
        )
    few, many = (measured.get(f"rotation/{count} rows, rows apart") for count in ("few", "many"))
    if few is not None and many is not None:
        parts.append(
            f"of Laplace sources, on different rows, it is {few.value:.2f} with 10 rows for each "
            f"component and {many.value:.2f} with 200"
        )
    decides = measured.get("real/recurrence, rows apart")
    if decides is not None:
        parts.append(
            "over real pairs it goes with the share of components that recur "
            f"(rank correlation {decides:.2f})"
        )
    return "; ".join(parts)
