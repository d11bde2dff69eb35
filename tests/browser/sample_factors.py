"""Latents beside factors as `upto.factors` makes them, without scoring anything."""

from __future__ import annotations

from dataclasses import replace

from browser.sample_results import provenance

from upto.core import Estimate, Finding, Group, Supremum
from upto.questions.factors.parts import (
    FactorMatch,
    FactorSummary,
    FormScore,
    LatentForm,
    Structure,
    StructureFit,
)
from upto.questions.factors.result import FactorsResult

NAMES = ("floor hue", "wall hue", "object hue", "scale", "shape", "orientation")
GIVEN, ICA = "without ICA", "ICA"
# Name, title, better, value as given, value after ICA, chance, limit.
SCORES = (
    ("infomec/modularity", "InfoM", "higher", 0.39, 0.93, 0.05, 0.08),
    ("infomec/compactness", "InfoC", "higher", 0.25, 0.88, 0.04, 0.07),
    ("infomec/explicitness", "InfoE", "higher", 0.99, 0.99, 0.002, 0.004),
    ("mig@locatello", "mutual information gap", "higher", 0.02, 0.71, 0.01, 0.03),
    ("gaussian-tc", "Gaussian total correlation", "lower", 3.21, 0.08, 4.6, 4.1),
)
# Group, error as given, error after ICA.
ERRORS = (
    (Group.IDENTITY, 0.412, 0.391),
    (Group.SIGNED_PERMUTATION, 0.297, 0.118),
    (Group.SIGNED_SIMILARITY, 0.281, 0.064),
    (Group.SCALED_PERMUTATION, 0.270, 0.041),
    (Group.RIGID, 0.131, 0.115),
    (Group.SIMILARITY, 0.062, 0.061),
    (Group.AFFINE, 0.033, 0.033),
)
CHANCE = 0.318


def share(form: str, latent: int, factor: int) -> float:
    """Return what a latent tells of a factor: one latent each after ICA, some of all before."""
    if form == GIVEN:
        return round(0.55 / (1 + abs(latent - factor - 1)) ** 1.5, 3) if latent < 9 else 0.0
    if latent == factor + 1:
        return round(0.95 - 0.07 * (factor % 7), 3)
    return round(0.06 / (1 + abs(latent - factor)), 3) if latent < 9 else 0.0


def latent_form(
    name: str,
    factors: tuple[str, ...],
    n_latents: int,
    *,
    constant: tuple[int, ...] = (),
    converged: bool | None = True,
) -> LatentForm:
    """Make one form; each factor is matched to the latent after its own number, if there is one."""
    count = len(factors)
    dead = (n_latents - 1,) if n_latents > count + 1 else ()
    shares = tuple(
        tuple(
            None if j in constant else 0.0 if i in dead else share(name, i, j) for j in range(count)
        )
        for i in range(n_latents)
    )
    matched = [j + 1 if j + 1 < n_latents else None for j in range(count)]
    first = [latent for latent in matched if latent is not None]
    quiet = tuple(range(max(count + 2, n_latents - 3), n_latents))
    matches = []
    for j, factor in enumerate(factors):
        ranked = sorted(range(n_latents), key=lambda i: -(shares[i][j] or 0.0))
        told = j not in constant
        matches.append(
            FactorMatch(
                factor=factor,
                latent=ranked[0] if told else None,
                share=shares[ranked[0]][j],
                next_latent=ranked[1] if told and n_latents > 1 else None,
                next_share=shares[ranked[1]][j] if told and n_latents > 1 else None,
                assigned=matched[j],
                correlation=0.9 - 0.01 * j if told and factor != "shape" else None,
                r2=0.98 - 0.02 * (j % 20) if told and factor != "shape" else None,
            )
        )
    return LatentForm(
        name=name,
        says="The latents as they came." if name == GIVEN else "Centred, then turned by ICA.",
        n_latents=n_latents,
        converged=None if name == GIVEN else converged,
        n_iterations=None if name == GIVEN else 34,
        dead=dead,
        active=tuple(i for i in range(n_latents) if i not in quiet),
        spread=tuple(0.0 if i in dead else 0.01 if i in quiet else 1.2 for i in range(n_latents)),
        shares=shares,
        order=(*first, *(i for i in range(n_latents) if i not in first)),
        matches=tuple(matches),
    )


