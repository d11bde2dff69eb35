"""A result of every question, and of a study, made in a moment."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from browser import (
    consensus_results,
    sample_batches,
    sample_factors,
    sample_layers,
    sample_results,
    sample_similarities,
)
from browser.test_study_page import study

import upto

if TYPE_CHECKING:
    from upto.core import Result


def _align():
    rows = np.random.default_rng(7).normal(size=(200, 4))
    return upto.align(rows, rows[:, ::-1] + 0.1 * rows**2, up_to="rigid", index_size=900)


def _diversity():
    rng = np.random.default_rng(3)
    return upto.diversity(rng.normal(size=(40, 6)))


def _lipschitz():
    turn = np.linalg.qr(np.random.default_rng(4).normal(size=(4, 4)))[0]
    rows = np.random.default_rng(5).normal(size=(60, 4))
    return upto.lipschitz(rows, np.tanh(rows @ turn))


def _mixture():
    rng = np.random.default_rng(6)
    means = np.array([[-9.0], [-2.0], [0.0], [4.0], [12.0], [15.0]])
    priors = [
        (np.full(6, 1 / 6), means + 0.1 * rng.normal(size=means.shape), np.ones_like(means))
        for _ in range(2)
    ]
    return upto.mixture(*priors, draws=19)


_MAKE = {
    "compare": sample_results.comparison,
    "compare, many runs": lambda: sample_results.matrix(n_runs=5),
    "align": _align,
    "similarity": sample_similarities.similarities,
    "similarity, many runs": lambda: sample_similarities.similarities(5),
    "layers": lambda: sample_layers.layers(6, 4),
    "consensus": consensus_results.consensus,
    "unmix": sample_results.unmixed,
    "inspect": sample_results.inspection,
    "factors": sample_factors.factors,
    "batches": sample_batches.batches,
    "lipschitz": _lipschitz,
    "diversity": _diversity,
    "mixture": _mixture,
    "study": study,
}
EVERY = tuple(_MAKE)


@cache
def result_of(name: str) -> Result:
    """Return the result with this name in `EVERY`."""
    return _MAKE[name]()
