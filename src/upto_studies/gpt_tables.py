"""Report of the study of GPT layers: yardstick, SVCCA and errors of layers, differences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Column, Estimate, Marks, Panel, Table
from upto_studies.autoencoder_tables import seed_mean
from upto_studies.gpt_agreement import BASES, GROUPS
from upto_studies.outcome import Outcome
from upto_studies.study_marks import curve_marks, estimate_marks
from upto_studies.train.softmax_members import device_title

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto.core import Cell
    from upto.core.array_types import Float
    from upto_studies.gpt_agreement import Basis, PairScores
    from upto_studies.gpt_states import SizeRun, TrainedSizes
    from upto_studies.layers_of_gpts import Kind, ScoredPair, Settings
    from upto_studies.outcome import Work

    Score = Callable[[PairScores], float | None]

_WORDS: dict[str, str] = {
    "sizes": "pairs of sizes",
    "sizes within positions": "pairs of sizes, within positions",
    "untrained sizes": "pairs of sizes, untrained",
    "seeds": "pairs of seeds",
}

LEAST = "sizes: SVCCA, last less best earlier, least"
"""Name of the quantity that the paper's claim is about."""


def svcca_of(count: int, basis: Basis) -> Score:
    """Return the score that is SVCCA of some directions; None where a layer has fewer."""
    return lambda scores: scores.svcca[basis].get(count)


def error_of(group: str, basis: Basis) -> Score:
    """Return the score that is the error up to a group."""
    return lambda scores: scores.errors.get(basis, {}).get(group)


def r2_of(group: str, basis: Basis) -> Score:
    """Return the score that is the share of variance explained up to a group."""
    return lambda scores: scores.r2.get(basis, {}).get(group)


def unit_means(pairs: Sequence[ScoredPair], kind: Kind, back: int, score: Score) -> Float:
    """Return the mean score of the pairs of each unit; units without a score are left out."""
    found: dict[int, list[float]] = {}
    for pair in pairs:
        if (pair.kind, pair.back) == (kind, back):
            value = score(pair.scores)
            if value is not None:
                found.setdefault(pair.unit, []).append(value)
    return np.array([np.mean(found[unit]) for unit in sorted(found)])


def last_less_best(
    pairs: Sequence[ScoredPair], kind: Kind, layers: Sequence[int], score: Score
) -> Estimate | None:
    """Return how far the last layer is above the best earlier one, unit by unit."""
    own = unit_means(pairs, kind, min(layers), score)
    earlier = [unit_means(pairs, kind, back, score) for back in layers if back != min(layers)]
    return seed_mean(own - np.max(earlier, axis=0)) if len(own) else None


def outcome_of(
    settings: Settings, work: Work, trained: TrainedSizes, pairs: Sequence[ScoredPair]
) -> Outcome:
    """Return the outcome of the study."""
    measured = _measured(settings, trained, pairs)
    return Outcome(
        measured=measured,
        says=verdict_of(settings, len(trained.runs), measured),
        tables=(
            _svcca_table(settings, pairs),
            _differences_table(settings, pairs),
            _errors_table(settings, pairs),
            _sizes_table(settings, pairs),
            _yardstick_table(trained),
        ),
        panels=(
            _svcca_panel(settings, pairs, "sizes", "in sample"),
            _svcca_panel(settings, pairs, "sizes", "held out"),
            _svcca_panel(settings, pairs, "seeds", "held out"),
            _errors_panel(settings, pairs),
            _losses_panel(trained),
        ),
        device=device_title(work.device),
    )


def _measured(
    settings: Settings, trained: TrainedSizes, pairs: Sequence[ScoredPair]
) -> dict[str, Estimate]:
    found: dict[str, Estimate | None] = {}
    last, earliest = min(settings.layers), max(settings.layers)
    bases: tuple[Basis, ...] = ("in sample", "held out")
    kinds: tuple[Kind, ...] = ("sizes", "sizes within positions", "seeds")
    for kind in kinds:
        for basis in bases:
            for count in settings.directions:
                score = svcca_of(count, basis)
                name = f"{kind}: SVCCA of {count}, {basis}"
                found[f"{name}, last layer"] = seed_mean(unit_means(pairs, kind, last, score))
                found[f"{name}, last less best earlier"] = last_less_best(
                    pairs, kind, settings.layers, score
                )
                first = unit_means(pairs, kind, earliest, score)
                gain = unit_means(pairs, kind, last, score) - first
                found[f"{name}, last less earliest"] = seed_mean(gain)
        found[f"{kind}: affine R², held out, last less best earlier"] = last_less_best(
            pairs, kind, settings.layers, r2_of("affine", "held out")
        )
    fewest = min(settings.directions)
    for basis in bases:
        score = svcca_of(fewest, basis)
        found[f"sizes: SVCCA of {fewest}, {basis}, trained less untrained"] = seed_mean(
            unit_means(pairs, "sizes", last, score)
            - unit_means(pairs, "untrained sizes", last, score)
        )
    found[f"sizes: SVCCA of {fewest}, held out, chance"] = seed_mean(
        unit_means(pairs, "sizes", last, svcca_of(fewest, "chance, held out"))
    )
    worst = max(trained.runs, key=lambda each: float(each.held_out.mean()))
    found["perplexity over trigrams, worst size"] = _over_trigrams(worst, trained)
    measured = {name: each for name, each in found.items() if each is not None}
    return measured | {LEAST: least_gain(settings, measured)}


