"""Verdict of a comparison of conditions: reasons to distrust an AUROC come first."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.batch_metrics.within_batches import p_above_chance
from upto.files.request import listed
from upto.questions.batches.confounded import are_mostly_apart, are_mostly_untold, untold
from upto.questions.batches.result import BASE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Estimate
    from upto.questions.batches.parts import ConditionDifference, Measure
    from upto.questions.batches.result import BatchesResult

CLEARLY = 1e-3
"""Largest p-value at which an AUROC within batches counts as clearly above chance."""
ABOUT = 0.05
"""Gap to the embedding's AUROC within which well position still explains it."""
TOLD_BY_WELL = 0.6
_ROUNDED = 5e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """Facts other than scores that the verdict depends on.

    `unchanged` are conditions that leave the embedding unmodified, and `saw_labels` those fitted to
    labels of the held-out batches. `within_error` is the standard error of the AUROC within batches
    under chance, None if no batch contains both classes.
    """

    unchanged: Collection[str] = ()
    saw_labels: Collection[str] = ()
    within_error: float | None = None


def verdict(result: BatchesResult, grounds: Grounds) -> str:
    """State which condition is best on held-out batches, and whether it is a gain.

    Parameters
    ----------
    result
        The measured scores and differences.
    grounds
        Further facts about rows and conditions.
    """
    base = result.score(BASE).auroc
    assert base is not None
    is_untold = are_mostly_untold(result.tasks, len(result.batches))
    others = against_base(result, grounds.unchanged)
    said = [_of_copies(result)]
    if is_untold:
        said.append(_of_confounding(result, grounds, base))
    said += [_of_wells(result, base), _of_batches_alone(result)]
    if others:
        said.append(_of_conditions(result, others, base))
        if is_untold:
            said.append(_of_conditions_within(result, grounds.unchanged))
    elif not is_untold:
        said.append(
            f"The unmodified embedding {_predicts(base)} {result.label} on held-out "
            f"{result.fold_by}: AUROC {_reached(base)}."
        )
    same = [each.title for each in result.conditions if each.name in grounds.unchanged]
    if same:
        said.append(f"{listed(same)} drops no component and leaves the embedding unmodified.")
    return " ".join(each for each in said if each)


def do_batches_predict(result: BatchesResult) -> bool:
    """Return whether labels shuffled within batches are predicted better than chance."""
    alone = result.leak.batch
    return alone is not None and alone.low is not None and alone.low > 0.5


def do_wells_predict(result: BatchesResult) -> bool:
    """Return whether well position alone predicts labels better than chance."""
    well = result.leak.well
    return well is not None and well.value >= TOLD_BY_WELL and (well.low is None or well.low > 0.5)


def against_base(
    result: BatchesResult, unchanged: Collection[str], measure: Measure = "auroc"
) -> list[ConditionDifference]:
    """Return differences to the unmodified embedding, for conditions that change it."""
    return [
        found
        for found in result.differences
        if (found.against, found.measure) == (BASE, measure) and found.condition not in unchanged
    ]


def _reached(base: Estimate) -> str:
    """Format the AUROC of the unmodified embedding, noting where it is not above chance."""
    if base.low is None or base.low > 0.5:
        return f"{base:.3f}"
    is_below = base.high is not None and base.high < 0.5
    return f"{base:.3f} ({'below chance' if is_below else 'no better than chance'})"


def _predicts(base: Estimate) -> str:
    if base.low is None or base.low > 0.5:
        return "predicts"
    is_below = base.high is not None and base.high < 0.5
    return "does not predict" if is_below else "is not shown to predict"


def _of_copies(result: BatchesResult) -> str:
    """Warn of copies between training and held-out rows, if there are many."""
    leak = result.leak
    if not leak.has_many_copies:
        return ""
    return (
        f"{leak.n_copied} of {leak.n_judged} held-out rows are exact or near copies of a row in "
        f"another {result.fold_by}, so classifiers may have been trained on their test rows, and "
        "the AUROCs may not generalise to new rows."
    )


def _of_wells(result: BatchesResult, base: Estimate) -> str:
    """Warn where well position predicts the label at least about as well as the embedding."""
    well = result.leak.well
    if well is None or not do_wells_predict(result) or well.value < base.value - ABOUT:
        return ""
    return (
        f"Well position alone predicts {result.label} at least about as well as the unmodified "
        f"embedding: AUROC {well:.3f} versus {base.value:.3f}."
    )


def _of_batches_alone(result: BatchesResult) -> str:
    """Warn where batches alone predict the label."""
    if not do_batches_predict(result):
        return ""
    within = result.score(BASE).within
    apart = f"; within batches the unmodified embedding reaches {within:.3f}" if within else ""
    return (
        f"{result.batch} alone predicts {result.label}: labels shuffled within batches still "
        f"reach an AUROC of {result.leak.batch:.3f}{apart}."
    )


