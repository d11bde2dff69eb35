"""Latents beside known factors: what a factor is, what a form of the latents tells of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from upto.core.estimate import Estimate
from upto.core.fits import Agreement, Supremum
from upto.core.group import Group

BEYOND_CHANCE = 0.05
"""The p-value up to which a score or an error is called beyond chance."""

FactorKind = Literal["discrete", "continuous"]
Shares = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorSummary:
    """One of the factors.

    `n_values` are its different values and `entropy` is what it has to tell, in nats; None for a
    continuous one. `labelled` is the share of the rows that have a label. `in_truth` says whether
    its values have an order, so that it is a coordinate of the truth that errors are measured to.
    """

    name: str
    kind: FactorKind
    n_values: int
    entropy: float | None
    labelled: float
    in_truth: bool

    @property
    def taken_as(self) -> str:
        """What its values were taken for, in words."""
        if self.kind == "continuous":
            return "numbers on a line"
        return "ordered values" if self.in_truth else "categories"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorMatch:
    """Which latent of a form tells most of a factor.

    Latents are counted from 0. `share` is the information of the latent over the entropy of the
    factor, beyond chance, and `next_share` that of the second-best one, `next_latent`. `assigned`
    is the latent of the factor where every factor gets one of its own; None where latents are
    fewer. `correlation` is that of `latent` with the factor, and `r2` what an affine map of all
    latents explains of the factor on held-out rows; both are None for factors that are no numbers.
    """

    factor: str
    latent: int | None
    share: float | None
    next_latent: int | None
    next_share: float | None
    assigned: int | None
    correlation: float | None
    r2: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentForm:
    """The latents in one form: as given, or after ICA.

    `converged` and `n_iterations` are None where nothing was searched for. `dead` never change and
    `active` have a twentieth or more of the largest spread of a latent that tells of a factor.
    `shares` has a row for every latent and a column for every factor: information over the entropy
    of the factor, beyond chance; None where the factor has nothing to tell. `order` lists all
    latents so that those assigned to factors come first, in the order of factors. `spread` are
    standard deviations.
    """

    name: str
    says: str
    n_latents: int
    converged: bool | None
    n_iterations: int | None
    dead: tuple[int, ...]
    active: tuple[int, ...]
    spread: tuple[float, ...]
    shares: Shares
    order: tuple[int, ...]
    matches: tuple[FactorMatch, ...]

    def match(self, factor: str) -> FactorMatch:
        """Return which latent tells most of a factor."""
        for match in self.matches:
            if match.factor == factor:
                return match
        names = ", ".join(match.factor for match in self.matches)
        message = f"this result has no factor {factor!r}; it has {names}."
        raise KeyError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormScore:
    """One score of the latents in one form.

    `chance` is the mean over permuted rows, `limit` what the score must beat for a p-value of 5 %
    and `calibrated` the share of the way from chance to the best, 0 within chance. `definition`
    says what is scored, and `says` why a value or a part of it is missing. `per_factor` and
    `per_latent` are its parts, where it has them.
    """

    form: str
    name: str
    family: str
    title: str
    definition: str
    better: Literal["higher", "lower"]
    value: Estimate | None
    chance: float | None
    limit: float | None
    calibrated: float | None
    p_value: float | None
    per_factor: tuple[float | None, ...]
    per_latent: tuple[float | None, ...]
    says: str

    @property
    def is_beyond_chance(self) -> bool | None:
        """Whether the score beats permuted rows; None where they are too few to tell."""
        if self.p_value is None or (self.limit is None and self.p_value > BEYOND_CHANCE):
            return None
        return self.p_value <= BEYOND_CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureFit:
    """How closely one form predicts the true factors up to one group.

    `error` is the mean distance to the truth on held-out rows over the diameter of the truth; it
    is in sample where nothing could be held out. `supremum` brackets the smallest worst error in
    sample, the ε of Definition 2; `chance` is the error of shuffled rows.
    """

    up_to: Group
    error: Estimate
    in_sample: float
    chance: float | None
    p_value: float | None
    r2: float
    supremum: Supremum | None

    @property
    def is_beyond_chance(self) -> bool | None:
        """Whether the error beats shuffled rows; None where that is not known."""
        return None if self.p_value is None else self.p_value <= BEYOND_CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """Up to what one form identifies the true factors: `up_to` is the strictest group that does.

    `verdict` says it in a sentence.
    """

    form: str
    up_to: Group | None
    agreement: Agreement
    verdict: str
    fits: tuple[StructureFit, ...]

    def fit(self, group: Group | str) -> StructureFit:
        """Return the error up to a group."""
        for fit in self.fits:
            if fit.up_to == group:
                return fit
        names = ", ".join(fit.up_to for fit in self.fits)
        message = f"there is no error up to {group!r} here; there is {names}."
        raise KeyError(message)
