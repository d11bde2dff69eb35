"""Sweeps of scores over the strength of one fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Estimate, Marks, Panel, random_stream
from upto.disentanglement import evaluate_scores
from upto_studies import metric_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from upto_studies.metric_cases import Generator, Sample

REFERENCE, ADJUSTED = "latent_quantization", "adjusted"
MODULARITY, COMPACTNESS = "infomec/modularity", "infomec/compactness"
TITLES = {
    f"{MODULARITY}@{REFERENCE}": "InfoM, reference",
    f"{MODULARITY}@{ADJUSTED}": "InfoM, adjusted",
    f"{COMPACTNESS}@{REFERENCE}": "InfoC, reference",
    "infomec/explicitness@adjusted": "InfoE, adjusted",
    "mig@disentanglement_lib": "MIG, 20 bins",
    "mig@adjusted": "MIG, adjusted",
    "dcimig@adjusted": "DCIMIG, adjusted",
    "sap@disentanglement_lib": "SAP",
    "ridgeway/modularity@disentanglement_lib": "modularity, Ridgeway",
}
"""Names of scores in plots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Number of rows, factors and draws of codes."""

    n_rows: int
    classes: tuple[int, ...]
    n_draws: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Values of each score by name: one row per draw, one column per strength of the fault."""

    strengths: tuple[float, ...]
    values: dict[str, tuple[tuple[float, ...], ...]]

    def at(self, score: str, strength: float) -> Estimate:
        """Return a score at one strength, over the draws."""
        place = self.strengths.index(strength)
        return over_draws([draw[place] for draw in self.values[score]])

    def marks(self, score: str, name: str = "") -> Marks:
        """Return the line of a score, with the minimum and maximum over draws."""
        table = np.array(self.values[score])
        return Marks(
            name=name or TITLES[score],
            x=self.strengths,
            y=tuple(table.mean(axis=0).tolist()),
            low=tuple(table.min(axis=0).tolist()),
            high=tuple(table.max(axis=0).tolist()),
            kind="line",
        )


