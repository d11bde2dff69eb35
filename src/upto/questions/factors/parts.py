"""Records of factors, forms of the latents, scores and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from upto.core.estimate import Estimate
from upto.core.fits import Agreement, Supremum
from upto.core.group import Group
from upto.core.result import pick
from upto.core.short_repr import Record

BEYOND_CHANCE = 0.05
"""Largest p-value at which a score or an error is beyond chance."""

FactorKind = Literal["discrete", "continuous"]
Shares = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorSummary:
    """One factor.

    `n_values` is its number of distinct values and `entropy` its entropy in nats, None if it is
    continuous. `labelled` is the fraction of rows with a label. `in_truth` marks factors with
    ordered values, which are the coordinates of the truth that errors are measured to.
    """

    name: str
    kind: FactorKind
    n_values: int
    entropy: float | None
    labelled: float
    in_truth: bool

    @property
    def taken_as(self) -> str:
        """How its values are treated, for display."""
        if self.kind == "continuous":
            return "continuous"
        return "ordered values" if self.in_truth else "categories"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorMatch:
    """Most informative latent of a form for one factor.

    Latents are numbered from 0. `share` is the information of the latent divided by the entropy of
    the factor, beyond chance, and `next_share` that of the second-best, `next_latent`. `assigned`
    is the latent in a one-to-one matching with factors, None if there are too few latents.
    `correlation` is that of `latent` with the factor, and `r2` the held-out R² of an affine map of
    all latents; both are None for non-numeric factors.
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
class LatentForm(Record):
    """The latents in one form: unchanged, or after ICA.

    `converged` and `n_iterations` are None without ICA. `dead` latents are constant, and `active`
    ones have at least a twentieth of the largest spread of an informative latent. `shares` has one
    row per latent and one column per factor: information divided by the entropy of the factor,
    beyond chance; None if the factor cannot be scored. `order` lists all latents, those assigned to
    factors first, in the order of factors. `spread` are standard deviations.
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
        """Return the most informative latent for a factor."""
        no_factor = "this result has no factor {!r}; it has {}."
        return pick(self.matches, factor, no_factor, by="factor")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormScore(Record):
    """One score of the latents in one form.

    `chance` is the mean over permuted rows, `limit` the value to exceed for a p-value of 5 %, and
    `calibrated` the score rescaled from chance to its best value, 0 within chance. `definition`
    describes the score, and `says` is the reason for a missing value or part. `per_factor` and
    `per_latent` are its parts, if it has any.
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
        """Whether the score exceeds that of permuted rows; None with too few permutations."""
        if self.p_value is None or (self.limit is None and self.p_value > BEYOND_CHANCE):
            return None
        return self.p_value <= BEYOND_CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureFit(Record):
    """Error of one form to the true factors up to one group.

    `error` is the mean distance to the truth on held-out rows over the diameter of the truth, in
    sample if no rows could be held out. `supremum` brackets the smallest worst error in
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
        """Whether the error is below that of shuffled rows; None if unknown."""
        return None if self.p_value is None else self.p_value <= BEYOND_CHANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure(Record):
    """Strictest group `up_to` which one form identifies the true factors.

    `verdict` is the sentence that states it.
    """

    form: str
    up_to: Group | None
    agreement: Agreement
    verdict: str
    fits: tuple[StructureFit, ...]

    def fit(self, group: Group | str) -> StructureFit:
        """Return the error up to a group."""
        no_error = "there is no error up to {!r}; available: {}."
        return pick(self.fits, group, no_error, by="up_to")
