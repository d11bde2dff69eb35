"""Disentanglement scores of codes with known strengths and faults, compared with chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from upto.core import InputError, random_stream
from upto.disentanglement import CalibratedScore, evaluate_scores, find_scores
from upto_studies import metric_sweeps
from upto_studies.metric_cases import CASES, Case
from upto_studies.metric_claims import LARGE_LEAK, SMALL_LEAK, case_claims, sweep_claims
from upto_studies.metric_sweeps import Layout
from upto_studies.metric_tables import all_table, cases_table, noise_table, values_table
from upto_studies.outcome import Outcome, Work

if TYPE_CHECKING:
    from upto_studies.metric_tables import Readings

SCORES: tuple[str, ...] = (
    "infomec@adjusted",
    "infomec@latent_quantization",
    "mig@adjusted",
    "mig@disentanglement_lib",
    "mig@ubisoft",
    "mig-sup@adjusted",
    "mig-sup@ubisoft",
    "dcimig@adjusted",
    "dcimig@ubisoft",
    "jemmig@ubisoft",
    "ridgeway/modularity@adjusted",
    "ridgeway/modularity@disentanglement_lib",
    "irs@disentanglement_lib",
    "irs@robust",
    "linear-probe@held-out",
    "lms",
    "msas",
    "msgs",
    "gaussian-tc",
)
"""Scores fast enough for many shuffles."""

Strength = Annotated[float, Meta(gt=0.0)]
Classes = Annotated[list[Annotated[int, Meta(ge=2)]], Meta(min_length=3)]
Strengths = Annotated[list[Strength], Meta(min_length=2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Factors, number of rows and number of draws."""

    classes: Classes
    n_rows: Annotated[int, Meta(ge=100)]
    n_draws: Annotated[int, Meta(ge=1)]
    n_permutations: Annotated[int, Meta(ge=2)]
    slow_scores: list[str]
    costly_scores: list[str]
    n_slow_permutations: Annotated[int, Meta(ge=1)]
    image_classes: Classes
    row_counts: Annotated[list[Annotated[int, Meta(ge=100)]], Meta(min_length=2)]
    leaks: Strengths
    noises: Strengths
    angles: Annotated[list[Annotated[float, Meta(ge=0.0, le=90.0)]], Meta(min_length=2)]
    blurs: Strengths
    correlations: Annotated[list[Annotated[float, Meta(ge=0.0, lt=1.0)]], Meta(min_length=2)]


def run(settings: Settings, work: Work) -> Outcome:
    """Score every case of codes and chance, and increase faults one at a time."""
    _check(settings)
    with work.progress.task("scoring codes", settings.n_draws * len(CASES) + 5) as advance:
        readings: list[Readings] = []
        for draw in range(settings.n_draws):
            found: Readings = {}
            for case in CASES:
                for each in _scored(settings, work.seed, draw, case):
                    found[case.name, each.name] = each
                advance(1)
            readings.append(found)
        few = Layout(
            n_rows=settings.n_rows,
            classes=tuple(settings.classes),
            n_draws=settings.n_draws,
            seed=work.seed,
        )
        many = replace(few, n_rows=max(settings.row_counts), classes=tuple(settings.image_classes))
        noise, noise_panel = metric_sweeps.noise_by_rows(
            settings.row_counts, replace(many, n_draws=4 * settings.n_draws)
        )
        advance(1)
        leaks, leak_panel = metric_sweeps.leaking(settings.leaks, settings.noises, many)
        advance(1)
        _, turned_panel = metric_sweeps.turning(settings.angles, few)
        advance(1)
        _, blurred_panel = metric_sweeps.blurring(settings.blurs, few)
        advance(1)
        _, correlated_panel = metric_sweeps.correlating(settings.correlations, few)
        advance(1)
    measured = {
        **case_claims(readings, settings.classes, settings.n_rows, seed=work.seed),
        **sweep_claims(noise, leaks),
    }
    return Outcome(
        measured=measured,
        says=(
            f"noise has a reference InfoM of {measured['noise-images'].value:.2f}, and rotated "
            f"codes {-measured['order-reference'].value:.2f} less than noise; adjusted, noise has "
            f"{measured['noise-adjusted'].value:.2g} by every default score, and rotated codes "
            f"{measured['order-adjusted'].value:.2f} more"
        ),
        tables=(
            noise_table(readings),
            values_table(readings),
            cases_table(),
            all_table(readings),
        ),
        panels=(noise_panel, turned_panel, blurred_panel, leak_panel, correlated_panel),
    )


def _scored(settings: Settings, seed: int, draw: int, case: Case) -> list[CalibratedScore]:
    """Score one case of one draw; slow scores use only the first draw."""
    # All cases of a draw share their stream, so that they differ only in their fault.
    stream = random_stream(seed, "metric cases", str(draw))
    sample = case.make(settings.n_rows, settings.classes, stream)
    slow = [*settings.slow_scores, *(settings.costly_scores if draw == 0 else [])]
    asked = [(SCORES, settings.n_permutations)]
    if slow:
        asked.append((tuple(slow), settings.n_slow_permutations))
    return [
        each
        for scores, permutations in asked
        for each in evaluate_scores(
            sample.codes,
            sample.factors,
            scores=scores,
            discrete_codes=sample.discrete_codes,
            refits=permutations,
            half_samples=0,
            seed=seed,
        )
    ]


def _check(settings: Settings) -> None:
    for scores in (settings.slow_scores, settings.costly_scores):
        if scores:
            find_scores(scores)
    missing = {SMALL_LEAK, LARGE_LEAK} - set(settings.leaks)
    if missing:
        message = (
            f"the leaks lack {', '.join(f'{leak:g}' for leak in sorted(missing))}: add it, since "
            "the claims refer to it."
        )
        raise InputError(message)
