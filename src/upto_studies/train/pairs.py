"""Pairs of trained autoencoders: rigid errors of their codes, and decoder constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment import Aligner
from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.engines import choose_engine
from upto.engines.device_rows import host_array, load_torch
from upto.geometry.distortion import bi_lipschitz, direction_estimate
from upto.geometry.jacobians import dense_extremes
from upto.measures import diameter
from upto.theory import rigid_mean_promise, rigid_promise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto.core import Promise
    from upto_studies.train.ensembles import Ensemble


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RigidErrors:
    """Errors between two codes of the same rows after the best rigid motion.

    Parameters
    ----------
    mean, worst
        Mean and largest distance over the rows the motion was fitted to.
    held_mean
        Mean distance over held-out rows.
    diameter, held_diameter
        Diameter of the first codes, of fitted and held-out rows.
    """

    mean: float
    worst: float
    held_mean: float
    diameter: float
    held_diameter: float

    @property
    def relative(self) -> float:
        """The mean error over the diameter."""
        return self.mean / self.diameter if self.diameter > 0 else 0.0

    @property
    def held_relative(self) -> float:
        """The mean held-out error over the diameter."""
        return self.held_mean / self.held_diameter if self.held_diameter > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DecoderStretches:
    """Local bi-Lipschitz constant of decoders at codes: members × rows.

    Parameters
    ----------
    exact
        max(σ₁, 1/σₙ) of the Jacobian.
    estimate
        The same over random directions only, a lower bound.
    """

    exact: Float
    estimate: Float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pair:
    """Two autoencoders with one leak and different seeds.

    Parameters
    ----------
    leak, n_code
        Slope of their rectifiers below zero, and width of their code.
    about
        Training data, if pairs differ in it.
    reconstruction
        Mean squared error of each on its training rows.
    errors
        Rigid errors of their codes.
    stretches
        Constants of their decoders at the codes of the same rows.
    """

    leak: float
    n_code: int
    about: str
    reconstruction: tuple[float, float]
    errors: RigidErrors
    stretches: DecoderStretches

    def excess(self, *, exact: bool, worst: bool) -> float:
        """Return L, the excess of the larger of the two constants over one.

        Parameters
        ----------
        exact
            Whether to use the exact constants or the estimates.
        worst
            Whether to use the largest over the codes or the mean.
        """
        constants = self.stretches.exact if exact else self.stretches.estimate
        each = constants.max(axis=1) if worst else constants.mean(axis=1)
        return max(float(each.max()) - 1.0, 0.0)

    def promises(self) -> tuple[Promise, Promise]:
        """Return the bounds of Theorem 1 on the worst and the root mean square error.

        They use the largest exact constants at the codes, which may be larger elsewhere.
        """
        first, second = (max(float(each) - 1.0, 0.0) for each in self.stretches.exact.max(axis=1))
        both = (
            function(
                first,
                second_lipschitz=second,
                n_dimensions=self.n_code,
                diameter=self.errors.diameter,
            )
            for function in (rigid_promise, rigid_mean_promise)
        )
        worst, mean = both
        return worst, mean

    @property
    def breaks_promise(self) -> bool:
        """Whether an error exceeds the bound of Theorem 1."""
        worst, mean = map(float, self.promises())
        return self.errors.worst > worst or self.errors.mean > mean


EXCESSES = {
    "mean L, ten directions": {"exact": False, "worst": False},
    "mean L, exact": {"exact": True, "worst": False},
    "largest L, ten directions": {"exact": False, "worst": True},
    "largest L, exact": {"exact": True, "worst": True},
}
"""Definitions of L of a pair, as arguments of `Pair.excess`."""


def rigid_errors(first: Float, second: Float, held_first: Float, held_second: Float) -> RigidErrors:
    """Fit the best rigid motion from the second codes to the first, and measure the errors."""
    aligner = Aligner("rigid").fit(second, first)
    left = np.linalg.norm(aligner.transform(second) - first, axis=1)
    held = np.linalg.norm(aligner.transform(held_second) - held_first, axis=1)
    return RigidErrors(
        mean=float(left.mean()),
        worst=float(left.max()),
        held_mean=float(held.mean()),
        diameter=_diameter(first),
        held_diameter=_diameter(held_first),
    )


def decoder_stretches(ensemble: Ensemble, codes: Float, *, directions: Float) -> DecoderStretches:
    """Measure the local bi-Lipschitz constants of all decoders at codes.

    Parameters
    ----------
    ensemble
        The autoencoders.
    codes
        Members × rows × code.
    directions
        Random directions for the estimate: members × rows × directions × code.
    """
    torch = load_torch()
    units = directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    exact, estimate = [], []
    for block, jacobians in ensemble.decoder_jacobians(codes):
        found = dense_extremes(jacobians.flatten(0, 1))
        exact.append(bi_lipschitz(found.largest, found.smallest).reshape(jacobians.shape[:2]))
        pushed = torch.as_tensor(units[:, block]).to(jacobians) @ jacobians
        lengths = host_array(torch.linalg.vector_norm(pushed, dim=-1))
        estimate.append(direction_estimate(np.moveaxis(lengths, -1, 0)))
    return DecoderStretches(
        exact=np.concatenate(exact, axis=1), estimate=np.concatenate(estimate, axis=1)
    )


def measure_pairs(
    ensemble: Ensemble,
    rows: Any,
    held_rows: Any,
    *,
    n_samples: int,
    n_directions: int,
    seed: int,
    about: str = "",
) -> list[Pair]:
    """Measure members 0 and 1, 2 and 3, and so on, as pairs.

    Parameters
    ----------
    ensemble
        An even number of autoencoders.
    rows
        Training rows; codes of a random sample of them are compared.
    held_rows
        Held-out rows.
    n_samples
        Sample size of both.
    n_directions
        Number of random directions at each code.
    seed
        Seed of the samples and directions.
    about
        Description of the rows, to distinguish several calls.

    Raises
    ------
    InputError
        If a member diverged.
    """
    if ensemble.diverged.any():
        message = (
            f"{ensemble.diverged.sum()} of {len(ensemble)} members diverged, the first with seed "
            f"{ensemble.seeds[int(ensemble.diverged.argmax())]}: lower the learning rate, or drop "
            "their pairs with Ensemble.select."
        )
        raise InputError(message)
    sample = _sampled(rows, n_samples, seed, "samples", about)
    held = _sampled(held_rows, n_samples, seed, "held samples", about)
    reconstruction = ensemble.errors(rows)
    codes, held_codes = ensemble.encode(sample), ensemble.encode(held)
    stream = random_stream(seed, "directions", about)
    pairs = []
    for first in range(0, len(ensemble), 2):
        both = [first, first + 1]
        directions = stream.standard_normal((2, len(sample), n_directions, codes.shape[2]))
        stretches = decoder_stretches(ensemble.select(both), codes[both], directions=directions)
        pairs.append(
            Pair(
                leak=float(ensemble.leaks[first]),
                n_code=codes.shape[2],
                about=about,
                reconstruction=(float(reconstruction[first]), float(reconstruction[first + 1])),
                errors=rigid_errors(*codes[both], *held_codes[both]),
                stretches=stretches,
            )
        )
    return pairs


def converged_pairs(
    pairs: Sequence[Pair], *, reference_leak: float, percentile: float
) -> list[Pair]:
    """Drop pairs with a member that reconstructs worse than most at a reference leak."""
    reference = [pair.reconstruction for pair in pairs if pair.leak == reference_leak]
    if not reference:
        return list(pairs)
    limit = float(np.percentile(reference, percentile))
    return [pair for pair in pairs if max(pair.reconstruction) <= limit]


def _diameter(codes: Float) -> float:
    return diameter(choose_engine(None), codes, codes.mean(axis=0), codes).value


def _sampled(rows: Any, n_samples: int, seed: int, *purpose: str) -> Any:
    if len(rows) <= n_samples:
        return rows
    chosen = random_stream(seed, *purpose).choice(len(rows), n_samples, replace=False)
    return rows[np.sort(chosen)]
