"""Verdict and findings of a decoder."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from upto.core import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.questions.lipschitz.result import LipschitzResult

FAR = math.sqrt(2.0)
"""Constant above which distances change by more than the diameter when two decoders are stitched,
so that the cited lemma behind Theorem 1 no longer applies."""
_EXACT = 1e-6
_ENOUGH = 100
_IGNORED = 1e-6
"""Stretch relative to the strongest coordinate below which one is ignored, within rounding."""
_HARDLY = 0.05
"""The same for coordinates the decoder hardly uses, e.g. after posterior collapse."""


def verdict(result: LipschitzResult, *, is_single: bool) -> str:
    """State how far the decoder is from an isometry."""
    subject = f"The map from {result.latents} to {result.outputs}"
    if result.decoder:
        subject = "The decoder"
        subject += "" if result.decoder.lower() == "decoder" else f" {result.decoder}"
    count = sum(point.lipschitz is None for point in result.points)
    where = f"{result.n_points} points" if result.n_points > 1 else "1 point"
    if count:
        return _losing(result, subject, f"{count} of {where}", is_single=is_single)
    spread, pairs = result.spread("lipschitz"), result.secants
    worst, median = spread.at("worst"), spread.at("median")
    far = 1.0 if pairs is None else math.inf if pairs.lipschitz is None else pairs.lipschitz
    if not result.is_exact:
        return _bounded(subject, worst, median, far, where)
    if max(worst, far) <= 1.0 + _EXACT:
        return f"{subject} is an isometry at all {where}: it preserves all lengths."
    text = (
        f"{subject} changes lengths by a factor of {worst:.3g} at the worst of {where} and "
        f"{median:.3g} at the median"
    )
    if result.scaled is not None and result.scaled < 0.9 * worst:
        text += f" ({result.scaled:.3g} at the worst after one scale of {result.scale:.3g})"
    if math.isinf(far):
        text += ", and maps some pairs of them to the same output"
    elif far > max(1.0 + _EXACT, 1.01 * worst):
        text += f", and distances between them by up to {far:.3g}"
    extent = result.diameter.upper or 1.0
    for promise, kind in zip(result.promises, ("worst", "root mean square"), strict=False):
        if not promise.is_vacuous:
            return text + (
                f"; if this holds everywhere, two such runs agree up to a rigid motion with a "
                f"{kind} error of at most {float(promise) / extent:.2g} of the diameter."
            )
    return text + "; this is too far from an isometry for Theorem 1 to give a bound."


def _losing(result: LipschitzResult, subject: str, where: str, *, is_single: bool) -> str:
    if _is_rounding(result, is_single=is_single):
        return (
            f"{subject} has latent directions whose effect is zero within single precision at "
            f"{where}: no theorem applies."
        )
    return (
        f"{subject} is not injective at {where}: it loses a latent direction; no theorem applies."
    )


def _bounded(subject: str, worst: float, median: float, far: float, where: str) -> str:
    """State a constant that is known from below only."""
    if math.isinf(far):
        return f"{subject} maps different latents to equal outputs: no theorem applies."
    if max(worst, far) <= 1.0 + _EXACT:
        return (
            f"{subject} preserves all lengths measured from {where}; others may change, so no "
            "theorem applies."
        )
    text = (
        f"{subject} changes lengths by at least a factor of {max(worst, far):.3g} at the worst of "
        f"{where} and {median:.3g} at the median"
    )
    return text + "; these are lower bounds, so no theorem applies."


def findings(
    result: LipschitzResult, *, n_dead: int, is_single: bool, n_clashes: int
) -> Iterator[Finding]:
    """Yield the findings of a decoder."""
    lost = sum(point.lipschitz is None for point in result.points)
    n_points, spread = result.n_points, result.spread("lipschitz")
    is_told = not _is_rounding(result, is_single=is_single)
    if lost and is_told:
        yield Finding(code="UP050", message=_lost(result, lost))
    median, worst = spread.at("median"), spread.at("worst")
    if median > FAR and not lost:
        message = f"lengths change by a factor of {median:.3g} at the median of {n_points} points"
        weak = _weak(result, _HARDLY)
        if weak:
            message += f"; {_listed(weak)} of {result.n_latents} latents hardly move the outputs"
        yield Finding(code="UP051", message=f"{message}.")
    unsettled = sum(not point.settled for point in result.points)
    if unsettled:
        message = f"at {unsettled} of {n_points} points the constant is only a lower bound."
        yield Finding(code="UP052", message=message)
    if n_points < _ENOUGH:
        share = 1.0 - 0.05 ** (1.0 / n_points)
        message = (
            f"the worst of {n_points} points: up to {share:.2g} of all latents may be worse (95 % "
            "confidence)."
        )
        yield Finding(code="UP053", message=message)
    if result.scaled is not None and result.scaled < FAR <= worst:
        message = (
            f"the worst constant is {worst:.3g}, but {result.scaled:.3g} after multiplying the "
            f"outputs by {result.scale:.3g}."
        )
        yield Finding(code="UP054", message=message)
    if n_clashes:
        message = f"{n_clashes} rows have the latents of another row but different outputs."
        yield Finding(code="UP055", message=message)
    if is_single:
        message = f"{result.decoder} computes in single precision"
        if lost and not is_told:
            message += f", and at {lost} of {n_points} points the smallest stretch rounds to zero"
        message += "."
        yield Finding(code="UP056", message=message)
    vacuous = [each for each in result.promises if each.is_vacuous]
    if vacuous:
        after = math.inf if result.scaled is None else result.scaled
        message = (
            f"{len(vacuous)} of {len(result.promises)} bounds of Theorem 1 are vacuous: Λ is "
            f"{worst:.3g} at the worst point, {median:.3g} at the median and {after:.3g} after "
            "rescaling."
        )
        yield Finding(code="UP012", message=message)
    if n_dead:
        message = f"{n_dead} of {result.n_latents} coordinates of {result.latents} are constant."
        yield Finding(code="UP013", message=message)
    if n_points < result.n_samples:
        message = f"{n_points} of {result.n_samples} rows are used."
        yield Finding(code="UP024", message=message)


def _is_rounding(result: LipschitzResult, *, is_single: bool) -> bool:
    """Return whether a direction that seems lost may only be below the decoder's rounding."""
    return is_single and result.n_outputs >= result.n_latents


def _lost(result: LipschitzResult, count: int) -> str:
    message = f"at {count} of {result.n_points} points some direction does not change the outputs"
    if result.n_outputs < result.n_latents:
        return (
            f"{message}: {result.n_outputs} outputs cannot distinguish {result.n_latents} latents."
        )
    ignored = _weak(result, _IGNORED)
    if ignored:
        return f"{message}: {_listed(ignored)} of {result.n_latents} latents are ignored."
    return f"{message}."


def _weak(result: LipschitzResult, share: float) -> list[int]:
    """Return the coordinates whose stretch is at most `share` of the strongest one's."""
    limit = share * max(result.coordinates, default=0.0)
    return [place for place, each in enumerate(result.coordinates) if each <= limit]


def _listed(places: list[int]) -> str:
    more = ", …" if len(places) > 5 else ""
    return f"{len(places)} ({', '.join(map(str, places[:5]))}{more})"
