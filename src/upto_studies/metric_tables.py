"""Tables of the scores of every case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from upto.core import Column, Estimate, Table
from upto.disentanglement import CalibratedScore
from upto_studies.metric_cases import CASES
from upto_studies.metric_sweeps import TITLES, over_draws

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Cell

Readings = dict[tuple[str, str], CalibratedScore]
"""Scores of one draw, by the names of case and score."""
Part = Literal["value", "chance", "calibrated"]

SHOWN = (
    "infomec/modularity@adjusted",
    "infomec/compactness@adjusted",
    "infomec/explicitness@adjusted",
    "mig@adjusted",
    "dcimig@adjusted",
    "infomec/modularity@latent_quantization",
    "infomec/compactness@latent_quantization",
    "mig@disentanglement_lib",
    "ridgeway/modularity@disentanglement_lib",
    "sap@disentanglement_lib",
    "irs@disentanglement_lib",
)
"""Scores in the table of all cases."""
SHORT = TITLES | {
    "infomec/compactness@adjusted": "InfoC, adjusted",
    "irs@disentanglement_lib": "IRS",
}


def reading(
    draws: Sequence[Readings], case: str, score: str, part: Part = "value"
) -> Estimate | None:
    """Return one part of a score of a case, over the draws that have it."""
    values = [
        number
        for draw in draws
        if (case, score) in draw and (number := number_of(draw[case, score], part)) is not None
    ]
    return over_draws(values) if values else None


def number_of(found: CalibratedScore, part: Part = "value") -> float | None:
    """Return the value of a score, its chance or its calibrated value."""
    if part == "value":
        return found.score.value
    return found.chance if part == "chance" else found.calibrated


def noise_table(draws: Sequence[Readings]) -> Table:
    """Compare noise, rotated and good codes."""
    scores = list(dict.fromkeys(score for _, score in draws[0]))
    rows: list[tuple[Cell, ...]] = [
        (
            score,
            *(
                reading(draws, case, score, part)
                for part in ("value", "calibrated")
                for case in ("noise", "turned", "good")
            ),
        )
        for score in scores
    ]
    return Table(
        title="Noise, a rotation and good codes, as they are and calibrated",
        columns=(
            Column(name="score"),
            Column(name="noise", spec=".2f"),
            Column(name="turned", spec=".2f"),
            Column(name="good", spec=".2f"),
            Column(name="noise, calibrated", spec=".2f"),
            Column(name="turned, calibrated", spec=".2f"),
            Column(name="good, calibrated", spec=".2f"),
        ),
        rows=tuple(rows),
        caption="Mean, lowest and highest of the draws. Calibrated: the share of the way from the "
        "limit of chance to the best value; adjusted variants are beyond chance as they are.",
    )


def values_table(draws: Sequence[Readings]) -> Table:
    """Return the values of the best-known scores, one row per case."""
    rows: list[tuple[Cell, ...]] = [
        (case.name, *(_value(reading(draws, case.name, score)) for score in SHOWN))
        for case in CASES
    ]
    return Table(
        title="What each score says of each case",
        columns=(
            Column(name="case"),
            *(Column(name=SHORT[score], spec=".2f") for score in SHOWN),
        ),
        rows=tuple(rows),
        caption="Means over the draws; a dash where a score is not defined. Reference: the "
        "authors' standalone file.",
    )


def cases_table() -> Table:
    """Describe every case."""
    return Table(
        title="The cases",
        columns=(Column(name="case"), Column(name="codes")),
        rows=tuple((case.name, case.says) for case in CASES),
    )


def all_table(draws: Sequence[Readings]) -> Table:
    """Return every score of every case with its chance level and calibrated value."""
    rows: list[tuple[Cell, ...]] = [
        (
            case,
            score,
            reading(draws, case, score),
            _value(reading(draws, case, score, "chance")),
            _value(reading(draws, case, score, "calibrated")),
        )
        for case, score in draws[0]
    ]
    return Table(
        title="Every score of every case",
        columns=(
            Column(name="case"),
            Column(name="score"),
            Column(name="value", spec=".3f"),
            Column(name="chance", spec=".3f"),
            Column(name="calibrated", spec=".3f"),
        ),
        rows=tuple(rows),
        caption="Chance is the mean after rows of codes were shuffled; slow scores are of the "
        "first draw, with few shuffles.",
    )


def _value(found: Estimate | None) -> float | None:
    return None if found is None else found.value
