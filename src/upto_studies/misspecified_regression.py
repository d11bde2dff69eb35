"""Example 1 of Appendix A.1: the linear model of a curve is identifiable, the curve is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta

from upto.core import Column, Estimate, Marks, Panel, Table, random_stream
from upto.core.array_types import Float
from upto.evidence.intervals import mean_intervals
from upto_studies.outcome import Outcome, Work
from upto_studies.rates import power_rate
from upto_studies.regressions import Regression, draw_regression, fit_linear

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core import Cell

Count = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Regressions to fit, and numbers of rows."""

    problems: Annotated[list[str], Meta(min_length=1)]
    row_counts: Annotated[list[Count], Meta(min_length=2)]
    n_repeats: Count
    noise: Annotated[float, Meta(gt=0.0)]
    n_unseen: Count


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Fits:
    """Measurements on one regression: one line per repeat, one column per number of rows."""

    name: str
    regression: Regression
    between: Float
    """Supremum of the difference of two fits to independent rows."""
    to_nearest: Float
    """Supremum of the difference of a fit and the best linear model."""
    to_truth: Float
    """Supremum of the difference of a fit and the curve."""
    between_starts: Float
    """Distance of the coefficients of two fits to the same rows from different starts."""
    unseen: Float
    """Part of the difference of those starts in directions without input."""

    @property
    def is_curved(self) -> bool:
        return self.regression.nearest_error > 0


def run(settings: Settings, work: Work) -> Outcome:
    """Fit linear models to curves repeatedly, and compare the errors with closed forms."""
    n_fits = 2 * len(settings.problems) * settings.n_repeats * len(settings.row_counts)
    with work.progress.task("fitting linear models", n_fits) as advance:
        seen = [_fit(name, 0, settings, work.seed, advance) for name in settings.problems]
        hidden = [
            _fit(name, settings.n_unseen, settings, work.seed, advance)
            for name in settings.problems
        ]
    curved = [fits for fits in seen if fits.is_curved]
    straight = [fits for fits in seen if not fits.is_curved]
    sizes, seed = settings.row_counts, work.seed
    measured = {
        "statistical-rate": _rate(sizes, [_over_expected(fits) for fits in seen]),
        "statistical-size": _mean(
            [fits.between[:, -1] / fits.regression.expected_gap(sizes[-1]) for fits in seen], seed
        ),
        "nearest-rate": _rate(
            sizes, [fits.to_nearest / fits.regression.expected_error(1) for fits in seen]
        ),
        "same-rows-gap": Estimate(value=max(float(fits.between_starts.max()) for fits in seen)),
        "unseen-gap": _mean([(fits.between_starts / fits.unseen).ravel() for fits in hidden], seed),
        "unseen-rate": _rate(sizes, [_over_expected(fits) for fits in hidden]),
    }
    if curved:
        to_truth = [fits.to_truth / fits.regression.nearest_error for fits in curved]
        measured["structural-rate"] = _rate(sizes, to_truth)
        measured["structural-size"] = _mean([each[:, -1] for each in to_truth], seed)
    if straight:
        measured["well-specified-rate"] = _rate(sizes, [fits.to_truth for fits in straight])
    says = (
        "two fits to independent rows differ by an error that falls as rows to the power "
        f"{measured['statistical-rate']:.3f}"
    )
    if "structural-size" in measured:
        distance = measured["structural-size"].value
        says += f", and stay {distance:.3f} times as far from a curve as the best linear model"
    return Outcome(
        measured=measured,
        says=says,
        tables=(_table(seen, sizes, seed), _unseen_table(hidden, sizes, seed)),
        panels=(_rows_panel(seen, sizes, seed), _curves_panel(seen, sizes, seed)),
    )


def _fit(
    name: str, n_unseen: int, settings: Settings, seed: int, advance: Callable[[int], None]
) -> _Fits:
    curves = name.split("+")
    regression = draw_regression(
        curves, n_observed=len(curves) + n_unseen, noise=settings.noise, seed=seed
    )
    stream = random_stream(seed, "misspecified-regression", name, str(n_unseen))
    shape = (settings.n_repeats, len(settings.row_counts))
    between, nearest, truth, starts, unseen = np.empty((5, *shape))
    best = regression.coefficients
    for place in np.ndindex(shape):
        first_seed, second_seed = stream.integers(2**31, size=2).tolist()
        start, other_start = stream.normal(size=(2, len(best)))
        n_rows = settings.row_counts[place[1]]
        rows = regression.draw(n_rows, seed=first_seed)
        first = fit_linear(*rows, start=start)
        again = fit_linear(*rows, start=other_start)
        second = fit_linear(*regression.draw(n_rows, seed=second_seed), start=other_start)
        between[place] = regression.difference(first, second)
        nearest[place] = regression.difference(first, best)
        truth[place] = regression.worst_error(first)
        starts[place] = np.linalg.norm(first - again)
        unseen[place] = regression.unseen_gap(start, other_start)
        advance(1)
    return _Fits(
        name=name,
        regression=regression,
        between=between,
        to_nearest=nearest,
        to_truth=truth,
        between_starts=starts,
        unseen=unseen,
    )


