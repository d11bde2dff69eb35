"""Test what mixture priors and decoders identify, and how stable they are over runs."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import (
    UNRECORDED,
    Group,
    InputError,
    choose_progress,
    unique_findings,
    with_provenance,
)
from upto.core.arguments import check_fraction, check_whole
from upto.engines import choose_engine
from upto.files.accept import take_runs
from upto.questions.mixture import text
from upto.questions.mixture.decoder_layers import take_decoder
from upto.questions.mixture.latent_priors import take_priors
from upto.questions.mixture.parts import weakest_group
from upto.questions.mixture.result import MixtureResult
from upto.questions.mixture.run_checks import check_run
from upto.questions.mixture.run_stability import match_runs
from upto.questions.mixture.shared_rows import are_shared, compare_codes
from upto.theory.priors import distinct_ratios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from upto.core import Embeddings, Finding, Progress
    from upto.core.array_types import Float
    from upto.engines.base import Engine
    from upto.files.accept import Run
    from upto.measures import Mixture
    from upto.questions.mixture.decoder_layers import Layers
    from upto.questions.mixture.latent_priors import Prior
    from upto.questions.mixture.parts import CodesSummary, MixturePair, MixtureRun, Stability

CLAIMS = (Group.AFFINE, Group.SCALED_PERMUTATION)
"""Groups up to which the theorems identify P(Z)."""


@with_provenance
def mixture(
    *priors: Any,
    decoder: Any = None,
    leak: float | None = None,
    rows: Run | Sequence[Run] | None = None,
    ids: str | Sequence[ArrayLike] | None = None,
    fitted: bool = False,
    up_to: Group | str | None = None,
    draws: int = 19,
    held_out: float = 0.3,
    seed: int = 0,
    engine: Engine | str | None = None,
    progress: Progress | bool | None = None,
) -> MixtureResult:
    """Test what a mixture prior and its decoder identify, and how stable they are over runs.

    The model is x = f(z) + noise with a Gaussian mixture as the law of z. What the law of x
    identifies depends on assumptions about the prior and the decoder (Kivva et al. 2022); each is
    reported to hold, to fail, or as not known. The answer is about the model as fitted: that the
    data have its law is assumed, or tested on `rows`.

    Parameters
    ----------
    *priors
        Prior of each run: an npz or safetensors file with ``weights``, ``means`` and ``variances``
        or ``covariances`` (``"file::prefix"`` for those in the file of a model), a mapping of such
        arrays, an `upto.measures.Mixture`, a `GaussianMixture` of scikit-learn, or a triple of
        weights, means and (co)variances.
    decoder
        Decoder, or a list with that of each run: a file with the weights of its linear layers, a
        torch module, ``"package.module:attribute"`` or `upto.theory.PiecewiseNetwork`. Without one,
        what depends on the decoder is not known.
    leak
        Slope below zero of the activation between layers given as weights, which do not say it; 0
        for ReLU. By default ReLUs are assumed, and the verdict says so.
    rows
        Latents, or a list with those of each run, to test the prior on. If runs have the same
        samples, their rows are compared too.
    ids
        Name of the column with one id per row, or a list with the ids of each run, to match rows.
    fitted
        Whether parameters in files and arrays were fitted to latents after training. Such
        parameters decide nothing without the rows.
    up_to
        Group of the claim to test, ``"affine"`` or ``"scaled-permutation"``, up to which rows are
        compared. By default the group up to which P(Z) is identified.
    draws
        Number of mixtures with random means for the chance level of the stability; a limit of
        chance needs 19.
    held_out
        Fraction of the rows held out to evaluate maps between runs.
    seed
        Seed of the random number generator.
    engine
        Engine or its name; chosen automatically by default.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Returns
    -------
    MixtureResult
        Each assumption with its check, and the group that follows.

    Raises
    ------
    InputError
        If a prior is not a mixture, or decoders or rows do not fit it.

    See Also
    --------
    upto.MixtureResult : What it returns.
    upto.theory.what_is_identified : What follows from assumptions alone.
    upto.theory.check_prior : The checks of one prior.
    upto.theory.check_decoder : The checks of one decoder.

    References
    ----------
    Kivva et al. (2022). Identifiability of deep generative models without auxiliary
    information. Advances in Neural Information Processing Systems.

    Examples
    --------
    >>> import upto
    >>> from upto.theory import PiecewiseNetwork
    >>> prior = ([0.4, 0.6], [[0, 0], [3, 1]], [[1, 1], [1, 4]])
    >>> network = PiecewiseNetwork(weights=[[[1, 0], [1, 1]], [[1, 0], [0, 1]]], leak=0.1)
    >>> upto.mixture(prior, decoder=network).prior_up_to
    <Group.SCALED_PERMUTATION: 'scaled-permutation'>
    """
    claim = _claim(up_to)
    check_whole(draws=draws, seed=seed)
    check_fraction(held_out=held_out)
    engine, progress = choose_engine(engine), choose_progress(progress)
    if not priors:
        message = "there is no prior: give that of one or more runs."
        raise InputError(message)
    if leak is not None and decoder is None:
        message = f"a leak of {leak:g} without a decoder changes nothing: give the decoder too."
        raise InputError(message)
    taken = take_priors(priors, fitted=fitted)
    decoders = [
        None if each is None else take_decoder(each, leak=leak)
        for each in _one_each(decoder, len(taken), "decoder")
    ]
    codes = _codes(rows, ids, len(taken))
    _refuse_misfits(taken, decoders, codes)
    runs = _checked(taken, decoders, codes, seed=seed, progress=progress)
    densities = [prior.density() for prior in taken]
    pairs, stability = _matched(taken, densities, draws=draws, seed=seed, progress=progress)
    result = MixtureResult(
        runs=runs,
        up_to=claim,
        prior_up_to=weakest_group([run.prior_up_to for run in runs]),
        decoder_up_to=weakest_group([run.decoder_up_to for run in runs]),
        hidden=all(run.hidden for run in runs),
        pairs=pairs,
        stability=stability,
        codes=None,
        verdict="",
        findings=(),
        provenance=UNRECORDED,
    )
    found: list[Finding] = []
    if len(taken) > 1 and codes is not None and are_shared(codes):
        pairs, summary, found = _with_codes(
            result, codes, densities, held_out=held_out, seed=seed, engine=engine, progress=progress
        )
        result = replace(result, pairs=pairs, codes=summary)
    found += text.findings(result, taken, [_gap(prior) for prior in taken])
    return replace(result, verdict=text.verdict(result), findings=unique_findings(found))


def _claim(up_to: Group | str | None) -> Group | None:
    if up_to is None:
        return None
    if up_to not in CLAIMS:
        message = f"up_to is {up_to!r}, but mixtures are identified up to {' or '.join(CLAIMS)}."
        raise InputError(message)
    return Group(up_to)


def _one_each(given: Any, count: int, what: str) -> list[Any]:
    """Return one of a thing per run, from one thing or a list of them."""
    if given is None:
        return [None] * count
    each = list(given) if isinstance(given, list | tuple) else [given]
    if len(each) != count:
        which = f"is 1 {what}" if len(each) == 1 else f"are {len(each)} {what}s"
        message = f"there {which} for {count} priors: give one per run."
        raise InputError(message)
    return each


def _codes(rows: Any, ids: Any, count: int) -> tuple[Embeddings, ...] | None:
    if rows is None:
        return None
    many = isinstance(rows, list | tuple)
    # One run may be given as its rows or as a list of one path.
    if count == 1 and not (many and len(rows) == 1 and isinstance(rows[0], str | os.PathLike)):
        rows, many = [rows], True
    found = take_runs(list(rows) if many else [rows], ids=ids)
    if len(found) != count:
        which = "1 run" if len(found) == 1 else f"{len(found)} runs"
        message = f"there are rows of {which} for {count} priors: give those of each run."
        raise InputError(message)
    return found


def _refuse_misfits(
    priors: Sequence[Prior],
    decoders: Sequence[Layers | None],
    codes: Sequence[Embeddings] | None,
) -> None:
    for number, (prior, decoder) in enumerate(zip(priors, decoders, strict=True)):
        network = None if decoder is None else decoder.network
        if network is not None and network.n_inputs != prior.width:
            name = "" if decoder is None else decoder.name
            message = (
                f"{name} takes {network.n_inputs} latents, but the prior {prior.name} has "
                f"{prior.width} coordinates: give the decoder of this run."
            )
            raise InputError(message)
        if codes is not None and codes[number].n_features != prior.width:
            message = (
                f"{codes[number].name} has {codes[number].n_features} coordinates, but the prior "
                f"{prior.name} has {prior.width}: give the latents of this run."
            )
            raise InputError(message)
    widths = sorted({prior.width for prior in priors})
    if len(widths) > 1:
        message = (
            f"the priors have from {widths[0]} to {widths[-1]} coordinates: give runs of one width."
        )
        raise InputError(message)


def _checked(
    priors: Sequence[Prior],
    decoders: Sequence[Layers | None],
    codes: Sequence[Embeddings] | None,
    *,
    seed: int,
    progress: Progress,
) -> tuple[MixtureRun, ...]:
    found = []
    with progress.task("check assumptions", len(priors)) as advance:
        for number, (prior, decoder) in enumerate(zip(priors, decoders, strict=True)):
            rows: Float | None = None
            if codes is not None:
                run = codes[number]
                rows = np.asarray(run.rows[0 : len(run)], dtype=np.float64)
            try:
                found.append(check_run(prior, decoder, rows, seed=seed))
            except InputError as error:
                message = f"{prior.name}: {error}"
                raise InputError(message) from None
            advance(1)
    return tuple(found)


def _matched(
    priors: Sequence[Prior],
    densities: Sequence[Mixture | None],
    *,
    draws: int,
    seed: int,
    progress: Progress,
) -> tuple[tuple[MixturePair, ...], Stability | None]:
    known = [each for each in densities if each is not None]
    if len(priors) < 2 or len(known) < len(priors):
        return (), None
    names = [prior.name for prior in priors]
    return match_runs(names, known, draws=draws, seed=seed, progress=progress)


def _with_codes(
    result: MixtureResult,
    codes: Sequence[Embeddings],
    densities: Sequence[Mixture | None],
    *,
    held_out: float,
    seed: int,
    engine: Engine,
    progress: Progress,
) -> tuple[tuple[MixturePair, ...], CodesSummary | None, list[Finding]]:
    found, summary, findings = compare_codes(
        codes,
        densities,
        result.up_to or result.prior_up_to or Group.AFFINE,
        held_out=held_out,
        seed=seed,
        engine=engine,
        progress=progress,
    )
    places = {run.name: number for number, run in enumerate(result.runs)}
    pairs = tuple(
        replace(pair, codes=found.get((places[pair.first], places[pair.second])))
        for pair in result.pairs
    )
    return pairs, summary, findings


def _gap(prior: Prior) -> float | None:
    """Return the smallest difference of log-ratios of variances in the best pair of components.

    None if coordinates are correlated within components, where ratios decide nothing.
    """
    if prior.components.correlations().max() > _CORRELATED:
        return None
    pair, gap = distinct_ratios(prior.components.variances)
    return None if pair is None else gap


_CORRELATED = 1e-6
