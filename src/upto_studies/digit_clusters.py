"""VaDE from scratch on images of digits: accuracy of its clusters and stability over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.datasets import read_image_set
from upto_studies.digit_images import DigitImages, take_digits
from upto_studies.outcome import Outcome, Work
from upto_studies.run_pairs import Pairs, compared_runs, matched_accuracy
from upto_studies.train.mixtures import (
    MixtureMembers,
    MixtureModel,
    MixtureTraining,
    train_mixtures,
)
from upto_studies.train.softmax_members import device_title

if TYPE_CHECKING:
    from collections.abc import Callable

Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0.0)]
BASELINES = ("k-means of pixels", "Gaussian mixture of principal components")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    data: Literal["mnist", "digits"]
    n_images: Annotated[int, Meta(ge=100)]
    n_held_out: Annotated[int, Meta(ge=50)]
    hidden: Annotated[list[Count], Meta(min_length=1)]
    n_latents: Annotated[int, Meta(ge=2)]
    n_components: Annotated[int, Meta(ge=2)]
    leak: Annotated[float, Meta(ge=0.0)]
    n_seeds: Annotated[int, Meta(ge=2)]
    pretraining_epochs: Count
    corruption: Annotated[float, Meta(ge=0.0, lt=1.0)]
    epochs: Count
    batch_rows: Count
    learning_rate: Positive
    decay_epochs: Count
    n_compared: Annotated[int, Meta(ge=50)]
    baseline_rows: Annotated[int, Meta(ge=50)]
    baseline_seeds: Count


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Clustered:
    """Clusters of several seeds.

    Parameters
    ----------
    in_sample, held_out
        Share of images in the cluster matched with their digit, by seed; clusters of held-out
        images are matched as those of training images.
    clusters
        Clusters of held-out images: seeds × images.
    """

    in_sample: Float
    held_out: Float
    clusters: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stage:
    """Models after pre-training or at the end.

    Parameters
    ----------
    members
        The models.
    clustered
        Their clusters.
    living
        Living components of each seed.
    pairs
        Agreement of the codes of held-out images of every two seeds.
    """

    members: MixtureMembers
    clustered: Clustered
    living: Float
    pairs: Pairs


def run(settings: Settings, work: Work) -> Outcome:
    """Train VaDE from several seeds and compare its clusters with digits and each other."""
    from upto_studies.digit_tables import measured_of, panels_of, says_of, tables_of

    images = _images(settings, work)
    # The second training finds the pre-training of the first beside its checkpoint.
    stages = {
        "pre-training": _stage(settings, work, images, epochs=0, resume=work.resume),
        "VaDE": _stage(settings, work, images, epochs=settings.epochs, resume=True),
    }
    baselines = _baselines(settings, work, images)
    measured = measured_of(stages, baselines)
    return Outcome(
        measured=measured,
        says=says_of(settings, images, measured),
        tables=tables_of(stages, baselines),
        panels=panels_of(stages, baselines),
        device=device_title(work.device),
    )


def _images(settings: Settings, work: Work) -> DigitImages:
    loaded = read_image_set(settings.data, work.data)
    stream = random_stream(work.seed, "images")
    picked = []
    for chosen, count in (
        (loaded.training_rows, settings.n_images),
        (loaded.held_rows, settings.n_held_out),
    ):
        if count > len(chosen):
            message = f"{loaded.name} has {len(chosen)} such images, not {count}: ask for fewer."
            raise InputError(message)
        # Sorted images would look like dependent rows.
        picked.append(stream.permutation(np.sort(stream.permutation(chosen)[:count])))
    return take_digits(loaded, *picked)


def _stage(
    settings: Settings, work: Work, images: DigitImages, *, epochs: int, resume: bool
) -> Stage:
    members = train_mixtures(
        MixtureModel(
            kind="vade",
            widths=(images.rows.shape[1], *settings.hidden, settings.n_latents),
            n_components=settings.n_components,
            likelihood="bernoulli",
            leak=settings.leak,
        ),
        images.rows,
        seeds=random_stream(work.seed, "members").integers(2**31, size=settings.n_seeds).tolist(),
        training=MixtureTraining(
            epochs=epochs,
            pretraining_epochs=settings.pretraining_epochs,
            corruption=settings.corruption,
            batch_rows=settings.batch_rows,
            learning_rate=settings.learning_rate,
            decay_epochs=settings.decay_epochs,
        ),
        device=work.device,
        checkpoint=work.folder / "vade.safetensors",
        resume=resume,
        progress=work.progress,
    )
    codes = members.codes(images.held_rows[: settings.n_compared])
    n_pairs = len(members) * (len(members) - 1) // 2
    with work.progress.task("comparing seeds", n_pairs) as advance:
        pairs = compared_runs(codes, seed=work.seed, advance=advance)
    return Stage(
        members=members,
        clustered=_clustered(
            images, [members.clusters(each) for each in (images.rows, images.held_rows)]
        ),
        living=members.living(images.held_rows).astype(np.float64),
        pairs=pairs,
    )


def _clustered(images: DigitImages, clusters: list[NDArray[Any]]) -> Clustered:
    """Score the clusters of the training and of the held-out images, seeds × images each."""
    shown, held = clusters
    return Clustered(
        in_sample=np.array([matched_accuracy(own, images.labels) for own in shown]),
        held_out=np.array(
            [
                matched_accuracy(own, images.held_labels, fitted=(before, images.labels))
                for own, before in zip(held, shown, strict=True)
            ]
        ),
        clusters=held,
    )


def _baselines(settings: Settings, work: Work, images: DigitImages) -> dict[str, Clustered]:
    """Cluster pixels and principal components, fitted to some of the training images."""
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.mixture import GaussianMixture

    some = images.rows[: settings.baseline_rows]
    axes = PCA(settings.n_latents, random_state=0).fit(some)
    made: dict[str, Callable[[int], tuple[Any, Callable[[Any], Any]]]] = {
        BASELINES[0]: lambda seed: (
            KMeans(settings.n_components, n_init=3, random_state=seed),
            lambda rows: rows,
        ),
        BASELINES[1]: lambda seed: (
            GaussianMixture(settings.n_components, n_init=3, random_state=seed),
            axes.transform,
        ),
    }
    seeds = random_stream(work.seed, "baselines").integers(2**31, size=settings.baseline_seeds)
    found = {}
    with work.progress.task("clustering", len(made) * len(seeds)) as advance:
        for name, make in made.items():
            clusters: list[list[Any]] = [[], []]
            for seed in seeds.tolist():
                model, prepared = make(seed)
                model.fit(prepared(some))
                for own, rows in zip(clusters, (images.rows, images.held_rows), strict=True):
                    own.append(model.predict(prepared(rows)))
                advance(1)
            found[name] = _clustered(images, [np.array(each) for each in clusters])
    return found
