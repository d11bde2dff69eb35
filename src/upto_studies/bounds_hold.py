"""Test every theorem and lemma in thousands of adversarial cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from upto.core import Column, Estimate, Marks, Panel, Table, random_stream
from upto_studies import compared_promises, trials
from upto_studies.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from upto_studies.outcome import Work
    from upto_studies.trials import Case, Looseness

    Made = tuple[list[Case], int]

CONTROL = "control"
"""A false statement that the study must refute."""

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
    "theorem-2": "Theorem 2, components followed",
    "theorem-2-searched": "Theorem 2, components found by ICA",
    "theorem-3-rigid": "Theorem 3, rigid",
    "theorem-3": "Theorem 3, components followed",
    "theorem-3-searched": "Theorem 3, components found by ICA",
    "star-searched": "Theorem 2, eight-pointed star",
    "appendix-a4": "Appendix A.4",
    "appendix-a5": "Appendix A.5",
    "appendix-a6": "Appendix A.6, best scale",
    "appendix-a6-bare": "Appendix A.6, no scale",
    "network": "Certified network",
    "network-scaled": "Certified network, one scale free",
    "identified-prior": "What is identified of P(Z)",
    "identified-decoder": "What is identified of f",
    "identified-hidden": "What is identified of P(U)",
    "hidden-variables": "P3 leaves one choice of hidden variables",
    "diversity": "Diverse heads identify representations",
    compared_promises.MAPS: "Promises of upto.compare",
    compared_promises.COMPONENTS: "Promises of upto.compare for components, optima unknown",
    "theorem-2-searched-elsewhere": "Not promised: Theorem 2, ICA in another optimum",
    "theorem-3-searched-elsewhere": "Not promised: Theorem 3, ICA in another optimum",
    "star-searched-elsewhere": "Control: the star, ICA in another optimum, is not promised",
    CONTROL: "Control: Lemma A.4 with a rate of e, which is false",
    "printed-prior": "Control: P(Z) by 004 as printed, with degenerate components",
    "printed-decoder": "Control: f by 004 as printed, with degenerate components",
    "printed-hidden": "Not judged: P(U) by 004 as printed",
    trials.BY_TYPE: "Control: diverse heads by the type of their numbers alone",
}
"""Titles of the statements, in the order of the table."""

_STAR = "star-searched-elsewhere"

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
        "theorem-2-searched",
        "theorem-3-searched",
        _STAR,
    ),
    "How loose: bi-Lipschitz constants": (
        "appendix-a4",
        "appendix-a5",
        "appendix-a6",
        "network",
        "network-scaled",
    ),
}

_CURVE = 60

Count = Annotated[int, Meta(ge=1)]
Dimensions = Annotated[list[Count], Meta(min_length=1)]
SeveralDimensions = Annotated[list[Annotated[int, Meta(ge=2)]], Meta(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Numbers of cases of each kind, and their dimensions."""

    dimensions: Dimensions
    component_dimensions: SeveralDimensions
    source_dimensions: SeveralDimensions
    pairs: Count
    sets: Count
    white_pairs: Count
    perturbed: Count
    unmixed: Count
    searched: Count
    stars: Count
    structures: Count
    searched_structures: Count
    maps: Count
    shared: Count
    networks: Count
    sprites: Count
    compared: Count
    models: Count
    grids: Count
    heads: Count
    pair_steps: Annotated[int, Meta(ge=0)]
    steps: Annotated[int, Meta(ge=0)]


def run(settings: Settings, work: Work) -> Outcome:
    """Generate the cases and count those in which an error exceeds its bound."""
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
    serious = [case for case in cases if _is_promised(case.statement)]
    control = [case for case in cases if case.statement == CONTROL]
    measured = {
        "cases": Estimate(value=float(len(serious))),
        "searches in other optima": _count(cases, "theorem-2", "theorem-3"),
        "star searches in other optima": _count(cases, "star"),
    }
    for name in NAMES:
        violations = found[name].n_violations if name in found else 0
        # Zero violations in zero cases is not evidence.
        if name in found or name.endswith(trials.ELSEWHERE):
            measured[f"violations of {name}"] = Estimate(value=float(violations))
    ordered = [found[name] for name in NAMES if name in found]
    return Outcome(
        measured=measured,
        says=f"{_n_violated(serious)} of {len(serious):,} measured errors exceed their bounds; of "
        f"those of the control, which is false, {_n_violated(control)} of {len(control):,} do; "
        f"{measured['searches in other optima']:.0f} searches for components ended in optima of "
        "which the theorems do not speak",
        tables=(_table(ordered, lost),),
        panels=(*_distributions(found), _by_dimension(cases)),
    )


def _is_promised(statement: str) -> bool:
    """Return whether a bound must hold; no theorem covers searches that end in another optimum."""
    other = (CONTROL, compared_promises.COMPONENTS, trials.BY_TYPE)
    return statement not in other and not (
        statement.endswith(trials.ELSEWHERE) or statement.startswith("printed-")
    )


def _count(cases: list[Case], *theorems: str) -> Estimate:
    names = [f"{theorem}-searched{trials.ELSEWHERE}" for theorem in theorems]
    return Estimate(value=float(sum(case.statement in names for case in cases)))


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
        "searched": lambda rng: trials.searched_cases(rng, settings.searched, components),
        "stars": lambda rng: trials.star_cases(rng, settings.stars),
        "structures": lambda rng: trials.structure_cases(
            rng, settings.structures, settings.source_dimensions
        ),
        "searched-structures": lambda rng: trials.searched_structure_cases(
            rng, settings.searched_structures, settings.source_dimensions
        ),
        "maps": lambda rng: (trials.isometry_cases(rng, settings.maps, wide), 0),
        "shared": lambda rng: (trials.shared_structure_cases(rng, settings.shared, wide), 0),
        "networks": lambda rng: (trials.network_cases(rng, settings.networks, wide), 0),
        "sprites": lambda rng: (trials.sprite_cases(rng, settings.sprites), 0),
        "compared": lambda rng: (
            compared_promises.compared_cases(rng, settings.compared, components),
            0,
        ),
        "models": lambda rng: (trials.identified_cases(rng, settings.models), 0),
        "grids": lambda rng: (trials.hidden_cases(rng, settings.grids), 0),
        "heads": lambda rng: (trials.head_cases(rng, settings.heads), 0),
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
        "over one is compared. A largest share far below one says that the bound is loose, and "
        "that these cases could hardly have broken it.",
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
    """Return points of the distribution, without shares below 1e-12."""
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
