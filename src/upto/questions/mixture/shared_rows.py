"""Compare the rows of runs that describe the same samples."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from upto.engines import blas_threads_for
from upto.evidence.held_out_rows import choose_held_out
from upto.evidence.intervals import mean_of_pairs
from upto.evidence.pairings import PAIRED_ROWS
from upto.evidence.prepare import prepare_run
from upto.files import match_rows
from upto.files.survey import place_runs, survey_runs
from upto.questions.compare.chance_level import chance_rows
from upto.questions.compare.detail import compare_in_detail
from upto.questions.compare.pair import Pair
from upto.questions.compare.pair_options import Options
from upto.questions.mixture.parts import CodesSummary, SharedCodes
from upto.questions.mixture.run_checks import assigned_components

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core import Embeddings, Finding, Group, Progress
    from upto.engines.base import Engine
    from upto.measures import Mixture
    from upto.questions.compare.result import CompareResult


def are_shared(runs: Sequence[Embeddings]) -> bool:
    """Return whether rows can be matched: all runs have ids, or they are equally many."""
    return all(run.ids is not None for run in runs) or len({len(run) for run in runs}) == 1


def compare_codes(
    runs: Sequence[Embeddings],
    densities: Sequence[Mixture | None],
    up_to: Group,
    *,
    held_out: float,
    seed: int,
    engine: Engine,
    progress: Progress,
) -> tuple[dict[tuple[int, int], SharedCodes], CodesSummary | None, list[Finding]]:
    """Compare the rows of every pair of runs, the later one mapped onto the earlier.

    Parameters
    ----------
    runs, densities
        Rows of each run, and its prior as a density.
    up_to
        Group of the maps.
    held_out, seed
        Fraction of rows held out, and the seed of the random number generator.
    engine, progress
        Where passes run, and what is told of them.

    Returns
    -------
    tuple
        The pairs by the places of their runs, their means, and findings about the rows. Without a
        density there is no pair.
    """
    matched, found = match_rows(runs)
    findings = list(found)
    options = Options(up_to=up_to, held_out=held_out, ica=False, seed=seed, one_way=True)
    width = max(run.n_features for run in matched)
    clusters = [
        None if density is None else _clusters(density, run)
        for density, run in zip(densities, matched, strict=True)
    ]
    placed = place_runs(engine, matched)
    surveys = survey_runs(engine, placed)
    split, remarked = choose_held_out(engine, placed, held_out, seed)
    findings += remarked
    with blas_threads_for(width):
        prepared = [
            prepare_run(
                engine,
                run,
                survey,
                split,
                ica=False,
                in_sample=True,
                sample_rows=chance_rows(width),
                paired_rows=PAIRED_ROWS,
                seed=seed,
            )
            for run, survey in zip(placed, surveys, strict=True)
        ]
        pairs: dict[tuple[int, int], SharedCodes] = {}
        for one, other in combinations(range(len(runs)), 2):
            first, second = clusters[one], clusters[other]
            if first is None or second is None:
                continue
            pair = Pair(engine=engine, source=prepared[other], target=prepared[one], split=split)
            compared = compare_in_detail(pair, options, progress, None, None)
            pairs[one, other] = _shared(compared, up_to, first, second)
    summary = _summary(pairs, up_to, len(runs), len(matched[0])) if pairs else None
    return pairs, summary, findings


def _clusters(density: Mixture, run: Embeddings) -> NDArray[np.intp]:
    return assigned_components(density, np.asarray(run.rows[0 : len(run)], dtype=np.float64))


def _shared(
    compared: CompareResult, up_to: Group, first: NDArray[np.intp], second: NDArray[np.intp]
) -> SharedCodes:
    from sklearn.metrics import adjusted_rand_score

    fit = compared.fit(str(up_to))
    return SharedCodes(
        up_to=up_to,
        error=fit.error,
        chance=None if fit.chance is None else fit.chance.mean.value,
        p_value=fit.p_value,
        rand_index=float(adjusted_rand_score(first, second)),
    )


def _summary(
    pairs: dict[tuple[int, int], SharedCodes], up_to: Group, count: int, n_samples: int
) -> CodesSummary | None:
    if len(pairs) < count * (count - 1) // 2:
        return None
    errors, indices = np.zeros((count, count)), np.zeros((count, count))
    for (one, other), codes in pairs.items():
        errors[one, other] = errors[other, one] = codes.error.value
        indices[one, other] = indices[other, one] = codes.rand_index
    chances = [codes.chance for codes in pairs.values() if codes.chance is not None]
    return CodesSummary(
        up_to=up_to,
        n_samples=n_samples,
        error=mean_of_pairs(errors, low=0.0),
        chance=float(np.mean(chances)) if chances else None,
        rand_index=mean_of_pairs(indices, low=-1.0, high=1.0),
    )
