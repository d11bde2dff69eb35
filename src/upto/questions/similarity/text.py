"""Verdict and findings of `similarity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Finding
from upto.evidence.intervals import MIN_ROWS
from upto.evidence.serial import MIN_WORTH
from upto.measures.resample import LEVEL, MIN_HALF

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.questions.similarity.result import MeasureSummary, SimilarityResult

SHOWN_MEASURES, LISTED_MEASURES = 3, 8
"""Maximum number of measures named in the verdict and in a finding."""


def verdict(result: SimilarityResult) -> str:
    """Write the verdict: the pairs closer than chance, and their similarity."""
    if len(result.runs) == 2:
        first, second = (run.name for run in result.runs)
        close = [each for each in result.measures if _count(result, each)[0]]
        many = len(result.measures)
        shown, more = _first(close or list(result.measures))
        by = f"{len(close)} of {many} measures" if many > 1 else shown[0].title
        is_close = "closer than chance" if close else "no closer than chance"
        if not _is_tested(result):
            is_close = "not distinguishable from chance"
        by = by if close or many == 1 else f"any of {many} measures"
        values = ", ".join(
            f"{each.title} {_pair(result, each)}" if many > 1 else _pair(result, each)
            for each in shown
        )
        return f"{first} and {second} are {is_close} by {by}: {values}{more}."
    said: list[str] = []
    shown, more = _first(list(result.measures))
    for each in shown:
        close_pairs, pairs = _count(result, each)
        kind = " pairs" if not said else ""
        said.append(f"{close_pairs} of {pairs}{kind} by {each.title} (mean {each.mean.value:.2f})")
    return f"Among {len(result.runs)} runs, closer than chance: {', '.join(said)}{more}."


def _is_tested(result: SimilarityResult) -> bool:
    """Return whether there are enough pairings for a p-value of 5 %."""
    return (result.n_pairings + 1) * LEVEL >= 1


def _first(measures: list[MeasureSummary]) -> tuple[list[MeasureSummary], str]:
    """Return the measures to name, and a phrase that counts the others."""
    left = len(measures) - SHOWN_MEASURES
    more = f", and {left} more" if left > 0 else ""
    return measures[:SHOWN_MEASURES], more


def _count(result: SimilarityResult, measure: MeasureSummary) -> tuple[int, int]:
    rows = result.of(measure.name)
    return sum(row.is_beyond_chance for row in rows), len(rows)


def _pair(result: SimilarityResult, measure: MeasureSummary) -> str:
    rows = result.of(measure.name)
    values = " and ".join(f"{row.value.value:.2f}" for row in rows)
    levels = [row.chance for row in rows if row.chance is not None]
    # Rounded first, or chance would be minus zero.
    by_chance = f" (chance {round(sum(levels) / len(levels), 2) + 0.0:.2f})" if levels else ""
    return f"{values}{by_chance}"


def findings(
    result: SimilarityResult,
    *,
    asked: float,
    n_repeats: int,
    n_alone: int,
    n_far: int,
    worth: float,
    same: list[str],
) -> Iterator[Finding]:
    """Yield findings about rows, runs and chance.

    `asked` is the requested held-out fraction, `n_repeats` counts duplicate rows, `n_alone` rows
    alone in their class, `n_far` outliers in every run; `worth` is the effective number of
    independent rows, and `same` lists pairs of equal runs.
    """
    for code, message in (
        *_of_rows(result, asked, n_repeats, n_alone),
        *_of_runs(result, same),
        *_of_far_rows(result, n_far),
        *_of_chance(result, worth),
    ):
        yield Finding(code=code, message=message)


def _of_rows(
    result: SimilarityResult, asked: float, n_repeats: int, n_alone: int
) -> Iterator[tuple[str, str]]:
    n, used = result.n_samples, result.n_used
    if n_repeats:
        yield "UP007", f"{n_repeats} of {n} rows repeat another in every run and are left out."
    if used < n - n_repeats:
        yield "UP024", f"{used} of {n - n_repeats} rows are used."
    if n_alone:
        yield "UP027", f"{n_alone} of {used} rows cannot be re-paired within {result.within}."
    fitted = [measure.name for measure in result.measures if measure.held_out]
    if fitted and result.n_held_out < MIN_ROWS:
        held_out = f"{result.n_held_out} of {used} rows are held out"
        yield "UP015", f"{held_out} for {', '.join(fitted)}."
    if asked and not result.n_held_out:
        yield "UP015", f"{used} rows are too few to hold some out: all values are in-sample."
    if used < 2 * MIN_HALF:
        yield "UP015", f"{used} rows are too few for intervals."
    n_fit = used - result.n_held_out
    for run in result.runs:
        if fitted and n_fit < 5 * run.n_features:
            yield (
                "UP001",
                f"{n_fit} rows are fitted for {run.n_features} dimensions of {run.name}, "
                f"{n_fit / run.n_features:.1f} per dimension.",
            )


def _of_runs(result: SimilarityResult, same: list[str]) -> Iterator[tuple[str, str]]:
    for run in result.runs:
        if run.n_dead:
            many = f"{run.n_dead} of {run.n_features} coordinates"
            yield "UP013", f"{many} of {run.name} are constant."
    for names in same:
        yield "UP014", f"{names} are equal in every value."


def _of_far_rows(result: SimilarityResult, n_far: int) -> Iterator[tuple[str, str]]:
    if n_far:
        rows = "row is" if n_far == 1 else "rows are"
        yield ("UP039", f"{n_far} of {result.n_used} {rows} far from the others in every run.")


def _of_chance(result: SimilarityResult, worth: float) -> Iterator[tuple[str, str]]:
    if worth < MIN_WORTH:
        many = (
            f"{result.n_used} serially dependent rows are worth about {worth:.0f} independent ones"
        )
        yield "UP028", f"{many}, but a test needs {MIN_WORTH}: there are no p-values."
        return
    if not _is_tested(result):
        smallest = 1 / (result.n_pairings + 1)
        apart = f", {result.n_held_out} of them held out," if result.n_held_out else ""
        many = f"{result.n_used} rows{apart} can be paired in {result.n_pairings + 1} ways"
        yield "UP028", f"{many}: no p-value is below {smallest:.2g}."
        return
    within = []
    for measure in result.measures:
        close, pairs = _count(result, measure)
        if close < pairs:
            p = min(row.adjusted for row in result.of(measure.name))
            many = f"{pairs - close} of {pairs} pairs" if pairs > 1 else f"p = {p:.2g}"
            within.append(f"{measure.name} ({many})")
    if within:
        shown = ", ".join(within[:LISTED_MEASURES])
        left = len(within) - LISTED_MEASURES
        more = f" and {left} more measures" if left > 0 else ""
        yield "UP025", f"{shown}{more}."
