"""What was found, in words: the verdict and the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.assess.batches.conditions import CONDITIONS, THEN
from upto.assess.batches.confounding import are_mostly_untold, is_confounded, untold
from upto.core import Finding
from upto.core.batches import BASE
from upto.load.request import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.measure.batch_folds import Split
    from upto.assess.batches.judging import Judged
    from upto.assess.batches.screen import Screen
    from upto.core import Batches, ConditionDifference, ConditionScore, Estimate

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


def verdict(result: Batches) -> str:
    """Say which condition is best on batches never seen, and whether it is a gain."""
    base = result.score(BASE).auroc
    assert base is not None
    if are_mostly_untold(result.tasks, len(result.batches)):
        return _nothing_told(result, base)
    said = (
        f"{result.label} is predicted on values of {result.hold_out} never seen with an AUROC of "
        f"{base:.3f}"
    )
    if result.leak.batch is not None and base.low is not None and base.low <= 0.5:
        said += ", which chance could give,"
    others = [found for found in result.differences if _is_against_base(found)]
    if not others:
        return f"{said} by the embedding as given."
    gains = [found for found in others if found.is_gain]
    if not gains:
        best = max(others, key=lambda found: found.value.value)
        title = result.condition(best.condition).title
        return (
            f"No gain: {said} by the embedding as given, and no condition is better by more than "
            f"folds differ. The best of them is {title}, {best.value:+.3f}."
        )
    best = max(gains, key=lambda found: found.value.value)
    reached = result.score(best.condition).auroc
    assert reached is not None
    more = f" {len(gains)} of {len(others)} conditions gain." if len(others) > 1 else ""
    return (
        f"{result.condition(best.condition).title} gains: {said} by the embedding as given and "
        f"{reached.value:.3f} by it, {best.value:+.3f}.{more}"
    )


def _nothing_told(result: Batches, base: Estimate) -> str:
    """Say first that label and batch go together, whatever the AUROC is."""
    confounded = untold(result.tasks, len(result.batches))
    fewest = min(task.n_batches for task in confounded)
    met = "no batch" if fewest == 0 else f"{fewest} of {len(result.batches)} batches"
    within = result.score(BASE).within
    apart = (
        "no batch has both sides to compare"
        if within is None
        else f"among rows of the same batch it is {within.value:.3f}"
    )
    return (
        f"{result.label} cannot be told from {result.batch}: {len(confounded)} of "
        f"{len(result.judged)} labels share few batches with what they are told from ({met} at the "
        f"least), so the AUROC of {base.value:.3f} on values of {result.hold_out} never seen may "
        f"be that of {result.batch} alone; {apart}."
    )


def _is_against_base(found: ConditionDifference) -> bool:
    return (found.against, found.measure) == (BASE, "auroc")


def findings(result: Batches, screen: Screen, splits: Sequence[Split]) -> list[Finding]:
    """Say everything that a reader of the table has to know."""
    return [
        *_of_labels(result),
        *_of_leaks(result),
        *_of_conditions(result, screen, splits),
        *_of_components(result),
    ]


def kept_whole(judged: Sequence[Judged]) -> list[Finding]:
    """Say which conditions found nothing that they may drop, in any fit."""
    return [
        Finding(
            code="UP089",
            message=f"{each.kind.title} drops no component in {len(each.n_dropped)} fits.",
        )
        for each in judged
        if each.n_dropped and all(number == 0 for number in each.n_dropped)
    ]


def _of_labels(result: Batches) -> list[Finding]:
    found = []
    never = [task for task in result.tasks if task.n_folds == 0]
    if never:
        found.append(
            Finding(
                code="UP075",
                message=f"{len(never)} of {len(result.tasks)} labels are judged on no fold, as "
                f"{never[0].name}: {never[0].says}.",
            )
        )
    n_batches = len(result.batches)
    confounded = [task for task in result.tasks if task.n_folds and is_confounded(task, n_batches)]
    if confounded:
        worst = min(confounded, key=lambda task: task.n_batches)
        n_untold = len(untold(result.tasks, n_batches))
        without = f" No interval is given for {n_untold} of them." if n_untold else ""
        found.append(
            Finding(
                code="UP071",
                message=f"{len(confounded)} of {len(result.judged)} labels share no more than half "
                f"of the {n_batches} batches with what they are told from; {worst.name} shares "
                f"{worst.n_batches}.{without}",
            )
        )
    partly = [task for task in result.tasks if 0 < task.n_folds < len(result.folds)]
    if partly and result.scheme == "folds":
        found.append(
            Finding(
                code="UP075",
                message=f"{len(partly)} of {len(result.tasks)} labels are judged on some folds "
                f"only, as {partly[0].name}: {partly[0].says}.",
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
    alone = leak.batch
    if alone is not None and alone.low is not None and alone.low > 0.5:
        found.append(
            Finding(
                code="UP078",
                message="labels that were shuffled within batches are predicted with an AUROC of "
                f"{alone:.3f}.",
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


def _of_conditions(result: Batches, screen: Screen, splits: Sequence[Split]) -> list[Finding]:
    found = []
    against = [each for each in result.differences if _is_against_base(each)]
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
                "directions that are noise. Keep fewer, as --components 0.95.",
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
            message=f"{both} of {len(carries)} components carry {result.batch} and {result.label}; "
            f"{batch} carry {result.batch} only.",
        )
    ]
