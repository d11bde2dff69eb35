"""Quantities, tables and plots of the study `index-upgrade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto.core.table import columns
from upto_studies.outcome import Outcome
from upto_studies.upgrade_recall import COUNT, NETWORK, fewer_pairs
from upto_studies.upgraded_models import EXCERPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from upto.core import Cell
    from upto_studies.upgrade_recall import Elsewhere, JudgedUpgrade, PredictedSize, Version

OF_PAPER = ("rigid", "low-rank", NETWORK)
"""The maps of Drift-Adapter: orthogonal Procrustes, low-rank affine, residual network."""
AFFINE = ("rigid", "similarity", "affine", "ridge", "low-rank")
NEAR = 0.06
"""Error for each doubling of the index, on the scale of the normal quantile, that is promised."""
_QUARTER = 2
"""Halvings that leave a quarter of the pairs."""


def outcome_of(
    judged: Sequence[JudgedUpgrade],
    sizes: Sequence[PredictedSize],
    moved: Sequence[Elsewhere],
    versions: Sequence[Version],
) -> Outcome:
    """Return what the study measured."""
    measured: dict[str, Estimate] = {}
    for each in judged:
        measured |= {f"{each.upgrade.name}: {name}": value for name, value in _of(each).items()}
    real = [each for each in judged if each.upgrade.name != EXCERPT] or list(judged)
    measured["carried"] = _count(each.result.advice == "carry" for each in real)
    measured |= _of_sizes(sizes)
    for place in moved:
        measured["elsewhere: recall@10 by the map of the pairs"] = place.by_pairs
        measured["elsewhere: map of the pairs less a map of its own"] = place.difference
        measured["elsewhere: share unlike the pairs"] = Estimate(value=place.unlike)
    for version in versions:
        measured[f"simulated: recall@10, drift {version.drift:g}"] = version.recall
    return Outcome(
        measured=measured,
        says=_says(real),
        tables=(
            _maps_table(judged),
            _differences_table(judged),
            _curves_table(judged),
            *((_sizes_table(sizes),) if sizes else ()),
            *((_moved_table(moved),) if moved else ()),
            _versions_table(versions),
        ),
        panels=tuple(_panels(judged, sizes, versions)),
    )


def _of(judged: JudgedUpgrade) -> dict[str, Estimate]:
    place = judged.place
    by_name = {each.name: each for each in judged.maps}
    back = {name: by_name[name].back[place] for name in OF_PAPER if name in by_name}
    found = {
        "recall@10": by_name[judged.chosen].recall[place],
        "back@10 by the best map of Drift-Adapter": max(back.values(), key=float),
        "recall@10, old model": _baseline(judged, "old model"),
        "own row, queries carried back": Estimate(
            value=max(judged.own[name] for name in OF_PAPER if name in judged.own)
        ),
        **judged.differences,
    }
    kept = fewer_pairs(judged.curves, "ridge", _QUARTER)
    if kept is not None:
        found["a quarter of the pairs, ridge"] = Estimate(value=kept)
    return found


def _of_sizes(sizes: Sequence[PredictedSize]) -> dict[str, Estimate]:
    if not sizes:
        return {}
    errors = np.array([each.predicted.value - each.measured for each in sizes])
    heights = np.array([each.height_error for each in sizes])
    return {
        "sizes: covered": _share([each.is_covered for each in sizes]),
        "sizes: within 0.06 for each doubling": _share(np.abs(heights) <= NEAR),
        "sizes: mean absolute error of recall@10": Estimate(value=float(np.abs(errors).mean())),
        "sizes: mean error of recall@10": Estimate(value=float(errors.mean())),
        "sizes: largest error of recall@10": Estimate(value=float(np.abs(errors).max())),
    }


def _share(values: Iterable[bool]) -> Estimate:
    return Estimate(value=float(np.mean(list(values))))


def _count(values: Iterable[bool]) -> Estimate:
    return Estimate(value=float(sum(values)))


def _baseline(judged: JudgedUpgrade, name: str) -> Estimate:
    return next(each for each in judged.baselines if each.name == name).recall[judged.place]


def _says(judged: Sequence[JudgedUpgrade]) -> str:
    parts = [
        f"{each.upgrade.title} {each.result.recall().value:.2f} ({each.result.advice})"
        for each in judged
    ]
    return f"recall@{COUNT} of the index carried by the best map is " + ", ".join(parts)


def _maps_table(judged: Sequence[JudgedUpgrade]) -> Table:
    wanted = (1, 10, 100)
    rows: list[tuple[Cell, ...]] = []
    for each in judged:
        at = each.result.at
        for one in each.maps:
            name = f"{one.name} ←" if one.name == each.chosen else one.name
            recalls = [one.recall[at.index(count)] if count in at else None for count in wanted]
            back = one.back[each.place]
            rows.append((each.upgrade.title, name, *recalls, back, each.own[one.name], one.r2))
        for other in each.baselines:
            recalls = [other.recall[at.index(count)] if count in at else None for count in wanted]
            rows.append((each.upgrade.title, other.name, *recalls, None, None, None))
    return Table(
        title="Recall of the nearest rows of the new model, held out",
        columns=(
            *columns("models", "map"),
            *columns(*(f"recall@{count}" for count in wanted), spec=".3f"),
            *columns(f"back@{COUNT}", "own row", "R²", spec=".3f"),
        ),
        rows=tuple(rows),
        caption=(
            "; ".join(
                f"{each.upgrade.title}: {each.result.n_fitted:,} pairs fitted, "
                f"{each.result.n_rows:,} rows searched by {each.result.n_queries:,} queries"
                for each in judged
            )
            + ". Back: new queries carried back into the old index. Own row: queries that find "
            "there, first of all, the row of their own input. ←: chosen by upto align."
        ),
    )


def _differences_table(judged: Sequence[JudgedUpgrade]) -> Table:
    names = list(dict.fromkeys(name for each in judged for name in each.differences))
    return Table(
        title=f"Differences of recall@{COUNT}, on the same queries",
        columns=(
            Column(name="difference"),
            *(Column(name=each.upgrade.title, spec="+.3f") for each in judged),
        ),
        rows=tuple((name, *(each.differences.get(name) for each in judged)) for name in names),
    )


def _curves_table(judged: Sequence[JudgedUpgrade]) -> Table:
    return Table(
        title=f"Recall@{COUNT} by the number of pairs fitted",
        columns=(
            *columns("models", "map"),
            Column(name="pairs", spec=",d"),
            *columns("recall", spec=".3f"),
        ),
        rows=tuple(
            (each.upgrade.title, point.name, point.n_pairs, point.recall)
            for each in judged
            for point in each.curves
        ),
    )


def _sizes_table(sizes: Sequence[PredictedSize]) -> Table:
    groups: dict[tuple[str, str, int, int], list[PredictedSize]] = {}
    for each in sizes:
        groups.setdefault((each.case, each.search, each.n_searched, each.n_rows), []).append(each)
    rows: list[tuple[Cell, ...]] = []
    for (case, name, searched, n_rows), found in groups.items():
        predicted = float(np.mean([each.predicted.value for each in found]))
        worst = max(found, key=lambda each: abs(each.predicted.value - each.measured))
        rows.append(
            (
                case,
                name,
                searched,
                n_rows,
                len(found),
                predicted,
                found[0].measured,
                worst.predicted.value - worst.measured,
                float(np.mean([each.height_error for each in found])),
                f"{sum(each.is_covered for each in found)} of {len(found)}",
            )
        )
    return Table(
        title=f"Recall@{COUNT} in a larger index, predicted from parts of it",
        columns=(
            *columns("case", "search"),
            *(Column(name=name, spec=",d") for name in ("rows searched", "rows of the index")),
            Column(name="parts", spec="d"),
            *columns("predicted", "measured", spec=".3f"),
            *columns("largest error", "error for each doubling", spec="+.3f"),
            Column(name="intervals that contain it"),
        ),
        rows=tuple(rows),
        caption=(
            "Parts have no row in common, and the map is fitted to none of them. The error for "
            "each doubling is on the scale of the normal quantile. Parts of one index are not "
            "independent of what is measured in all of it."
        ),
    )


def _moved_table(moved: Sequence[Elsewhere]) -> Table:
    return Table(
        title=f"Recall@{COUNT} among rows of another kind",
        columns=(
            *columns("case", "map"),
            *(Column(name=name, spec=",d") for name in ("pairs", "pairs of its own", "searched")),
            *columns("by the pairs", "by its own", spec=".3f"),
            *columns("difference", spec="+.3f"),
            *columns("unlike the pairs", spec=".2f"),
        ),
        rows=tuple(
            (
                each.case,
                each.map,
                *each.n_fitted,
                each.n_rows,
                each.by_pairs,
                each.by_own,
                each.difference,
                each.unlike,
            )
            for each in moved
        ),
    )


def _versions_table(versions: Sequence[Version]) -> Table:
    return Table(
        title="Simulated next versions of the new model, by a rigid motion",
        columns=(
            Column(name="drift", spec="g"),
            *columns("R²", f"recall@{COUNT}", spec=".3f"),
            Column(name="advice"),
        ),
        rows=tuple((each.drift, each.r2, each.recall, each.advice) for each in versions),
        caption=(
            "Simulated: rows of a real model, of whose variance a share, the drift, is replaced by "
            "noise that no map can predict, and rotated."
        ),
    )


def _panels(
    judged: Sequence[JudgedUpgrade], sizes: Sequence[PredictedSize], versions: Sequence[Version]
) -> list[Panel]:
    names = list(dict.fromkeys(one.name for each in judged for one in each.maps))
    y = f"recall@{COUNT}"
    panels = [
        Panel(
            title="New queries in the carried index, held out",
            x="map",
            y=y,
            marks=tuple(
                _marks(
                    each.upgrade.title,
                    [float(names.index(one.name) + 1) for one in each.maps],
                    [one.recall[each.place] for one in each.maps],
                )
                for each in judged
            ),
            x_names=tuple(names),
            y_zero=True,
            caption="95 % intervals over rows. Drift-Adapter reports 0.95 to 0.99.",
        ),
        Panel(
            title="By the number of pairs fitted",
            x="pairs",
            y=y,
            marks=tuple(
                _marks(
                    f"{each.upgrade.name}, {name}",
                    [float(point.n_pairs) for point in each.curves if point.name == name],
                    [point.recall for point in each.curves if point.name == name],
                    is_line=True,
                )
                for each in judged
                for name in dict.fromkeys(point.name for point in each.curves)
            ),
            x_log=True,
            y_zero=True,
        ),
    ]
    if sizes:
        panels.append(
            Panel(
                title="In a larger index: predicted from a part, and measured",
                x="recall measured",
                y="recall predicted",
                marks=(
                    *(
                        _marks(case, [each.measured for each in own], [e.predicted for e in own])
                        for case, own in _by(sizes, lambda each: each.case).items()
                    ),
                    Marks(name="equal", x=(0.0, 1.0), y=(0.0, 1.0), kind="line"),
                ),
                y_zero=True,
            )
        )
    drawn = [each for each in versions if each.drift > 0]
    if drawn:
        panels.append(
            Panel(
                title="Simulated next versions",
                x="share of the variance that drifted",
                y=y,
                marks=(
                    _marks(
                        "rigid",
                        [each.drift for each in drawn],
                        [each.recall for each in drawn],
                        is_line=True,
                    ),
                ),
                x_log=True,
                y_zero=True,
            )
        )
    return panels


def _by(
    sizes: Sequence[PredictedSize], key: Callable[[PredictedSize], str]
) -> dict[str, list[PredictedSize]]:
    groups: dict[str, list[PredictedSize]] = {}
    for each in sizes:
        groups.setdefault(key(each), []).append(each)
    return groups


def _marks(
    name: str, x: Sequence[float], found: Sequence[Estimate], *, is_line: bool = False
) -> Marks:
    return Marks(
        name=name,
        x=tuple(x),
        y=tuple(each.value for each in found),
        low=tuple(each.value if each.low is None else each.low for each in found),
        high=tuple(each.value if each.high is None else each.high for each in found),
        kind="line" if is_line else "points",
    )
