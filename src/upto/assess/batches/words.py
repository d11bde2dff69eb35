"""What was found, in words: the verdict and the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.assess.batches.conditions import CONDITIONS, THEN
from upto.assess.batches.confounding import are_mostly_untold, is_confounded, untold
from upto.core import Finding
from upto.core.batches import BASE
from upto.files.request import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from upto.assess.batches.judging import Judged
    from upto.assess.batches.screen import Screen
    from upto.batch_metrics.folds import Split
    from upto.core import Batches, ConditionDifference, ConditionScore, Estimate, Task

FEW_BATCHES = 5
FEW_ROWS = 5
TOLD_BY_WELL = 0.6


def best_condition(scores: Sequence[ConditionScore]) -> str:
    """Return the condition of the largest AUROC over all tasks."""
    known = {
        score.condition: score.auroc.value
        for score in scores
        if score.task is None and score.auroc is not None
    }
    return max(known, key=lambda name: known[name])


def verdict(result: Batches, unchanged: Collection[str] = ()) -> str:
    """Say which condition is best on batches never seen, and whether it is a gain.

    Parameters
    ----------
    result
        Everything that was measured.
    unchanged
        Names of conditions that are the embedding as given.
    """
    base = result.score(BASE).auroc
    assert base is not None
    if are_mostly_untold(result.tasks, len(result.batches)):
        return _nothing_told(result, base)
    reached = f"{base:.3f}"
    if result.leak.batch is not None and base.low is not None and base.low <= 0.5:
        is_below = base.high is not None and base.high < 0.5
        reached += " (below chance)" if is_below else " (no better than chance)"
    same = [each.title for each in result.conditions if each.name in unchanged]
    alike = f" {listed(same)} dropped nothing, so its rows are unmodified." if same else ""
    others = _against_base(result, unchanged)
    if not others:
        held_out = f"on held-out {result.hold_out}"
        return (
            f"{_batches_alone(result)}The unmodified embedding predicts {result.label} {held_out}: "
            f"AUROC {reached}.{alike}"
        )
    return _batches_alone(result) + _compared(result, others, reached) + alike


def _batches_alone(result: Batches) -> str:
    """Say first that batches predict the label, where they do; empty where they do not."""
    if not do_batches_predict(result):
        return ""
    within = result.score(BASE).within
    apart = f"; within batches the unmodified embedding has {within:.3f}" if within else ""
    return (
        f"{result.batch} alone predicts {result.label}: shuffled within batches, it still has an "
        f"AUROC of {result.leak.batch:.3f}{apart}. "
    )


def do_batches_predict(result: Batches) -> bool:
    """Tell whether labels shuffled within batches are predicted better than by chance."""
    alone = result.leak.batch
    return alone is not None and alone.low is not None and alone.low > 0.5


def _compared(result: Batches, others: Sequence[ConditionDifference], base: str) -> str:
    """Say which condition changes the AUROC of the unmodified embedding, or that none does."""
    gains = [found for found in others if found.is_gain]
    best = max(gains or others, key=lambda found: found.value.value)
    title, reached = result.condition(best.condition).title, result.score(best.condition).auroc
    assert reached is not None
    area = f"the AUROC for {result.label} on held-out {result.hold_out}"
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
    if len(others) == 1:
        tried = f"{title} changes it by {best.value:+.3f}, within the variation between folds"
    else:
        tried = (
            f"the best, {title}, changes it by {best.value:+.3f}, within the variation between "
            f"folds once {len(others)} conditions are allowed for"
        )
    return f"No condition improves {area}, which is {base} for the unmodified embedding; {tried}."


def _nothing_told(result: Batches, base: Estimate) -> str:
    """Say first that label and batch go together, whatever the AUROC is."""
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
    within = result.score(BASE).within
    apart = (
        "no batch has both sides to compare"
        if within is None
        else f"within batches it is {within.value:.3f}"
    )
    return (
        f"{result.label} cannot be separated from {result.batch}: {together}, so the AUROC of "
        f"{base.value:.3f} on held-out {result.hold_out} may reflect {result.batch} alone; {apart}."
    )


def _against_base(result: Batches, unchanged: Collection[str]) -> list[ConditionDifference]:
    """Return how AUROCs differ from the embedding's as given, of conditions that change it."""
    return [
        found
        for found in result.differences
        if (found.against, found.measure) == (BASE, "auroc") and found.condition not in unchanged
    ]