def over_draws(values: Sequence[float]) -> Estimate:
    """Return the mean and range of draws; the range covers the median at a known level."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(value=mean)
    level = 1 - 0.5 ** (len(values) - 1)
    return Estimate(value=mean, low=float(min(values)), high=float(max(values)), level=level)


def sweep(
    make: Callable[[float, Generator], Sample],
    strengths: Sequence[float],
    scores: Sequence[str],
    layout: Layout,
) -> Sweep:
    """Score codes drawn by `make` at every strength; an undefined score counts as zero."""
    found: dict[str, list[tuple[float, ...]]] = {score: [] for score in scores}
    for draw in range(layout.n_draws):
        lines: dict[str, list[float]] = {score: [] for score in scores}
        for strength in strengths:
            # The same stream at all strengths: only the fault differs.
            sample = make(strength, random_stream(layout.seed, "metric sweep", str(draw)))
            for each in evaluate_scores(
                sample.codes, sample.factors, scores=scores, refits=0, half_samples=0
            ):
                lines[each.name].append(each.score.value or 0.0)
        for score in scores:
            found[score].append(tuple(lines[score]))
    return Sweep(
        strengths=tuple(map(float, strengths)),
        values={score: tuple(lines) for score, lines in found.items()},
    )


def noise_by_rows(row_counts: Sequence[int], layout: Layout) -> tuple[Sweep, Panel]:
    """Score noise on increasing numbers of rows, in place of those of the layout."""
    scores = [
        f"{MODULARITY}@{REFERENCE}",
        f"{COMPACTNESS}@{REFERENCE}",
        "ridgeway/modularity@disentanglement_lib",
        "mig@disentanglement_lib",
        f"{MODULARITY}@{ADJUSTED}",
    ]
    found = sweep(
        lambda rows, rng: metric_cases.noise(int(rows), layout.classes, rng),
        row_counts,
        scores,
        layout,
    )
    return found, Panel(
        title="Noise, by the number of rows",
        x="rows",
        y=f"score of {2 * len(layout.classes)} codes of noise",
        marks=tuple(found.marks(score) for score in scores),
        x_log=True,
        y_zero=True,
        caption="Ratios do not vanish with more rows: a share of nothing is divided by nothing.",
    )


def turning(angles: Sequence[float], layout: Layout) -> tuple[Sweep, Panel]:
    """Rotate two good codes into each other."""
    scores = [
        "infomec/explicitness@adjusted",
        f"{MODULARITY}@{ADJUSTED}",
        "mig@adjusted",
        "ridgeway/modularity@disentanglement_lib",
        "sap@disentanglement_lib",
    ]
    found = sweep(
        lambda angle, rng: metric_cases.turned_by(
            layout.n_rows, layout.classes, rng, degrees=angle
        ),
        angles,
        scores,
        layout,
    )
    return found, Panel(
        title="Two codes turned into each other",
        x="degrees",
        y="score",
        marks=tuple(found.marks(score) for score in scores),
        y_zero=True,
    )


def blurring(noises: Sequence[float], layout: Layout) -> tuple[Sweep, Panel]:
    """Add noise to good codes."""
    scores = [
        f"{MODULARITY}@{REFERENCE}",
        f"{MODULARITY}@{ADJUSTED}",
        "infomec/explicitness@adjusted",
        "mig@adjusted",
        "ridgeway/modularity@disentanglement_lib",
    ]
    found = sweep(
        lambda noise, rng: metric_cases.good(layout.n_rows, layout.classes, rng, noise=noise),
        noises,
        scores,
        layout,
    )
    return found, Panel(
        title="Noise in good codes",
        x="noise over signal",
        y="score",
        marks=tuple(found.marks(score) for score in scores),
        x_log=True,
        y_zero=True,
    )


def leaking(
    leaks: Sequence[float],
    noises: Sequence[float],
    layout: Layout,
) -> tuple[dict[float, Sweep], Panel]:
    """Let all factors leak into all codes, at several noise levels."""
    scores = [f"{MODULARITY}@{REFERENCE}", "mig@disentanglement_lib"]

    def under(noise: float) -> Sweep:
        return sweep(
            lambda leak, rng: metric_cases.leaky(
                layout.n_rows, layout.classes, rng, leak=leak, noise=noise
            ),
            [0.0, *leaks],
            scores,
            layout,
        )

    found = {noise: under(noise) for noise in noises}
    marks = [
        _shown(each.marks(score, f"{title}, noise {noise:.1%}"))
        for score, title in zip(scores, ("InfoM", "MIG"), strict=True)
        for noise, each in found.items()
        if score == scores[0] or noise == min(noises)
    ]
    return found, Panel(
        title="A leak from all other factors",
        x="share that leaks",
        y="score, reference variants",
        marks=tuple(marks),
        x_log=True,
        y_zero=True,
        caption="With little noise a leak can be read off a code, however small it is.",
    )


def correlating(correlations: Sequence[float], layout: Layout) -> tuple[Sweep, Panel]:
    """Correlate two factors of good codes."""
    scores = [
        "infomec/explicitness@adjusted",
        f"{MODULARITY}@{ADJUSTED}",
        "mig@adjusted",
        "dcimig@adjusted",
        "sap@disentanglement_lib",
    ]
    found = sweep(
        lambda strength, rng: metric_cases.correlated(
            layout.n_rows, layout.classes, rng, correlation=strength
        ),
        correlations,
        scores,
        layout,
    )
    return found, Panel(
        title="Good codes of factors that correlate",
        x="correlation of two factors",
        y="score",
        marks=tuple(found.marks(score) for score in scores),
        y_zero=True,
        caption="The codes are as good as before: scores fall by what the factors share.",
    )


def _shown(marks: Marks) -> Marks:
    """Return a line without its first point, at zero, for a logarithmic axis."""
    return Marks(
        name=marks.name,
        x=marks.x[1:],
        y=marks.y[1:],
        low=marks.low[1:],
        high=marks.high[1:],
        kind=marks.kind,
    )
