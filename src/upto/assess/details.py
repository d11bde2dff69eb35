"""One pair in detail: every error, its interval, chance, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.align import row_errors, smallest_worst_error
from upto.assess.chance import Chance, chance_level
from upto.assess.intervals import histogram, mean_intervals, summarise
from upto.assess.nulls import smallest_p_value
from upto.assess.pair import (
    CONSTANT,
    ICA_ROW,
    Pair,
    candidate_maps,
    errors_by_map,
    held_out_p_values,
    pair_moments,
)
from upto.assess.remarks import remarks
from upto.assess.verdict import LEVEL, Candidate, agreement_of, sentence, strictest_group
from upto.core import (
    Agreement,
    Comparison,
    Defect,
    Errors,
    Fit,
    Group,
    Provenance,
    Scatter,
    Supremum,
)
from upto.measure import ica_efficiency, near_isometry_defect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from upto.align import AffineMap
    from upto.assess.options import Options
    from upto.core import Histogram, Progress

    Float = NDArray[np.float64]

DEFECT_ROWS = 3000
SCATTER_ROWS = 1000
SUPREMUM_ROWS = 4096
SUPREMUM_ITERATIONS = 40
SUPREMUM_WORK = 2e10
"""Floating-point operations spent per group on the smallest worst error."""


def compare_in_detail(
    pair: Pair, options: Options, progress: Progress, label: str | None, labels: Any
) -> Comparison:
    """Compare two prepared runs."""
    source, target, split = pair.source, pair.target, pair.split
    with progress.task("compare", 4 + options.refits) as advance:
        moments = pair_moments(pair)
        in_sample_maps = candidate_maps(
            options.groups,
            moments.everything,
            (source.unmixing_in_sample, target.unmixing_in_sample),
        )
        in_sample = errors_by_map(pair, in_sample_maps, held_out=False)
        total = float(np.trace(target.everything.scatter)) / pair.extent**2
        within = {name: summarise(errors, total) for name, errors in in_sample.items()}
        advance(1)
        suprema = _suprema(pair, in_sample_maps, in_sample)
        del in_sample
        advance(1)
        maps, errors, p_values = in_sample_maps, dict[str, Any](), dict[str, float]()
        if split.n_held_out:
            unmixings = (source.unmixing, target.unmixing)
            maps = candidate_maps(options.groups, moments.fitted, unmixings)
            errors = errors_by_map(pair, maps, held_out=True)
            p_values = held_out_p_values(
                pair, maps, permutations=options.permutations, seed=options.seed
            )
        outside = _held_out_errors(pair, errors, options.seed)
        advance(1)
        chance = chance_level(pair, options, advance)
        defect = _defect(pair)
        advance(1)
    fits = tuple(
        _fit(name, within, outside, errors, chance, p_values, suprema)
        for name in maps
        if name != CONSTANT
    )
    up_to, agreement = _decide(pair, fits, within, outside, options)
    chosen = next((fit for fit in fits if fit.up_to is up_to and not fit.unmixed), None)
    pictured = up_to or min(
        (Group(name) for name in maps if name not in (CONSTANT, ICA_ROW)),
        key=lambda group: within[group].rms,
    )
    even = _r2_per_direction(pair, maps[pictured]) if split.n_held_out else None
    return Comparison(
        first=source.summary,
        second=target.summary,
        n_samples=len(split.parts),
        n_held_out=split.n_held_out,
        fits=fits,
        defect=defect,
        r2_per_direction=even,
        efficiency=_efficiency(outside),
        efficiency_in_sample=_efficiency(within),
        up_to=up_to,
        agreement=agreement,
        verdict=sentence(
            agreement,
            up_to,
            chosen,
            n_samples=len(split.parts),
            asked=options.held_out,
            even=even,
        ),
        findings=remarks(pair, fits, moments.fitted, chosen, agreement, even, options),
        scatter=_scatter(pair, maps[pictured], pictured, label, labels),
        provenance=Provenance(call="", seed=options.seed, engine="", seconds=0.0, versions={}),
    )


def _held_out_errors(pair: Pair, errors: Mapping[str, Float], seed: int) -> dict[str, Errors]:
    if not errors:
        return {}
    total = float(np.trace(pair.target.held_out.scatter)) / pair.extent**2
    means = mean_intervals(np.stack(list(errors.values()), axis=1), seed)
    return {
        name: summarise(errors[name], total, mean) for name, mean in zip(errors, means, strict=True)
    }


def _suprema(
    pair: Pair, maps: Mapping[str, AffineMap], errors: Mapping[str, Float]
) -> dict[str, Supremum]:
    """Bracket the smallest worst error of each group, over the diameter.

    A bound proved on some rows holds for all of them; the other end is reached on all rows.
    """
    groups = [group for group in Group if str(group) in maps]
    n_samples = len(pair.split.parts)
    limit = max(SUPREMUM_ROWS, 4 * pair.width)
    x, y = pair.source.sample[:limit], pair.target.sample[:limit]
    if n_samples > limit:
        # The rows that decide are those with large errors; a sample keeps the rest honest.
        share = limit // (2 * len(groups))
        worst_rows = [np.argpartition(-errors[group], share)[:share] for group in groups]
        index = np.unique(np.concatenate([*worst_rows, pair.split.first_rows(limit // 2)]))
        x, y = pair.take(index)
    work = 2.0 * len(x) * pair.width**2 + 60.0 * pair.width**3
    iterations = min(SUPREMUM_ITERATIONS, int(SUPREMUM_WORK / work))
    refined = {
        str(group): smallest_worst_error(
            group, x, y, maps[group], max_iterations=iterations, engine=pair.engine
        )
        for group in groups
    }
    worst = {name: each.worst for name, each in refined.items()}
    if n_samples > limit and iterations:
        everywhere = row_errors(
            pair.engine, pair.source.rows, pair.target.rows, [each.map for each in refined.values()]
        ).max(axis=0)
        worst = {name: float(value) for name, value in zip(refined, everywhere, strict=True)}
    elif n_samples > limit:
        worst = {}
    reached = {
        group: min(worst.get(group, np.inf) / pair.extent, float(errors[group].max()))
        for group in groups
    }
    proved = {group: refined[group].bound / pair.extent for group in groups}
    return {str(group): _consistent(group, reached, proved) for group in groups}


def _consistent(
    group: Group, reached: Mapping[Group, float], proved: Mapping[Group, float]
) -> Supremum:
    """Let a group use what its subgroups reach, and what is proved of the groups that hold it."""
    high = min(value for other, value in reached.items() if group.contains(other))
    low = min(high, max(value for other, value in proved.items() if other.contains(group)))
    return Supremum(high=high, low=low if low > 0 else None)


def _defect(pair: Pair) -> Defect:
    x, y = pair.source.sample[:DEFECT_ROWS], pair.target.sample[:DEFECT_ROWS]
    value = near_isometry_defect(x, y) / pair.extent
    return Defect(value=value, lower_bound=value / 2, n_rows=len(x))


def _fit(
    name: str,
    within: Mapping[str, Errors],
    outside: Mapping[str, Errors],
    errors: Mapping[str, Float],
    chance: Chance,
    p_values: Mapping[str, float],
    suprema: Mapping[str, Supremum],
) -> Fit:
    own, shuffled = errors.get(name), chance.errors.get(name)
    shown = [each for each in (own, shuffled) if each is not None]
    high = max((float(np.quantile(each, 0.995)) for each in shown), default=0.0)

    def picture(values: Float | None) -> Histogram | None:
        return None if values is None else histogram(values, high)

    return Fit(
        up_to=Group.SIGNED_PERMUTATION if name == ICA_ROW else Group(name),
        unmixed=name == ICA_ROW,
        in_sample=within[name],
        held_out=outside.get(name),
        chance_in_sample=chance.in_sample.get(name),
        chance=chance.held_out.get(name),
        p_value=p_values.get(name),
        supremum=suprema.get(name),
        histogram=picture(own),
        chance_histogram=picture(shuffled),
    )


def _decide(
    pair: Pair,
    fits: tuple[Fit, ...],
    within: Mapping[str, Errors],
    outside: Mapping[str, Errors],
    options: Options,
) -> tuple[Group | None, Agreement]:
    if "identity" in within and within["identity"].worst == 0.0:
        return Group.IDENTITY, "identical"
    n_paired = len(pair.source.paired)
    if n_paired == 0 or smallest_p_value(n_paired, options.permutations) > LEVEL:
        return None, "undecided"
    candidates = {
        fit.up_to: Candidate(error=fit.error.value, r2=fit.held_out.r2, p_value=fit.p_value)
        for fit in fits
        if not fit.unmixed and fit.held_out is not None
    }
    up_to = strictest_group(candidates, outside[CONSTANT].mean.value, options.tolerance)
    return up_to, agreement_of(candidates, up_to)


def _r2_per_direction(pair: Pair, affine_map: AffineMap) -> float:
    """Average R² over the target's principal directions, none counted below zero."""
    values, vectors = np.linalg.eigh(pair.target.everything.scatter)
    axes = vectors[:, values > 1e-10 * values[-1]]
    x, y = pair.source.paired, pair.target.paired
    residual = (y - affine_map.predict(x)) @ axes
    spread = (y - y.mean(axis=0)) @ axes
    total = np.einsum("ij,ij->j", spread, spread)
    left = np.einsum("ij,ij->j", residual, residual)
    share = np.divide(left, total, out=np.ones_like(left), where=total > 0)
    return float(np.mean(np.clip(1.0 - share, 0.0, 1.0)))