def findings(
    result: Batches, screen: Screen, splits: Sequence[Split], unchanged: Collection[str] = ()
) -> list[Finding]:
    """Say everything that a reader of the table has to know."""
    return [
        *_of_missing(result, screen),
        *_of_labels(result),
        *_of_leaks(result),
        *_of_conditions(result, screen, splits, unchanged),
        *_of_components(result),
    ]


def kept_whole(judged: Sequence[Judged]) -> list[Finding]:
    """Say which conditions found nothing that they may drop, in any fit, and why."""
    found = []
    for each in judged:
        if not drops_nothing(each):
            continue
        n_fits = len(each.n_dropped)
        message = f"{each.kind.title} drops no component in {n_fits} fit{'s' * (n_fits != 1)}"
        worst = max(each.costs, key=lambda cost: cost.most or 0.0, default=None)
        why = "" if worst is None else f"; in the worst of them {worst.says}"
        if worst is not None and worst.most is None:
            why = f"; {worst.says}"
        found.append(Finding(code="UP089", message=f"{message}{why}."))
    return found


def drops_nothing(judged: Judged) -> bool:
    """Tell whether a condition could drop components and dropped none in any fit."""
    return bool(judged.n_dropped) and all(number == 0 for number in judged.n_dropped)


def _of_missing(result: Batches, screen: Screen) -> list[Finding]:
    n_missing = int(np.sum(screen.labels == ""))
    if not n_missing:
        return []
    has = "has" if n_missing == 1 else "have"
    return [
        Finding(
            code="UP063",
            message=f"{n_missing} of {result.n_samples} rows {has} no {result.label}; no "
            "classifier is trained or judged on them.",
        )
    ]


def _of_labels(result: Batches) -> list[Finding]:
    found = []
    never = [task for task in result.tasks if task.n_folds == 0]
    if never:
        found.append(
            Finding(
                code="UP075",
                message=f"{len(never)} of {len(result.tasks)} labels {_are(never)} judged on no "
                f"fold, as {never[0].name}: {never[0].says}.",
            )
        )
    n_batches = len(result.batches)
    confounded = [task for task in result.tasks if task.n_folds and is_confounded(task, n_batches)]
    if confounded:
        worst = min(confounded, key=lambda task: task.n_batches)
        n_untold = len(untold(result.tasks, n_batches))
        if len(confounded) == 1:
            shares = (
                f"{worst.name} shares {worst.n_batches or 'none'} of {n_batches} batches with what "
                "it is told from."
            )
        else:
            shares = (
                f"{len(confounded)} of {len(result.judged)} labels share no more than half of the "
                f"{n_batches} batches with what they are told from; {worst.name} shares "
                f"{worst.n_batches or 'none'}."
            )
        of_them = "it" if len(confounded) == 1 else f"{n_untold} of them"
        without = f" No interval is given for {of_them}." if n_untold else ""
        found.append(
            Finding(
                code="UP071",
                message=f"{shares}{without}",
            )
        )
    partly = [task for task in result.tasks if 0 < task.n_folds < len(result.folds)]
    if partly and result.scheme == "folds":
        found.append(
            Finding(
                code="UP075",
                message=f"{len(partly)} of {len(result.tasks)} labels {_are(partly)} judged on "
                f"some folds only, as {partly[0].name}: {partly[0].says}.",
            )
        )
    return found


def _of_leaks(result: Batches) -> list[Finding]:
    leak, found = result.leak, []
    well = leak.well
    if well is not None and well.value >= TOLD_BY_WELL and (well.low is None or well.low > 0.5):
        found.append(
            Finding(code="UP072", message=f"positions of wells alone have an AUROC of {well:.3f}.")
        )
    if leak.n_repeated_wells:
        found.append(
            Finding(
                code="UP073",
                message=f"{leak.n_repeated_wells} of {result.n_samples} rows name a well of "
                f"{result.batch} that a row before named.",
            )
        )
    if leak.n_repeated_rows:
        found.append(
            Finding(
                code="UP074",
                message=f"{leak.n_repeated_rows} of {result.n_samples} rows have values that occur "
                f"in several {result.hold_out}.",
            )
        )
    if do_batches_predict(result):
        found.append(
            Finding(
                code="UP078",
                message="labels that were shuffled within batches are predicted with an AUROC of "
                f"{leak.batch:.3f}.",
            )
        )
    for condition in result.conditions:
        shuffled = result.score(condition.name).shuffled
        if shuffled is None or shuffled.low is None or shuffled.high is None:
            continue
        # An interval of 95 % would be left by one condition in twenty.
        reach = 1.5 * (shuffled.high - shuffled.value)
        if abs(shuffled.value - 0.5) > max(reach, 0.02):
            found.append(
                Finding(
                    code="UP077",
                    message=f"{condition.title} trained on shuffled labels has an AUROC of "
                    f"{shuffled:.3f}.",
                )
            )
    return found