def _of_confounding(result: BatchesResult, grounds: Grounds, base: Estimate) -> str:
    """State whether a label confounded with batches is predicted within batches."""
    confounded = untold(result.tasks, len(result.batches))
    fewest = min(confounded, key=lambda task: task.n_batches)
    met = f"{fewest.n_batches or 'none'} of {len(result.batches)} batches"
    if len(result.judged) == 1:
        together = f"{fewest.name} and its comparison group share {met}"
    else:
        together = (
            f"{len(confounded)} of {len(result.judged)} labels share few batches with their "
            f"comparison group ({fewest.name} shares {met})"
        )
    p_values = _p_within(result, grounds)
    clear = [name for name, p_value in p_values.items() if p_value <= CLEARLY]
    within = result.score(BASE).within
    if clear and not are_mostly_apart(result.tasks, len(result.batches)):
        return _told_within(result, clear, p_values, together, base)
    apart = "no batch contains both classes"
    if within is not None:
        apart = f"the AUROC within batches is {within.value:.3f}"
        if p_values:
            is_clear = "clearly" if BASE in clear else "not clearly"
            apart += f", {is_clear} above chance (p = {p_values[BASE]:.1g})"
    return (
        f"{result.label} cannot be separated from {result.batch}: {together}, so the AUROC of "
        f"{base.value:.3f} on held-out {result.fold_by} may reflect {result.batch} alone; {apart}."
    )


def _told_within(
    result: BatchesResult,
    clear: Sequence[str],
    p_values: dict[str, float],
    together: str,
    base: Estimate,
) -> str:
    """State what predicts the label within batches, and why the overall AUROC differs."""
    best = BASE if BASE in clear else max(clear, key=lambda name: _within(result, name))
    who = "The unmodified embedding" if best == BASE else result.condition(best).title
    return (
        f"{who} predicts {result.label} within batches: AUROC {_within(result, best):.3f} "
        f"(p = {p_values[best]:.1g}). AUROCs across held-out {result.fold_by} confound "
        f"{result.label} with {result.batch} because {together}; the unmodified embedding reaches "
        f"{base.value:.3f}."
    )


def _within(result: BatchesResult, name: str) -> float:
    within = result.score(name).within
    assert within is not None
    return within.value


def _p_within(result: BatchesResult, grounds: Grounds) -> dict[str, float]:
    """Return p-values of AUROCs within batches against chance, Bonferroni-corrected."""
    asked = {
        each.name: found.value
        for each in result.conditions
        if each.name not in grounds.saw_labels
        for found in (result.score(each.name).within,)
        if found is not None
    }
    if not grounds.within_error:
        return {}
    return {
        name: min(1.0, len(asked) * p_above_chance(area, grounds.within_error))
        for name, area in asked.items()
    }


def _of_conditions(
    result: BatchesResult, others: Sequence[ConditionDifference], unmodified: Estimate
) -> str:
    """State which condition changes the AUROC of the unmodified embedding, if any."""
    base = _reached(unmodified)
    gains = [found for found in others if found.is_gain]
    best = max(gains or others, key=lambda found: found.value.value)
    title, reached = result.condition(best.condition).title, result.score(best.condition).auroc
    assert reached is not None
    area = f"the AUROC for {result.label} on held-out {result.fold_by}"
    change = f"from {base} to {reached.value:.3f} ({best.value:+.3f})."
    if gains:
        more = f" {len(gains)} of {len(others)} conditions raise it." if len(others) > 1 else ""
        return f"{title} raises {area} {change}{more}"
    if all(found.is_loss for found in others):
        if len(others) == 1:
            return f"{title} lowers {area} {change}"
        return (
            f"All {len(others)} conditions lower {area}, which is {base} for the unmodified "
            f"embedding; {title} lowers it least ({best.value:+.3f})."
        )
    who = title if len(others) == 1 else f"the best, {title},"
    allowed = "" if len(others) == 1 else f" after correction for {len(others)} conditions"
    tried = f"{who} changes it by {best.value:+.3f}, within the variation between folds{allowed}"
    if _is_nothing(best.value):
        tried = f"{who} changes nothing"
    return f"No condition improves {area}, which is {base} for the unmodified embedding; {tried}."


def _of_conditions_within(result: BatchesResult, unchanged: Collection[str]) -> str:
    """State the effect of the condition that is best within batches."""
    others = against_base(result, unchanged, "within")
    if not others:
        return ""
    best = max(others, key=lambda found: found.value.value)
    title = result.condition(best.condition).title
    if _is_nothing(best.value):
        return f"Within batches, {title} changes nothing."
    verb = "raises" if best.is_gain else "lowers" if best.is_loss else "changes"
    only = "" if best.is_gain or best.is_loss else ", within the variation between folds"
    return (
        f"Within batches, {title} {verb} it from {_within(result, BASE):.3f} to "
        f"{_within(result, best.condition):.3f} ({best.value:+.3f}){only}."
    )


def _is_nothing(change: Estimate) -> bool:
    """Return whether a change and its interval all round to zero."""
    ends = (change.value, change.low or 0.0, change.high or 0.0)
    return all(abs(end) < _ROUNDED for end in ends)
