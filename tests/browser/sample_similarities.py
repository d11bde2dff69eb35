"""Similarities as `upto.similarity` makes them, without measuring anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from browser.sample_results import provenance

from upto.core import Estimate, Finding
from upto.questions.similarity.result import (
    MeasuredRun,
    MeasureSummary,
    Similarity,
    SimilarityResult,
)

ALL = ("translation", "scale", "permutation", "signs", "rotation", "coordinate scales", "linear")
SHAPE = ("translation", "scale", "permutation", "signs", "rotation")
COORDINATES = ("translation", "permutation", "signs", "coordinate scales")


def measure(
    name: str,
    title: str,
    *,
    low: float | None = -1.0,
    high: float | None = 1.0,
    closer: str = "higher",
    symmetric: bool = True,
    ignores: tuple[str, ...] = SHAPE,
) -> MeasureSummary:
    return MeasureSummary(
        name=name,
        title=title,
        says=f"How alike two runs are by {title}.",
        source="a paper",
        low=low,
        high=high,
        closer=closer,  # type: ignore[arg-type]
        symmetric=symmetric,
        metric=False,
        ignores=ignores,
        held_out=False,
        mean=Estimate(value=0.0),
        order=(),
    )


CKA = measure("linear-cka", "linear CKA")
CCA = measure("mean-cca", "mean canonical correlation", ignores=ALL)
DISTANCE = measure("procrustes", "Procrustes distance", low=0.0, high=2.0, closer="lower")
NEAR = measure("mutual-knn:10", "mutual nearest neighbours", low=0.0)
MATCH = measure("mcc", "strong MCC", ignores=COORDINATES)
ONTO = measure("pwcca", "PWCCA", symmetric=False, ignores=COORDINATES)
MEASURES = (CKA, CCA, DISTANCE, NEAR, MATCH, ONTO)


def closeness(i: int, j: int) -> float:
    """Return how alike two runs are from 0 to 1: less the further apart their numbers are."""
    return max(0.9 - 0.13 * abs(i - j) - 0.02 * min(i, j) + 0.01 * (i > j), 0.005)


def similarity(
    names: tuple[str, ...], each: MeasureSummary, i: int, j: int, *, bare: bool
) -> Similarity:
    share = closeness(i, j) * (0.08 if each.name == "mcc" else 1)
    chance, limit, best = 0.02, 0.1, 1.0
    value = share
    if each.closer == "lower":
        top = 2.0 if each.high is None else each.high
        value, chance, limit, best = (top * (1 - x) for x in (share, chance, limit, best))
    beyond = share > 0.1
    return Similarity(
        first=names[i],
        second=names[j],
        measure=each.name,
        value=Estimate(value=value) if bare
        else Estimate(value=value, low=value - 0.06, high=value + 0.05),
        chance=None if bare else chance,
        limit=None if bare else limit,
        calibrated=None if bare else max((value - limit) / (best - limit), 0.0),
        p_value=0.005 if beyond else 0.4,
        adjusted=0.012 if beyond else 0.61,
    )  # fmt: skip


def similarities(
    n_runs: int = 2,
    *,
    names: tuple[str, ...] | None = None,
    measures: tuple[MeasureSummary, ...] = MEASURES,
    bare: bool = False,
    within: str | None = None,
    verdict: str = "seed-0 and seed-1 are closer than chance by 5 of 6 measures: linear CKA 0.77.",
    findings: tuple[Finding, ...] = (),
) -> SimilarityResult:
    """Make so many runs; `bare` ones have neither intervals nor chance, as of very few rows."""
    names = names or tuple(f"seed-{i}" for i in range(n_runs))
    rows = tuple(
        similarity(names, each, *pair, bare=bare)
        for each in measures
        for i, j in combinations(range(n_runs), 2)
        for pair in (((i, j),) if each.symmetric else ((i, j), (j, i)))
    )
    # Odd runs before even ones: an order that is not that of the runs.
    order = (*range(1, n_runs, 2), *range(0, n_runs, 2))
    found = []
    for each in measures:
        values = [row.value.value for row in rows if row.measure == each.name]
        mean = sum(values) / len(values)
        spread = {"low": mean - 0.1, "high": mean + 0.1} if n_runs > 3 and not bare else {}
        found.append(replace(each, mean=Estimate(value=mean, **spread), order=order))
    return SimilarityResult(
        runs=tuple(MeasuredRun(name=name, n_features=32, n_dead=0) for name in names),
        n_samples=5000,
        n_used=2000,
        n_held_out=600,
        n_pairings=199,
        complete=False,
        within=within,
        measures=tuple(found),
        rows=rows,
        verdict=verdict,
        findings=findings,
        provenance=provenance("upto similarity seed-*.npy"),
    )
