"""Section 4.4 on screens with known truth: when ICA helps on unseen plates, and when not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
import scipy.optimize
from msgspec import Meta

import upto
from upto.batch_metrics.effects import batch_and_label_shares
from upto.core import Estimate, InputError, random_stream
from upto.ica import ICA
from upto.simulate import CONTROL, GUIDES, PlateLayout, ScreenEffects
from upto_studies.outcome import Outcome, Work
from upto_studies.plate_cases import CASES, MAIN, draw_case
from upto_studies.plate_tables import (
    cases_panel,
    cases_table,
    mean_of,
    planted_table,
    rows_panel,
    within_table,
)

if TYPE_CHECKING:
    from upto.core import Embeddings
    from upto.questions.batches.result import BatchesResult
    from upto.simulate import Screen
    from upto_studies.plate_cases import Case


CONDITIONS = ("base", "pca", "ica", "random")
TRUTH = "truth"
ROWS = ("an eighth", "a quarter", "half", MAIN, "double")
"""Cases that differ only in the number of rows, fewest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Size of the screens, effects of guides, and number of repeats of each case."""

    cases: Annotated[list[str], Meta(min_length=1)]
    n_experiments: Annotated[int, Meta(ge=1)]
    n_plates: Annotated[int, Meta(ge=2)]
    n_wells: Annotated[int, Meta(ge=16)]
    n_guides: Annotated[int, Meta(ge=1, le=len(GUIDES))]
    controls_per_guide: Annotated[float, Meta(gt=0.0)]
    n_features: Annotated[int, Meta(ge=8)]
    shift: Annotated[float, Meta(gt=0.0)]
    plate_offset: Annotated[float, Meta(ge=0.0)]
    noise: Annotated[float, Meta(ge=0.0)]
    n_folds: Annotated[int, Meta(ge=2)]
    n_repeats: Annotated[int, Meta(ge=2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Measurements on one screen of a case.

    `auroc`, `within` and `sparsity` are by condition; `shuffled` only if requested. The rest refers
    to components fitted to all rows: how well the best matches every shifted factor, and how many
    of the shifted factors have a component that carries the correct effects.
    """

    rows_per_dimension: float
    auroc: dict[str, float]
    within: dict[str, float]
    sparsity: dict[str, float]
    shuffled: float | None
    matched: float
    carried: float


def run(settings: Settings, work: Work) -> Outcome:
    """Evaluate conditions on every kind of screen, and the recovery of planted factors."""
    unknown = [name for name in settings.cases if name not in CASES]
    if unknown:
        message = f"there is no case {unknown[0]!r}: choose from {', '.join(CASES)}."
        raise InputError(message)
    if MAIN not in settings.cases:
        message = f"the cases lack {MAIN!r}: add it, since the others are compared with it."
        raise InputError(message)
    found: dict[str, list[Reading]] = {}
    with work.progress.task("judging screens", len(settings.cases) * settings.n_repeats) as advance:
        for name in settings.cases:
            found[name] = []
            for repeat in range(settings.n_repeats):
                found[name].append(_read(CASES[name], settings, work.seed, repeat))
                advance(1)
    measured = _measured(found)
    return Outcome(
        measured=measured,
        says=_says(measured),
        tables=(cases_table(found), planted_table(found), within_table(found)),
        panels=(
            cases_panel(found),
            rows_panel({name: found[name] for name in ROWS if name in found}),
        ),
    )


def _read(case: Case, settings: Settings, seed: int, repeat: int) -> Reading:
    # A repeat has the same seed in every case, so that cases differ only by design.
    drawn = int(random_stream(seed, "plate screens", str(repeat)).integers(2**31))
    screen = draw_case(
        case,
        PlateLayout(
            n_experiments=settings.n_experiments,
            n_plates=settings.n_plates,
            n_wells=settings.n_wells,
            guides=GUIDES[: settings.n_guides],
            controls_per_guide=settings.controls_per_guide,
        ),
        ScreenEffects(shift=settings.shift, plate_offset=settings.plate_offset),
        n_features=settings.n_features,
        noise=settings.noise,
        seed=drawn,
    )
    kept = None if case.components is None else round(settings.n_features * case.components)
    shuffles = case.name == MAIN

    def judged(
        run: Embeddings, conditions: tuple[str, ...], components: int | None
    ) -> BatchesResult:
        return upto.batches(
            run,
            batch="batch",
            label="treatment",
            control=CONTROL,
            conditions=conditions,
            folds=settings.n_folds,
            n_components=components,
            classifier=case.classifier,
            concentration=(),
            shuffled=shuffles,
            mixing=False,
            maps=False,
            seed=drawn,
        )

    result = judged(screen.embeddings(), CONDITIONS, kept)
    truth = judged(screen.factor_embeddings(), ("base",), None).score("base")
    scores = {name: result.score(name) for name in CONDITIONS} | {TRUTH: truth}
    shuffled = [each.shuffled for each in scores.values() if each.shuffled is not None]
    matched, carried = _planted(screen, kept, drawn)
    return Reading(
        rows_per_dimension=len(screen.rows) / (kept or settings.n_features),
        auroc={name: _value(score.auroc) for name, score in scores.items()},
        within={name: _value(score.within) for name, score in scores.items()},
        sparsity={name: _value(score.sparsity) for name, score in scores.items()},
        shuffled=float(np.mean([each.value for each in shuffled])) if shuffled else None,
        matched=matched,
        carried=carried,
    )


