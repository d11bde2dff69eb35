"""Agreement of two trained models, up to each group and by similarity measures."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

import upto
from upto.core import Estimate, Finding, Group, random_stream
from upto.measures import ica_efficiency
from upto.measures.catalogue import find_measure
from upto.measures.kinds import MomentMeasure
from upto.measures.moments import pair_moments

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from upto.core.array_types import Float
    from upto.engines.base import Engine
    from upto.questions.compare.result import CompareResult
    from upto.questions.similarity.result import SimilarityResult

GROUPS = (
    "signed-permutation",
    "signed-similarity",
    "scaled-permutation",
    "rigid",
    "similarity",
    "affine",
)
"""Groups of the columns of Table 1 of Nelson et al. 2026, without ICA, with and without scales."""
UNMIXED = "ica"
"""Name of the row in which both runs are unmixed before components are matched."""

_HELD_OUT_SHARE = 0.5
_PAIRINGS = 19
"""Random pairings of rows for the chance level of a measure, whose mean needs few."""
_REFITS = 2
_MAX_ROWS = 8192
_FEWEST_PAIRS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far one run is from another after the best map of each group.

    Errors are mean L2 distances over the diameter of the target, by name of the group: those of
    `GROUPS`, and ``"ica"`` where it was asked for.

    Parameters
    ----------
    held_out
        Errors on rows that the maps were not fitted to.
    in_sample
        Errors on the rows that the maps were fitted to, as the papers report them.
    chance
        Held-out errors of maps fitted to shuffled rows.
    r2
        Share of the variance of the held-out rows that each map explains.
    efficiency, efficiency_in_sample
        Share of the gap between permutation and rigid motion that ICA closes, by the formula of
        Table 1 of Nelson et al. 2026; None without ICA or where there is no gap.
    measures
        Similarity measures, scored on held-out rows where they have weights to fit.
    measures_in_sample
        The same, fitted and scored on all rows.
    measures_chance, measures_chance_in_sample
        Means over random pairings of the rows.
    findings
        What `compare` remarks on, e.g. too few rows.
    """

    held_out: dict[str, float]
    in_sample: dict[str, float]
    chance: dict[str, float]
    r2: dict[str, float]
    efficiency: float | None
    efficiency_in_sample: float | None
    measures: dict[str, float]
    measures_in_sample: dict[str, float]
    measures_chance: dict[str, float]
    measures_chance_in_sample: dict[str, float]
    findings: tuple[Finding, ...] = ()


def agreement_of(
    first: Any,
    second: Any,
    *,
    measures: Sequence[str] = ("mean-cca",),
    ica: bool = False,
    groups: NDArray[np.int64] | None = None,
    seed: int = 0,
    engine: Engine | str | None = None,
    max_rows: int = _MAX_ROWS,
) -> Agreement:
    """Compare two runs of the same rows.

    Parameters
    ----------
    first, second
        Rows of the two runs; the first is mapped onto the second.
    measures
        Names of similarity measures; ``"svcca-16"`` is SVCCA of 16 directions.
    ica
        Whether to add ICA followed by a signed permutation.
    groups
        Group of each row. Whole groups are held out, also for measures, which must then be of
        moments.
    seed
        Seed of the split into fitted and held-out rows, of ICA and of the chance levels.
    engine
        Engine or its name; chosen automatically by default.
    max_rows
        Maximum number of rows that measures use.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(300, 3))
    >>> found = agreement_of(rows, rows @ rng.normal(size=(3, 3)) + 1)
    >>> round(found.r2["affine"], 6), round(found.measures["mean-cca"], 6)
    (1.0, 1.0)
    """
    compared = upto.compare(
        first,
        second,
        up_to=Group.AFFINE,
        permutations=_PAIRINGS,
        refits=_REFITS,
        ica=ica,
        groups=groups,
        seed=seed,
        engine=engine,
        progress=False,
    )
    known = {_library_name(name): name for name in measures}

    def scored(share: float) -> SimilarityResult:
        return upto.similarity(
            first,
            second,
            measures=tuple(known),
            held_out=share,
            permutations=_PAIRINGS,
            half_samples=0,
            max_rows=max_rows,
            seed=seed,
            engine=engine,
            progress=False,
        )

    errors = _errors(compared, (*GROUPS, UNMIXED) if ica else GROUPS)
    values, chance = (
        _values(scored(_HELD_OUT_SHARE), known)
        if groups is None
        else _of_groups(np.asarray(first), np.asarray(second), known, groups, seed)
    )
    values_in_sample, chance_in_sample = _values(scored(0.0), known)
    return Agreement(
        held_out=errors["held out"],
        in_sample=errors["in sample"],
        chance=errors["chance"],
        r2=errors["R²"],
        efficiency=_efficiency(errors["held out"]),
        efficiency_in_sample=_efficiency(errors["in sample"]),
        measures=values,
        measures_in_sample=values_in_sample,
        measures_chance=chance,
        measures_chance_in_sample=chance_in_sample,
        findings=compared.findings,
    )


