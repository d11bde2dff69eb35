"""Tables of the leaky autoencoders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Cell, Column, Table
from upto.theory import leaky_bound
from upto_studies.train.curves import mean_estimate

if TYPE_CHECKING:
    from upto.core import Estimate
    from upto_studies.leaky_autoencoders import Settings, Trained
    from upto_studies.train.pairs import Pair

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def tables(settings: Settings, together: Trained, by_digit: Trained | None) -> tuple[Table, ...]:
    """Return all tables, the most important first."""
    shown = [
        _by_leak(settings, together, "Pairs by leak"),
        _fits(together, "Relations between error and L"),
        _promises(settings, together, "What Theorem 1 promises, beside what was measured"),
        _estimates(settings, together, "Local bi-Lipschitz constant of the decoders, by leak"),
    ]
    if by_digit is not None:
        shown += [
            _by_leak(settings, by_digit, "One digit each: pairs by leak"),
            _fits(by_digit, "One digit each: relations between error and L"),
            _by_digit(settings, by_digit),
        ]
    return tuple(shown)


def certified(settings: Settings, leak: float) -> float:
    """Return the upper bound on the constant of decoders with a leak, from rectifiers alone."""
    return float(leaky_bound(leak, len(settings.encoder) - 2))


def _by_leak(settings: Settings, trained: Trained, title: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for leak in settings.leaks:
        found = [pair for pair in trained.pairs if pair.leak == leak]
        kept = [pair for pair in trained.kept if pair.leak == leak]
        errors = np.array([pair.errors.relative for pair in found])
        limits = [
            optimum
            for pair, optimum in zip(trained.pairs, trained.optima, strict=True)
            if pair.leak == leak
        ]
        mse = np.array([pair.reconstruction for pair in found])
        epochs = [
            count
            for pair, count in zip(trained.pairs, trained.epochs, strict=True)
            if pair.leak == leak
        ]
        rows.append(
            (
                leak,
                len(found),
                len(kept),
                float(np.mean(epochs)),
                float(mse.mean()),
                float((mse / np.array(limits)[:, None]).mean()),
                _mean(settings, errors),
                float(errors.std(ddof=1)) if len(errors) > 1 else None,
                float(np.mean([pair.errors.mean for pair in found])),
                _mean(settings, [pair.errors.held_relative for pair in found]),
                _mean(settings, [pair.excess(exact=False, worst=False) for pair in found]),
                _mean(settings, [pair.excess(exact=True, worst=False) for pair in found]),
                _mean(settings, [pair.excess(exact=True, worst=True) for pair in found]),
                certified(settings, leak) - 1,
            )
        )
    return Table(
        title=title,
        columns=(
            Column(name="leak", spec="g"),
            Column(name="pairs"),
            Column(name="kept"),
            Column(name="epochs", spec=".0f"),
            Column(name="reconstruction", spec=".5f"),
            Column(name="over PCA's", spec=".5f"),
            Column(name="error / diameter", spec=".5f"),
            Column(name="sd", spec=".5f"),
            Column(name="error", spec=".4f"),
            Column(name="held-out error / diameter", spec=".5f"),
            Column(name="mean L, ten directions", spec=".4f"),
            Column(name="mean L, exact", spec=".4f"),
            Column(name="largest L, exact", spec=".4f"),
            Column(name="certified L", spec=".4g"),
        ),
        rows=tuple(rows),
        caption="The error is the mean distance after the best rigid motion, in sample as in the "
        "paper and on held-out images under the same motion; all pairs count. Intervals are "
        "bootstrapped over pairs.",
    )


def _fits(trained: Trained, title: str) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            curve.form,
            curve.slope,
            curve.intercept,
            curve.r_squared,
            trained.correlations.get(name),
        )
        for name, curves in trained.curves.items()
        for curve in curves
    ]
    return Table(
        title=title,
        columns=(
            Column(name="L"),
            Column(name="relation"),
            Column(name="a", spec=".4g"),
            Column(name="b", spec=".4g"),
            Column(name="R²", spec=".3f"),
            Column(name="correlation of error and √(2L+L²)", spec=".3f"),
        ),
        rows=tuple(rows),
        caption=f"Over the {len(trained.kept)} pairs that the filter keeps; the error is over the "
        "diameter. R² is relative to the mean, and below zero where the mean is better.",
    )


def _promises(settings: Settings, trained: Trained, title: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for leak in settings.leaks:
        found = [pair for pair in trained.pairs if pair.leak == leak]
        both = [pair.promises() for pair in found]
        sizes = np.array([pair.errors.diameter for pair in found])
        worst = np.array([float(promise) for promise, _ in both])
        mean = np.array([float(promise) for _, promise in both])
        rows.append(
            (
                leak,
                float(max(pair.errors.worst / pair.errors.diameter for pair in found)),
                float((worst / sizes).min()),
                float(max(pair.errors.relative for pair in found)),
                float((mean / sizes).min()),
                sum(pair.breaks_promise for pair in found) if leak < 1 else None,
                sum(promise.is_vacuous for promise, _ in both),
            )
        )
    return Table(
        title=title,
        columns=(
            Column(name="leak", spec="g"),
            Column(name="worst error", spec=".4f"),
            Column(name="promised", spec=".4g"),
            Column(name="mean error", spec=".5f"),
            Column(name="promised mean square", spec=".4g"),
            Column(name="broken"),
            Column(name="vacuous"),
        ),
        rows=tuple(rows),
        caption="Over the diameter: the largest error of all pairs beside the smallest promise, "
        "from the largest exact constants of both decoders. At leak 1 the promise is zero but for "
        "rounding, and the error is the optimisation floor. Vacuous promises are above what "
        "holds for any two sets of codes.",
    )


def _estimates(settings: Settings, trained: Trained, title: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for leak in settings.leaks:
        for kind in ("ten directions", "exact"):
            constants = constants_at(trained.pairs, leak, exact=kind == "exact")
            quantiles = np.quantile(constants, QUANTILES)
            rows.append((leak, kind, float(constants.mean()), *map(float, quantiles)))
    return Table(
        title=title,
        columns=(
            Column(name="leak", spec="g"),
            Column(name="constant"),
            Column(name="mean"),
            *(Column(name=f"{quantile:.0%}") for quantile in QUANTILES),
        ),
        rows=tuple(rows),
        caption="Quantiles over the codes of all autoencoders of a leak.",
    )


def constants_at(
    pairs: list[Pair], leak: float, *, exact: bool
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the constants of all decoders with a leak at all codes."""
    return np.concatenate(
        [
            (pair.stretches.exact if exact else pair.stretches.estimate).ravel()
            for pair in pairs
            if pair.leak == leak
        ]
    )


def _by_digit(settings: Settings, trained: Trained) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for digit in settings.digits:
        about = f"digit {digit}"
        found = [pair for pair in trained.pairs if pair.about == about]
        by_leak: list[Cell] = [
            float(np.mean([pair.errors.relative for pair in found if pair.leak == leak]))
            for leak in settings.leaks
        ]
        kept = sum(pair.about == about for pair in trained.kept)
        rows.append((digit, len(found), kept, *by_leak))
    return Table(
        title="One digit each: mean rigid error over the diameter, by digit and leak",
        columns=(
            Column(name="digit"),
            Column(name="pairs"),
            Column(name="kept"),
            *(Column(name=f"leak {leak:g}", spec=".5f") for leak in settings.leaks),
        ),
        rows=tuple(rows),
    )


def _mean(settings: Settings, values: object) -> Estimate:
    return mean_estimate(
        np.asarray(values, dtype=np.float64), n_resamples=settings.n_resamples, seed=0
    )
