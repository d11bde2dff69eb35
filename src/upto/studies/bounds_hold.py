"""Every theorem and lemma, in thousands of cases that were made to break it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import Column, Estimate, Marks, Panel, Table, random_stream
from upto.studies.outcome import Outcome
from upto.theory import trials

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from upto.studies.outcome import Work
    from upto.theory.trials import Case, Looseness

    Made = tuple[list[Case], int]

CONTROL = "control"
"""The statement that is false, and must be found so."""

NAMES = {
    "theorem-1": "Theorem 1",
    "theorem-1-rms": "Theorem 1, mean square",
    "near-isometry": "Lemma A.4, our constant",
    "near-isometry-rms": "Lemma A.4, mean square",
    "lemma-a5": "Lemma A.5, whitening",
    "lemma-a6": "Lemma A.6, rotation",
    "lemma-a8": "Lemma A.8, components",
    "lemma-a8-proved": "Lemma A.8, curvature proved to be kept",
    "curvature": "Lemma A.8, curvature lost between the runs",
    "theorem-2": "Theorem 2",
    "theorem-3-rigid": "Theorem 3, rigid",
    "theorem-3": "Theorem 3, components",
    "appendix-a4": "Appendix A.4, sharper",
    "appendix-a4-paper": "Appendix A.4, as printed",
    "appendix-a5": "Appendix A.5",
    "appendix-a6": "Appendix A.6, centred scale",
    "appendix-a6-smallest": "Appendix A.6, smallest square unstretched",
    "appendix-a6-bare": "Appendix A.6, no scale",
    "network": "Certified network",
    "network-scaled": "Certified network, one scale free",
    CONTROL: "Control: Lemma A.4 with a rate of e, which is false",
}
"""What statements are called, in the order of the table."""

_PANELS = {
    "How loose: rigid motions": (
        "theorem-1",
        "theorem-1-rms",
        "near-isometry",
        "near-isometry-rms",
        "theorem-3-rigid",
        CONTROL,
    ),
    "How loose: whitening and components": (
        "lemma-a5",
        "lemma-a6",
        "lemma-a8",
        "lemma-a8-proved",
        "theorem-2",
        "theorem-3",
    ),
    "How loose: bi-Lipschitz constants": (
        "appendix-a4",
        "appendix-a4-paper",
        "appendix-a5",
        "appendix-a6",
        "network",
        "network-scaled",
    ),
}

_CURVE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How many cases of each kind, and in which dimensions."""

    dimensions: list[int]
    component_dimensions: list[int]
    source_dimensions: list[int]
    pairs: int
    sets: int
    white_pairs: int
    perturbed: int
    unmixed: int
    structures: int
    maps: int
    shared: int
    networks: int
    sprites: int
    pair_steps: int
    steps: int


def run(settings: Settings, work: Work) -> Outcome:
    """Make the cases and count those in which an error exceeds its bound."""
    cases: list[Case] = []
    lost = 0
    makers = _makers(settings)
    with work.progress.task("cases", total=len(makers)) as advance:
        for name, make in makers.items():
            made, left_out = make(random_stream(work.seed, "bounds-hold", name))
            cases += made
            lost += left_out
            advance(1)
    found = trials.summarise(cases)
    serious = [case for case in cases if case.statement != CONTROL]
    control = [case for case in cases if case.statement == CONTROL]
    measured = {"cases": Estimate(value=float(len(serious)))}
    for name, each in found.items():
        measured[f"violations of {name}"] = Estimate(value=float(each.n_violations))
    ordered = [found[name] for name in NAMES if name in found]
    return Outcome(
        measured=measured,
        says=f"{_n_violated(serious)} of {len(serious):,} measured errors exceed their bounds; of "
        f"those of the control, which is false, {_n_violated(control)} of {len(control):,} do",
        tables=(_table(ordered, lost),),
        panels=(*_distributions(found), _by_dimension(cases)),
    )


def _n_violated(cases: list[Case]) -> int:
    return sum(case.is_violated for case in cases)


