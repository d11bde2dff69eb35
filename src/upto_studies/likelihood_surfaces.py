"""Figure 1 of Kivva et al. 2022: the truth minimises the negative log-likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta

from upto.core import random_stream, read_tensors, write_tensors
from upto.theory import check_decoder
from upto_studies.mixture_models import (
    MixtureModel,
    Shape,
    draw_mixture_model,
    with_one_fewer,
    with_twins,
)
from upto_studies.outcome import Outcome
from upto_studies.population_curves import Curve, Population, curve_along, population_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float
    from upto_studies.outcome import Work

Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0.0)]

INJECTIVE, FOLDED, PLANE = "F4 holds", "F4 fails", "two latents"
TOO_MANY, TOO_FEW = "one component too many", "one component too few"
WRONG: dict[str, Callable[[MixtureModel], MixtureModel]] = {
    TOO_MANY: with_twins,
    TOO_FEW: with_one_fewer,
}
"""Cases with a wrong number of components, and how the model that is varied differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    n_injective: Annotated[int, Meta(ge=2)]
    n_folded: Annotated[int, Meta(ge=2)]
    n_plane: Annotated[int, Meta(ge=2)]
    n_hidden: Count
    plane_hidden: Count
    noise: Positive
    plane_noise: Positive
    plane_nodes: Count
    step: Positive
    reach: Positive
    n_values: Annotated[int, Meta(ge=5)]
    plane_values: Annotated[int, Meta(ge=5)]
    tolerance: Positive
    at_truth: Positive


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Surface:
    """The curves of one model.

    Parameters
    ----------
    case
        Name of the case.
    n_components, n_outputs
        Sizes of the true model.
    total
        Integral of the true density over the grid.
    curves
        One curve per parameter.
    """

    case: str
    n_components: int
    n_outputs: int
    total: float
    curves: tuple[Curve, ...]


def run(settings: Settings, work: Work) -> Outcome:
    """Draw models, and their likelihood along every parameter."""
    from upto_studies.surface_tables import measured_of, panels_of, says_of, tables_of

    numbers = {
        INJECTIVE: settings.n_injective,
        FOLDED: settings.n_folded,
        PLANE: settings.n_plane,
    }
    surfaces: list[Surface] = []
    with work.progress.task("models", sum(numbers.values())) as advance:
        for case, count in numbers.items():
            for number in range(count):
                surfaces += _surfaces(settings, work, case, number)
                advance(1)
    measured = measured_of(settings, surfaces)
    return Outcome(
        measured=measured,
        says=says_of(settings, surfaces, measured),
        tables=tables_of(settings, surfaces),
        panels=panels_of(surfaces),
    )


def _surfaces(settings: Settings, work: Work, case: str, number: int) -> list[Surface]:
    """Return the curves of one model, and of the same law with a wrong number of components."""
    rng = random_stream(work.seed, "models", case, str(number))
    model = drawn_case(rng, settings, case, number)
    varied = {case: model}
    if case != PLANE:
        varied |= {wrong: change(model) for wrong, change in WRONG.items()}
    path = work.folder / f"{case.lower().replace(' ', '-')}-{number}.safetensors"
    if work.resume and path.is_file():
        kept, _ = read_tensors(path)
    else:
        kept = _drawn_curves(rng, settings, model, varied)
        write_tensors(path, kept, {})
    return [
        Surface(
            case=name,
            n_components=model.shape.n_components,
            n_outputs=model.shape.n_outputs,
            total=float(kept["total"][0]),
            curves=tuple(
                Curve.from_numbers(kind, numbers)
                for kind, numbers in zip(each.shape.kinds, kept[name], strict=True)
            ),
        )
        for name, each in varied.items()
    ]


def _drawn_curves(
    rng: np.random.Generator,
    settings: Settings,
    model: MixtureModel,
    varied: dict[str, MixtureModel],
) -> dict[str, Float]:
    """Return the numbers of all curves of each varied model, and the integral over the grid."""
    plane = model.shape.n_latents > 1
    population = population_of(
        model.parts,
        noise=settings.plane_noise if plane else settings.noise,
        step=settings.step,
        n_nodes=settings.plane_nodes if plane else 1,
    )
    curves = {
        name: np.array([each.numbers for each in _curves(rng, settings, population, one)])
        for name, one in varied.items()
    }
    return curves | {"total": np.array([population.total])}


def drawn_case(
    rng: np.random.Generator, settings: Settings, case: str, number: int
) -> MixtureModel:
    """Draw models until one is of the case: two or three components, one or two outputs."""
    if case == PLANE:
        shape = Shape(
            n_latents=2, n_hidden=settings.plane_hidden, n_outputs=2, n_components=2 + number % 2
        )
        return draw_mixture_model(rng, shape)
    shape = Shape(
        n_latents=1,
        n_hidden=settings.n_hidden,
        n_outputs=1 + number // 2 % 2,
        n_components=2 + number % 2,
    )
    while True:
        model = draw_mixture_model(rng, shape)
        holds = {each.name: each.holds for each in check_decoder(model.network)}
        if holds["F4"] is (case == INJECTIVE):
            return model


def _curves(
    rng: np.random.Generator, settings: Settings, population: Population, model: MixtureModel
) -> tuple[Curve, ...]:
    plane = model.shape.n_latents > 1
    count = settings.plane_values if plane else settings.n_values
    curves = []
    for number in range(len(model.parameters)):
        offsets = np.linspace(-settings.reach, settings.reach, count)
        # A random shift, so that no value is the truth.
        offsets += rng.uniform(0.1, 0.9) * (offsets[1] - offsets[0])
        curves.append(curve_along(population, model, number, offsets, settings.tolerance))
    return tuple(curves)
