"""Section 4.4 on speech embeddings: digits predicted for unseen speakers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from upto.core import Embeddings, Estimate, InputError
from upto.simulate import PlateLayout, ScreenEffects, draw_screen
from upto_studies.held_out_data import data_folder, find_file, read_arrays
from upto_studies.held_out_plates import (
    FOUR,
    USUAL,
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
    conditions_panel,
    paper_table,
    questions_table,
    sweep_panel,
    sweep_table,
    tasks_table,
)
from upto_studies.outcome import Outcome, Work

if TYPE_CHECKING:
    from pathlib import Path

    from upto.questions.batches.result import BatchesResult

FILE = "fsdd_silero6_embeddings.npz"
SHA256 = "48c316aa44b88da5609bded1237931cb5ca49e78794f141c7c56eaec84f190da"
HOW = (
    "checks/speech_embeddings.py in the repository of upto makes it from the 3,000 recordings "
    "of github.com/Jakobovski/free-spoken-digit-dataset (commit 26eb9aa, CC BY-SA 4.0) by "
    "silero-vad 6.2.3 (MIT); run the study on it with --set check=false"
)
CONDITIONS = (*FOUR, "batch-scaled", "combat", "biology")
QUICK = {"base": 0.954, "pca": 0.923, "ica": 0.844, "random": 0.830}
"""Our pilot results for all digits, one speaker held out at a time."""
DIRECTIONS = 20
"""Directions kept by whitening in the claims about few directions."""
N_SPEAKERS, N_DIGITS = 6, 10

Digit = Annotated[str, Meta(pattern="^[0-9]$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["embeddings", "drawn"]
    check: bool
    digits: Annotated[list[Digit], Meta(min_length=1)]
    sweep_digits: Annotated[list[Digit], Meta(min_length=1)]
    components: list[Annotated[int, Meta(ge=2)]]
    classifiers: Annotated[list[Literal["boosted", "linear"]], Meta(min_length=1)]
    fits: Annotated[list[Literal["training", "all"]], Meta(min_length=1)]
    concentration: list[Annotated[float, Meta(gt=0.0, lt=100.0)]]
    n_turns: Annotated[int, Meta(ge=1)]
    n_features: Annotated[int, Meta(ge=8)]


def run(settings: Settings, work: Work) -> Outcome:
    """Evaluate conditions for every digit, then possible explanations for some."""
    embeddings = _embeddings(settings, work)
    question = Question(
        name="digits",
        says="A digit against the others; speaker held out",
        run=embeddings,
        batch="speaker",
        label="digit",
        tasks=tuple(settings.digits),
        folds=N_SPEAKERS,
    )
    few = replace(question, name="some digits", tasks=tuple(settings.sweep_digits))
    setups = [
        Setup(components=components, classifier=classifier, fit=fit)
        for classifier in settings.classifiers
        for fit in settings.fits
        # The linear classifier only shows invariance to rotations, for which one fit suffices.
        if (classifier, fit) != ("linear", "all")
        for components in (*settings.components, None)
    ]
    with work.progress.task("judging conditions", 1 + len(setups) + settings.n_turns) as advance:
        result = question.judge(
            CONDITIONS,
            seed=work.seed,
            shuffled=True,
            concentration=tuple(settings.concentration),
        )
        advance(1)
        known = result if few.tasks == question.tasks else None
        swept = sweep(few, setups, seed=work.seed, known=known, advance=advance)
        turned = []
        for number in range(settings.n_turns):
            run_turned = turn_rows(embeddings, seed=work.seed + number)
            judged = replace(few, run=run_turned).judge(("base",), seed=work.seed)
            turned.append(auroc(judged, "base"))
            advance(1)
    measured = _measured(result, swept, turned)
    return Outcome(
        measured=measured,
        says=_says(measured, settings),
        tables=(
            paper_table(result, QUICK),
            questions_table({"digits": question}, {"digits": result}),
            tasks_table(result),
            sweep_table(swept, embeddings.n_samples),
        ),
        panels=(
            conditions_panel("Digits of speakers never heard", {"all digits": result}),
            *((sweep_panel(swept, auroc(swept[USUAL], "base")),) if USUAL in swept else ()),
        ),
        findings=tuple(each for each in result.findings if each.code != "UP004"),
    )


def _embeddings(settings: Settings, work: Work) -> Embeddings:
    if settings.data == "drawn":
        return draw_speech(n_features=settings.n_features, seed=work.seed)
    return read_speech(work.data, check=settings.check)


def read_speech(data: Path | None, *, check: bool = True) -> Embeddings:
    """Read the embeddings of spoken digits.

    Raises
    ------
    InputError
        If the file is missing, or is not the expected one.
    """
    folder = data_folder(data, HOW)
    path = find_file(folder, FILE)
    if path is None:
        message = f"{folder} has no {FILE}: {HOW}, and give the folder as --data."
        raise InputError(message)
    stored = read_arrays(path, ("X", "digit", "speaker"), sha256=SHA256 if check else None, how=HOW)
    digits, speakers = stored["digit"].astype(str), stored["speaker"]
    counts = (len(np.unique(digits)), len(np.unique(speakers)))
    if counts != (N_DIGITS, N_SPEAKERS):
        message = (
            f"{path} has {counts[0]} digits of {counts[1]} speakers, not {N_DIGITS} of "
            f"{N_SPEAKERS}: {HOW}."
        )
        raise InputError(message)
    return Embeddings(
        rows=stored["X"].astype(np.float64),
        name="speech",
        columns={"digit": digits, "speaker": speakers},
    )


def draw_speech(*, n_features: int, seed: int) -> Embeddings:
    """Simulate rows of the same layout: ten labels in each of six batches."""
    digits = tuple(map(str, range(N_DIGITS)))
    screen = draw_screen(
        PlateLayout(
            n_experiments=1,
            n_plates=N_SPEAKERS,
            n_wells=110,
            guides=digits,
            controls_per_guide=1.0,
            control_plates=0.0,
        ),
        ScreenEffects(n_biological=4, n_technical=4, shift=3.0),
        n_features=n_features,
        seed=seed,
    )
    kept = ~screen.is_control
    return Embeddings(
        rows=screen.rows[kept],
        name="speech",
        columns={"digit": screen.treatment[kept], "speaker": screen.batch[kept]},
    )


def _measured(
    result: BatchesResult, swept: dict[Setup, BatchesResult], turned: list[Estimate | None]
) -> dict[str, Estimate]:
    measured: dict[str, Estimate | None] = {}
    for condition in CONDITIONS:
        measured[condition] = auroc(result, condition)
    for condition in CONDITIONS[1:]:
        measured[f"{condition}-base"] = gain(result, condition, "base")
    measured["ica-random"] = gain(result, "ica", "random")
    measured["ica-pca"] = gain(result, "ica", "pca")
    measured["gains"] = Estimate(value=float(len(gaining({"digits": result}))))
    measured["shuffled"] = furthest_from_chance({"digits": result})
    measured["sparsity ica-random"] = gain(result, "ica", "random", "sparsity")
    measured["sparsity ica-base"] = gain(result, "ica", "base", "sparsity")
    won = [
        _beats(auroc(result, "ica", task), auroc(result, "base", task)) for task in result.judged
    ]
    measured["digits won"] = Estimate(value=float(sum(won)))
    measured["linear turns"] = largest_turn(swept)
    usual = swept.get(USUAL)
    if usual is not None:
        values = [each.value for each in turned if each is not None]
        base = auroc(usual, "base")
        if base is not None and values:
            measured["axes"] = Estimate(
                value=base.value - float(np.mean(values)),
                low=base.value - max(values),
                high=base.value - min(values),
            )
        kept = Setup(components=DIRECTIONS, classifier="boosted", fit="training")
        if kept in swept:
            measured["few directions"] = difference(auroc(swept[kept], "ica"), auroc(usual, "ica"))
            measured["few directions/ica-base"] = gain(swept[kept], "ica", "base")
            measured["few directions/ica-random"] = gain(swept[kept], "ica", "random")
        transductive = replace(USUAL, fit="all")
        if transductive in swept:
            measured["fit all/ica-base"] = gain(swept[transductive], "ica", "base")
        linear = replace(USUAL, classifier="linear")
        if linear in swept:
            measured["linear/ica less trees on base"] = difference(
                auroc(swept[linear], "ica"), base
            )
    return {name: each for name, each in measured.items() if each is not None}


def _beats(one: Estimate | None, other: Estimate | None) -> bool:
    return one is not None and other is not None and one.value > other.value


def _says(measured: dict[str, Estimate], settings: Settings) -> str:
    speech = "drawn rows" if settings.data == "drawn" else "embeddings of speech"
    says = (
        f"on held-out speakers, {speech} predict the digit with AUROC "
        f"{measured['base'].value:.3f}, PCA + ICA with {measured['ica'].value:.3f} "
        f"({measured['ica-base']:+.3f}) and a random rotation with {measured['random'].value:.3f}"
    )
    gains = int(measured["gains"].value)
    if gains:
        return f"{says}; {gains} of {len(CONDITIONS) - 1} conditions improve on the embeddings"
    return f"{says}; no condition improves on the embeddings by more than folds vary"
