"""The hierarchy of Kivva et al. 2022 with its assumptions dropped one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta

import upto
from upto.core import Group, random_stream, read_tensors, write_tensors
from upto.core.array_types import Float
from upto.measures import Mixture, affine_l2_distance
from upto_studies.fitted_decoders import KINDS, Search, draw_bent, search_fits
from upto_studies.outcome import Outcome
from upto_studies.population_curves import logs_by_nodes, population_of
from upto_studies.rival_pairs import CASES, Pair, transported_pair
from upto_studies.trials.group_distance import prior_distance

if TYPE_CHECKING:
    from upto_studies.outcome import Work
    from upto_studies.trials.rivals import Model

Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0.0)]

_GRID_STEP = 0.9
_DENSITY_STARTS = 4
_PAIRINGS = 19
"""Random pairings of rows for a chance level, whose mean needs few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the study, documented in its ``study.toml``."""

    n_models: Annotated[int, Meta(ge=3)]
    noise: Positive
    n_latents: Annotated[int, Meta(ge=50)]
    n_rows: Count
    n_nodes: Count
    n_pieces: Annotated[list[Annotated[int, Meta(ge=2)]], Meta(min_length=1)]
    n_fitted: Annotated[int, Meta(ge=3)]
    n_starts: Annotated[int, Meta(ge=3)]
    n_steps: Count
    fit_noise: Positive
    limits: Annotated[list[Positive], Meta(min_length=1)]
    same: Positive


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Compared:
    """A pair of models, measured.

    Parameters
    ----------
    predicted
        Group up to which P(Z) is predicted to be identified; None if it is not.
    divergence
        Divergence of the law of x of the rival from that of the model, in nats.
    up_to_affine, up_to_scale
        Largest difference of components after the best affine map, and the best permutation and
        scaling of coordinates, in standard deviations.
    densities
        L2 distance of the densities of z up to an affine map; None for degenerate components.
    mean_cca, mcc
        Agreement of latents with the same images up to an affine map, and up to order and scale;
        held out.
    chance
        The higher of both for shuffled latents.
    """

    predicted: Group | None
    divergence: float
    up_to_affine: float
    up_to_scale: float
    densities: float | None
    mean_cca: float
    mcc: float
    chance: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Findings:
    """All that was measured: pairs and fits by case, and divergences by number of pieces."""

    pairs: dict[str, list[Compared]]
    pieces: dict[int, Float]
    searches: dict[str, list[Search]]


def run(settings: Settings, work: Work) -> Outcome:
    """Build and fit rivals of random models, and compare what they share with the predictions."""
    from upto_studies.hierarchy_tables import measured_of, panels_of, says_of, tables_of

    total = len(CASES) * settings.n_models + len(KINDS) * settings.n_fitted
    with work.progress.task("models", total) as advance:
        pairs: dict[str, list[Compared]] = {}
        for case, make in CASES.items():
            pairs[case] = []
            for number in range(settings.n_models):
                rng = random_stream(work.seed, "pairs", case, str(number))
                pair = make(rng, settings.noise, settings.n_latents)
                pairs[case].append(_compared(rng, settings, pair, work.seed))
                advance(1)
        searches: dict[str, list[Search]] = {}
        for kind in KINDS:
            searches[kind] = []
            for number in range(settings.n_fitted):
                searches[kind].append(_searched(settings, work, kind, number))
                advance(1)
    found = Findings(pairs=pairs, pieces=_divergences_of_pieces(settings, work), searches=searches)
    measured = measured_of(settings, found)
    return Outcome(
        measured=measured,
        says=says_of(settings, found, measured),
        tables=tables_of(settings, found),
        panels=panels_of(settings, found),
    )


def _compared(rng: np.random.Generator, settings: Settings, pair: Pair, seed: int) -> Compared:
    first, second = pair.model, pair.rival
    mixtures = [_mixture(each) for each in (first, second)]
    densities = None
    if mixtures[0] is not None and mixtures[1] is not None:
        densities = affine_l2_distance(mixtures[0], mixtures[1], n_starts=_DENSITY_STARTS)
    scored = upto.similarity(
        *pair.latents,
        measures=("mean-cca", "mcc"),
        held_out=0.5,
        permutations=_PAIRINGS,
        half_samples=0,
        seed=seed,
        progress=False,
    )
    agreement = {row.measure: row for row in scored.rows}
    return Compared(
        predicted=pair.predicted,
        divergence=divergence_of(rng, settings, pair),
        up_to_affine=prior_distance(first, second, Group.AFFINE),
        up_to_scale=prior_distance(first, second, Group.SCALED_PERMUTATION),
        densities=densities,
        mean_cca=agreement["mean-cca"].value.value,
        mcc=agreement["mcc"].value.value,
        chance=max(row.chance or 0.0 for row in scored.rows),
    )


def _mixture(model: Model) -> Mixture | None:
    if np.linalg.eigvalsh(model.covariances).min() <= 0:
        return None
    return Mixture(weights=model.weights, means=model.means, covariances=model.covariances)


def divergence_of(rng: np.random.Generator, settings: Settings, pair: Pair) -> float:
    """Return the divergence of laws of x: on a grid for one latent, else over drawn rows."""
    model, rival = pair.model, pair.rival
    nodes = settings.n_nodes
    if model.means.shape[1] == 1:
        prior = model.weights, model.means, model.covariances[:, :, 0]
        population = population_of((model.network, prior), noise=pair.noises[0], step=_GRID_STEP)
        rows, masses = population.rows, population.masses
    else:
        images = model.network(pair.latents[0][: settings.n_rows])
        rows = images + pair.noises[0] * rng.normal(size=images.shape)
        masses = np.full(len(rows), 1.0 / len(rows))
    logs, others = (
        logs_by_nodes([(each.network, each.mixture)], rows, noise=noise, n_nodes=nodes)[0]
        for each, noise in zip((model, rival), pair.noises, strict=True)
    )
    return float((logs - others) @ masses)


def _divergences_of_pieces(settings: Settings, work: Work) -> dict[int, Float]:
    """Return the divergences of transported Gaussians, for decoders of more and more pieces."""
    found: dict[int, Float] = {}
    for count in settings.n_pieces:
        values = []
        for number in range(settings.n_models):
            rng = random_stream(work.seed, "pieces", str(number))
            pair = transported_pair(count)(rng, settings.noise, settings.n_latents)
            values.append(divergence_of(rng, settings, pair))
        found[count] = np.array(values)
    return found


def _searched(settings: Settings, work: Work, kind: str, number: int) -> Search:
    path = work.folder / f"{kind}-{number}.safetensors"
    rng = random_stream(work.seed, "fits", kind, str(number))
    truth = draw_bent(rng, kind)
    if work.resume and path.is_file():
        kept, _ = read_tensors(path)
        return Search(truth=truth, divergences=kept["divergences"], distances=kept["distances"])
    found = search_fits(
        rng,
        truth,
        noise=settings.fit_noise,
        n_starts=settings.n_starts,
        n_steps=settings.n_steps,
    )
    kept = {"divergences": found.divergences, "distances": found.distances}
    write_tensors(path, kept, {})
    return found
