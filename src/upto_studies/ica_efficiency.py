"""When does ICA remove the rotation? The efficiency of Table 1 of Nelson et al. 2026."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from upto.core import random_stream
from upto_studies.efficiency_tables import outcome_of
from upto_studies.planted_pairs import Planted, digit_codes
from upto_studies.pretrained_families import read_families
from upto_studies.unmixed_pairs import Rows, UnmixedPair, unmixed_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from upto_studies.outcome import Outcome, Work
    from upto_studies.pretrained_families import Family

Count = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(gt=0.0, le=1.0)]

MANY, SOME, FEW = 200, 50, 10
"""Fitted rows for each component in the sweeps over everything else, over widths, and few rows."""
WIDTH = 16
"""Width of the planted runs in the sweeps over everything else."""
_FEWEST_ROWS = 4
"""Fitted rows for each component below which a half of the rows cannot be unmixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["pretrained", "none"]
    rows_each: Annotated[list[Count], Meta(min_length=1)]
    widths: Annotated[list[Annotated[int, Meta(ge=2)]], Meta(min_length=1)]
    kinds: Annotated[list[str], Meta(min_length=1)]
    depths: list[Annotated[int, Meta(ge=0)]]
    leak: Share
    shared: list[Share]
    n_draws: Count
    epochs: list[Count]
    code_widths: list[Count]
    code_depths: list[Annotated[int, Meta(ge=0, le=4)]]
    n_pairs: Count
    directions: list[Annotated[int, Meta(ge=2)]]
    row_shares: list[Share]
    most_pairs: Count
    n_resamples: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """Pairs at one point of a sweep."""

    sweep: str
    name: str
    x: float
    pairs: tuple[UnmixedPair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A real pair, with some of its rows and leading directions."""

    family: str
    models: str
    n_directions: int
    row_share: float
    pair: UnmixedPair


def run(settings: Settings, work: Work) -> Outcome:
    """Measure planted pairs, autoencoders of digits and real pairs, and find what decides."""
    cells = [*_planted_cells(settings, work), *_trained_cells(settings, work)]
    conditions = [] if settings.data == "none" else _conditions(settings, work)
    return outcome_of(settings, cells, conditions, seed=work.seed)


def _planted_cells(settings: Settings, work: Work) -> list[SweepPoint]:
    planned = list(_planned(settings))
    cells = []
    with work.progress.task("planted pairs", len(planned)) as advance:
        for sweep, name, x, planted in planned:
            seeds = random_stream(work.seed, "draws").integers(2**31, size=settings.n_draws)
            pairs = [unmixed_pair(*planted.draw(int(seed)), seed=int(seed)) for seed in seeds]
            cells.append(SweepPoint(sweep=sweep, name=name, x=x, pairs=tuple(pairs)))
            advance(1)
    return cells


def _planned(settings: Settings) -> Iterator[tuple[str, str, float, Planted]]:
    """Yield the sweep, name and place of every planted pair."""
    for width in settings.widths:
        counts = settings.rows_each if width == WIDTH else [SOME]
        for rows_each in sorted({*counts, SOME}):
            planted = Planted(n_sources=width, rows_each=rows_each)
            yield "rows", f"{width} sources, {rows_each} rows each", rows_each, planted
    for number, kind in enumerate(settings.kinds, start=1):
        yield "sources", kind, number, Planted(kind=kind, rows_each=MANY, n_sources=WIDTH)
    for depth in settings.depths:
        planted = Planted(depth=depth, leak=settings.leak, rows_each=MANY, n_sources=WIDTH)
        yield "depth", f"{depth} rectifiers", depth, planted
    for shared in settings.shared:
        planted = Planted(shared=shared, rows_each=MANY, n_sources=WIDTH)
        yield "shared variance", f"{shared:.0%} shared", shared, planted


def _trained_cells(settings: Settings, work: Work) -> list[SweepPoint]:
    longest, usual = max(settings.epochs, default=1), 8
    planned: list[tuple[str, str, float, tuple[int, ...], int]] = [
        ("training time", f"{epochs} epochs", epochs, (32, usual), epochs)
        for epochs in settings.epochs
    ]
    planned += [
        ("code width", f"codes of {width}", width, (32, width), longest)
        for width in settings.code_widths
    ]
    planned += [
        ("encoder depth", f"{depth} hidden layers", depth, (32,) * depth + (usual,), longest)
        for depth in settings.code_depths
    ]
    cells = []
    for sweep, name, x, widths, epochs in planned:
        codes = digit_codes(
            widths=widths,
            epochs=epochs,
            n_pairs=settings.n_pairs,
            seed=work.seed,
            device=work.device,
            progress=work.progress,
        )
        pairs = tuple(unmixed_pair(*pair, seed=work.seed) for pair in codes)
        cells.append(SweepPoint(sweep=sweep, name=name, x=x, pairs=pairs))
    return cells


def _conditions(settings: Settings, work: Work) -> list[Condition]:
    planned: list[Callable[[], Condition]] = []
    for family in read_families(work.data):
        pairs = list(family.pairs())
        chosen = random_stream(work.seed, "pairs", family.title).permutation(len(pairs))
        for index in chosen[: settings.most_pairs]:
            first, second = pairs[index]
            planned += _planned_conditions(settings, work, family, (first, second))
    conditions = []
    with work.progress.task("real pairs", len(planned)) as advance:
        for make in planned:
            conditions.append(make())
            advance(1)
    return conditions


def _planned_conditions(
    settings: Settings, work: Work, family: Family, models: tuple[str, str]
) -> Iterator[Callable[[], Condition]]:
    first, second = (family.runs[name] for name in models)
    widths = [k for k in settings.directions if k <= min(first.shape[1], second.shape[1])]
    order = random_stream(work.seed, "rows", family.title).permutation(len(first))
    for row_share in settings.row_shares:
        rows = np.sort(order[: round(row_share * len(first))])
        for k in widths:
            if len(rows) * 0.7 < _FEWEST_ROWS * k:
                continue

            def make(rows: Rows = rows, k: int = k, row_share: float = row_share) -> Condition:
                pair = unmixed_pair(
                    first[rows],
                    second[rows],
                    n_directions=k,
                    groups=None if family.groups is None else family.groups[rows],
                    seed=work.seed,
                )
                return Condition(
                    family=family.title,
                    models=" → ".join(models),
                    n_directions=k,
                    row_share=row_share,
                    pair=pair,
                )

            yield make
