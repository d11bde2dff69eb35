"""What side information adds to a mixture prior: VaDE against iVAE, GMVAE and VAE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

from upto.core import random_stream
from upto.core.array_types import Float
from upto_studies.agreement import Agreement
from upto_studies.outcome import Outcome, Work
from upto_studies.planted_mixture import PlantedMixture, draw_planted
from upto_studies.run_pairs import Pairs, compared, compared_runs, matched_accuracy
from upto_studies.train.mixtures import (
    MixtureMembers,
    MixtureModel,
    MixtureTraining,
    train_mixtures,
)
from upto_studies.train.softmax_members import device_title

if TYPE_CHECKING:
    from upto_studies.planted_mixture import Drawn
    from upto_studies.train.mixtures.mixture_models import Kind

Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0.0)]

UNTRAINED, SHUFFLED = "untrained", "iVAE, shuffled labels"
KINDS: dict[str, Kind] = {
    "VaDE": "vade",
    "GMVAE": "gmvae",
    "iVAE": "ivae",
    SHUFFLED: "ivae",
    "VAE": "vae",
    UNTRAINED: "vade",
}
"""Model of each group of runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    n_latents: Annotated[int, Meta(ge=2)]
    n_components: Annotated[int, Meta(ge=2)]
    n_inputs: Count
    n_layers: Count
    separation: Positive
    leak: Positive
    noise: Positive
    n_rows: Count
    n_held_out: Annotated[int, Meta(ge=50)]
    hidden: Annotated[list[Count], Meta(min_length=1)]
    n_runs: Annotated[int, Meta(ge=2)]
    pretraining_epochs: Annotated[int, Meta(ge=0)]
    epochs: Count
    batch_rows: Count
    learning_rate: Positive
    decay_epochs: Count


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Runs:
    """Runs of one kind of model, on held-out rows.

    Parameters
    ----------
    members
        The models.
    of_truth
        Agreement of the codes of each run with the true latents.
    pairs
        Agreement of every two runs.
    bounds
        Negative evidence lower bound of each run.
    accuracies
        Share of rows whose component is matched with the true one; of iVAE, which knows it, that of
        its conditional priors.
    living
        Number of living components of each run.
    """

    members: MixtureMembers
    of_truth: tuple[Agreement, ...]
    pairs: Pairs
    bounds: Float
    accuracies: Float
    living: Float


def run(settings: Settings, work: Work) -> Outcome:
    """Train all models on one planted mixture and compare them with the truth and each other."""
    from upto_studies.side_tables import measured_of, panels_of, says_of, tables_of

    truth = draw_planted(
        n_latents=settings.n_latents,
        n_components=settings.n_components,
        n_inputs=settings.n_inputs,
        n_layers=settings.n_layers,
        separation=settings.separation,
        leak=settings.leak,
        noise=settings.noise,
        seed=work.seed,
    )
    groups = {}
    with work.progress.task("models", len(KINDS)) as advance:
        for name in KINDS:
            groups[name] = _runs(settings, work, truth, name)
            advance(1)
    measured = measured_of(groups)
    return Outcome(
        measured=measured,
        says=says_of(measured),
        tables=tables_of(groups),
        panels=panels_of(groups),
        device=device_title(work.device),
    )


def _runs(settings: Settings, work: Work, truth: PlantedMixture, name: str) -> Runs:
    shown = truth.draw(settings.n_rows, seed=work.seed, purpose="training")
    held = truth.draw(settings.n_held_out, seed=work.seed, purpose="held out")
    kind, is_trained = KINDS[name], name != UNTRAINED
    members = train_mixtures(
        MixtureModel(
            kind=kind,
            widths=(settings.n_inputs, *settings.hidden, settings.n_latents),
            n_components=1 if kind == "vae" else settings.n_components,
            deviation=settings.noise,
            leak=settings.leak,
        ),
        shown.rows,
        _labels(shown, name, work.seed),
        seeds=random_stream(work.seed, "runs").integers(2**31, size=settings.n_runs).tolist(),
        training=MixtureTraining(
            epochs=settings.epochs * is_trained,
            pretraining_epochs=settings.pretraining_epochs * is_trained,
            batch_rows=settings.batch_rows,
            learning_rate=settings.learning_rate,
            decay_epochs=settings.decay_epochs,
        ),
        device=work.device,
        checkpoint=work.folder / f"{name.replace(', ', '-').replace(' ', '-')}.safetensors",
        resume=work.resume,
        progress=work.progress,
    )
    known = _labels(held, name, work.seed + 1)
    codes = members.codes(held.rows, known)
    return Runs(
        members=members,
        of_truth=tuple(compared(own, held.latents, seed=work.seed) for own in codes),
        pairs=compared_runs(codes, seed=work.seed),
        bounds=members.negative_bounds(held.rows, known),
        accuracies=np.array(
            [matched_accuracy(own, held.labels) for own in members.clusters(held.rows, known)]
        ),
        living=members.living(held.rows, known).astype(np.float64),
    )


def _labels(drawn: Drawn, name: str, seed: int) -> Any:
    if KINDS[name] != "ivae":
        return None
    if name == SHUFFLED:
        return random_stream(seed, "shuffled labels").permutation(drawn.labels)
    return drawn.labels
