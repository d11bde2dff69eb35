"""Report of the study of word embeddings: the figure, agreement, yardstick and neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from upto.core import Column, Estimate, Table
from upto_studies.autoencoder_tables import seed_mean
from upto_studies.outcome import Outcome
from upto_studies.train.softmax_members import device_title
from upto_studies.word_agreement import (
    KINDS,
    N_NEIGHBOURS,
    OBJECTS,
    TITLES,
    nearest,
    pair_values,
    r2_chance,
    r2_held_out,
    r2_in_sample,
)
from upto_studies.word_figures import agreement_panel, losses_panel, shown_panels, shown_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.outcome import Work
    from upto_studies.word_agreement import Score, WordPair
    from upto_studies.word_embeddings import Settings
    from upto_studies.word_runs import TrainedWords, WordRun

_SHOWN_WORDS = 8
_GROUPS = ("rigid", "similarity", "affine")


def outcome_of(
    settings: Settings, work: Work, trained: TrainedWords, pairs: Sequence[WordPair]
) -> Outcome:
    """Return the outcome of the study."""
    measured = _measured(settings, trained, pairs)
    flat = next((run for run in trained.runs.values() if run.training.size == 2), None)
    return Outcome(
        measured=measured,
        says=_says(settings, measured),
        tables=(
            _agreement_table(settings, pairs),
            _errors_table(settings, pairs),
            _yardstick_table(settings, trained),
            _neighbours_table(trained),
            *(() if flat is None else (_shown_table(settings, trained, flat),)),
        ),
        panels=(
            *(() if flat is None else shown_panels(settings, flat)),
            agreement_panel(settings, pairs),
            losses_panel(trained),
        ),
        device=device_title(work.device),
    )


def _measured(
    settings: Settings, trained: TrainedWords, pairs: Sequence[WordPair]
) -> dict[str, Estimate]:
    found: dict[str, Estimate | None] = {}
    for (loss, size), run in trained.runs.items():
        for what in OBJECTS:
            for kind in KINDS:
                name = f"{loss}, size {size}: {what}, {kind}"
                for title, score in (
                    ("R² in sample", r2_in_sample),
                    ("R² held out", r2_held_out),
                    ("R² by chance", r2_chance),
                ):
                    values = pair_values(pairs, loss, size, kind, what, score)
                    found[f"{name}, {title}"] = seed_mean(values)
            across, within = (
                pair_values(pairs, loss, size, kind, what, r2_held_out)
                for kind in ("halves", "seeds of a half")
            )
            found[f"{loss}, size {size}: {what}, halves less seeds of a half"] = _mean_difference(
                across, within
            )
            smallest = pair_values(pairs, loss, min(settings.sizes), "seeds", what, r2_held_out)
            values = pair_values(pairs, loss, size, "seeds", what, r2_held_out)
            if size != min(settings.sizes):
                found[f"{loss}: {what}, size {size} less size {min(settings.sizes)}"] = (
                    _mean_difference(values, smallest)
                )
        found[f"{loss}, size {size}: held-out loss over chance"] = seed_mean(
            run.held_out[: 2 * settings.n_pairs] / run.training.chance_loss()
        )
        found[f"{loss}, size {size}: shared neighbours"] = seed_mean(
            pair_values(pairs, loss, size, "seeds", "targets", lambda pair: pair.neighbours)
        )
    return {name: each for name, each in found.items() if each is not None}


def _mean_difference(first: Float, second: Float) -> Estimate | None:
    """Return the difference of two means over pairs with Welch's interval."""
    if min(len(first), len(second)) < 2:
        return (
            None
            if not (len(first) and len(second))
            else Estimate(value=float(first.mean() - second.mean()))
        )
    found = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    return Estimate(
        value=float(first.mean() - second.mean()), low=float(found.low), high=float(found.high)
    )


def _says(settings: Settings, measured: dict[str, Estimate]) -> str:
    text = "novels" if settings.data == "novels" else "drawn sentences, a substitute"
    parts = [
        f"{measured[name]:.2f} ({loss} loss, size {size})"
        for loss in settings.losses
        for size in settings.sizes
        if (name := f"{loss}, size {size}: predictions, seeds, R² held out") in measured
    ]
    return (
        f"an affine map between two seeds of a word-embedding model of {text} explains this share "
        f"of the variance of predictions on held-out text: {', '.join(parts)}"
    )