def _of_conditions(
    result: Batches, screen: Screen, splits: Sequence[Split], unchanged: Collection[str]
) -> list[Finding]:
    found = []
    against = _against_base(result, unchanged)
    if against and not any(each.is_gain for each in against):
        best = max(against, key=lambda each: each.value.value)
        found.append(
            Finding(
                code="UP076",
                message=f"of {len(against)} tried, the best, "
                f"{result.condition(best.condition).title}, differs by {best.value:+.3f}.",
            )
        )
    transductive = [each.name for each in result.conditions if _is_transductive(each.name)]
    if result.fit == "all" or transductive:
        which = "all conditions" if result.fit == "all" else listed(transductive)
        labelled = [each.name for each in result.conditions if _saw_labels(each.name, result.fit)]
        more = f", and {listed(labelled)} their labels" if labelled else ""
        found.append(
            Finding(code="UP079", message=f"{which} saw the rows of the batches held out{more}.")
        )
    if screen.controls is not None and screen.references is not None:
        n_kept, n_all = int(screen.references.sum()), int(screen.controls.sum())
        if n_kept < n_all:
            found.append(
                Finding(
                    code="UP083",
                    message=f"{n_kept} of {n_all} controls correct their batch, {n_all - n_kept} "
                    "are judged.",
                )
            )
    unsettled = [each.title for each in result.conditions if each.converged is False]
    if unsettled:
        found.append(Finding(code="UP004", message=f"{listed(unsettled)} in at least one fit."))
    n_groups = int(screen.held.max()) + 1
    if n_groups < FEW_BATCHES:
        found.append(
            Finding(code="UP081", message=f"{result.hold_out} has {n_groups} values to hold out.")
        )
    fewest = min(int(split.training.sum()) for split in splits)
    widest = max((each.n_components for each in result.conditions[1:]), default=0)
    if widest and fewest < FEW_ROWS * widest:
        found.append(
            Finding(
                code="UP001",
                message=f"{fewest} training rows for {widest} directions: whitening enlarges "
                "directions that are noise. Keep fewer components: a number of them, or a share of "
                "the variance such as 0.95.",
            )
        )
    return found + _disagreement(result)


def _saw_labels(name: str, fit: str) -> bool:
    """Tell whether a condition was fitted to labels of the batches held out."""
    is_seen = fit == "all" or _is_transductive(name)
    return is_seen and any(CONDITIONS[part].uses_labels for part in name.split(THEN))


def _is_transductive(name: str) -> bool:
    return any(CONDITIONS[part].is_transductive for part in name.split(THEN))


def _disagreement(result: Batches) -> list[Finding]:
    totals = {
        score.condition: score.value
        for score in result.mixing
        if score.name == "total" and score.value is not None
    }
    if len(totals) < 2:
        return []
    mixed = max(totals, key=lambda name: totals[name])
    best = result.best
    if mixed == best:
        return []
    ahead, behind = result.score(best).auroc, result.score(mixed).auroc
    if ahead is None or behind is None or ahead.value - behind.value < 0.01:
        return []
    return [
        Finding(
            code="UP080",
            message=f"{result.condition(mixed).title} has the best total, {totals[mixed]:.3f}, and "
            f"an AUROC of {behind.value:.3f} on batches held out; "
            f"{result.condition(best).title} has {ahead.value:.3f}.",
        )
    ]


def _of_components(result: Batches) -> list[Finding]:
    carries = np.array([each.carries for each in result.components])
    both, batch = int(np.sum(carries == "both")), int(np.sum(carries == "batch"))
    if not both:
        return []
    return [
        Finding(
            code="UP082",
            message=f"{both} of {len(carries)} components {_carry(both)} {result.batch} and "
            f"{result.label}; {batch} {_carry(batch)} {result.batch} only.",
        )
    ]


def _are(tasks: Sequence[Task]) -> str:
    return "is" if len(tasks) == 1 else "are"


def _carry(count: int) -> str:
    return "carries" if count == 1 else "carry"