def _makers(settings: Settings) -> dict[str, Callable[[np.random.Generator], Made]]:
    wide, components = settings.dimensions, settings.component_dimensions
    return {
        "stitched": lambda rng: (
            trials.stitched_cases(rng, settings.pairs, wide, steps=settings.pair_steps),
            0,
        ),
        "near-isometries": lambda rng: (
            trials.near_isometry_cases(rng, settings.sets, wide, steps=settings.steps),
            0,
        ),
        "whitened": lambda rng: (
            trials.whitened_cases(rng, settings.white_pairs, wide, steps=settings.steps),
            0,
        ),
        "perturbed": lambda rng: trials.perturbed_cases(rng, settings.perturbed, components),
        "unmixed": lambda rng: trials.unmixed_cases(rng, settings.unmixed, components),
        "structures": lambda rng: trials.structure_cases(
            rng, settings.structures, settings.source_dimensions
        ),
        "maps": lambda rng: (trials.isometry_cases(rng, settings.maps, wide), 0),
        "shared": lambda rng: (trials.shared_structure_cases(rng, settings.shared, wide), 0),
        "networks": lambda rng: (trials.network_cases(rng, settings.networks, wide), 0),
        "sprites": lambda rng: (trials.sprite_cases(rng, settings.sprites), 0),
    }


def _table(found: list[Looseness], lost: int) -> Table:
    shares = ("smallest", "lower quartile", "median", "upper quartile", "largest")
    return Table(
        title="Measured error as a share of its bound",
        columns=(
            Column(name="statement"),
            Column(name="cases"),
            Column(name="violations"),
            *(Column(name=name, spec=".3g") for name in shares),
            Column(name="largest in"),
        ),
        rows=tuple(
            (
                NAMES[each.statement],
                each.n_cases,
                each.n_violations,
                *each.quartiles[:2],
                each.median,
                *each.quartiles[3:],
                f"{each.worst.kind}, dimension {each.worst.n_dimensions}",
            )
            for each in found
        ),
        caption=f"{lost} runs were left out: the stationary point of their contrast could not be "
        "followed, so the lemma does not speak of them. Where constants are bounded, the excess "
        "over one is compared.",
    )


def _distributions(found: dict[str, Looseness]) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            title=title,
            x="measured error over its bound",
            y="share of cases at or below",
            x_log=True,
            marks=tuple(
                Marks(
                    name=NAMES[name],
                    x=tuple(share for share, _ in curve),
                    y=tuple(height for _, height in curve),
                    kind="line",
                )
                for name in statements
                if name in found and (curve := _curve(found[name]))
            ),
            caption="A bound holds where its curve stays left of one, and is tight where it gets "
            "there.",
        )
        for title, statements in _PANELS.items()
    )


def _curve(found: Looseness) -> list[tuple[float, float]]:
    """Return some points of the distribution; nothing below a share of 1e-12 is drawn."""
    steps = max(1, found.n_cases // _CURVE)
    points = [(share, (number + 1) / found.n_cases) for number, share in enumerate(found.shares)]
    return [point for point in points[::-steps][::-1] if point[0] > 1e-12]


def _by_dimension(cases: list[Case]) -> Panel:
    shown = ("theorem-1", "theorem-1-rms", "near-isometry", "near-isometry-rms", "lemma-a5")
    marks = []
    for name in shown:
        some = [case for case in cases if case.statement == name]
        dimensions = sorted({case.n_dimensions for case in some})
        found = [
            trials.summarise(case for case in some if case.n_dimensions == d)[name]
            for d in dimensions
        ]
        marks.append(
            Marks(
                name=NAMES[name],
                x=tuple(float(d) for d in dimensions),
                y=tuple(each.median.value for each in found),
                low=tuple(each.quartiles[1] for each in found),
                high=tuple(each.quartiles[4] for each in found),
            )
        )
    return Panel(
        title="Looseness grows with the dimension",
        x="dimension",
        y="measured error over its bound",
        x_log=True,
        y_log=True,
        marks=tuple(marks),
        caption="Median, lower quartile and largest share.",
    )
