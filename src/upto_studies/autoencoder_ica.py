"""Table 2 of Nelson et al. 2026: a plain autoencoder with ICA against disentanglement models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from upto.core import random_stream
from upto_studies.image_runs import SETS, Encoded, ImagePlan, Member, encoded_members
from upto_studies.train.images.models import ImageModel, ModelKind, published_model
from upto_studies.train.images.settings import ImageTraining

if TYPE_CHECKING:
    from upto_studies.outcome import Outcome, Work

Count = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[float, Meta(ge=0.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    sets: Annotated[list[Literal["sprites", "room", "studio"]], Meta(min_length=1)]
    n_pixels: Annotated[int, Meta(ge=32, multiple_of=16)]
    n_images: Annotated[int, Meta(ge=0)]
    n_evaluated: Annotated[int, Meta(ge=200)]
    weight_decays: Annotated[list[NotNegative], Meta(min_length=1)]
    models: list[ModelKind]
    n_seeds: Annotated[int, Meta(ge=2)]
    steps: Count
    looks: Count
    batch_images: Annotated[int, Meta(ge=2)]
    learning_rate: Annotated[float, Meta(gt=0.0)]
    width: Count
    bfloat16: bool
    compiled: bool
    n_at_once: Count
    psnr_tolerance: NotNegative
    n_permutations: Count


def run(settings: Settings, work: Work) -> Outcome:
    """Train every model on every set, apply ICA to the autoencoders and score all models."""
    from upto_studies.autoencoder_scores import scored_sets
    from upto_studies.autoencoder_tables import outcome_of

    encoded = trained(settings, work)
    return outcome_of(settings, scored_sets(settings, work, encoded), encoded)


def trained(settings: Settings, work: Work) -> list[Encoded]:
    """Return the latents of every model: first the autoencoders of a set, then the others."""
    training = ImageTraining(
        steps=settings.steps,
        batch_images=settings.batch_images,
        learning_rate=settings.learning_rate,
        width=settings.width,
        bfloat16=settings.bfloat16,
        compiled=settings.compiled,
    )
    return encoded_members(
        planned_members(settings, work.seed),
        training,
        image_plan(settings, work.seed),
        folder=work.folder,
        device=work.device,
        resume=work.resume,
        progress=work.progress,
    )


def image_plan(settings: Settings, seed: int) -> ImagePlan:
    """Return the plan of training and evaluated images."""
    return ImagePlan(
        n_pixels=settings.n_pixels,
        n_images=settings.n_images,
        n_evaluated=settings.n_evaluated,
        looks=settings.looks,
        n_at_once=settings.n_at_once,
        seed=seed,
    )


def planned_members(settings: Settings, seed: int) -> list[Member]:
    """Return all autoencoders to train."""
    seeds = random_stream(seed, "members").integers(2**31, size=settings.n_seeds).tolist()
    members = []
    for images in settings.sets:
        n_latents = 2 * len(SETS[images].grid().names)
        tuned_on = (SETS[images].published or "").lower()
        models = [
            ImageModel(kind="ae", n_latents=n_latents, weight_decay=weight_decay)
            for weight_decay in settings.weight_decays
        ]
        models += [
            published_model(kind, data_set=tuned_on, n_latents=n_latents)
            for kind in settings.models
            if kind != "ae"
        ]
        members += [
            Member(images=images, model=model, seed=own) for model in models for own in seeds
        ]
    return members
