"""Findings of a comparison of conditions on held-out batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Finding
from upto.files.request import listed
from upto.questions.batches.conditions import CONDITIONS, THEN
from upto.questions.batches.confounded import is_confounded, untold
from upto.questions.batches.verdict import against_base, do_batches_predict, do_wells_predict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from upto.batch_metrics.folds import Split
    from upto.questions.batches.evaluate import Judged
    from upto.questions.batches.parts import ConditionScore, Task
    from upto.questions.batches.result import BatchesResult
    from upto.questions.batches.screen import Screen

FEW_BATCHES = 5
FEW_ROWS = 5


def best_condition(scores: Sequence[ConditionScore]) -> str:
    """Return the condition with the largest AUROC over all tasks."""
    known = {
        score.condition: score.auroc.value
        for score in scores
        if score.task is None and score.auroc is not None
    }
    return max(known, key=lambda name: known[name])


def findings(
    result: BatchesResult, screen: Screen, splits: Sequence[Split], unchanged: Collection[str] = ()
) -> list[Finding]:
    """Return the caveats that a reader of the table needs."""
    remarks = (
        *_of_missing(result, screen),
        *_of_labels(result),
        *_of_leaks(result),
        *_of_conditions(result, screen, splits, unchanged),
        *_disagreement(result),
        *_of_components(result),
    )
    return [Finding(code=code, message=message) for code, message in remarks]


def kept_whole(judged: Sequence[Judged]) -> list[Finding]:
    """Report conditions that drop no component in any fit, and why."""
    found = []
    for each in judged:
        if not drops_nothing(each):
            continue
        n_fits = len(each.n_dropped)
        message = f"{each.kind.title} drops no component in {n_fits} fit{'s' * (n_fits != 1)}"
        worst = max(each.costs, key=lambda cost: cost.most or 0.0, default=None)
        why = "" if worst is None else f"; in the worst fit, {worst.says}"
        if worst is not None and worst.most is None:
            why = f"; {worst.says}"
        found.append(Finding(code="UP089", message=f"{message}{why}."))
    return found


def drops_nothing(judged: Judged) -> bool:
    """Return whether a condition could drop components but dropped none in any fit."""
    return bool(judged.n_dropped) and all(number == 0 for number in judged.n_dropped)


def _of_missing(result: BatchesResult, screen: Screen) -> Iterator[tuple[str, str]]:
    n_missing = int(np.sum(screen.labels == ""))
    if n_missing:
        has = "has" if n_missing == 1 else "have"
        yield (
            "UP063",
            f"{n_missing} of {result.n_samples} rows {has} no {result.label}; classifiers are "
            "neither trained nor tested on them.",
        )


def _of_labels(result: BatchesResult) -> Iterator[tuple[str, str]]:
    never = [task for task in result.tasks if task.n_folds == 0]
    if never:
        yield (
            "UP075",
            f"{len(never)} of {len(result.tasks)} labels {_are(never)} evaluated on no fold, e.g. "
            f"{never[0].name}: {never[0].says}.",
        )
    n_batches = len(result.batches)
    confounded = [task for task in result.tasks if task.n_folds and is_confounded(task, n_batches)]
    if confounded:
        worst = min(confounded, key=lambda task: task.n_batches)
        n_untold = len(untold(result.tasks, n_batches))
        if len(confounded) == 1:
            shares = (
                f"{worst.name} shares {worst.n_batches or 'none'} of {n_batches} batches with "
                "its comparison group."
            )
        else:
            shares = (
                f"{len(confounded)} of {len(result.judged)} labels share at most half of the "
                f"{n_batches} batches with their comparison group; {worst.name} shares "
                f"{worst.n_batches or 'none'}."
            )
        of_them = "it" if len(confounded) == 1 else f"{n_untold} of them"
        without = f" No interval is reported for {of_them}." if n_untold else ""
        yield "UP071", f"{shares}{without}"
    partly = [task for task in result.tasks if 0 < task.n_folds < len(result.folds)]
    if partly and result.scheme == "folds":
        yield (
            "UP075",
            f"{len(partly)} of {len(result.tasks)} labels {_are(partly)} evaluated on some folds "
            f"only, e.g. {partly[0].name}: {partly[0].says}.",
        )


def _of_leaks(result: BatchesResult) -> Iterator[tuple[str, str]]:
    leak, n_samples = result.leak, result.n_samples
    if do_wells_predict(result):
        yield "UP072", f"well position alone has an AUROC of {leak.well:.3f}."
    if leak.n_repeated_wells:
        repeat = f"repeat a well of {result.batch} that an earlier row lists"
        yield "UP073", f"{leak.n_repeated_wells} of {n_samples} rows {repeat}."
    if leak.n_repeated_rows:
        have = f"have values that occur in several {result.fold_by}"
        yield "UP074", f"{leak.n_repeated_rows} of {n_samples} rows {have}."
    if do_batches_predict(result):
        predicted = "labels shuffled within batches are predicted with an AUROC of"
        yield "UP078", f"{predicted} {leak.batch:.3f}."
    for condition in result.conditions:
        shuffled = result.score(condition.name).shuffled
        if shuffled is None or shuffled.low is None or shuffled.high is None:
            continue
        # One condition in twenty falls outside a 95 % interval by chance.
        reach = 1.5 * (shuffled.high - shuffled.value)
        if abs(shuffled.value - 0.5) > max(reach, 0.02):
            trained = f"{condition.title} trained on shuffled labels"
            yield "UP077", f"{trained} has an AUROC of {shuffled:.3f}."


def _of_conditions(
    result: BatchesResult, screen: Screen, splits: Sequence[Split], unchanged: Collection[str]
) -> Iterator[tuple[str, str]]:
    against = against_base(result, unchanged)
    if against and not any(each.is_gain for each in against):
        best = max(against, key=lambda each: each.value.value)
        title = result.condition(best.condition).title
        yield (
            "UP076",
            f"the best of {len(against)} tried, {title}, changes AUROC by {best.value:+.3f}.",
        )
    transductive = [each.name for each in result.conditions if _is_transductive(each.name)]
    if result.fit == "all" or transductive:
        which = "all conditions" if result.fit == "all" else listed(transductive)
        labelled = [each.name for each in result.conditions if saw_labels(each.name, result.fit)]
        more = f", and {listed(labelled)} to their labels" if labelled else ""
        yield "UP079", f"{which} were fitted to rows of the held-out batches{more}."
    if screen.controls is not None and screen.references is not None:
        n_kept, n_all = int(screen.references.sum()), int(screen.controls.sum())
        if n_kept < n_all:
            tested = f"{n_all - n_kept} are tested"
            yield "UP083", f"{n_kept} of {n_all} controls correct their batch, {tested}."
    unsettled = [each.title for each in result.conditions if each.converged is False]
    if unsettled:
        yield "UP004", f"{listed(unsettled)} in at least one fit."
    n_groups = int(screen.held.max()) + 1
    if n_groups < FEW_BATCHES:
        yield "UP081", f"{result.fold_by} has {n_groups} values to hold out."
    fewest = min(int(split.training.sum()) for split in splits)
    widest = max((each.n_components for each in result.conditions[1:]), default=0)
    if widest and fewest < FEW_ROWS * widest:
        yield (
            "UP001",
            f"{fewest} training rows for {widest} directions: whitening enlarges directions that "
            "are noise. Keep fewer components: a number, or a fraction of the variance such as "
            "0.95.",
        )


def saw_labels(name: str, fit: str) -> bool:
    """Return whether a condition was fitted to labels of the held-out batches."""
    is_seen = fit == "all" or _is_transductive(name)
    return is_seen and any(CONDITIONS[part].uses_labels for part in name.split(THEN))


def _is_transductive(name: str) -> bool:
    return any(CONDITIONS[part].is_transductive for part in name.split(THEN))


def _disagreement(result: BatchesResult) -> Iterator[tuple[str, str]]:
    totals = {
        score.condition: score.value
        for score in result.mixing
        if score.name == "total" and score.value is not None
    }
    if len(totals) < 2:
        return
    mixed = max(totals, key=lambda name: totals[name])
    best = result.best
    if mixed == best:
        return
    ahead, behind = result.score(best).auroc, result.score(mixed).auroc
    if ahead is None or behind is None or ahead.value - behind.value < 0.01:
        return
    yield (
        "UP080",
        f"{result.condition(mixed).title} has the best total, {totals[mixed]:.3f}, and an AUROC of "
        f"{behind.value:.3f} on held-out batches; {result.condition(best).title} has "
        f"{ahead.value:.3f}.",
    )


def _of_components(result: BatchesResult) -> Iterator[tuple[str, str]]:
    carries = np.array([each.carries for each in result.components])
    both, batch = int(np.sum(carries == "both")), int(np.sum(carries == "batch"))
    if both:
        yield (
            "UP082",
            f"{both} of {len(carries)} components {_carry(both)} both {result.batch} and "
            f"{result.label}; {batch} {_carry(batch)} {result.batch} only.",
        )


def _are(tasks: Sequence[Task]) -> str:
    return "is" if len(tasks) == 1 else "are"


def _carry(count: int) -> str:
    return "carries" if count == 1 else "carry"
