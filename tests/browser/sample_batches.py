"""Batches and labels as `upto.batches` makes them, without scoring anything."""

from __future__ import annotations

import math

import numpy as np
from browser.sample_results import provenance

from upto.core import Estimate, Finding
from upto.questions.batches.parts import (
    BatchFold,
    BatchMap,
    BatchScore,
    BatchSummary,
    ComponentCarries,
    Concentration,
    Condition,
    ConditionDifference,
    ConditionScore,
    FoldScore,
    Leak,
    Task,
)
from upto.questions.batches.result import BatchesResult

BASE, PCA, ICA = "base", "pca", "ica"
# Name, title, what it needs of a new batch, AUROC, adjusted p of no difference to base.
CONDITIONS = (
    (BASE, "as given", "nothing", 0.861, None),
    (PCA, "PCA", "nothing", 0.868, 0.41),
    (ICA, "PCA + ICA", "nothing", 0.902, 0.003),
    ("random", "PCA + random", "nothing", 0.842, 0.06),
    ("control-scaled", "scaled by controls", "controls", 0.878, 0.07),
    ("combat", "ComBat", "batch", 0.815, 0.012),
)
MIXING = (
    ("ilisi", "iLISI", "batch"),
    ("kbet", "kBET", "batch"),
    ("asw-label", "ASW of labels", "biology"),
    ("total", "total 0.4/0.6", "total"),
)
LABELS = ("DMSO", "taxol", "nocodazole", "latrunculin", "etoposide", "ALLN")
SWING = (-0.031, 0.012, 0.024, -0.011, 0.006)
CARRIES = ("batch", "label", "both", "neither")


def estimate(value: float, half: float = 0.018) -> Estimate:
    return Estimate(value=value, low=value - half, high=value + half)


def condition_score(name: str, auroc: float | None, task: str | None, folds: int) -> ConditionScore:
    return ConditionScore(
        condition=name,
        task=task,
        n_folds=folds if auroc is not None else 0,
        auroc=None if auroc is None else estimate(auroc),
        standard_error=None if auroc is None else 0.007,
        within=None if auroc is None else estimate(auroc - 0.015),
        shuffled=None if auroc is None else estimate(0.503, 0.01),
        sparsity=None if auroc is None else estimate(0.42 if name == ICA else 0.31),
        shuffled_sparsity=None if auroc is None else estimate(0.24),
    )


def component(number: int) -> ComponentCarries:
    carries = CARRIES[number % 4] if number < 12 else "neither" if number % 5 else "batch"
    fall = 0.7 / (1 + number) ** 0.6
    batch = fall if carries in ("batch", "both") else 0.004 + 0.002 * (number % 7)
    label = 0.6 * fall if carries in ("label", "both") else 0.002 + 0.001 * (number % 11)
    return ComponentCarries(
        component=number,
        batch_share=batch,
        label_share=label,
        batch_q=0.001 if carries in ("batch", "both") else 0.4,
        label_q=0.002 if carries in ("label", "both") else 0.7,
        carries=carries,  # type: ignore[arg-type]
    )


def batch_map(name: str, n_rows: int, n_batches: int, n_labels: int) -> BatchMap:
    """Put rows on a plane: apart by batch as given, apart by label under any other condition."""
    rng = np.random.default_rng(5)
    batch = rng.integers(n_batches, size=n_rows)
    label = np.where(rng.random(n_rows) < 0.3, 0, rng.integers(n_labels, size=n_rows))
    kind, count = (batch, n_batches) if name == BASE else (label, n_labels)
    angle = 2 * math.pi * kind / count
    spread = rng.normal(size=(n_rows, 2)) * 5
    x, y = 20 * np.cos(angle) + spread[:, 0], 16 * np.sin(angle) + spread[:, 1]
    return BatchMap(
        condition=name,
        x=tuple(float(value) for value in x),
        y=tuple(float(value) for value in y),
        batch=tuple(int(value) for value in batch),
        label=tuple(int(value) for value in label),
    )


def many(count: int) -> tuple[tuple[str, str, str, float, float | None], ...]:
    """Return that many conditions, all of them a little below the first."""
    first, *_ = CONDITIONS
    others = (
        (f"other-{number}", f"condition {number}", "nothing", 0.86 - 0.004 * number, 0.3)
        for number in range(1, count)
    )
    return (first, *others)


