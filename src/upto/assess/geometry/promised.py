"""What theory makes of a decoder's constants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import Group
from upto.theory import certify_network, rigid_mean_promise, rigid_promise

if TYPE_CHECKING:
    from upto.core import Promise, Spread

Float = NDArray[np.float64]

_WIDEST = 4096
"""Outputs up to which an activation after the last layer is written as one more layer."""


def promised_errors(
    spread: Spread, scaled: float, n_latents: int, diameter: float
) -> tuple[Promise, ...]:
    """Return what Theorem 1 promises two runs whose decoders are like this one.

    The bounds hold if no point is worse than those looked at; the second ones would if all were
    like the median point, and the last ones after the best scale of the outputs.
    """
    cases = (
        (spread.at("worst"), "", "no latent is worse than the worst point looked at"),
        (spread.at("median"), ", median point", "no latent is worse than the median point"),
        (scaled, ", rescaled", "no latent is worse than the worst point after the best scale"),
    )
    found = []
    for constant, suffix, condition in cases:
        for bound in (rigid_promise, rigid_mean_promise):
            excess = max(0.0, constant - 1.0)
            promise = bound(excess, n_dimensions=n_latents, diameter=diameter)
            found.append(
                replace(
                    promise,
                    statement=promise.statement + suffix,
                    condition=f"{condition} (Λ = {constant:.4g}), {promise.condition}",
                    up_to=Group.SIMILARITY if suffix == ", rescaled" else promise.up_to,
                )
            )
    return tuple(found)


def certified_bound(chain: tuple[tuple[Float, float], ...] | None) -> Promise | None:
    """Return the constant that the weights of a chain of layers certify; None for others."""
    if chain is None:
        return None
    weights, leaks = [weight for weight, _ in chain], [leak for _, leak in chain]
    if leaks[-1] != 1.0:
        n_outputs = weights[-1].shape[0]
        if n_outputs > _WIDEST:
            return None
        weights.append(np.eye(n_outputs))
        leaks.append(1.0)
    return certify_network(weights, leaks[:-1])
