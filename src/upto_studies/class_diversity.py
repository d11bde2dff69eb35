"""The diversity condition of Roeder et al. 2021: too few classes leave directions of f free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.theory import HeadDiversity, head_diversity
from upto_studies.agreement import Agreement, agreement_of
from upto_studies.class_teacher import Teacher, draw_teacher
from upto_studies.outcome import Outcome, Work
from upto_studies.pair_tables import compared_pairs
from upto_studies.train import Network
from upto_studies.train.labelled_rows import LabelledRows
from upto_studies.train.softmax_members import Steps, TrainedMembers, device_title, train_members
from upto_studies.train.softmax_model import SoftmaxModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    n_outputs: Annotated[int, Meta(ge=2)]
    n_classes: Annotated[list[Annotated[int, Meta(ge=2)]], Meta(min_length=1)]
    n_inputs: Count
    teacher_units: Count
    logit_scale: Positive
    corners: bool
    hidden: Annotated[list[Count], Meta(min_length=1)]
    n_pairs: Count
    n_rows: Count
    n_held_out: Annotated[int, Meta(ge=50)]
    n_steps: Count
    batch_rows: Count
    learning_rate: Positive
    agreeing: Annotated[float, Meta(gt=0.0, lt=1.0)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Students:
    """Students of one number of classes.

    Parameters
    ----------
    n_classes
        Number of classes.
    trained
        Their outputs.
    pairs
        Agreement of f, two by two.
    correlations
        Held-out canonical correlations of f, pairs × directions, the highest first.
    identified
        Held-out R² of the part of f that the head sees, one per pair.
    of_teacher
        Agreement of f with the teacher's, one per student.
    heads
        Diversity of the class vectors of each student.
    divergence
        Kullback-Leibler divergence of each student from the teacher, held out, over the
        information of the classes about x.
    """

    n_classes: int
    trained: TrainedMembers
    pairs: tuple[Agreement, ...]
    correlations: Float
    identified: Float
    of_teacher: tuple[Agreement, ...]
    heads: tuple[HeadDiversity, ...]
    divergence: Float


def run(settings: Settings, work: Work) -> Outcome:
    """Train pairs of students of one teacher with more and more of its classes."""
    from upto_studies.diversity_tables import measured_of, panels_of, says_of, tables_of

    if len(set(settings.n_classes)) < len(settings.n_classes):
        message = "n_classes has the same number twice: give each once."
        raise InputError(message)
    teacher = draw_teacher(
        n_inputs=settings.n_inputs,
        n_units=settings.teacher_units,
        n_outputs=settings.n_outputs,
        n_classes=max(settings.n_classes),
        logit_scale=settings.logit_scale,
        corners=settings.corners,
        seed=work.seed,
    )
    numbers = sorted(settings.n_classes)
    with work.progress.task("numbers of classes", len(numbers)) as advance:
        groups = []
        for number in numbers:
            groups.append(_students(settings, work, teacher, number))
            advance(1)
    measured = measured_of(settings, groups)
    return Outcome(
        measured=measured,
        says=says_of(settings, measured),
        tables=tables_of(settings, groups),
        panels=panels_of(settings, groups),
        device=device_title(work.device),
    )


def _students(settings: Settings, work: Work, teacher: Teacher, n_classes: int) -> Students:
    shown = teacher.draw(settings.n_rows, seed=work.seed, purpose="training")
    held = teacher.draw(settings.n_held_out, seed=work.seed, purpose="held out")
    stream = random_stream(work.seed, "students", str(n_classes))
    seeds = stream.integers(2**31, size=2 * settings.n_pairs).tolist()
    trained = train_members(
        SoftmaxModel(
            f=Network(widths=(settings.n_inputs, *settings.hidden, settings.n_outputs)),
            g=n_classes,
        ),
        LabelledRows(
            shown,
            teacher.probabilities(shown, n_classes),
            seeds=seeds,
            batch_rows=settings.batch_rows,
            device=work.device,
        ),
        (held, None),
        seeds=seeds,
        steps=Steps(
            n_steps=settings.n_steps,
            learning_rate=settings.learning_rate,
            looks=(settings.n_steps,),
        ),
        device=work.device,
        checkpoint=work.folder / f"classes-{n_classes}.safetensors",
        resume=work.resume,
        progress=work.progress,
    )
    f, g = (np.asarray(each[-1], dtype=np.float64) for each in (trained.f, trained.g))
    truth, firsts = teacher.f(held), range(0, len(f), 2)
    return Students(
        n_classes=n_classes,
        trained=trained,
        pairs=compared_pairs(f, seed=work.seed),
        correlations=np.array([canonical_correlations(f[k], f[k + 1]) for k in firsts]),
        identified=np.array([_identified_r2((f[k], g[k]), (f[k + 1], g[k + 1])) for k in firsts]),
        of_teacher=tuple(agreement_of(each, truth, seed=work.seed) for each in f),
        heads=tuple(head_diversity(each) for each in trained.g[-1]),
        divergence=np.array(
            [
                teacher.divergence(held, own @ head.T) / teacher.information(held, n_classes)
                for own, head in zip(f, g, strict=True)
            ]
        ),
    )


def canonical_correlations(first: ArrayLike, second: ArrayLike) -> Float:
    """Return the canonical correlations of two runs, fitted to every other row.

    Weights from the even rows are correlated on the odd rows, the highest fitted one first.
    """
    x, y = (np.asarray(each, dtype=np.float64) for each in (first, second))
    fitted = [each[::2] - each[::2].mean(axis=0) for each in (x, y)]
    spectra = [np.linalg.svd(each, full_matrices=False) for each in fitted]
    left, _, right = np.linalg.svd(spectra[0][0].T @ spectra[1][0], full_matrices=False)
    turns = (left, right.T)
    variates = [
        (each[1::2] - each[1::2].mean(axis=0)) @ (spectrum[2].T / spectrum[1]) @ turn
        for each, spectrum, turn in zip((x, y), spectra, turns, strict=True)
    ]
    norms = np.sqrt((variates[0] ** 2).sum(axis=0) * (variates[1] ** 2).sum(axis=0))
    correlations: Float = (variates[0] * variates[1]).sum(axis=0) / norms
    return correlations


def _identified_r2(
    first: tuple[Float, Float],
    second: tuple[Float, Float],
) -> float:
    """Return the held-out R² of what the heads see: scores of the first onto those of the second.

    Scores are centred over classes, which removes what no probability shows.
    """
    scores = [f @ (g - g.mean(axis=0)).T for f, g in (first, second)]
    design = np.hstack([scores[0], np.ones((len(scores[0]), 1))])
    weights = np.linalg.lstsq(design[::2], scores[1][::2], rcond=None)[0]
    held = scores[1][1::2]
    left = held - design[1::2] @ weights
    return float(1.0 - (left**2).sum() / ((held - held.mean(axis=0)) ** 2).sum())