def least_gain(settings: Settings, measured: dict[str, Estimate]) -> Estimate:
    """Return the least of what the last layer gains over the best earlier one, pairs of sizes.

    The paper's claim is one, and needs every number of directions, in sample and held out. The ends
    of the interval are the least ends.
    """
    names = [
        f"sizes: SVCCA of {count}, {basis}, last less best earlier"
        for count in settings.directions
        for basis in ("in sample", "held out")
    ]
    gains = [measured[name] for name in names if name in measured]
    low, high = (
        None if any(end is None for end in ends) else min(end for end in ends if end is not None)
        for ends in ([each.low for each in gains], [each.high for each in gains])
    )
    return Estimate(value=min(each.value for each in gains), low=low, high=high)


def _over_trigrams(run: SizeRun, trained: TrainedSizes) -> Estimate | None:
    return seed_mean(np.exp(run.held_out - trained.trigrams))


def verdict_of(settings: Settings, n_sizes: int, measured: dict[str, Estimate]) -> str:
    """Return the result sentence."""
    text = "novels" if settings.data == "novels" else "drawn sentences, a substitute,"
    ratio = measured["perplexity over trigrams, worst size"].value
    says = (
        f"of GPTs of {n_sizes} sizes trained on {text} (the worst has {ratio:.2f} times "
        "the perplexity of trigrams), the SVCCA of the last layer differs from that of the best "
        f"earlier one, on held-out passages, by {_gains(settings, 'sizes', measured)}"
    )
    if seeds := _gains(settings, "seeds", measured):
        says += f"; between seeds of one size by {seeds}"
    affine = measured.get("sizes: affine R², held out, last less best earlier")
    if affine is not None:
        opposite = ", the opposite" if affine.high is not None and affine.high < 0 else ""
        says += f"; the affine R² of sizes by {affine:+.3f}{opposite}"
    return says


def _gains(settings: Settings, kind: Kind, measured: dict[str, Estimate]) -> str:
    found = {
        count: measured.get(f"{kind}: SVCCA of {count}, held out, last less best earlier")
        for count in settings.directions
    }
    parts = [f"{each:+.3f} with {k} directions" for k, each in found.items() if each is not None]
    return ", ".join(parts)


def _layer(back: int) -> str:
    return "last" if back == 0 else f"last − {back}"


def _svcca_table(settings: Settings, pairs: Sequence[ScoredPair]) -> Table:
    kinds: tuple[Kind, ...] = ("sizes", "sizes within positions", "untrained sizes", "seeds")
    rows: list[tuple[Cell, ...]] = [
        (
            _WORDS[kind],
            _layer(back),
            count,
            *(seed_mean(unit_means(pairs, kind, back, svcca_of(count, b))) for b in BASES),
        )
        for kind in kinds
        for count in settings.directions
        for back in settings.layers
    ]
    return Table(
        title="SVCCA of layers",
        columns=(
            Column(name="pairs"),
            Column(name="layer"),
            Column(name="directions"),
            *(Column(name=basis, spec=".3f") for basis in BASES),
        ),
        rows=tuple(rows),
        caption=(
            "Coordinates standardised, as in the authors' notebook; the paper's are in sample. "
            "Pairs with fewer coordinates than directions are left out. 95 % intervals of Student "
            "over seeds (pairs of sizes) or sizes (pairs of seeds), which share no training. "
            "Chance: rows in a random order. Within positions: the mean state of each position is "
            "subtracted, which all GPTs have in common."
        ),
    )


def _differences_table(settings: Settings, pairs: Sequence[ScoredPair]) -> Table:
    kinds: tuple[Kind, ...] = ("sizes", "sizes within positions", "seeds")
    last = min(settings.layers)
    rows: list[tuple[Cell, ...]] = []
    for kind in kinds:
        for count in settings.directions:
            for back in settings.layers:
                if back != last:
                    gains = [
                        unit_means(pairs, kind, last, svcca_of(count, basis))
                        - unit_means(pairs, kind, back, svcca_of(count, basis))
                        for basis in BASES[:2]
                    ]
                    rows.append((_WORDS[kind], count, _layer(back), *map(seed_mean, gains)))
    return Table(
        title="How far the last layer is above an earlier one",
        columns=(
            Column(name="pairs"),
            Column(name="directions"),
            Column(name="earlier layer"),
            *(Column(name=f"SVCCA, {basis}", spec="+.3f") for basis in BASES[:2]),
        ),
        rows=tuple(rows),
    )


