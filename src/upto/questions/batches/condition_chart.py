"""Chart of the AUROC of each condition on held-out batches, and its gain over base."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from upto.questions.batches.result import BASE
from upto.report.axis_scale import Scale, range_scale, tick_texts
from upto.report.markup import Inert, counted, element, shorten
from upto.report.planes import WIDTH, counting_axis, path, picture

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.core import Estimate
    from upto.questions.batches.parts import Condition, ConditionDifference, ConditionScore
    from upto.questions.batches.result import BatchesResult

CHANCE = 0.5
_ROW = 40
_MEAN, _FOLDS = 14, 28
"""Vertical positions of the mean and of the folds in a row, in pixels."""
_MAX_FOLDS = 300
_TICK_ROOM = 13
_SAYS = {"gain": "gain", "loss": "loss", "none": "no gain", "open": "undecided"}
_NEEDS = {
    "nothing": "",
    "batch": "needs all rows of a new batch",
    "controls": "needs controls in a new batch",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionLine:
    """Drawings and texts of one condition.

    `drawing` is None without an AUROC, and `against` None without a comparison. `word` is the
    outcome of the comparison and `tone` its style.
    """

    title: str
    says: str
    detail: str
    is_best: bool
    is_base: bool
    drawing: Inert | None
    auroc: str
    interval: str
    against: Inert | None
    difference: str
    difference_interval: str
    word: str
    tone: str
    within: str
    sparsity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakLine:
    """AUROC of a predictor without the embedding, on the axis of the conditions."""

    name: str
    says: str
    drawing: Inert
    auroc: str
    interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionChart:
    """All conditions on one AUROC axis and one axis of differences to base."""

    lines: tuple[ConditionLine, ...]
    axis: Inert
    difference_axis: Inert | None
    any_shuffled: bool
    leaks: tuple[LeakLine, ...]


def condition_chart(result: BatchesResult) -> ConditionChart:
    """Draw every condition with its folds, and the predictors without the embedding."""
    totals = {score.condition: score for score in result.scores if score.task is None}
    folds = fold_means(result)
    found = differences_to_base(result)
    leaks = [leak for leak in (result.leak.well, result.leak.batch) if leak is not None]
    scale = range_scale(_numbers(totals.values(), folds.values(), leaks))
    wide = range_scale([0.0, *(end for each in found.values() for end in ends_of(each.value))])
    base = totals[BASE].auroc if BASE in totals else None
    reference = None if base is None else base.value
    return ConditionChart(
        lines=tuple(
            _line(
                condition, totals[condition.name], folds.get(condition.name, ()),
                found.get(condition.name), scales=(scale, wide), base=reference,
                is_best=len(result.conditions) > 1 and condition.name == result.best,
            )
            for condition in result.conditions
        ),
        axis=_axis(scale),
        difference_axis=_axis(wide) if found else None,
        any_shuffled=any(score.shuffled is not None for score in totals.values()),
        leaks=_leaks(result, scale, reference),
    )  # fmt: skip


def fold_means(result: BatchesResult) -> dict[str, tuple[float, ...]]:
    """Return the AUROC of each condition in every fold, averaged over tasks."""
    found: dict[str, dict[int, list[float]]] = {}
    for score in result.fold_scores:
        if score.auroc is not None:
            by_fold = found.setdefault(score.condition, {})
            by_fold.setdefault(score.fold, []).append(score.auroc)
    return {
        condition: tuple(fmean(by_fold[fold]) for fold in sorted(by_fold))
        for condition, by_fold in found.items()
    }


def differences_to_base(result: BatchesResult) -> dict[str, ConditionDifference]:
    """Return the AUROC difference of each condition to the unmodified embedding."""
    return {
        each.condition: each
        for each in result.differences
        if each.against == BASE and each.measure == "auroc"
    }


def tone_of(found: ConditionDifference) -> str:
    """Return whether a difference is a gain, a loss, none, or open (no p-value)."""
    if found.p_value is None:
        return "open"
    return "gain" if found.is_gain else "loss" if found.is_loss else "none"


def word_of(found: ConditionDifference) -> str:
    """Return the displayed outcome of a difference."""
    return _SAYS[tone_of(found)]


def ends_of(estimate: Estimate) -> tuple[float, ...]:
    """Return the value and the ends of its interval, if any."""
    numbers = (estimate.value, estimate.low, estimate.high)
    return tuple(number for number in numbers if number is not None)


def interval_text(estimate: Estimate | None, spec: str = ".3f") -> str:
    """Format an interval; empty if there is none."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"[{estimate.low:{spec}}, {estimate.high:{spec}}]"


def _numbers(
    totals: Iterable[ConditionScore], folds: Iterable[Sequence[float]], leaks: Iterable[Estimate]
) -> list[float]:
    numbers = [CHANCE]
    for score in totals:
        numbers += list(ends_of(score.auroc)) if score.auroc is not None else []
        numbers += [score.shuffled.value] if score.shuffled is not None else []
    numbers += [value for own in folds for value in own]
    numbers += [end for leak in leaks for end in ends_of(leak)]
    # An interval may extend beyond 0 or 1.
    return [min(max(number, 0.0), 1.0) for number in numbers]


