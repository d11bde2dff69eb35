"""Real data of Kivva et al. 2022: the latents of ten trainings of MFCVAE, two by two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.datasets import read_image_set
from upto_studies.digit_images import DigitImages, take_digits
from upto_studies.facet_codes import NAMING_ROWS, Evaluated, train_runs
from upto_studies.facet_figures import facet_panels
from upto_studies.facet_pairs import FacetPair, compared_runs, named_share
from upto_studies.facet_tables import facet_tables, measured_of, said_of
from upto_studies.outcome import Outcome
from upto_studies.train.mixtures.facet_training import FacetCodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto_studies.outcome import Work

Count = Annotated[int, Meta(ge=1)]
Counts = Annotated[list[Count], Meta(min_length=1)]
Activation = Literal["ReLU", "LeakyReLU"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["mnist", "digits"]
    side: Count
    n_train: Count
    n_runs: Annotated[int, Meta(ge=2)]
    activations: Annotated[list[Activation], Meta(min_length=1)]
    leak: Annotated[float, Meta(gt=0.0, lt=1.0)]
    dimensions: Counts
    n_clusters: Counts
    encoder: Counts
    rungs: Counts
    decoder: Counts
    epochs: Counts
    fade_in_steps: Count
    batch_rows: Count
    learning_rate: Annotated[float, Meta(gt=0.0)]
    start_rows: Count
    n_held_out: Annotated[int, Meta(ge=50)]
    n_compared: Annotated[int, Meta(ge=50)]
    n_untrained: Annotated[int, Meta(ge=2)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Accuracies:
    """Shares of test images whose cluster has the name of their digit, facets × runs.

    Parameters
    ----------
    in_sample
        Clusters named by test images, as published.
    held_out
        Clusters named by training images.
    chance
        As `in_sample`, with shuffled digits.
    named
        On the training images that name the clusters.
    """

    in_sample: Float
    held_out: Float
    chance: Float
    named: Float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Activated:
    """Runs with one activation, those that diverged left out.

    Parameters
    ----------
    name
        The activation.
    runs
        Members of all runs with this activation that are compared.
    n_diverged
        Number of the others.
    codes, first_codes
        Codes of test images by all members, after and before the training.
    pairs, first_pairs
        Pairs of runs after and before the training.
    accuracies, first_accuracies
        Of the runs, after and before the training.
    errors, divergences
        Curves of the runs: epochs × runs, epochs × facets × runs.
    """

    name: str
    runs: list[int]
    n_diverged: int
    codes: FacetCodes
    first_codes: FacetCodes
    pairs: list[FacetPair]
    first_pairs: list[FacetPair]
    accuracies: Accuracies
    first_accuracies: Accuracies
    errors: Float
    divergences: Float


def run(settings: Settings, work: Work) -> Outcome:
    """Train runs of every activation side by side and compare those of one two by two."""
    if len(set(settings.activations)) < len(settings.activations):
        message = "an activation is named twice: name each once."
        raise InputError(message)
    images = _images(settings, work)
    trained = train_runs(settings, work, images)
    kept = _kept(settings, trained.diverged)
    n_pairs = sum(
        count * (count - 1) // 2
        for own in kept
        for count in (len(own), min(len(own), settings.n_untrained))
    )
    groups = []
    with work.progress.task("comparing pairs", n_pairs) as advance:
        for name, own in zip(settings.activations, kept, strict=True):
            pairs, first_pairs = (
                compared_runs(
                    stage.codes, some, n_rows=settings.n_compared, seed=work.seed, advance=advance
                )
                for stage, some in (
                    (trained.after, own),
                    (trained.before, own[: settings.n_untrained]),
                )
            )
            groups.append(
                Activated(
                    name=name,
                    runs=own,
                    n_diverged=settings.n_runs - len(own),
                    codes=trained.after.codes,
                    first_codes=trained.before.codes,
                    pairs=pairs,
                    first_pairs=first_pairs,
                    accuracies=_accuracies(trained.after, images, own, work.seed),
                    first_accuracies=_accuracies(trained.before, images, own, work.seed),
                    errors=trained.errors[:, own],
                    divergences=trained.divergences[:, :, own],
                )
            )
    measured = measured_of(groups)
    return Outcome(
        measured=measured,
        says=said_of(groups, images.name),
        tables=facet_tables(groups),
        panels=facet_panels(groups),
        device=trained.device,
    )


def _images(settings: Settings, work: Work) -> DigitImages:
    loaded = read_image_set(settings.data, work.data)
    training = loaded.training_rows[: settings.n_train]
    return take_digits(
        loaded, training, loaded.held_rows[: settings.n_held_out], side=settings.side
    )


def _kept(settings: Settings, diverged: NDArray[np.bool_]) -> list[list[int]]:
    """Return the members of each activation that did not diverge."""
    kept = [
        [
            place * settings.n_runs + number
            for number in range(settings.n_runs)
            if not diverged[place * settings.n_runs + number]
        ]
        for place in range(len(settings.activations))
    ]
    for name, own in zip(settings.activations, kept, strict=True):
        if len(own) < 2:
            message = (
                f"{settings.n_runs - len(own)} of {settings.n_runs} runs with {name} diverged, so "
                "there is no pair to compare: lower the learning rate."
            )
            raise InputError(message)
    return kept


def _accuracies(shown: Evaluated, images: DigitImages, runs: list[int], seed: int) -> Accuracies:
    held, naming = shown.codes.clusters[:, runs], shown.naming.clusters[:, runs]
    names = images.labels[:NAMING_ROWS]
    shuffled = random_stream(seed, "shuffled digits").permutation(images.held_labels)
    shares = np.array(
        [
            [
                (
                    named_share((own, images.held_labels), (own, images.held_labels)),
                    named_share((seen, names), (own, images.held_labels)),
                    named_share((own, shuffled), (own, shuffled)),
                    named_share((seen, names), (seen, names)),
                )
                for own, seen in zip(held[facet], naming[facet], strict=True)
            ]
            for facet in range(len(held))
        ]
    )
    return Accuracies(
        in_sample=shares[..., 0],
        held_out=shares[..., 1],
        chance=shares[..., 2],
        named=shares[..., 3],
    )
