"""Variants of InfoMEC: their estimators, and the codes that each counts as active."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from upto.disentanglement.shared_information import ADJUSTED, Estimator
from upto.disentanglement.shares import beyond_chance

if TYPE_CHECKING:
    from upto.core.array_types import Float
    from upto.disentanglement.shared_information import Information, Mask

ROUNDING = 1e-6
"""Fraction of the largest spread that an informative code must exceed: rounding of a constant code
in single precision varies by this much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveRule:
    """Active codes: those with a spread above a share of the largest, and above `least`."""

    spread: Literal["range", "quartiles"]
    share: float = 0.0
    least: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A way of computing InfoMEC with published numbers.

    Parameters
    ----------
    estimator
        Estimator of information.
    active, active_discrete
        Rule for active codes, and for active discrete codes.
    adjusted
        Whether to count only information beyond chance; codes with such information are then active
        regardless of spread, and explicitness is a share of the entropy.
    """

    estimator: Estimator
    active: ActiveRule
    active_discrete: ActiveRule
    adjusted: bool = False


VARIANTS = {
    "adjusted": Variant(
        estimator=ADJUSTED,
        active=ActiveRule(spread="range"),
        active_discrete=ActiveRule(spread="range"),
        adjusted=True,
    ),
    "latent_quantization": Variant(
        estimator=Estimator(size=10),
        active=ActiveRule(spread="range", share=1 / 20),
        active_discrete=ActiveRule(spread="range"),
    ),
    "latent_quantization_training": Variant(
        estimator=Estimator(size=3),
        active=ActiveRule(spread="range", share=1 / 8),
        active_discrete=ActiveRule(spread="range", share=1 / 8),
    ),
    "tripod": Variant(
        estimator=Estimator(size=10),
        active=ActiveRule(spread="quartiles", share=1 / 10),
        active_discrete=ActiveRule(spread="quartiles", least=0.1),
    ),
}
"""Variants by name: ours, the authors' standalone file and training code, and Tripod's."""


def told_shares(found: Information, variant: str) -> tuple[Float, Mask]:
    """Return the shares of information by a variant, and which codes are active.

    In the adjusted variant codes with information beyond chance are active: units of codes are
    arbitrary, and by a spread rule a noise code of large spread would make all others inactive.
    """
    spread = varying_codes(found, variant)
    if not VARIANTS[variant].adjusted:
        return found.shares, spread
    shares = beyond_chance(found)
    active: Mask = spread & (shares.max(axis=0, initial=0.0) > 0.0)
    if active.any() and not found.discrete_codes:
        # The rounding of a constant code can depend on the other codes.
        active &= found.ranges > ROUNDING * found.inner_ranges[active].max()
    return shares, active


def varying_codes(found: Information, variant: str) -> Mask:
    """Return which codes are active by the spread rule of a variant."""
    rule = VARIANTS[variant]
    return active_codes(found, rule.active_discrete if found.discrete_codes else rule.active)


def active_codes(found: Information, rule: ActiveRule) -> Mask:
    """Return which codes are active by a spread rule."""
    spreads = {"range": found.ranges, "quartiles": found.quartile_ranges}[rule.spread]
    chosen: Mask = (spreads > spreads.max() * rule.share) & (spreads > rule.least)
    return chosen