def _line(
    condition: Condition,
    score: ConditionScore,
    folds: Sequence[float],
    found: ConditionDifference | None,
    *,
    scales: tuple[Scale, Scale],
    base: float | None,
    is_best: bool,
) -> ConditionLine:
    scale, wide = scales
    auroc, words = score.auroc, _words(condition, score, folds, found)
    drawing = None
    if auroc is not None:
        shuffled = None if score.shuffled is None else score.shuffled.value
        drawing = auroc_drawing(scale, auroc, words, folds=folds, shuffled=shuffled, base=base)
    return ConditionLine(
        title=condition.title,
        says=condition.says,
        detail=_detail(condition),
        is_best=is_best and auroc is not None,
        is_base=condition.name == BASE,
        drawing=drawing,
        auroc=_text(auroc),
        interval=interval_text(auroc),
        against=None if found is None else _difference_drawing(wide, found, words),
        difference="" if found is None else f"{found.value.value:+.3f}",
        difference_interval="" if found is None else interval_text(found.value, "+.3f"),
        word="" if found is None else word_of(found),
        tone="" if found is None else tone_of(found),
        within=_text(score.within),
        sparsity=_text(score.sparsity),
    )


def _detail(condition: Condition) -> str:
    words = [counted(condition.n_components, "column"), _NEEDS[condition.needs]]
    if condition.converged is False:
        words.append("not converged")
    return " · ".join(word for word in words if word)


def _words(
    condition: Condition,
    score: ConditionScore,
    folds: Sequence[float],
    found: ConditionDifference | None,
) -> list[str]:
    words = [shorten(condition.title)]
    if score.auroc is not None:
        words.append(f"AUROC {score.auroc:.3f}")
    if folds:
        words.append(f"{counted(len(folds), 'fold')}, from {min(folds):.3f} to {max(folds):.3f}")
    if found is not None:
        words.append(f"minus base {found.value:+.3f}")
        p_value = "" if found.p_value is None else f", adjusted p {found.p_value:.2g}"
        words.append(f"{word_of(found)}{p_value}")
    for name, each in (
        ("within batches", score.within),
        ("shuffled labels", score.shuffled),
        ("sparsity", score.sparsity),
        ("sparsity, shuffled labels", score.shuffled_sparsity),
    ):
        if each is not None:
            words.append(f"{name} {each:.3f}")
    return words


def auroc_drawing(
    scale: Scale,
    value: Estimate,
    words: Sequence[str],
    *,
    folds: Sequence[float] = (),
    shuffled: float | None = None,
    base: float | None = None,
) -> Inert:
    """Draw an AUROC with its interval and, below it, all folds."""
    marks = [_upright("grid", x) for x in map(scale.position, scale.ticks)]
    marks.append(_upright("coin", scale.position(CHANCE)))
    if base is not None:
        marks.append(_upright("base", scale.position(base)))
    if shuffled is not None:
        marks.append(_upright("chance", scale.position(shuffled), 6, _ROW - 4))
    marks += _interval(scale, value, "interval")
    x = f"{scale.position(value.value):.2f}%"
    marks.append(element("circle", class_="held-out", cx=x, cy=_MEAN, r=4.5))
    if folds:
        dots = (f"M{scale.position(fold) * WIDTH / 100:.0f} {_FOLDS}h0" for fold in _some(folds))
        marks.append(picture(path("fold", dots), height=_ROW))
    return _row(marks, words)


def _some(folds: Sequence[float]) -> list[float]:
    """Return at most `_MAX_FOLDS` folds, including the smallest and the largest."""
    ordered = sorted(folds)
    if len(ordered) <= _MAX_FOLDS:
        return ordered
    step = (len(ordered) - 1) / (_MAX_FOLDS - 1)
    return [ordered[round(place * step)] for place in range(_MAX_FOLDS)]


def _difference_drawing(scale: Scale, found: ConditionDifference, words: Sequence[str]) -> Inert:
    tone = tone_of(found)
    marks = [_upright("grid", x) for x in map(scale.position, scale.ticks)]
    marks.append(_upright("base", scale.position(0.0)))
    marks += _interval(scale, found.value, f"interval is-{tone}")
    x = f"{scale.position(found.value.value):.2f}%"
    marks.append(element("circle", class_=f"difference is-{tone}", cx=x, cy=_MEAN, r=4.5))
    return _row(marks, words)


def _interval(scale: Scale, value: Estimate, kind: str) -> list[Inert]:
    if value.low is None or value.high is None:
        return []
    low, high = scale.position(value.low), scale.position(value.high)
    line = element("line", class_=kind, x1=f"{low:.2f}%", x2=f"{high:.2f}%", y1=_MEAN, y2=_MEAN)
    return [line]


def _upright(kind: str, x: float, top: float = 0, bottom: float = _ROW) -> Inert:
    return element("line", class_=kind, x1=f"{x:.2f}%", x2=f"{x:.2f}%", y1=top, y2=bottom)


def _row(marks: Sequence[Inert], words: Sequence[str]) -> Inert:
    return element(
        "svg", *marks, class_="row", height=_ROW, role="img", tabindex=0,
        aria_label=", ".join(words), data_tip="\n".join(words),
    )  # fmt: skip


def _axis(scale: Scale) -> Inert:
    """Draw the tick labels that fit below a chart."""
    places: list[tuple[float, str]] = []
    for tick, text in zip(scale.ticks, tick_texts(scale.ticks), strict=True):
        x = scale.position(tick)
        if not places or x - places[-1][0] >= _TICK_ROOM:
            places.append((x, text))
    return counting_axis(places)


def _leaks(result: BatchesResult, scale: Scale, base: float | None) -> tuple[LeakLine, ...]:
    kinds = (
        ("well position", result.leak.well, "position only, no embedding"),
        ("batches alone", result.leak.batch, "labels shuffled within each batch"),
    )
    return tuple(
        LeakLine(
            name=name,
            says=says,
            drawing=auroc_drawing(scale, value, (name, says, f"AUROC {value:.3f}"), base=base),
            auroc=_text(value),
            interval=interval_text(value),
        )
        for name, value, says in kinds
        if value is not None
    )


def _text(value: Estimate | None) -> str:
    return "–" if value is None else f"{value.value:.3f}"