def split_rows(
    n_rows: int, groups: NDArray[np.int64] | None, *, share: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split rows at random, or whole groups of them: the first part has about `share` of the rows.

    Examples
    --------
    >>> first, second = split_rows(6, np.array([1, 1, 2, 2, 3, 3]), share=0.4, seed=0)
    >>> len(first), len(second)
    (2, 4)
    """
    stream = random_stream(seed, "split")
    if groups is None:
        order = stream.permutation(n_rows)
        n_first = round(share * n_rows)
        return order[:n_first], order[n_first:]
    names, counts = np.unique(groups, return_counts=True)
    order = stream.permutation(len(names))
    n_groups = int(np.searchsorted(np.cumsum(counts[order]), share * n_rows))
    chosen = names[order[: min(max(1, n_groups), len(names) - 1)]]
    is_first = np.isin(groups, chosen)
    return np.flatnonzero(is_first), np.flatnonzero(~is_first)


def over_pairs(values: ArrayLike, *, low: float = -math.inf, high: float = math.inf) -> Estimate:
    """Return the mean over independent pairs with a Student interval, from three pairs.

    Parameters
    ----------
    values
        Value of each pair.
    low, high
        Range of the values, to which the interval is clipped.

    Examples
    --------
    >>> f"{over_pairs([1.0, 2.0, 3.0]):.2f}"
    '2.00 [-0.48, 4.48]'
    """
    given = np.asarray(values, dtype=np.float64)
    mean = float(given.mean())
    if len(given) < _FEWEST_PAIRS:
        return Estimate(value=mean)
    half = float(stdtrit(len(given) - 1, 0.975) * given.std(ddof=1)) / math.sqrt(len(given))
    return _clipped(mean, half, low, high)


def over_runs(
    values: Iterable[tuple[tuple[Hashable, Hashable], float]],
    *,
    low: float = -math.inf,
    high: float = math.inf,
) -> Estimate:
    """Return the mean over pairs that share runs, with an interval from three runs.

    Pairs that share a run depend on each other, so whole runs are left out in turn (jackknife).

    Parameters
    ----------
    values
        The two runs of each pair, and its value.
    low, high
        Range of the values, to which the interval is clipped.

    Examples
    --------
    >>> f"{over_runs([(('a', 'b'), 1.0), (('b', 'c'), 2.0), (('c', 'a'), 3.0)]):.2f}"
    '2.00 [-2.97, 6.97]'
    """
    known = list(values)
    mean = float(np.mean([value for _, value in known])) if known else math.nan
    runs = {run for pair, _ in known for run in pair}
    without = [
        float(np.mean(kept))
        for run in runs
        if (kept := [value for pair, value in known if run not in pair])
    ]
    n_runs = len(runs)
    if n_runs < _FEWEST_PAIRS or len(without) < n_runs:
        return Estimate(value=mean)
    spread = math.sqrt(
        (n_runs - 1) / n_runs * np.square(np.array(without) - np.mean(without)).sum()
    )
    half = float(stdtrit(n_runs - 1, 0.975)) * spread
    return _clipped(mean, half, low, high)


def _clipped(mean: float, half: float, low: float, high: float) -> Estimate:
    # A mean of ones may be above one by rounding.
    return Estimate(
        value=mean,
        low=max(mean - half, min(low, mean)),
        high=min(mean + half, max(high, mean)),
    )


def _library_name(name: str) -> str:
    """Return the name of a measure in the catalogue, which has a colon before a number."""
    return re.sub(r"-(\d+)$", r":\1", name)


def _errors(compared: CompareResult, names: Iterable[str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {
        kind: {} for kind in ("held out", "in sample", "chance", "R²")
    }
    there = {fit.name for fit in compared.fits}
    for name in names:
        if name not in there:
            continue
        fit = compared.fit(name)
        found["in sample"][name] = fit.in_sample.mean.value
        if fit.held_out is not None:
            found["held out"][name] = fit.held_out.mean.value
            found["R²"][name] = fit.held_out.r2
        if fit.chance is not None:
            found["chance"][name] = fit.chance.mean.value
    return found


def _efficiency(errors: dict[str, float]) -> float | None:
    if UNMIXED not in errors:
        return None
    return ica_efficiency(errors["signed-permutation"], errors["similarity"], errors[UNMIXED])


def _values(
    scored: SimilarityResult, known: dict[str, str]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the values and chance levels of measures, of pairs scored both ways the mean."""
    values: dict[str, list[float]] = {}
    chance: dict[str, list[float]] = {}
    for row in scored.rows:
        values.setdefault(known[row.measure], []).append(row.value.value)
        if row.chance is not None:
            chance.setdefault(known[row.measure], []).append(row.chance)
    means = [
        {name: sum(each) / len(each) for name, each in own.items()} for own in (values, chance)
    ]
    return means[0], means[1]


def _of_groups(
    first: Float, second: Float, known: dict[str, str], groups: NDArray[np.int64], seed: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the values and chance levels of measures, with whole groups held out."""
    parts = split_rows(len(first), groups, share=_HELD_OUT_SHARE, seed=seed)
    stream = random_stream(seed, "paired by chance")
    paired = [(rows, rows) for rows in parts]
    by_chance = [[(rows, stream.permutation(rows)) for rows in parts] for _ in range(_REFITS)]

    def value(name: str, rows: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]) -> float:
        measure = find_measure(name)
        assert isinstance(measure, MomentMeasure)
        x, y = measure.prepared(first), measure.prepared(second)
        fit, held = (pair_moments(x[ours], y[theirs]) for ours, theirs in rows)
        return measure.scored(fit, held)

    return (
        {wanted: value(name, paired) for name, wanted in known.items()},
        {
            wanted: float(np.mean([value(name, rows) for rows in by_chance]))
            for name, wanted in known.items()
        },
    )