def _errors_table(settings: Settings, pairs: Sequence[ScoredPair]) -> Table:
    kinds: tuple[Kind, ...] = ("sizes", "seeds")
    rows: list[tuple[Cell, ...]] = []
    for kind in kinds:
        for group in map(str, GROUPS):
            for back in settings.layers:
                scores = [error_of(group, basis) for basis in BASES[:3]]
                scores.append(r2_of(group, "held out"))
                means = [seed_mean(unit_means(pairs, kind, back, score)) for score in scores]
                rows.append((_WORDS[kind], group, _layer(back), *means))
    return Table(
        title="Errors of layers up to groups",
        columns=(
            Column(name="pairs"),
            Column(name="up to"),
            Column(name="layer"),
            *(Column(name=f"ε, {basis}") for basis in BASES[:3]),
            Column(name="R², held out", spec=".3f"),
        ),
        rows=tuple(rows),
        caption="ε: mean distance over the diameter; the narrower GPT is mapped onto the wider.",
    )


def _sizes_table(settings: Settings, pairs: Sequence[ScoredPair]) -> Table:
    names = list(dict.fromkeys(pair.names for pair in pairs if pair.kind == "sizes"))
    rows: list[tuple[Cell, ...]] = []
    for count in settings.directions:
        for both in names:
            own = [pair for pair in pairs if pair.names == both and pair.kind == "sizes"]
            means = [
                seed_mean(unit_means(own, "sizes", back, svcca_of(count, "held out")))
                for back in settings.layers
            ]
            if any(each is not None for each in means):
                rows.append((" and ".join(both), count, *means))
    return Table(
        title="SVCCA of each pair of sizes, held out",
        columns=(
            Column(name="widths"),
            Column(name="directions"),
            *(Column(name=_layer(back), spec=".3f") for back in settings.layers),
        ),
        rows=tuple(rows),
    )


def _yardstick_table(trained: TrainedSizes) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            str(run.gpt.width),
            run.gpt.depth,
            run.gpt.n_parameters,
            seed_mean(np.exp(run.losses[-max(1, len(run.losses) // 20) :].mean(axis=0))),
            seed_mean(np.exp(run.held_out)),
            math.exp(trained.trigrams),
            _over_trigrams(run, trained),
        )
        for run in trained.runs
    ]
    return Table(
        title="Perplexity on held-out text",
        columns=(
            Column(name="width"),
            Column(name="layers"),
            Column(name="parameters"),
            Column(name="training, end", spec=".1f"),
            Column(name="held out", spec=".1f"),
            Column(name="trigrams, held out", spec=".1f"),
            Column(name="over trigrams", spec=".2f"),
        ),
        rows=tuple(rows),
        caption=(
            f"{trained.n_training:,} training and {trained.n_held_out:,} held-out tokens, the last "
            "tenth of every text. Trigrams: interpolated Kneser-Ney on the same tokens. Training: "
            "the last twentieth of the steps, with dropout."
        ),
    )


def _svcca_panel(
    settings: Settings, pairs: Sequence[ScoredPair], kind: Kind, basis: Basis
) -> Panel:
    marks = []
    chance: Basis = "chance, in sample" if basis == "in sample" else "chance, held out"
    for count in settings.directions:
        for title, own in ((f"{count} directions", basis), (f"{count}, chance", chance)):
            means = [
                seed_mean(unit_means(pairs, kind, back, svcca_of(count, own)))
                for back in settings.layers
            ]
            marks.append(estimate_marks(title, means))
    return Panel(
        title=f"SVCCA of {_WORDS[kind]}, {basis}",
        x="layer",
        y="mean canonical correlation",
        marks=tuple(each for each in marks if each.x),
        y_zero=True,
        x_names=tuple(map(_layer, settings.layers)),
        caption="Roeder et al. 2021, Figure 4, draws pairs of sizes, in sample.",
    )


def _errors_panel(settings: Settings, pairs: Sequence[ScoredPair]) -> Panel:
    marks = []
    for group in map(str, GROUPS):
        for title, basis in ((group, BASES[0]), (f"{group}, chance", BASES[2])):
            score = error_of(group, basis)
            means = [seed_mean(unit_means(pairs, "sizes", back, score)) for back in settings.layers]
            marks.append(estimate_marks(title, means))
    return Panel(
        title="Errors of pairs of sizes, held out",
        x="layer",
        y="ε over the diameter",
        marks=tuple(marks),
        y_zero=True,
        x_names=tuple(map(_layer, settings.layers)),
    )


def _losses_panel(trained: TrainedSizes) -> Panel:
    marks = [curve_marks(f"width {run.gpt.width}", run.losses) for run in trained.runs]
    ends = (marks[0].x[0], marks[0].x[-1])
    marks.append(Marks(name="trigrams, held out", x=ends, y=(trained.trigrams,) * 2, kind="line"))
    return Panel(
        title="Loss of training",
        x="step",
        y="nats per token",
        marks=tuple(marks),
        caption="Means over seeds and neighbouring steps, with dropout.",
    )
