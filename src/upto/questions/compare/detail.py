"""Compare two runs in detail: errors, intervals, chance levels and the verdict."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment import AffineMap, smallest_worst_errors
from upto.core import (
    UNRECORDED,
    Baseline,
    Classes,
    Defect,
    Errors,
    Estimate,
    Fit,
    Group,
    Scatter,
    Supremum,
)
from upto.engines import has_cores_to_spare, side_by_side
from upto.engines.concurrent_steps import WIDEST_SIDE_BY_SIDE
from upto.evidence.intervals import histogram, mean_intervals, summarise
from upto.measures import ica_efficiency, near_isometry_defect
from upto.questions.compare.chance_level import Chance, chance_level
from upto.questions.compare.judged_pair import Judged, judge_pair
from upto.questions.compare.kept_maps import Maps
from upto.questions.compare.pair import (
    CONSTANT,
    ICA_ROW,
    UNMIXED,
    Pair,
    PairMoments,
    iterate_errors,
    pair_moments,
)
from upto.questions.compare.prediction import fitted_maps
from upto.questions.compare.remarks import remarks
from upto.questions.compare.result import CompareResult
from upto.questions.compare.verdict import sentence, undecided

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from upto.core import Histogram, Progress
    from upto.core.array_types import Float
    from upto.questions.compare.judge import Outcome
    from upto.questions.compare.pair import Map
    from upto.questions.compare.pair_options import Options


DEFECT_ROWS = 3000
DISTANCE_ROUNDING = 8 * float(np.finfo(np.float64).eps)
"""Relative rounding error of a distance, for each unit of the root of the width."""
SCATTER_ROWS = 1000
SUPREMUM_ROWS, SUPREMUM_WORST = 2048, 200
SUPREMUM_ITERATIONS = 40
SUPREMUM_WORK = 2e10
"""Floating-point operations per group for the smallest worst error."""
KEPT_ERRORS = 4096
"""Rows whose in-sample errors are kept to estimate their distribution."""
LEAST_GAIN = 0.01
"""Smallest gain of a rotation, relative to the error of the mean, that defines an efficiency."""


def compare_in_detail(
    pair: Pair,
    options: Options,
    progress: Progress,
    label: str | None,
    labels: Any,
    classes: NDArray[np.intp] | None = None,
) -> CompareResult:
    """Compare two prepared runs."""
    source, target, split = pair.source, pair.target, pair.split
    with progress.task("compare", 4) as advance:
        moments = pair_moments(pair)
        # Of wide runs, memory has room for few matrices at a time.
        if split.n_held_out and pair.width < WIDEST_SIDE_BY_SIDE:
            if {Group.RIGID, Group.SIMILARITY} & set(options.groups):
                moments.find_rotations()
            pair.whiten()
        fitted = replace(moments, everything=moments.fitted) if split.n_held_out else moments
        stop = Event()

        def go_on(count: int, advance: Callable[[int], None] = advance) -> None:
            # Where another step has failed or was interrupted, there is no use in this one.
            if stop.is_set():
                raise InterruptedError
            advance(count)

        steps: list[Callable[[], Any]] = [
            partial(_within_sample, pair, moments, options, go_on),
            partial(_by_chance, pair, options, progress, go_on),
            partial(_judged, pair, fitted, options, label, classes, go_on),
        ]
        del moments
        if has_cores_to_spare(pair.engine, pair.width):
            inside_sample, chance, judged = side_by_side(steps, n_blas_threads=1, stop=stop)
        else:
            inside_sample, chance = steps.pop(0)(), steps.pop(0)()
            pair.forget_in_sample()
            judged = steps.pop(0)()
        within, in_sample_errors, defect, suprema = inside_sample
        outcome, maps = judged.outcome, judged.maps
        errors = judged.errors if split.n_held_out else {}
        outside = _held_out_errors(pair, errors, in_sample_errors, options.seed)
        advance(1)
    fits = tuple(
        _fit(name, within, outside, judged, chance, suprema) for name in maps if name != CONSTANT
    )
    up_to, inside = outcome.up_to, judged.classes
    chosen = next((fit for fit in fits if fit.up_to is up_to and not fit.unmixed), None)
    pictured = up_to or min(judged.groups, key=lambda group: within[group].rms)
    mean = Baseline(in_sample=within[CONSTANT], held_out=outside.get(CONSTANT))
    is_known = _is_known(pair, outcome)
    return CompareResult(
        runs=(source.summary, target.summary),
        n_samples=len(split.parts),
        n_held_out=split.n_held_out,
        fits=fits,
        mean=mean,
        defect=defect,
        r2_per_direction=outcome.even,
        efficiency=_efficiency(outside, errors) if is_known else None,
        efficiency_in_sample=_efficiency(within, in_sample_errors) if is_known else None,
        up_to=up_to,
        agreement=outcome.agreement,
        exact=outcome.exact,
        shared=outcome.shared,
        along=judged.along,
        classes=inside,
        n_refits=chance.n_refits,
        verdict=_verdict(pair, outcome, chosen, mean, inside, options),
        findings=remarks(pair, fits, fitted.fitted, chosen, outcome, inside, options),
        scatter=_scatter(pair, maps[pictured], pictured, label, labels),
        provenance=UNRECORDED,
        maps=Maps.of(maps, source.summary.n_features),
    )


def _within_sample(
    pair: Pair, moments: PairMoments, options: Options, advance: Callable[[int], None]
) -> tuple[dict[str, Errors], dict[str, Float], Defect, dict[str, Supremum]]:
    """Return the in-sample errors, summarised and of some rows, and bounds of the worst ones."""
    maps = fitted_maps(pair, moments, options, fitted=False)
    within, worst_rows, kept = _in_sample_errors(pair, maps)
    advance(1)
    defect = _defect(pair)
    suprema = _suprema(pair, maps, within, worst_rows, defect)
    advance(1)
    return within, kept, defect, suprema


def _by_chance(
    pair: Pair, options: Options, progress: Progress, go_on: Callable[..., None]
) -> Chance:
    # A task of its own, because nobody knows how many refits it takes.
    with progress.task("chance level", options.refits) as advance:
        return chance_level(pair, options, partial(go_on, advance=advance))


def _judged(
    pair: Pair,
    moments: PairMoments,
    options: Options,
    label: str | None,
    classes: NDArray[np.intp] | None,
    advance: Callable[[int], None],
) -> Judged:
    judged = judge_pair(pair, moments, options, label, classes)
    advance(1)
    return judged


def _verdict(
    pair: Pair,
    outcome: Outcome,
    chosen: Fit | None,
    mean: Baseline,
    classes: Classes | None,
    options: Options,
) -> str:
    if outcome.agreement == "undecided":
        return undecided(
            len(pair.split.parts),
            asked=options.held_out,
            n_units=pair.split.n_units,
            within=pair.split.strata is not None,
        )
    return sentence(
        outcome.agreement,
        outcome.up_to,
        chosen,
        names=(pair.source.name, pair.target.name),
        shared=outcome.shared,
        exact=outcome.exact,
        mean=None if mean.held_out is None else Estimate(value=mean.held_out.mean.value),
        classes=classes,
        even=outcome.even,
    )


def _in_sample_errors(
    pair: Pair, maps: Mapping[str, Map]
) -> tuple[dict[str, Errors], dict[str, NDArray[np.intp]], dict[str, Float]]:
    """Summarise in-sample errors, find the largest, and keep those of a subset of rows."""
    total = float(np.trace(pair.target.everything.scatter)) / pair.extent**2
    summaries: dict[str, Errors] = {}
    worst_rows: dict[str, NDArray[np.intp]] = {}
    kept: dict[str, Float] = {}
    index = pair.split.first_rows(KEPT_ERRORS)
    for name, errors in iterate_errors(pair, maps, held_out=False):
        summaries[name] = summarise(errors, total)
        worst_rows[name] = _largest(errors, SUPREMUM_WORST)
        kept[name] = errors[index]
    return summaries, worst_rows, kept


def _held_out_errors(
    pair: Pair,
    errors: Mapping[str, Float],
    in_sample: Mapping[str, Float],
    seed: int,
) -> dict[str, Errors]:
    if not errors:
        return {}
    part = pair.target.held_out
    total = part.total_variance * part.weight / pair.extent**2
    fitted = pair.split.parts[pair.split.first_rows(KEPT_ERRORS)] == 0
    means = mean_intervals(
        np.stack(list(errors.values()), axis=1),
        seed,
        others=np.stack([in_sample[name][fitted] for name in errors], axis=1),
        clusters=pair.split.clusters(np.flatnonzero(pair.split.parts == 1)),
    )
    return {
        name: summarise(errors[name], total, mean) for name, mean in zip(errors, means, strict=True)
    }


def _suprema(
    pair: Pair,
    maps: Mapping[str, Map],
    within: Mapping[str, Errors],
    worst_rows: Mapping[str, NDArray[np.intp]],
    defect: Defect,
) -> dict[str, Supremum]:
    """Bracket the smallest worst error of each group, over the diameter.

    A lower bound on a subset of the rows is valid for all; the upper end is attained on all rows.
    """
    found = {name: each for name, each in maps.items() if isinstance(each, AffineMap)}
    groups = [group for group in Group if str(group) in found]
    n_samples = len(pair.split.parts)
    limit = max(SUPREMUM_ROWS, 4 * pair.width)
    index = pair.split.first_rows(limit)
    if n_samples > limit:
        # Rows with large errors decide; a random sample guards against large errors elsewhere.
        chosen = [worst_rows[group] for group in groups]
        index = np.unique(np.concatenate([*chosen, pair.split.first_rows(limit // 2)]))
    work = 2.0 * len(index) * pair.width**2 + 60.0 * pair.width**3
    iterations = min(SUPREMUM_ITERATIONS, int(SUPREMUM_WORK / work))
    reached = {group: within[group].worst for group in groups}
    # The identity is the only element of its group; other bounds take a fit.
    proved = {group: reached[group] if group is Group.IDENTITY else 0.0 for group in groups}
    if iterations:
        starts = {group: found[group] for group in groups}
        refined = smallest_worst_errors(
            *pair.take(index), starts, max_iterations=iterations, engine=pair.engine
        )
        proved = {group: refined[group].bound / pair.extent for group in groups}
        changed = {
            str(group): each.map for group, each in refined.items() if each.map is not starts[group]
        }
        if n_samples > limit:
            for name, errors in iterate_errors(pair, changed, held_out=False):
                reached[Group(name)] = min(float(errors.max()), reached[Group(name)])
        else:
            reached |= {
                group: min(reached[group], refined[group].worst / pair.extent) for group in groups
            }
    if pair.source.is_thin or pair.source.span.rank < pair.source.summary.n_features:
        # Fits without the narrow directions give no bound, because a map may use these.
        proved[Group.AFFINE] = 0.0
    for group in groups:
        if group.is_isometric:
            proved[group] = max(proved[group], defect.lower_bound)
    return {str(group): _consistent(group, reached, proved) for group in groups}


def _consistent(
    group: Group, reached: Mapping[Group, float], proved: Mapping[Group, float]
) -> Supremum:
    """Tighten a bracket with the maps of subgroups and the lower bounds of supergroups."""
    high = min(value for other, value in reached.items() if group.contains(other))
    low = min(high, max(value for other, value in proved.items() if other.contains(group)))
    return Supremum(high=high, low=low if low > 0 else None)


def _largest(values: Float, count: int) -> NDArray[np.intp]:
    if len(values) <= count:
        return np.arange(len(values))
    # A view would keep the positions of all rows in memory.
    return np.argpartition(-values, count)[:count].copy()


def _defect(pair: Pair) -> Defect:
    x, y = pair.source.sample[:DEFECT_ROWS], pair.target.sample[:DEFECT_ROWS]
    value = near_isometry_defect(x, y) / pair.extent
    # A distance of the source may be larger than the diameter by the change.
    rounding = DISTANCE_ROUNDING * (8 + math.sqrt(pair.width)) * (1.0 + value)
    return Defect(value=value, lower_bound=max(value - rounding, 0.0) / 2, n_rows=len(x))


def _fit(
    name: str,
    within: Mapping[str, Errors],
    outside: Mapping[str, Errors],
    judged: Judged,
    chance: Chance,
    suprema: Mapping[str, Supremum],
) -> Fit:
    p_value, even, r2_back = judged.scores[name]
    own, shuffled = judged.errors[name] if outside else None, chance.errors.get(name)
    shown = [each for each in (own, shuffled) if each is not None]
    high = max((float(np.quantile(each, 0.995)) for each in shown), default=0.0)

    def picture(values: Float | None) -> Histogram | None:
        return None if values is None else histogram(values, high)

    return Fit(
        up_to=UNMIXED.get(name) or Group(name),
        unmixed=name in UNMIXED,
        in_sample=within[name],
        held_out=outside.get(name),
        chance_in_sample=chance.in_sample.get(name),
        chance=chance.held_out.get(name),
        p_value=p_value,
        r2_per_direction=even if outside else None,
        r2_back=r2_back if outside else None,
        supremum=suprema.get(name),
        histogram=picture(own),
        chance_histogram=picture(shuffled),
    )


def _is_known(pair: Pair, outcome: Outcome) -> bool:
    """Return whether ICA has an efficiency: non-Gaussian components and related runs.

    Where most of the variance was not unmixed, the error of ICA is that of the rest.
    """
    runs = (pair.source, pair.target)
    if not all(run.summary.n_non_gaussian and run.is_mostly_unmixed for run in runs):
        return False
    return outcome.agreement not in ("chance", "undecided")


def _efficiency(summaries: Mapping[str, Errors], errors: Mapping[str, Float]) -> float | None:
    """Return the efficiency of ICA; None if its denominator is noise."""
    rows = (Group.SIGNED_PERMUTATION, Group.SIMILARITY, ICA_ROW)
    if not all(row in summaries for row in rows):
        return None
    gained = errors[Group.SIGNED_PERMUTATION] - errors[Group.SIMILARITY]
    noise = float(gained.std()) / np.sqrt(len(gained))
    least = LEAST_GAIN * summaries[CONSTANT].mean.value
    if float(gained.mean()) <= max(3 * noise, least):
        return None
    return ica_efficiency(*(summaries[row].mean.value for row in rows))


def _scatter(pair: Pair, affine_map: Map, up_to: Group, label: str | None, labels: Any) -> Scatter:
    target = pair.target
    axes = target.axes[:, :2]
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
