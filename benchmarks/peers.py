"""ICA contestants and a common quality measure: the gradient at their results."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import upto
from benchmarks.data import planted
from benchmarks.measure import measured
from benchmarks.watching import WatchedEngine
from upto.engines import ThreadsEngine
from upto.ica.components import pose, whitening_for
from upto.ica.contrasts import LogCosh
from upto.ica.solver import orthogonalised

TARGET = 1e-4
"""Largest entry of the whitened relative gradient that counts as the same quality."""
ITERATIONS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Quality of components, measured by one pass of ours."""

    gradient: float
    contrast: float
    n_clear: int


class Judge:
    """Common evaluation of components of given rows, in double precision.

    Planted Gaussian sources, or, if unknown, components no less Gaussian than by chance, are
    defined only up to a rotation, and the rotation at which a search ends affects the gradient
    between them and all others: only the gradient between the rest counts.
    """

    def __init__(self, rows, n_gaussian, engine=None):
        engine = engine or ThreadsEngine()
        placed = engine.place(rows)
        self.whitening = whitening_for(engine, placed, None)
        self.problem = pose(engine, placed, self.whitening, LogCosh())
        self.n_gaussian = n_gaussian

    @property
    def rank(self):
        """Rank of the rows."""
        return self.whitening.rank

    def __call__(self, components):
        """Return the quality of components."""
        shape = self.whitening.matrix.shape
        if components.shape != shape or not np.isfinite(components).all():
            return Quality(gradient=np.inf, contrast=np.nan, n_clear=0)
        rotation = orthogonalised(components.astype(np.float64) @ self.whitening.inverse)
        (point,) = self.problem.evaluate([rotation])
        n_gaussian = self.n_gaussian
        if n_gaussian is None:
            n_gaussian = int(np.count_nonzero(point.unclear))
        clear = np.argsort(np.abs(point.excess))[n_gaussian:]
        between = point.skew[np.ix_(clear, clear)]
        return Quality(
            gradient=float(np.abs(between).max(initial=0.0)),
            contrast=point.contrast,
            n_clear=len(clear),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Result of a contestant; `engine` is ours if the passes were ours."""

    components: np.ndarray
    iterations: int
    engine: WatchedEngine | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """One library: `fit(rows, rank, tolerance)` and the tolerances to try, the loosest first."""

    name: str
    dtype: str
    ladder: tuple[float, ...]
    fit: Callable[[Any, int, float], Found]
    is_ours: bool = False


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Result of a contestant at the loosest tolerance that reached the target, or at the last."""

    contestant: Contestant
    tolerance: float = np.nan
    found: Found | None = None
    quality: Quality | None = None
    seconds: list[float] = field(default_factory=list)
    extra_bytes: int = 0
    failure: str = ""

    @property
    def reached(self):
        """Whether the gradient reached the target."""
        return self.quality is not None and self.quality.gradient <= TARGET

    @property
    def median(self):
        """Median seconds per round."""
        return statistics.median(self.seconds)

    @property
    def words(self):
        """How it ended."""
        return self.failure or ("reached" if self.reached else "did not reach")


def compete(contestants, rows_by_dtype, judge, rounds):
    """Run all contestants on the same rows; repeat in turn at the tolerance that sufficed."""
    outcomes = [first_to_reach(each, rows_by_dtype[each.dtype], judge) for each in contestants]
    for _ in range(rounds - 1):
        for outcome in outcomes:
            if outcome.reached:
                each = outcome.contestant
                rows = rows_by_dtype[each.dtype]
                outcome.found, seconds, _ = measured(
                    lambda e=each, o=outcome, r=rows: _fitted(e, r, judge, o)
                )
                outcome.seconds.append(seconds)
    return outcomes


def _fitted(contestant, rows, judge, outcome):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return contestant.fit(rows, judge.rank, outcome.tolerance)


def first_to_reach(contestant, rows, judge):
    """Try one tolerance after another until the result is good enough."""
    outcome = Outcome(contestant=contestant)
    for outcome.tolerance in contestant.ladder:
        try:
            found, seconds, outcome.extra_bytes = measured(
                lambda: _fitted(contestant, rows, judge, outcome)
            )
        except Exception as error:  # noqa: BLE001 - a failure of a peer is a result
            sentence = str(error).partition("\n")[0].partition(". ")[0]
            outcome.failure = f"failed: {type(error).__name__}: {sentence[:80]}"
            break
        outcome.found, outcome.seconds = found, [seconds]
        outcome.quality = judge(found.components)
        print(
            f"  {contestant.name}: {seconds:.2f} s to a gradient of "
            f"{outcome.quality.gradient:.1e} at tolerance {outcome.tolerance:g}",
            flush=True,
        )
        # Where the iterations ran out, a tighter tolerance changes nothing.
        if outcome.reached or found.iterations >= ITERATIONS:
            break
    return outcome


def ours(dtype="float32", *, name=None, engine=None, tolerances=(TARGET, TARGET / 8)):
    """Return ours, on an engine."""

    def fit(rows, rank, tolerance):
        watched = WatchedEngine(engine or ThreadsEngine())
        ica = upto.ICA(
            tolerance=tolerance, max_iterations=ITERATIONS, engine=watched, random_state=0
        ).fit(rows)
        return Found(components=ica.components_, iterations=ica.n_iter_, engine=watched)

    return Contestant(
        name=name or f"upto, {dtype}", dtype=dtype, ladder=tolerances, fit=fit, is_ours=True
    )


def scikit_learn(dtype):
    """Return scikit-learn's FastICA with its faster whitening; its tolerance is a squared step."""

    def fit(rows, rank, tolerance):
        from sklearn.decomposition import FastICA

        ica = FastICA(
            rank, whiten_solver="eigh", tol=tolerance, max_iter=ITERATIONS, random_state=0
        ).fit(rows)
        return Found(components=ica.components_, iterations=ica.n_iter_)

    ladder = (1e-4, 1e-5, 1e-6, 1e-7) if dtype == "float32" else (1e-4, 1e-6, 1e-8)
    return Contestant(name=f"scikit-learn eigh, {dtype}", dtype=dtype, ladder=ladder, fit=fit)


def picard():
    """Return python-picard's Picard-O; its tolerance is half an entry of the gradient."""

    def fit(rows, rank, tolerance):
        from picard import picard

        whitening, rotation, _, iterations = picard(
            rows.T,
            n_components=rank,
            ortho=True,
            tol=tolerance,
            max_iter=ITERATIONS + 1,
            random_state=0,
            return_n_iter=True,
        )
        return Found(components=rotation @ whitening, iterations=iterations)

    return Contestant(
        name="python-picard, float64",
        dtype="float64",
        ladder=(TARGET / 2, TARGET / 8),
        fit=fit,
    )


def fastica_torch(device="cpu"):
    """Return fastica-torch; its tolerance is scikit-learn's."""

    def fit(rows, rank, tolerance):
        import torch
        from fastica_torch import FastICA

        ica = FastICA(
            rank, whiten_solver="eigh", tol=tolerance, max_iter=ITERATIONS, random_state=0
        ).fit(torch.from_numpy(rows).to(device))
        return Found(components=ica.components_.cpu().numpy(), iterations=ica.n_iter_)

    where = "" if device == "cpu" else f" on {device}"
    return Contestant(
        name=f"fastica-torch{where}, float32",
        dtype="float32",
        ladder=(1e-4, 1e-5, 1e-6, 1e-7),
        fit=fit,
    )


def warm_up(contestants):
    """Warm up all contestants, so that no run includes imports and allocations."""
    rows = planted("Laplace", 4096, 64).rows
    for each in contestants:
        small = rows.astype(each.dtype.split()[0])
        each.fit(small, small.shape[1], each.ladder[0])


def installed(*modules):
    """Return whether modules can be imported, and print those that cannot."""
    from importlib.util import find_spec

    missing = [module for module in modules if find_spec(module) is None]
    for module in missing:
        print(f"{module} is not installed: that peer is left out")
    return not missing


def differs(first, second):
    """Return by how much two sets of components differ, up to order and sign.

    It is the largest entry of one set over the mixing of the other that a signed permutation does
    not have.
    """
    product = np.abs(first @ np.linalg.pinv(second))
    match = product.argmax(axis=1)
    product[np.arange(len(product)), match] -= 1.0
    return float(np.abs(product).max()) if len(set(match)) == len(match) else np.inf