def _efficiency(errors: Mapping[str, Errors]) -> float | None:
    rows = (Group.SIGNED_PERMUTATION, Group.SIMILARITY, ICA_ROW)
    if not all(row in errors for row in rows):
        return None
    return ica_efficiency(*(errors[row].mean.value for row in rows))


def _scatter(
    pair: Pair, affine_map: AffineMap, up_to: Group, label: str | None, labels: Any
) -> Scatter:
    target = pair.target
    _, vectors = np.linalg.eigh(target.everything.scatter)
    axes = vectors[:, ::-1][:, :2]
    leading = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    axes = axes * np.where(leading < 0, -1.0, 1.0)
    if axes.shape[1] == 1:
        axes = np.hstack([axes, np.zeros_like(axes)])
    x, y = pair.source.sample[:SCATTER_ROWS], pair.target.sample[:SCATTER_ROWS]
    index = pair.split.first_rows(SCATTER_ROWS)
    points = (y - target.everything.mean) @ axes
    aligned = (affine_map.predict(x) - target.everything.mean) @ axes
    return Scatter(
        up_to=up_to,
        target=tuple((float(a), float(b)) for a, b in points),
        aligned=tuple((float(a), float(b)) for a, b in aligned),
        label=label,
        labels=() if labels is None else tuple(str(value) for value in labels[index]),
    )
