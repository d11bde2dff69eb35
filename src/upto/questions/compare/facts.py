"""Facts on the page of two compared runs: the verdict's fit and the numbers below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import Group
from upto.questions.compare.charts import bracket_chart
from upto.report.markup import Inert

if TYPE_CHECKING:
    from upto.core import Fit
    from upto.questions.compare.result import CompareResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Bounds on the smallest worst error up to a group; `low` is None if nothing is proved."""

    name: str
    low: float | None
    high: float
    drawing: Inert


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstError:
    """The smallest worst error up to the group of the verdict, and up to a rigid motion.

    The near-isometry `defect` over `n_rows` rows bounds the latter, the quantity of Theorem 1. It
    is None if it is the same as that of the verdict, and `own` None if it was not measured.
    """

    own: Bracket | None
    rigid: Bracket | None
    defect: float
    n_rows: int


def headline_fit(result: CompareResult) -> Fit | None:
    """Return the fit of the verdict, or the one with the smallest error if there is no group."""
    fits = [fit for fit in result.fits if not fit.unmixed]
    for fit in fits:
        if fit.up_to is result.up_to:
            return fit
    return min(fits, key=lambda fit: fit.error.value, default=None)


def comparison_facts(result: CompareResult) -> tuple[tuple[str, str, str], ...]:
    """Return the label, value and detail of each number below the verdict."""
    fit = headline_fit(result)
    if fit is None:
        return ()
    kind = "held out" if fit.held_out else "in sample"
    errors = fit.held_out or fit.in_sample
    mean = errors.mean
    if mean.low is not None and mean.high is not None:
        interval = f"{mean.low:.4f} to {mean.high:.4f} at\u00a0{100 * mean.level:.3g}\u00a0%"
    else:
        interval = "no interval"
    if result.up_to is None:
        group = ("up to", "none", f"smallest error: {fit.name}")
    else:
        phrase = result.up_to.phrase if result.up_to is not Group.IDENTITY else "nothing"
        group = ("up to", fit.name, phrase)
    chance = ("chance", "–", "not measured")
    if fit.chance is not None:
        level = fit.chance.mean.value
        p = "" if fit.p_value is None else f"p\u00a0=\u00a0{fit.p_value:.2g}"
        times = f"{level / mean.value:.3g} times the error" if mean.value > 0 else ""
        detail = ", ".join(text for text in (times, p) if text)
        chance = ("chance", f"{level:.4f}", detail)
    beside = chance[2]
    if result.mean is not None:
        baseline = (result.mean.held_out or result.mean.in_sample).mean.value
        chance = (
            "predicting the mean",
            f"{baseline:.4f}",
            f"chance {chance[1]}" + (f", {beside}" if fit.chance is not None and beside else ""),
        )
    direction = "of the target's variance"
    if result.r2_per_direction is not None:
        direction = f"of the variance; {result.r2_per_direction:.3f} per direction on average"
    held_out = f"{result.n_held_out:,} held out" if result.n_held_out else "none held out"
    return (
        group,
        (f"mean error {kind}", f"{mean.value:.4f}", interval),
        chance,
        (f"R² {kind}", f"{errors.r2:.3f}", direction),
        ("rows", f"{result.n_samples:,}", held_out),
    )


def what_both_hold(result: CompareResult) -> tuple[str, ...]:
    """Return sentences on shared directions, agreement within classes and exact groups."""
    lines = []
    shared = result.shared
    if shared is not None:
        first, second = result.first.name, result.second.name
        lines.append(
            f"After whitening, the runs agree on {shared.n_shared} directions (held-out R² of at "
            f"least 0.5; at least 0.8 on {shared.n_closely}), out of {shared.n_first} of "
            f"{first}, where they account for "
            f"{shared.variance_first:.1%} of the variance, and {shared.n_second} of {second}, "
            f"where they account for {shared.variance_second:.1%}."
        )
    if result.classes is not None:
        inside = result.classes
        p = "" if inside.within_p_value is None else f" (p {inside.within_p_value:.2g})"
        lines.append(
            f"Between the {inside.n_classes} classes of {inside.label} the map explains "
            f"{inside.between_r2:.1%} of the variance; within them, a map of the same group fitted "
            f"within classes explains {max(inside.within_r2, 0.0):.1%}{p}."
        )
    if result.exact is not None:
        lines.append(f"The runs agree exactly up to {result.exact.phrase}.")
    return tuple(lines)


def efficiency_facts(result: CompareResult) -> tuple[tuple[str, str, str], ...]:
    """Return the efficiency of ICA, held out and in sample."""
    pairs = (("held out", result.efficiency), ("in sample", result.efficiency_in_sample))
    return tuple((kind, f"{value:.0%}", "") for kind, value in pairs if value is not None)


def worst_error(result: CompareResult) -> WorstError | None:
    """Bracket the smallest worst error up to the verdict's group, if it was measured."""
    fit, defect = headline_fit(result), result.defect
    if fit is None or defect is None:
        return None
    rigid = next((each for each in result.fits if each.name == "rigid"), None)
    found = WorstError(
        own=_bracket(fit),
        rigid=None if rigid is None or rigid is fit else _bracket(rigid),
        defect=defect.value,
        n_rows=defect.n_rows,
    )
    return found if found.own or found.rigid else None


def _bracket(fit: Fit) -> Bracket | None:
    worst = fit.supremum
    if worst is None:
        return None
    drawing = bracket_chart(fit.name, worst, fit.in_sample.mean.value)
    return Bracket(name=fit.name, low=worst.low, high=worst.high, drawing=drawing)
