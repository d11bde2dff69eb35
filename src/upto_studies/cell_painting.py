"""Section 4.4 on real Cell Painting profiles: clones and doses on unseen plates and batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from upto.core import Estimate, InputError, unique_findings
from upto_studies.cell_painting_data import (
    PARENTAL,
    UNTREATED,
    WILD,
    Profiles,
    draw_profiles,
    read_profiles,
)
from upto_studies.held_out_plates import (
    FOUR,
    Question,
    Setup,
    auroc,
    difference,
    furthest_from_chance,
    gain,
    gaining,
    largest_turn,
    sweep,
    turn_rows,
)
from upto_studies.held_out_tables import (
    concentration_table,
    conditions_panel,
    paper_table,
    questions_table,
    sweep_panel,
    sweep_table,
)
from upto_studies.outcome import Outcome, Work

if TYPE_CHECKING:
    from upto.core import Finding, Panel
    from upto.questions.batches.result import BatchesResult

OPEN = (*FOUR, "batch-scaled", "combat", "biology")
"""Conditions that need no controls: all controls are evaluated."""
CONTROLLED = ("base", "control-scaled", "tvn")
"""Conditions for which half of the controls correct and the other half are evaluated."""
QUICK = {"base": 0.977, "pca": 0.961, "ica": 0.930, "random": 0.907}
"""Our pilot results for the clones, five folds over plates."""
MAIN = "clone by plate"
DOSES = ("dose", "parental", "sham")
"""Prefixes of the names of questions about doses."""
DIRECTIONS = 20
"""Directions kept by whitening in the claims about few directions."""

SHAM = "sham"
"""Name of the question and treatment of a dose that was never given."""

Asked = Literal["clone", "untreated", "dose", "parental", "sham"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["profiles", "drawn"]
    questions: Annotated[list[Asked], Meta(min_length=1)]
    held_out: Annotated[list[Literal["plate", "batch"]], Meta(min_length=1)]
    plate_folds: Annotated[int, Meta(ge=2)]
    batch_folds: Annotated[int, Meta(ge=2)]
    components: list[Annotated[int, Meta(ge=2)]]
    classifiers: Annotated[list[Literal["boosted", "linear"]], Meta(min_length=1)]
    fits: Annotated[list[Literal["training", "all"]], Meta(min_length=1)]
    concentration: list[Annotated[float, Meta(gt=0.0, lt=100.0)]]
    n_turns: Annotated[int, Meta(ge=1)]
    n_wells: Annotated[int, Meta(ge=8)]
    n_features: Annotated[int, Meta(ge=4)]


def run(settings: Settings, work: Work) -> Outcome:
    """Evaluate conditions for every question, then possible explanations for the main one."""
    if "clone" not in settings.questions or "plate" not in settings.held_out:
        message = "the questions lack clone by plate: add both, since others are compared with it."
        raise InputError(message)
    profiles = _profiles(settings, work)
    asked = ask(profiles, settings)
    setups = [
        Setup(components=components, classifier=classifier, fit=fit)
        for classifier in settings.classifiers
        for fit in settings.fits
        for components in (*settings.components, None)
    ]
    steps = 2 * len(asked) + len(setups) + settings.n_turns
    with work.progress.task("judging conditions", steps) as advance:
        found: dict[str, BatchesResult] = {}
        controlled: dict[str, BatchesResult] = {}
        for name, question in asked.items():
            percents = settings.concentration if name == MAIN else ()
            found[name] = question.judge(
                OPEN, seed=work.seed, shuffled=True, concentration=tuple(percents)
            )
            advance(1)
            controlled[name] = question.judge(CONTROLLED, seed=work.seed, shuffled=True)
            advance(1)
        swept = sweep(asked[MAIN], setups, seed=work.seed, known=found[MAIN], advance=advance)
        turned = []
        for number in range(settings.n_turns):
            run_turned = turn_rows(asked[MAIN].run, seed=work.seed + number)
            result = replace(asked[MAIN], run=run_turned).judge(("base",), seed=work.seed)
            turned.append(auroc(result, "base"))
            advance(1)
    measured = _measured(found, controlled, swept, turned)
    main = found[MAIN]
    return Outcome(
        measured=measured,
        says=_says(measured, profiles, settings, gaining(found) + gaining(controlled)),
        tables=(
            paper_table(main, QUICK),
            questions_table(asked, found),
            replace(
                questions_table(asked, controlled),
                title="AUROC where the controls of a batch correct it",
            ),
            sweep_table(swept, len(profiles.plate)),
            *((concentration_table(main),) if settings.concentration else ()),
        ),
        panels=(
            conditions_panel(
                "Resistant clones against wild type",
                {f"{each} held out": found[f"clone by {each}"] for each in settings.held_out},
            ),
            sweep_panel(swept, auroc(main, "base")),
            *_sham_panels(controlled),
        ),
        findings=_findings(asked, found),
    )


def _sham_panels(controlled: dict[str, BatchesResult]) -> tuple[Panel, ...]:
    """Return the effect of scaling by controls on doses and on a dose that was never given."""
    names = {"doses": "dose by plate", "a dose never given": f"{SHAM} by plate"}
    shown = {title: controlled[name] for title, name in names.items() if name in controlled}
    if len(shown) < len(names):
        return ()
    return (conditions_panel("Plates scaled by their controls, doses against DMSO", shown),)


def _profiles(settings: Settings, work: Work) -> Profiles:
    if settings.data == "drawn":
        return draw_profiles(
            n_wells=settings.n_wells, n_features=settings.n_features, seed=work.seed
        )
    return read_profiles(work.data)


def ask(profiles: Profiles, settings: Settings) -> dict[str, Question]:
    """Return the questions by name."""
    parental = profiles.clone == PARENTAL
    dosed = np.unique(profiles.plate[profiles.treatment != UNTREATED])
    untreated_plates = ~np.isin(profiles.plate, dosed)
    kinds = {
        "clone": ("Resistant clone against wild type", None, "clone", WILD),
        "untreated": (
            "Resistant clone against wild type, untreated wells only",
            profiles.treatment == UNTREATED,
            "clone",
            WILD,
        ),
        "dose": ("Dose of bortezomib against DMSO", None, "treatment", UNTREATED),
        "parental": (
            "Dose of bortezomib against DMSO, parental cells only",
            parental,
            "treatment",
            UNTREATED,
        ),
        SHAM: ("A dose never given against DMSO", untreated_plates, "treatment", UNTREATED),
    }
    asked = {}
    for kind in settings.questions:
        says, chosen, label, control = kinds[kind]
        for each in settings.held_out:
            asked[f"{kind} by {each}"] = Question(
                name=f"{kind} by {each}",
                says=f"{says}; {each} held out",
                run=(give_sham(profiles) if kind == SHAM else profiles).embeddings(chosen),
                batch="plate",
                label=label,
                control=control,
                fold_by=None if each == "plate" else each,
                folds=settings.plate_folds if each == "plate" else settings.batch_folds,
            )
    return asked


def give_sham(profiles: Profiles) -> Profiles:
    """Label wells of every other untreated plate as dosed, where dosed plates have dosed wells.

    All wells are untreated, so these labels can be predicted only from the layout.
    """
    is_dosed = profiles.treatment != UNTREATED
    dosed_plates, dosed_wells = np.unique(profiles.plate[is_dosed]), profiles.well[is_dosed]
    untreated_plates = np.setdiff1d(profiles.plate, dosed_plates)
    # Dosed plates have some untreated wells, at the same positions on all of them.
    sham = np.isin(profiles.plate, untreated_plates[::2]) & np.isin(profiles.well, dosed_wells)
    return replace(profiles, treatment=np.where(sham, SHAM, profiles.treatment))


def _measured(
    found: dict[str, BatchesResult],
    controlled: dict[str, BatchesResult],
    swept: dict[Setup, BatchesResult],
    turned: list[Estimate | None],
) -> dict[str, Estimate]:
    measured: dict[str, Estimate | None] = {}
    for name, result in found.items():
        for condition in OPEN:
            measured[f"{name}/{condition}"] = auroc(result, condition)
        for condition in OPEN[1:]:
            measured[f"{name}/{condition}-base"] = gain(result, condition, "base")
        measured[f"{name}/ica-random"] = gain(result, "ica", "random")
        measured[f"{name}/ica-pca"] = gain(result, "ica", "pca")
        measured[f"{name}/within"] = result.score("base").within
        measured[f"{name}/positions"] = result.leak.well
        measured[f"{name}/batches alone"] = result.leak.batch
        for condition in CONTROLLED[1:]:
            measured[f"{name}/{condition}"] = auroc(controlled[name], condition)
            measured[f"{name}/{condition}-base"] = gain(controlled[name], condition, "base")
    main = found[MAIN]
    everything = {**found, **{f"{name}, controls": each for name, each in controlled.items()}}
    clones = {name: each for name, each in everything.items() if not name.startswith(DOSES)}
    measured["gains"] = Estimate(value=float(len(gaining(everything))))
    measured["gains for clones"] = Estimate(value=float(len(gaining(clones))))
    measured["shuffled"] = furthest_from_chance({MAIN: main})
    measured["sparsity ica-random"] = gain(main, "ica", "random", "sparsity")
    measured["sparsity ica-base"] = gain(main, "ica", "base", "sparsity")
    base = auroc(main, "base")
    values = [each.value for each in turned if each is not None]
    if base is not None and values:
        ends = (base.value - max(values), base.value - min(values))
        measured["axes"] = Estimate(
            value=base.value - float(np.mean(values)), low=ends[0], high=ends[1]
        )
    measured["linear turns"] = largest_turn(swept)
    few = Setup(components=DIRECTIONS, classifier="boosted", fit="training")
    if few in swept:
        measured["few directions"] = difference(auroc(swept[few], "ica"), auroc(main, "ica"))
        measured["few directions/ica-base"] = gain(swept[few], "ica", "base")
    transductive = Setup(components=None, classifier="boosted", fit="all")
    if transductive in swept:
        measured["fit all/ica-base"] = gain(swept[transductive], "ica", "base")
    if any(each.percent == 25.0 for each in main.concentrations):
        at = {name: main.concentration(name, 25.0).value for name in FOUR}
        for first, second in (("ica", "base"), ("ica", "pca"), ("ica", "random")):
            measured[f"concentration {first}-{second}"] = difference(at[first], at[second])
    return {name: each for name, each in measured.items() if each is not None}


def _findings(asked: dict[str, Question], found: dict[str, BatchesResult]) -> tuple[Finding, ...]:
    """Return the findings on held-out plates, each with its question."""
    return unique_findings(
        [
            replace(finding, message=f"{asked[name].says}: {finding.message}")
            for name, result in found.items()
            if asked[name].fold_by is None
            for finding in result.findings
            if finding.code != "UP004"
        ]
    )


def _says(
    measured: dict[str, Estimate],
    profiles: Profiles,
    settings: Settings,
    gains: list[tuple[str, str, Estimate]],
) -> str:
    drawn = "drawn wells" if settings.data == "drawn" else "wells"
    says = (
        f"on held-out plates ({len(profiles.plate):,} {drawn}) the features predict resistant "
        f"clones with AUROC {measured[f'{MAIN}/base'].value:.3f} and PCA + ICA with "
        f"{measured[f'{MAIN}/ica'].value:.3f} ({measured[f'{MAIN}/ica-base']:+.3f}); well position "
        f"alone reaches {measured[f'{MAIN}/positions'].value:.3f}"
    )
    if not gains:
        return f"{says}; no condition improves on the features by more than folds vary"
    name, condition, value = max(gains, key=lambda each: each[2].value)
    says += f"; the largest gain is that of {condition} ({name}, {value:+.3f})"
    sham = measured.get(f"{SHAM} by plate/{condition}")
    if sham is None or not name.startswith(DOSES):
        return says
    return f"{says}, which also predicts a dose that was never given, with AUROC {sham.value:.3f}"