def form_score(form: str, row: tuple[str, str, str, float, float, float, float]) -> FormScore:
    name, title, better, given, after, chance, limit = row
    value = given if form == GIVEN else after
    best = 0.0 if better == "lower" else 1.0
    beyond = (value < limit) if better == "lower" else (value > limit)
    return FormScore(
        form=form,
        name=name,
        family=name.partition("/")[0],
        title=title,
        definition="How far the best latent outdoes the others.",
        better=better,  # type: ignore[arg-type]
        value=Estimate(value=value, low=value - 0.02, high=value + 0.015),
        chance=chance,
        limit=limit,
        calibrated=max((value - chance) / (best - chance), 0.0) if beyond else 0.0,
        p_value=0.05 if beyond else 0.35,
        per_factor=(),
        per_latent=(),
        says="",
    )


def structure(form: str) -> Structure:
    fits = []
    for group, given, after in ERRORS:
        error = given if form == GIVEN else after
        fits.append(
            StructureFit(
                up_to=group,
                error=Estimate(value=error, low=0.95 * error, high=1.06 * error),
                in_sample=0.97 * error,
                chance=CHANCE,
                p_value=0.05 if error < CHANCE else 0.6,
                r2=1 - (error / 0.31) ** 2,
                supremum=Supremum(high=2.6 * error, low=2.1 * error),
            )
        )
    group = Group.AFFINE if form == GIVEN else Group.SCALED_PERMUTATION
    return Structure(
        form=form,
        up_to=group,
        agreement="partial" if form == GIVEN else "close",
        verdict=f"The latents {form} identify the factors up to {group.phrase}.",
        fits=tuple(fits),
    )


def factors(
    names: tuple[str, ...] = NAMES,
    n_latents: int = 12,
    *,
    forms: tuple[str, ...] = (GIVEN, ICA),
    name: str = "ae-seed-0",
    truth: bool = True,
    constant: tuple[int, ...] = (),
    converged: bool = True,
    verdict: str = "After ICA, 6 of 6 factors have a latent of their own: "
    "InfoM 0.93 against 0.39 as given, chance 0.05.",
    findings: tuple[Finding, ...] = (),
) -> FactorsResult:
    """Make latents of which the one after each factor's number tells most of it after ICA."""
    return FactorsResult(
        name=name,
        n_samples=10_000,
        n_used=8_000,
        n_complete=7_500,
        n_held_out=2_250,
        n_refits=19,
        discrete_latents=False,
        factors=tuple(
            FactorSummary(
                name=each,
                kind="continuous" if each == "scale" else "discrete",
                n_values=8 + j,
                entropy=None if each == "scale" else 0.0 if j in constant else 2.08,
                labelled=0.9 if each == "shape" else 1.0,
                in_truth=each != "shape",
            )
            for j, each in enumerate(names)
        ),
        forms=tuple(
            latent_form(form, names, n_latents, constant=constant, converged=converged)
            for form in forms
        ),
        scores=tuple(form_score(form, row) for form in forms for row in SCORES),
        structure=tuple(structure(form) for form in forms) if truth else (),
        verdict=verdict,
        findings=findings,
        provenance=provenance("upto factors ae-seed-0.npy --factors factors.csv"),
    )


def renamed(result: FactorsResult, form: str, name: str, says: str) -> FactorsResult:
    """Call a form otherwise wherever it is named."""
    return replace(
        result,
        forms=tuple(
            replace(each, name=name, says=says) if each.name == form else each
            for each in result.forms
        ),
        scores=tuple(
            replace(score, form=name) if score.form == form else score for score in result.scores
        ),
        structure=tuple(
            replace(each, form=name) if each.form == form else each for each in result.structure
        ),
    )
