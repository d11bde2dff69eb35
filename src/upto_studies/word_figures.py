"""Plots of the study of word embeddings: Figure 1 of the paper, agreement and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import Marks, Panel
from upto_studies.autoencoder_tables import seed_mean
from upto_studies.study_marks import curve_marks, estimate_marks
from upto_studies.word_agreement import (
    KINDS,
    OBJECTS,
    TITLES,
    linear_map,
    pair_values,
    r2_chance,
    r2_held_out,
    standardised,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core.array_types import Float
    from upto_studies.word_agreement import Score, WordPair
    from upto_studies.word_embeddings import Settings
    from upto_studies.word_runs import TrainedWords, WordRun


def shown_rows(settings: Settings, run: WordRun) -> tuple[Float, Float, Float]:
    """Return the shown words in the first model, the second, and the first mapped onto it."""
    first, second = (standardised(run.targets[member]) for member in (0, 1))
    rows = slice(settings.shown[0], settings.shown[1])
    return first[rows], second[rows], (first @ linear_map(first, second))[rows]


def shown_panels(settings: Settings, run: WordRun) -> tuple[Panel, ...]:
    """Draw some words of two seeds, before and after the map, as in Figure 1."""
    first, second, mapped = (
        (tuple(rows[:, 0].tolist()), tuple(rows[:, 1].tolist()))
        for rows in shown_rows(settings, run)
    )
    drawn = (
        ("First seed", [("first seed", first)]),
        ("Second seed", [("second seed", second)]),
        ("First seed mapped onto the second", [("second seed", second), ("mapped", mapped)]),
    )
    return tuple(
        Panel(
            title=title,
            x="first coordinate",
            y="second coordinate",
            marks=tuple(Marks(name=name, x=x, y=y) for name, (x, y) in own),
            caption=(
                f"Words {settings.shown[0]} to {settings.shown[1]} by frequency, "
                f"{run.training.loss} loss; Roeder et al. 2021, Figure 1."
            ),
        )
        for title, own in drawn
    )


def agreement_panel(settings: Settings, pairs: Sequence[WordPair]) -> Panel:
    """Draw the variance explained for every loss, size and kind of pair."""
    places = [
        (loss, size, what)
        for loss in settings.losses
        for size in settings.sizes
        for what in OBJECTS
    ]
    scores: list[tuple[str, str, Score]] = [(TITLES[kind], kind, r2_held_out) for kind in KINDS]
    scores.append(("two seeds, chance", "seeds", r2_chance))
    marks = []
    for name, kind, score in scores:
        means = [
            seed_mean(pair_values(pairs, loss, size, kind, what, score))
            for loss, size, what in places
        ]
        marks.append(estimate_marks(name, means))
    return Panel(
        title="Variance explained by a linear map",
        x="loss, size and rows",
        y="R², held out",
        marks=tuple(marks),
        y_zero=True,
        x_names=tuple(f"{loss}, {size}, {what}" for loss, size, what in places),
        caption="Chance: in sample, rows of the second model shuffled.",
    )


def losses_panel(trained: TrainedWords) -> Panel:
    """Draw the loss of every loss and size over that of the best model without context."""
    marks = [
        curve_marks(f"{loss}, size {size}", run.losses / run.training.chance_loss())
        for (loss, size), run in trained.runs.items()
    ]
    return Panel(
        title="Loss of training",
        x="step",
        y="loss over the best without context",
        marks=tuple(marks),
        caption="Means over members and neighbouring steps.",
    )
