"""Score the similarity of runs by any measures, each with its chance level."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from upto.core import (
    UNRECORDED,
    Finding,
    InputError,
    choose_progress,
    unique_findings,
    with_provenance,
)
from upto.engines import choose_engine
from upto.evidence.held_out_rows import choose_held_out
from upto.evidence.pairings import are_near
from upto.evidence.sampled_rows import check_options, choose_rows
from upto.evidence.serial import MIN_WORTH
from upto.evidence.split import take_rows
from upto.evidence.strata import alone, strata_of, with_strata
from upto.files import match_rows
from upto.files.accept import take_runs
from upto.files.survey import place_runs, refuse_wide, survey_runs
from upto.measures import calibration
from upto.measures.catalogue import DEFAULT_MEASURES, as_measures
from upto.measures.distances import distances_to_median
from upto.measures.families import pairings_per_fit
from upto.measures.kinds import Change, Measure
from upto.measures.permutation import score_pairs, score_usable
from upto.questions.similarity import text
from upto.questions.similarity.pairwise_summary import mean_over_pairs, order_of_runs
from upto.questions.similarity.result import (
    MeasuredRun,
    MeasureSummary,
    Similarity,
    SimilarityResult,
)
from upto.questions.similarity.sample import Sample, order_of_content

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from upto.core import Progress
    from upto.core.array_types import Float
    from upto.engines.base import Engine
    from upto.evidence.memory import Memory
    from upto.files.accept import Run
    from upto.measures.pair_scores import Scored

MATRICES = 8
"""Square matrices in memory at once when the coordinates of wide runs are matched."""


@with_provenance
def similarity(
    *runs: Run,
    ids: str | Sequence[ArrayLike] | None = None,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    held_out: float = 0.5,
    permutations: int = 199,
    half_samples: int = 50,
    within: str | ArrayLike | None = None,
    max_rows: int = 2048,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> SimilarityResult:
    r"""Score every pair of runs by similarity measures, each value with its chance level.

    The chance level comes from random re-pairing of the same rows. All measures use the same rows;
    measures with fitted parameters are fitted on one part of them and scored on the other.

    Parameters
    ----------
    *runs
        Arrays, tensors, data frames, AnnData or xarray objects, paths (also ``"file.npz::key"`` and
        TOML manifests) or `Embeddings`, as `as_embeddings` takes them. Rows are matched by ids
        where all runs have them, else by position.
    ids
        Name of the column with one id per row, or a list with the ids of each run, to match rows.
    measures
        Measures or their names, with a parameter after a colon as in ``"svcca:20"``, or ``"all"``.
    held_out
        Fraction of the rows held out to score fitted measures. The choice depends only on the
        content of the rows and the seed. With 0, everything is in-sample.
    permutations
        Number of random re-pairings for chance levels and p-values; with few rows, all of them.
    half_samples
        Number of half-samples for each interval; 0 for no intervals.
    within
        Class of each row, as an array or a column name, e.g. batch. Rows are re-paired within
        classes only, so that agreement between classes is part of the chance level.
    max_rows
        Maximum number of rows to use, chosen by their content.
    seed
        Seed of the random number generator.
    engine
        Engine or its name; chosen automatically by default.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    SimilarityResult
        One row for each pair of runs and measure.

    Raises
    ------
    InputError
        If the runs cannot be compared, or a measure does not exist.

    See Also
    --------
    upto.SimilarityResult : What it returns.
    upto.compare : Up to which group two runs agree.
    upto.layers : The same measures between all layers of two networks.

    Notes
    -----
    With B random pairings, of which b score at least as high as the true one, the p-value is

    .. math::

        p = \frac{1 + b}{1 + B}

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rng = np.random.default_rng(0)
    >>> first = rng.normal(size=(200, 4))
    >>> second = first @ rng.normal(size=(4, 3))
    >>> found = upto.similarity(first, second, measures="linear-cka")
    >>> found.rows[0].is_beyond_chance
    True
    """
    check_options(held_out, permutations, half_samples, max_rows, seed)
    wanted = as_measures(measures)
    engine, progress = choose_engine(engine), choose_progress(progress)
    given = take_runs(runs, ids=ids)
    if len(given) < 2:
        message = f"a similarity needs two or more runs, not {len(given)}."
        raise InputError(message)
    # Others take few rows without matrices of all columns.
    if any(Change.ROTATION not in measure.ignores for measure in wanted):
        *_, other, width = sorted(run.n_features for run in given)
        needed = MATRICES * other / width
        refuse_wide(f"matching {width} columns", width, needed, "choose other measures, or ")
    column, given = with_strata(within, given)
    matched, found = match_rows(given)
    with progress.task("read runs", 3) as advance:
        placed = place_runs(engine, matched)
        surveys = survey_runs(engine, placed)
        advance(1)
        strata = strata_of(column, matched)
        split, remarked = choose_held_out(engine, placed, held_out, seed, strata=strata)
        advance(1)
        index = choose_rows(split, strata, max_rows)
        rows = [take_rows(engine, run.rows, index) for run in placed]
        advance(1)
    places = order_of_content(rows, seed)
    sample = Sample(
        runs=tuple(
            MeasuredRun(
                name=run.name,
                n_features=run.n_features,
                n_dead=int((survey.low == survey.high).sum()),
                layer=run.layer,
                seed=run.seed,
            )
            for run, survey in zip(matched, surveys, strict=True)
        ),
        rows=tuple(rows[place] for place in places),
        places=places,
        parts=split.parts[index],
        strata=None if strata is None else strata[index],
        far=_far_everywhere(rows) if split.memory is None else None,
        within=column,
        gap=None if split.memory is None else _gap(split.memory, index),
        n_samples=len(matched[0]),
        n_repeats=split.n_duplicates,
        asked=held_out,
    )
    _refuse_no_pairing(sample)
    worth = sample.worth
    if worth < MIN_WORTH:
        permutations = half_samples = 0
    shared = pairings_per_fit(wanted, sample.rows, sample.n_held_out)
    draws = _Draws(permutations, half_samples, shared, seed)
    scored, refused = _score(sample, wanted, draws, progress)
    return _result(sample, scored, [*found, *remarked, *refused], draws)


class _Draws(NamedTuple):
    """Numbers of random pairings and half-samples, and how many of them share a fit."""

    permutations: int
    half_samples: int
    shared: int
    seed: int


def _far_everywhere(rows: Sequence[Float]) -> NDArray[np.bool_] | None:
    """Return a mask of rows that are outliers in every run; None if there are none."""
    far = np.logical_and.reduce([~are_near(distances_to_median(own)) for own in rows])
    return far if far.any() else None


def _gap(memory: Memory, index: NDArray[np.intp]) -> int:
    """Return the lag, in chosen rows, beyond which serial dependence has faded."""
    apart = (int(index[-1]) - int(index[0])) / max(len(index) - 1, 1)
    return max(1, math.ceil(memory.fading / max(apart, 1.0)))


def _refuse_no_pairing(sample: Sample) -> None:
    if sample.within and alone(sample.cells) == sample.n_used:
        message = (
            f"none of {sample.n_used} rows within {sample.within} has another to be re-paired "
            "with, so there is no chance level: use more rows, or fewer classes."
        )
        raise InputError(message)


def _score(
    sample: Sample,
    measures: Sequence[Measure],
    draws: _Draws,
    progress: Progress,
) -> tuple[dict[str, list[Scored]], list[Finding]]:
    """Score every pair of runs by every measure that the number of rows allows."""
    count = len(sample.rows)
    directed = [(i, j) for i in range(count) for j in range(count) if i != j]
    found: dict[str, list[Scored]] = {}

    def score(some: Sequence[Measure], permutations: int, half_samples: int) -> list[Scored]:
        is_symmetric = all(measure.symmetric for measure in some)
        return score_pairs(
            sample.rows,
            [(i, j) for i, j in directed if i < j] if is_symmetric else directed,
            some,
            parts=sample.parts,
            strata=sample.classes,
            gap=sample.gap,
            permutations=permutations,
            half_samples=half_samples,
            shared=draws.shared,
            seed=draws.seed,
            progress=progress,
        )

    scored, findings = score_usable(score, measures, draws.permutations, draws.half_samples)
    for each in scored:
        if each.first < each.second or not each.measure.symmetric:
            found.setdefault(each.measure.name, []).append(each)
    return {each.name: found[each.name] for each in measures if each.name in found}, findings


def _result(
    sample: Sample, scored: dict[str, list[Scored]], found: Sequence[Finding], draws: _Draws
) -> SimilarityResult:
    everything = [each for own in scored.values() for each in own]
    adjusted = iter(calibration.adjusted_p_values(everything))
    rows: list[Similarity] = []
    for own in scored.values():
        rows += _rows(sample, own, [next(adjusted) for _ in own])
    example = next(iter(scored.values()))[0]
    result = SimilarityResult(
        runs=sample.runs,
        n_samples=sample.n_samples,
        n_used=sample.n_used,
        n_held_out=sample.n_held_out,
        n_pairings=len(example.null),
        n_fits=_fits(len(example.null), draws.shared, complete=example.complete),
        complete=example.complete,
        within=sample.within,
        measures=tuple(_summary(sample, own) for own in scored.values()),
        rows=tuple(rows),
        verdict="",
        findings=(),
        provenance=UNRECORDED,
    )
    remarks = text.findings(
        result,
        asked=sample.asked,
        n_repeats=sample.n_repeats,
        n_alone=0 if sample.strata is None else alone(sample.cells),
        n_far=0 if sample.far is None else int(sample.far.sum()),
        worth=sample.worth,
        same=sample.equal_runs(),
    )
    return replace(
        result, verdict=text.verdict(result), findings=unique_findings([*found, *remarks])
    )


def _fits(n_pairings: int, shared: int, *, complete: bool) -> int | None:
    """Return the number of pairings of the fitted rows, the true one included, if shared."""
    if shared == 1 or complete or not n_pairings:
        return None
    return -(-(n_pairings + 1) // shared)


def _rows(sample: Sample, scored: list[Scored], adjusted: list[float]) -> list[Similarity]:
    placed = []
    for each, p in zip(scored, adjusted, strict=True):
        places = sample.places[each.first], sample.places[each.second]
        first, second = sorted(places) if each.measure.symmetric else places
        row = Similarity(
            first=sample.runs[first].name,
            second=sample.runs[second].name,
            measure=each.measure.name,
            value=calibration.interval(each),
            chance=calibration.chance(each),
            limit=calibration.chance_limit(each),
            calibrated=calibration.calibrated(each),
            p_value=calibration.p_value(each),
            adjusted=p,
        )
        placed.append((first, second, row))
    return [row for *_, row in sorted(placed, key=lambda each: each[:2])]


def _summary(sample: Sample, scored: list[Scored]) -> MeasureSummary:
    measure, count = scored[0].measure, len(sample.runs)
    values = np.zeros((count, count))
    for each in scored:
        values[each.first, each.second] = each.value
        if measure.symmetric:
            values[each.second, each.first] = each.value
    back = np.argsort(sample.places)
    return MeasureSummary(
        name=measure.name,
        title=measure.title,
        says=measure.says,
        source=measure.source,
        low=measure.low if math.isfinite(measure.low) else None,
        high=measure.high if math.isfinite(measure.high) else None,
        closer=measure.closer,
        symmetric=measure.symmetric,
        metric=measure.metric,
        ignores=tuple(change.value for change in Change if change in measure.ignores),
        held_out=scored[0].held_out,
        mean=mean_over_pairs(values, measure),
        order=order_of_runs(values[np.ix_(back, back)], measure),
    )
