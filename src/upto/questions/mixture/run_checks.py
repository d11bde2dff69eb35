"""Check the assumptions of the hierarchy on one run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import random_stream
from upto.measures.matched_components import component_overlap
from upto.questions.mixture.parts import AssumptionCheck, MixtureRun, PriorComponent, Rung
from upto.theory import check_decoder, check_prior, stated, what_is_identified
from upto.theory.expectation import Fits, distances
from upto.theory.hierarchy import HIDDEN_VARIABLES, MEANINGS, Assumption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto.measures import Mixture
    from upto.questions.mixture.decoder_layers import Layers
    from upto.questions.mixture.latent_priors import Prior
    from upto.theory.hierarchy import Guarantee

_DECODER = ("F1", "F2", "F3", "F4", "continuous")
_LATENTS = 256
_ROWS_AT_ONCE = 4096


def check_run(prior: Prior, decoder: Layers | None, rows: Float | None, *, seed: int) -> MixtureRun:
    """Return what one run identifies, with every assumption.

    Parameters
    ----------
    prior, decoder
        The prior, and the decoder if given.
    rows
        Latents of the run, to test the prior on.
    seed
        Seed of the random number generator.
    """
    density = prior.density()
    # For one hidden variable, distinct components are all that P3 asks for. Where they are not
    # distinct, P3 returns as a consequence, and is left out below.
    on_prior = [
        each
        for each in check_prior(prior.given, rows=rows, fitted=prior.fitted, seed=seed)
        if each.name != "P3"
    ]
    on_decoder = _decoder_checks(decoder, density, seed)
    found = what_is_identified([*on_prior, *on_decoder], hidden_variables=1)
    possible = what_is_identified(
        [*on_prior, *stated("F1", "F4", "continuous")], hidden_variables=1
    )
    return MixtureRun(
        name=prior.name,
        width=prior.width,
        decoder=None if decoder is None else decoder.name,
        n_rows=None if rows is None else len(rows),
        fitted=prior.fitted,
        prior_up_to=found.prior,
        decoder_up_to=found.decoder,
        hidden=found.hidden,
        possible_up_to=possible.prior,
        possible_hidden=possible.hidden,
        assumptions=tuple(
            _described(each, prior, has_decoder=decoder is not None, has_rows=rows is not None)
            for each in found.assumptions
            if each.name != "P3"
        ),
        rungs=tuple(_rung(each) for each in found.guarantees if each.level is not HIDDEN_VARIABLES),
        components=_components(prior, density, rows),
        relus_assumed=decoder is not None and decoder.relus_assumed,
    )


def assigned_components(density: Mixture, rows: Float) -> NDArray[np.intp]:
    """Return the component that each row most probably belongs to."""
    fits = _fits(density)
    return np.concatenate(
        [
            distances(rows[None, start : start + _ROWS_AT_ONCE], fits)[1][0].argmax(axis=0)
            for start in range(0, len(rows), _ROWS_AT_ONCE)
        ]
    )


def _fits(density: Mixture) -> Fits:
    return Fits(
        weights=density.weights[None],
        means=density.means[None],
        covariances=density.covariances[None],
        log_likelihood=np.zeros(1),
    )


def _decoder_checks(
    decoder: Layers | None, density: Mixture | None, seed: int
) -> Sequence[Assumption]:
    if decoder is None or decoder.network is None:
        reason = "no decoder is given"
        if decoder is not None:
            reason = f"{decoder.name} is not a chain of linear layers with one kind of (leaky) ReLU"
        return [Assumption(name=name, holds=None, evidence=reason) for name in _DECODER]
    latents = None
    if density is not None:
        rng = random_stream(seed, "latents of a prior")
        latents = _fits(density).draw(rng, 1, _LATENTS)[0]
    checks = check_decoder(decoder.network, latents, seed=seed)
    if decoder.relus_assumed:
        checks = tuple(_with_relus(each) for each in checks)
    if not decoder.order:
        return checks
    read = f"; layers read in the order {', '.join(decoder.order)}"
    return [
        replace(each, evidence=each.evidence + read) if each.name == "F1" else each
        for each in checks
    ]


def _with_relus(check: Assumption) -> Assumption:
    if check.name in ("F1", "continuous"):
        evidence = "affine layers, with ReLUs between them if the model has them: no leak is given"
    else:
        evidence = f"{check.evidence}, with ReLUs as no leak is given"
    return replace(check, evidence=evidence)


def _components(
    prior: Prior, density: Mixture | None, rows: Float | None
) -> tuple[PriorComponent, ...]:
    weights = prior.components.weights
    nearest: list[float | None] = [None] * len(weights)
    counts: list[int | None] = [None] * len(weights)
    if density is not None and len(weights) > 1:
        overlaps = component_overlap(density, density)
        np.fill_diagonal(overlaps, 0.0)
        nearest = [float(each) for each in overlaps.max(axis=1)]
    if density is not None and rows is not None:
        assigned = assigned_components(density, rows)
        counts = [int(each) for each in np.bincount(assigned, minlength=len(weights))]
    return tuple(
        PriorComponent(weight=float(weight), fills=fills, overlap=overlap, n_rows=count)
        for weight, fills, overlap, count in zip(
            weights, prior.components.positive_definite(), nearest, counts, strict=True
        )
    )


def _rung(guarantee: Guarantee) -> Rung:
    return Rung(
        what=guarantee.level.what,
        theorem=guarantee.level.theorem,
        reached=guarantee.reached,
        fails=tuple(each.name for each in guarantee.lacks if each.holds is False),
        unknown=tuple(each.name for each in guarantee.lacks if each.holds is None),
    )


def _described(
    check: Assumption, prior: Prior, *, has_decoder: bool, has_rows: bool
) -> AssumptionCheck:
    remedy = ""
    if check.holds is False:
        remedy = _FAILED[check.name]
    elif check.holds is None and check.name in _DECODER:
        remedy = "give the decoder" if not has_decoder else _UNDECIDED
    elif check.n_enough is not None:
        remedy = f"{check.n_enough} rows or more"
    elif check.holds is None:
        remedy = (
            _REJECTED[prior.fitted]
            if has_rows and check.name.startswith("P1")
            else "more rows, or another number of components"
            if has_rows
            else "give the rows it was fitted to"
            if prior.fitted
            else "parameters of higher precision"
        )
    return AssumptionCheck(
        name=check.name,
        meaning=MEANINGS[check.name],
        holds=check.holds,
        evidence=check.evidence,
        remedy=remedy,
        n_enough=check.n_enough,
    )


_REJECTED = {
    True: "a mixture that the rows do not reject, e.g. one of more components",
    False: "a prior that rows, sampled from the posterior, do not reject",
}
_UNDECIDED = "leaky ReLUs, and layers of full rank that never narrow, would prove it"
_FAILED = {
    "P1": "a lower bound on the variances",
    "P1 partly": "a lower bound on the variances",
    "distinct": "merging equal components",
    "P2": "two diagonal components whose variances differ in ratio in every coordinate",
    "F1": "a decoder of linear layers and (leaky) ReLUs",
    "F2": "leaky ReLUs, and layers never narrower than the latents",
    "F3": "leaky ReLUs, and layers never narrower than the latents",
    "F4": "leaky ReLUs, and layers never narrower than the latents",
    "continuous": "a continuous decoder",
}
"""What would make an assumption true."""
