"""Bounds that theory derives from a decoder's constants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from upto.core import Group
from upto.theory import certify_network, rigid_mean_promise, rigid_promise

if TYPE_CHECKING:
    from upto.core import Promise
    from upto.decoders.chains import ChainLayer
    from upto.decoders.decoder import Decoder


_WIDEST = 4096
"""Maximum number of outputs for which a final activation is written as one more layer."""
_ROUNDED = 1e-4
"""Relative excess of a constant measured in single precision over the true one."""


def promised_errors(
    *, worst: float, median: float, scaled: float, n_latents: int, diameter: float
) -> tuple[Promise, ...]:
    """Return the bounds of Theorem 1 for two runs with decoders like this one.

    The first bounds hold if no point or pair is worse than those sampled, the second if none is
    worse than the median point, and the last after the best scale of the outputs.

    Parameters
    ----------
    worst, median, scaled
        Constant over points and pairs, at the median point, and over all after the best scale.
        They must be known from above: a lower bound promises nothing.
    n_latents, diameter
        Number of latent coordinates, and diameter of the latents.
    """
    looked = "no latent is worse than the worst point and pair looked at"
    cases = (
        (worst, "", looked),
        (median, ", median point", "no latent is worse than the median point"),
        (scaled, ", rescaled", f"{looked} after the best scale"),
    )
    found = []
    for constant, suffix, condition in cases:
        for bound in (rigid_promise, rigid_mean_promise):
            excess = max(0.0, constant - 1.0)
            promise = bound(excess, n_dimensions=n_latents, diameter=diameter)
            is_rescaled = suffix == ", rescaled"
            found.append(
                replace(
                    promise,
                    statement=promise.statement + suffix,
                    claim=promise.claim.replace("rigid motion", "rigid motion and one scale")
                    if is_rescaled
                    else promise.claim,
                    condition=f"{condition} (Λ = {constant:.4g}), {promise.condition}",
                    up_to=Group.SIMILARITY if is_rescaled else promise.up_to,
                )
            )
    return tuple(found)


def certified_bound(decoder: Decoder, measured: float) -> Promise | None:
    """Return the constant certified by a decoder's weights; None without a certificate.

    Parameters
    ----------
    decoder
        Decoder; only a chain of known layers has a certificate.
    measured
        Largest constant measured; a certificate below it would be wrong, so it is dropped.
    """
    try:
        chain = decoder.chain
        found = None if chain is None else _certified(chain)
    except Exception:  # noqa: BLE001 - a certificate is optional
        return None
    if found is None or (found.value is not None and measured > found.value * (1.0 + _ROUNDED)):
        return None
    return found


def _certified(chain: tuple[ChainLayer, ...]) -> Promise | None:
    weights, leaks = [layer.weights for layer in chain], [layer.leak for layer in chain]
    if leaks[-1] != 1.0:
        n_outputs = weights[-1].shape[0]
        if n_outputs > _WIDEST:
            return None
        weights.append(np.eye(n_outputs))
        leaks.append(1.0)
    return certify_network(weights, leaks[:-1])
