"""Check that a decoder is deterministic, row-wise, finite and has correct derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

from upto.core import InputError
from upto.engines import host_array
from upto.geometry.jacobians import row_lengths

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.decoders.decoder import Decoder, Linearisation


_PROBED = 8
"""Points at which a decoder is checked."""
_STEPS = (0.4, 0.6, 0.75)
"""Finite-difference steps relative to the size of a latent, as powers of machine epsilon."""
_MAY_DIFFER = 0.05
"""Relative gap between derivatives and differences accepted at half of the points."""


def check_decoder(decoder: Decoder, points: Float, rng: np.random.Generator) -> Linearisation:
    """Check a decoder at the first few points, and return it linearised there.

    Raises
    ------
    InputError
        If it is not deterministic, mixes rows, returns values that are not finite, or has
        derivatives that disagree with finite differences.
    """
    probed = points[:_PROBED]
    linear = decoder.linearise(probed)
    if linear.outputs is None:
        return linear
    outputs = host_numbers(linear.outputs)
    refuse_not_finite(decoder.name, "outputs", outputs)
    refuse_chance(decoder, probed, outputs)
    _refuse_mixing(decoder, probed, outputs)
    _refuse_wrong_derivatives(decoder, linear, probed, rng)
    return linear


def refuse_not_finite(name: str, what: str, values: Float) -> None:
    """Refuse values that are not finite; they have one row per point."""
    finite = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if not finite.all():
        message = (
            f"the {what} of {name} are NaN or infinite at {int((~finite).sum())} of {len(values)} "
            "points: leave out those latents, or fix the division by zero or overflow there."
        )
        raise InputError(message)


def refuse_chance(decoder: Decoder, points: Float, outputs: Float) -> None:
    """Refuse a decoder that is not deterministic."""
    again = _outputs(decoder, points)
    if not _alike(outputs, again):
        gap = float(np.abs(outputs - again).max())
        message = (
            f"{decoder.name} is not deterministic (outputs for the same latents differ by "
            f"{gap:.2g}): return the mean of its outputs, not a sample, and turn off dropout."
        )
        raise InputError(message)


def _refuse_mixing(decoder: Decoder, points: Float, outputs: Float) -> None:
    if len(points) < 2:
        return
    half = len(points) // 2
    apart = np.concatenate([_outputs(decoder, points[:half]), _outputs(decoder, points[half:])])
    if not _alike(outputs, apart):
        gap = float(np.abs(outputs - apart).max())
        message = (
            f"the outputs of {decoder.name} for a latent depend on the other rows of its batch "
            f"(they differ by {gap:.2g} in a smaller one): a decoder must map each row by itself."
        )
        raise InputError(message)


def _refuse_wrong_derivatives(
    decoder: Decoder, linear: Linearisation, points: Float, rng: np.random.Generator
) -> None:
    """Compare J v with finite differences: a straight-through estimator is not a derivative."""
    directions = rng.standard_normal(points.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    xp = array_api_compat.array_namespace(linear.points)
    device = array_api_compat.device(linear.points)
    pushed = host_numbers(
        linear.push(xp.asarray(directions, dtype=linear.points.dtype, device=device))
    )
    rounding = _rounding(linear.points, linear.outputs)
    size = np.maximum(1.0, row_lengths(points)[:, None])
    gaps = []
    for power in _STEPS:
        step = rounding**power * size
        ahead = _outputs(decoder, points + step * directions)
        behind = _outputs(decoder, points - step * directions)
        difference = (ahead - behind) / (2.0 * step)
        lengths = [row_lengths(each) for each in (pushed, difference)]
        noise = 10.0 * rounding * row_lengths(ahead) / step[:, 0]
        gap = np.maximum(0.0, row_lengths(pushed - difference) - noise)
        gaps.append(gap / np.maximum(np.maximum(*lengths), np.finfo(np.float64).tiny))
    # A derivative is the limit of differences: it is wrong if no step comes near it.
    gap = np.min(gaps, axis=0)
    wrong = gap > _MAY_DIFFER
    if wrong.mean() > 0.5:
        message = (
            f"the derivatives of {decoder.name} are not those of its outputs (they differ from "
            f"finite differences by {np.median(gap[wrong]):.0%} at {int(wrong.sum())} of "
            f"{len(points)} points): remove straight-through estimators, detach and custom "
            "gradients."
        )
        raise InputError(message)


def _alike(one: Float, other: Float) -> bool:
    if one.shape != other.shape:
        return False
    # Batch size changes rounding; single precision is the worst case.
    size = np.abs(one).max(initial=0.0)
    return bool(np.abs(one - other).max(initial=0.0) <= 1e-4 * size)


def _outputs(decoder: Decoder, points: Float) -> Float:
    return host_numbers(decoder.evaluate(points))


def _rounding(*arrays: Any) -> float:
    return max(
        float(array_api_compat.array_namespace(each).finfo(each.dtype).eps) for each in arrays
    )


def host_numbers(array: Any) -> Float:
    """Return an array of any library as a NumPy array in double precision."""
    return np.asarray(host_array(array), dtype=np.float64)
