"""Charts of scores and errors of each form, with intervals and chance levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.questions.compare.charts import axis, error_drawing
from upto.report.axis_scale import linear_scale, log_scale
from upto.report.markup import Inert, shorten
from upto.report.ranges import range_drawing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.core import Group
    from upto.questions.factors.parts import FormScore, Structure, StructureFit
    from upto.questions.factors.result import FactorsResult
    from upto.report.axis_scale import Scale

_ROW = 28
_NEAR_ZERO = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRow:
    """Drawing and texts of one score of one form, or the reason for a missing value."""

    form: str
    drawing: Inert | None
    value: str
    interval: str
    calibrated: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreLine:
    """One score with a row per form, on an axis from worse to better."""

    label: str
    name: str
    definition: str
    ends: tuple[str, str]
    rows: tuple[ScoreRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthRow:
    """Error of one form up to a group, on linear and logarithmic axes."""

    form: str
    is_chosen: bool
    linear: Inert
    logarithmic: Inert
    error: str
    worst: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthStep:
    """One group with a row per form."""

    group: str
    rows: tuple[TruthRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthLadder:
    """Errors to the truth from the strictest to the largest group, with the verdicts."""

    steps: tuple[TruthStep, ...]
    linear_axis: Inert
    log_axis: Inert
    sentences: tuple[tuple[str, str], ...]
    any_held_out: bool
    any_worst: bool


def score_lines(result: FactorsResult) -> tuple[ScoreLine, ...]:
    """Draw all scores, with all forms of a score on one axis."""
    found: dict[str, list[FormScore]] = {}
    for score in result.scores:
        found.setdefault(score.name, []).append(score)
    return tuple(_line(scores) for scores in found.values())


def score_label(score: FormScore) -> str:
    """Return the title of a score with its variant."""
    _, at, variant = score.name.partition("@")
    # The title may already contain the variant.
    return f"{score.title} ({variant})" if at and variant not in score.title else score.title


def score_ends(scores: Iterable[FormScore]) -> tuple[float, float]:
    """Return the worse and better ends of an axis: 0 and 1, extended to the values."""
    scores = list(scores)
    numbers = [number for score in scores for number in score_numbers(score)]
    low, high = min([0.0, *numbers]), max([1.0, *numbers])
    if low > -_NEAR_ZERO:
        # Chance values just below zero are drawn at zero.
        low = 0.0
    return (high, low) if any(score.better == "lower" for score in scores) else (low, high)


def score_numbers(score: FormScore) -> tuple[float, ...]:
    """Return all drawn numbers of a score."""
    value = score.value
    estimate = () if value is None else (value.value, value.low, value.high)
    return tuple(number for number in (*estimate, score.chance, score.limit) if number is not None)


def truth_ladder(result: FactorsResult) -> TruthLadder | None:
    """Draw the errors to the truth up to each group; None without numeric factors."""
    if not result.structure:
        return None
    held_out = result.n_held_out > 0
    fits = [fit for each in result.structure for fit in each.fits]
    numbers = [number for fit in fits for number in _error_numbers(fit)]
    linear, logarithmic = linear_scale(numbers), log_scale(numbers)
    return TruthLadder(
        steps=tuple(
            TruthStep(
                group=str(group),
                rows=tuple(
                    _truth_row(each, fit, linear, logarithmic, held_out=held_out)
                    for each in result.structure
                    for fit in each.fits
                    if fit.up_to is group
                ),
            )
            for group in groups_of(result.structure)
        ),
        linear_axis=axis(linear),
        log_axis=axis(logarithmic),
        sentences=tuple((each.form, each.verdict) for each in result.structure),
        any_held_out=held_out,
        any_worst=any(fit.supremum is not None for fit in fits),
    )


def groups_of(structure: Iterable[Structure]) -> tuple[Group, ...]:
    """Return the groups with errors, strictest first."""
    return tuple(dict.fromkeys(fit.up_to for each in structure for fit in each.fits))


def _line(scores: Sequence[FormScore]) -> ScoreLine:
    far, near = score_ends(scores)
    first = scores[0]
    return ScoreLine(
        label=score_label(first),
        name=first.name,
        definition=first.definition,
        ends=(f"{far:.3g}", f"{near:.3g}"),
        rows=tuple(_row(score, far, near) for score in scores),
    )


def _row(score: FormScore, far: float, near: float) -> ScoreRow:
    value = score.value
    interval, drawing = "", None
    if value is not None:
        if value.low is not None and value.high is not None:
            interval = f"[{value.low:.2f}, {value.high:.2f}]"
        drawing = range_drawing(
            far=far,
            near=near,
            value=value,
            chance=score.chance,
            limit=score.limit,
            is_beyond=score.is_beyond_chance is not False,
            words=_words(score),
        )
    return ScoreRow(
        form=score.form,
        drawing=drawing,
        value="–" if value is None else number_text(value.value),
        interval=interval,
        calibrated="–" if score.calibrated is None else number_text(score.calibrated, digits=2),
        says=score.says if value is None else "",
    )


def number_text(number: float, *, digits: int = 3) -> str:
    """Format a number; zero has no sign."""
    return f"{round(number, digits) + 0.0:.{digits}f}"


def _words(score: FormScore) -> tuple[str, ...]:
    words = [
        f"{shorten(score_label(score))}, {shorten(score.form, 40)}",
        f"value {score.value:.3f}",
    ]
    if score.chance is not None:
        words.append(f"chance {number_text(score.chance)}")
    if score.limit is not None:
        words.append(f"limit of chance {number_text(score.limit)}")
    if score.calibrated is not None:
        words.append(f"calibrated {number_text(score.calibrated)}")
    if score.p_value is not None:
        words.append(f"p {score.p_value:.2g}")
    return (*words, f"{score.better} is better")


def _error_numbers(fit: StructureFit) -> list[float]:
    error, worst = fit.error, fit.supremum
    numbers = [error.value, error.low, error.high, fit.in_sample, fit.chance]
    if worst is not None:
        numbers += [worst.low, worst.high]
    return [number for number in numbers if number is not None]


def _truth_row(
    structure: Structure, fit: StructureFit, linear: Scale, logarithmic: Scale, *, held_out: bool
) -> TruthRow:
    worst = fit.supremum
    words = _error_words(structure, fit, held_out=held_out)

    def drawing(scale: Scale) -> Inert:
        return error_drawing(
            scale,
            held_out=fit.error if held_out else None,
            in_sample=fit.in_sample,
            chance=fit.chance,
            words=words,
            worst=worst,
            height=_ROW,
        )

    return TruthRow(
        form=structure.form,
        is_chosen=fit.up_to is structure.up_to,
        linear=drawing(linear),
        logarithmic=drawing(logarithmic),
        error=f"{fit.error.value:.3f}" + ("" if fit.is_beyond_chance is not False else " ≈"),
        worst="–" if worst is None else _bracket_text(worst.low, worst.high),
    )


def _error_words(structure: Structure, fit: StructureFit, *, held_out: bool) -> tuple[str, ...]:
    words = [f"up to {fit.up_to}, {shorten(structure.form, 40)}"]
    if held_out:
        words.append(f"held out {fit.error:.4f}")
    words.append(f"in sample {fit.in_sample:.4f}")
    words.append(f"chance {fit.chance:.4f}" if fit.chance is not None else "chance not measured")
    if fit.p_value is not None:
        words.append(f"p {fit.p_value:.2g}")
    words.append(f"R² {fit.r2:.3f}")
    if fit.supremum is not None:
        words.append(f"worst error ε {_bracket_text(fit.supremum.low, fit.supremum.high)}")
    return tuple(words)


def _bracket_text(low: float | None, high: float) -> str:
    return f"≤ {high:.3f}" if low is None else f"{low:.3f} to {high:.3f}"