def _planted(screen: Screen, kept: int | None, seed: int) -> tuple[float, float]:
    """Return the mean correlation of shifted factors with components, and the correct fraction."""
    components = ICA(kept, random_state=seed).fit_transform(screen.rows)
    moved = sorted({*screen.biological, *screen.technical})
    width = components.shape[1]
    together = np.corrcoef(components, screen.factors[:, moved], rowvar=False)
    correlations = np.abs(together[:width, width:])
    chosen, columns = scipy.optimize.linear_sum_assignment(correlations, maximize=True)
    effects = batch_and_label_shares(
        components, screen.batch, screen.treatment, controls=screen.is_control
    )
    right = [
        effects[component].carries == _truth_of(moved[column], screen)
        for component, column in zip(chosen.tolist(), columns.tolist(), strict=True)
    ]
    return float(correlations[chosen, columns].mean()), float(np.mean(right))


def _truth_of(factor: int, screen: Screen) -> str:
    by_label = bool(np.any(screen.shifts[:, factor]))
    by_batch = bool(np.any(screen.offsets[:, factor]))
    return {
        (True, True): "both",
        (True, False): "label",
        (False, True): "batch",
        (False, False): "neither",
    }[by_label, by_batch]


def _measured(found: dict[str, list[Reading]]) -> dict[str, Estimate]:
    measured: dict[str, Estimate] = {}
    for name, readings in found.items():
        slug = name.replace(",", "").replace(" ", "-")
        for condition, against in (
            ("ica", "base"),
            ("ica", "pca"),
            ("ica", "random"),
            ("pca", "base"),
            ("ica", TRUTH),
            ("base", TRUTH),
        ):
            values = [each.auroc[condition] - each.auroc[against] for each in readings]
            measured[f"{slug}/{condition}-{against}"] = mean_of(values)
        measured[f"{slug}/matched"] = mean_of([each.matched for each in readings], most=1.0)
        measured[f"{slug}/carried"] = mean_of([each.carried for each in readings], most=1.0)
        for condition in (*CONDITIONS, TRUTH):
            auroc = [each.auroc[condition] for each in readings]
            within = [each.within[condition] for each in readings]
            measured[f"{slug}/auroc-{condition}"] = mean_of(auroc)
            measured[f"{slug}/within-{condition}"] = mean_of(within)
        sparser = [each.sparsity["ica"] - each.sparsity["random"] for each in readings]
        measured[f"{slug}/sparser"] = mean_of(sparser)
        shuffled = [each.shuffled for each in readings if each.shuffled is not None]
        if shuffled:
            measured[f"{slug}/shuffled"] = mean_of(shuffled)
    measured |= _across(found)
    return {name: each for name, each in measured.items() if math.isfinite(each.value)}


def _across(found: dict[str, list[Reading]]) -> dict[str, Estimate]:
    """Compare cases that were drawn from the same seeds."""
    measured = {}
    if {"noise, all kept", "noise, a quarter kept"} <= set(found):
        pairs = zip(found["noise, a quarter kept"], found["noise, all kept"], strict=True)
        gains = [few.auroc["ica"] - many.auroc["ica"] for few, many in pairs]
        measured["noise-kept-out"] = mean_of(gains)
    if {"an eighth", MAIN} <= set(found):
        pairs = zip(found[MAIN], found["an eighth"], strict=True)
        lost = [
            (few.auroc[TRUTH] - few.auroc["ica"]) - (many.auroc[TRUTH] - many.auroc["ica"])
            for many, few in pairs
        ]
        measured["few-rows-cost"] = mean_of(lost)
    return measured


def _says(measured: dict[str, Estimate]) -> str:
    says = (
        f"on held-out plates of mixed non-Gaussian factors, trees gain "
        f"{measured[f'{MAIN}/ica-base'].value:.3f} of AUROC by ICA and "
        f"{measured[f'{MAIN}/ica-random'].value:.3f} over a random rotation"
    )
    if "axis-aligned/ica-base" in measured:
        says += (
            f"; where features are axis-aligned already, "
            f"{measured['axis-aligned/ica-base'].value:+.3f}"
        )
    if "gaussian/ica-random" in measured:
        says += f"; with Gaussian factors {measured['gaussian/ica-random'].value:+.3f} over it"
    return says


def _value(estimate: Estimate | None) -> float:
    return math.nan if estimate is None else estimate.value