def batches(
    conditions: tuple[tuple[str, str, str, float | None, float | None], ...] = CONDITIONS,
    *,
    n_batches: int = 28,
    labels: tuple[str, ...] = LABELS,
    control: str | None = LABELS[0],
    n_components: int = 32,
    maps: tuple[str, ...] = (BASE, ICA),
    n_rows: int = 400,
    n_folds: int = 5,
    name: str = "openphenom",
    mixing: bool = True,
    verdict: str = "PCA + ICA gains: compound is predicted on plates never seen with an AUROC of "
    "0.861 [0.843, 0.879] by the embedding as given and 0.902 by it, +0.041 [+0.019, +0.063]. 1 of "
    "5 conditions gain.",
    findings: tuple[Finding, ...] = (
        Finding(code="UP072", message="well positions alone reach an AUROC of 0.61."),
    ),
) -> BatchesResult:
    """Make a result in which ICA is a gain, ComBat a loss, and the others are neither."""
    asked = tuple(label for label in labels if label != control)
    totals, tasks, folds, differences, mixed, concentrations = [], [], [], [], [], []
    for place, (condition, _, _, auroc, p_value) in enumerate(conditions):
        totals.append(condition_score(condition, auroc, None, n_folds))
        for number, task in enumerate(asked):
            own = None if auroc is None else auroc + 0.02 * math.sin(number)
            tasks.append(condition_score(condition, own, task, n_folds))
            for fold in range(n_folds):
                swing = SWING[fold % 5] * (1 + place % 3 / 4) + 0.002 * (fold // 5 % 7)
                folds.append(
                    FoldScore(
                        condition=condition,
                        task=task,
                        fold=fold,
                        auroc=None if own is None else own + swing,
                        within=None,
                        shuffled=None if own is None else 0.503,
                        sparsity=None,
                        shuffled_sparsity=None,
                    )
                )
        base = conditions[0][3]
        if place and auroc is not None and base is not None:
            differences.append(
                ConditionDifference(
                    condition=condition,
                    against=conditions[0][0],
                    measure="auroc",
                    value=estimate(auroc - base, 0.022),
                    p_value=p_value,
                )
            )
        if mixing:
            for number, (score, title, side) in enumerate(MIXING):
                mixed.append(
                    BatchScore(
                        condition=condition,
                        name=score,
                        title=title,
                        side=side,  # type: ignore[arg-type]
                        value=None
                        if place == 3 and not number
                        else 0.3 + 0.1 * place - 0.05 * number,
                        says="too few rows" if place == 3 and not number else "",
                    )
                )
        for percent in (1.0, 10.0):
            for reading in ("ratio", "difference", "normalised"):
                concentrations.append(
                    Concentration(
                        condition=condition,
                        percent=percent,
                        reading=reading,  # type: ignore[arg-type]
                        value=None if auroc is None else Estimate(value=0.01 * percent + auroc / 9),
                    )
                )
    return BatchesResult(
        name=name,
        n_samples=60 * n_batches,
        n_features=384,
        batch="Metadata_Plate",
        label="compound",
        control=control,
        fold_by="Metadata_Plate",
        scheme="folds",
        fit="training",
        classifier="boosted",
        batches=tuple(
            BatchSummary(name=f"plate {number}", n_rows=60, n_controls=8, fold=number % n_folds)
            for number in range(n_batches)
        ),
        labels=labels,
        folds=tuple(
            BatchFold(
                n_training_batches=n_batches - n_batches // n_folds,
                n_training=48 * n_batches,
                n_held_out_batches=n_batches // n_folds,
                n_held_out=12 * n_batches,
            )
            for _ in range(n_folds)
        ),
        tasks=tuple(
            Task(name=task, n_perturbed=56, n_others=224, n_batches=12, n_folds=n_folds, says="")
            for task in asked
        ),
        conditions=tuple(
            Condition(
                name=condition,
                title=title,
                says="Fitted to the rows of training batches.",
                needs=needs,  # type: ignore[arg-type]
                n_components=384 if condition == BASE else 64,
                converged=False if condition == ICA else None,
                seconds=1.2,
            )
            for condition, title, needs, _, _ in conditions
        ),
        fold_scores=tuple(folds),
        top_scores=(),
        scores=(*totals, *tasks),
        concentrations=tuple(concentrations),
        differences=tuple(differences),
        mixing=tuple(mixed),
        components=tuple(component(number) for number in range(n_components)),
        maps=tuple(batch_map(each, n_rows, n_batches, len(labels)) for each in maps),
        leak=Leak(
            well=estimate(0.61, 0.03), batch=estimate(0.51, 0.02), n_repeated_wells=0,
            n_repeated_rows=12,
        ),
        verdict=verdict,
        findings=findings,
        provenance=provenance("upto batches openphenom.parquet --batch Metadata_Plate"),
    )  # fmt: skip