def _over_expected(fits: _Fits) -> Float:
    """Return the differences of two fits on a common scale for all regressions."""
    return fits.between / fits.regression.expected_gap(1)


def _rate(sizes: list[int], values: list[Float]) -> Estimate:
    return power_rate(sizes, np.concatenate(values))


def _mean(values: list[Float], seed: int) -> Estimate:
    (estimate,) = mean_intervals(np.concatenate(values)[:, None], seed)
    return estimate


def _table(seen: list[_Fits], sizes: list[int], seed: int) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            fits.name,
            _mean([fits.between[:, -1]], seed),
            fits.regression.expected_gap(sizes[-1]),
            _mean([fits.to_nearest[:, -1]], seed),
            fits.regression.expected_error(sizes[-1]),
            _mean([fits.to_truth[:, -1]], seed),
            fits.regression.nearest_error,
        )
        for fits in seen
    ]
    return Table(
        title=f"Worst errors of linear models fitted to {sizes[-1]} rows",
        columns=(
            Column(name="curves"),
            Column(name="between two fits", spec=".4g"),
            Column(name="closed form", spec=".4g"),
            Column(name="to the best linear model", spec=".4g"),
            Column(name="its closed form", spec=".4g"),
            Column(name="to the curve", spec=".4g"),
            Column(name="ε in closed form", spec=".4g"),
        ),
        rows=tuple(rows),
        caption="The first two vanish with more rows; the last only where the curve is a line.",
    )


def _unseen_table(hidden: list[_Fits], sizes: list[int], seed: int) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            fits.name,
            _mean([fits.between_starts[:, -1]], seed),
            _mean([fits.unseen[:, -1]], seed),
            _mean([fits.between[:, -1]], seed),
            fits.regression.expected_gap(sizes[-1]),
        )
        for fits in hidden
    ]
    return Table(
        title="Where E[xxᵀ] is singular",
        columns=(
            Column(name="curves"),
            Column(name="coefficients apart, same rows", spec=".4g"),
            Column(name="closed form", spec=".4g"),
            Column(name="functions apart", spec=".4g"),
            Column(name="its closed form", spec=".4g"),
        ),
        rows=tuple(rows),
        caption="Coefficients depend on where the fit started, the function on the data alone.",
    )


def _rows_panel(seen: list[_Fits], sizes: list[int], seed: int) -> Panel:
    """Plot means over all regressions, each in units of its closed form."""
    expected = [number**-0.5 for number in sizes]
    curved = [fits.to_truth / fits.regression.nearest_error for fits in seen if fits.is_curved]
    nearest = [fits.to_nearest / fits.regression.expected_error(1) for fits in seen]
    rows = tuple(map(float, sizes))
    marks = [_marks("of two fits", rows, [_over_expected(fits) for fits in seen], seed)]
    marks.append(_marks("of a fit and the best linear model", rows, nearest, seed))
    if curved:
        marks.append(_marks("of a fit and the curve, in units of ε", rows, curved, seed))
    marks.append(Marks(name="1/√rows", x=rows, y=tuple(expected), kind="line"))
    return Panel(
        title="Fits agree with each other, not with the curve",
        x="rows",
        y="worst difference",
        marks=tuple(marks),
        x_log=True,
        y_log=True,
        caption="The first two are in units of their closed form at one row.",
    )


def _curves_panel(seen: list[_Fits], sizes: list[int], seed: int) -> Panel:
    curved = sorted(
        (fits for fits in seen if fits.is_curved), key=lambda fits: fits.regression.nearest_error
    )
    closed = tuple(fits.regression.nearest_error for fits in curved)
    found = [_mean([fits.to_truth[:, -1]], seed) for fits in curved]
    return Panel(
        title="Each curve stays at its own distance",
        x="ε in closed form",
        y="worst difference of a fit and the curve",
        marks=(
            _estimates(f"fits to {sizes[-1]} rows", closed, found),
            Marks(name="equal", x=closed, y=closed, kind="line"),
        ),
    )


def _marks(name: str, x: tuple[float, ...], values: list[Float], seed: int) -> Marks:
    return _estimates(name, x, mean_intervals(np.concatenate(values), seed))


def _estimates(name: str, x: tuple[float, ...], estimates: list[Estimate]) -> Marks:
    known = [each for each in estimates if each.low is not None and each.high is not None]
    return Marks(
        name=name,
        x=x,
        y=tuple(each.value for each in estimates),
        low=tuple(float(each.low or 0.0) for each in known),
        high=tuple(float(each.high or 0.0) for each in known),
    )