def _agreement_table(settings: Settings, pairs: Sequence[WordPair]) -> Table:
    scores: tuple[tuple[str, Score], ...] = (
        ("R², held out", r2_held_out),
        ("R², in sample", r2_in_sample),
        ("R², chance", r2_chance),
        ("mean CCA, held out", lambda pair: pair.agreement.measures["mean-cca"]),
        ("mean CCA, chance", lambda pair: pair.agreement.measures_chance.get("mean-cca")),
        ("shared neighbours", lambda pair: pair.neighbours),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            loss,
            size,
            TITLES[what],
            TITLES[kind],
            *(seed_mean(pair_values(pairs, loss, size, kind, what, score)) for _, score in scores),
        )
        for loss in settings.losses
        for size in settings.sizes
        for what in OBJECTS
        for kind in KINDS
    ]
    return Table(
        title="Word embeddings of two trainings, up to a linear map",
        columns=(
            Column(name="loss"),
            Column(name="size"),
            Column(name="rows"),
            Column(name="pairs"),
            *(Column(name=title, spec=".3f") for title, _ in scores),
        ),
        rows=tuple(rows),
        caption=(
            f"{settings.n_pairs} pairs of each kind, which share no member; 95 % intervals of "
            "Student. In sample: least squares without intercept on standardised coordinates, as "
            "in the paper; held out: affine, on rows that the map was not fitted to. Neighbours: "
            f"share of the {N_NEIGHBOURS} nearest words in common; "
            f"{N_NEIGHBOURS / (settings.n_words - 1):.3f} by chance."
        ),
    )


def _errors_table(settings: Settings, pairs: Sequence[WordPair]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for loss in settings.losses:
        for size in settings.sizes:
            for what in OBJECTS:
                for group in _GROUPS:
                    means = []
                    for basis in ("held_out", "in_sample", "chance"):
                        values = pair_values(
                            pairs, loss, size, "seeds", what, _error_of(group, basis)
                        )
                        means.append(seed_mean(values))
                    rows.append((loss, size, TITLES[what], group, *means))
    return Table(
        title="Errors of two seeds up to groups",
        columns=(
            Column(name="loss"),
            Column(name="size"),
            Column(name="rows"),
            Column(name="up to"),
            *(Column(name=f"ε, {each}") for each in ("held out", "in sample", "chance")),
        ),
        rows=tuple(rows),
        caption="ε: mean distance over the diameter, of standardised coordinates.",
    )


def _error_of(group: str, basis: str) -> Score:
    return lambda pair: getattr(pair.agreement, basis).get(group)


def _yardstick_table(settings: Settings, trained: TrainedWords) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for (loss, size), run in trained.runs.items():
        for part in dict.fromkeys(trained.parts):
            own = np.array([each == part for each in trained.parts])
            last = run.losses[-max(1, len(run.losses) // 20) :, own].mean(axis=0)
            rows.append(
                (
                    loss,
                    size,
                    part,
                    seed_mean(last),
                    seed_mean(run.held_out[own]),
                    run.training.chance_loss(),
                    seed_mean(run.held_out[own] / run.training.chance_loss()),
                )
            )
    return Table(
        title="True words told from noise",
        columns=(
            Column(name="loss"),
            Column(name="size"),
            Column(name="text"),
            Column(name="training, end", spec=".3f"),
            Column(name="held out", spec=".3f"),
            Column(name="best without context", spec=".3f"),
            Column(name="held out over it", spec=".3f"),
        ),
        rows=tuple(rows),
        caption=(
            f"{trained.n_training:,} training and {trained.n_held_out:,} held-out tokens; "
            f"{settings.n_noise} noise words for each gap, drawn by frequency. A model that knows "
            "only how frequent words are can do no better than the best without context."
        ),
    )


def _neighbours_table(trained: TrainedWords) -> Table:
    run = max(trained.runs.values(), key=lambda each: each.training.size)
    # Whole words of some length say more than parts of words.
    chosen = [
        number
        for number, word in enumerate(trained.words)
        if len(word) > 4 and word.startswith(" ") and word[1:].isalpha()
    ][:_SHOWN_WORDS]
    found = [nearest(run.targets[member], 5) for member in (0, 1)]
    return Table(
        title=f"Nearest words, size {run.training.size}, {run.training.loss} loss",
        columns=(Column(name="word"), Column(name="first seed"), Column(name="second seed")),
        rows=tuple(
            (
                trained.words[number].strip(),
                *(
                    ", ".join(trained.words[other].strip() for other in own[number])
                    for own in found
                ),
            )
            for number in chosen
        ),
        caption="By cosine, among the compared words.",
    )


def _shown_table(settings: Settings, trained: TrainedWords, run: WordRun) -> Table:
    first, second, mapped = shown_rows(settings, run)
    words = trained.words[settings.shown[0] : settings.shown[1]]
    axes = ("first, 1", "first, 2", "second, 1", "second, 2", "mapped, 1", "mapped, 2")
    return Table(
        title=f"Words {settings.shown[0]} to {settings.shown[1]} of two seeds, before and after",
        columns=(Column(name="word"), *(Column(name=axis, spec=".2f") for axis in axes)),
        rows=tuple(
            (word.replace(" ", "·"), *map(float, (*one, *other, *image)))
            for word, one, other, image in zip(words, first, second, mapped, strict=True)
        ),
        caption=(
            "Standardised; mapped: the first by least squares, fitted to all compared words. A dot "
            "is the space before a word."
        ),
    )
