"""Parts of the result of `upto.mixture`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core.estimate import Estimate
from upto.core.group import Group
from upto.core.result import pick
from upto.core.short_repr import Record

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumptionCheck(Record):
    """One assumption of one run: whether it holds, the evidence, and what would settle it.

    `holds` is None where it is not known; `remedy` is empty where it holds. `n_enough` is how many
    rows a test asks for, if it was passed with fewer.
    """

    name: str
    meaning: str
    holds: bool | None
    evidence: str
    remedy: str
    n_enough: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung(Record):
    """One rung of the hierarchy: what is identified if it is reached, and what it lacks."""

    what: str
    theorem: str
    reached: bool
    fails: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorComponent(Record):
    """One component of a prior.

    `fills` is whether its covariance is positive definite, None if it is so within rounding only.
    `overlap` is the largest overlap with another component of the same prior, None for a single
    component or where a component is degenerate. `n_rows` counts the rows assigned to it.
    """

    weight: float
    fills: bool | None
    overlap: float | None
    n_rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureRun(Record):
    """One run: its prior, its decoder, and what they identify.

    `prior_up_to` and `decoder_up_to` are the groups up to which P(Z) and f are identified, None if
    they are not known to be; `hidden` is whether P(U) is. `possible_up_to` and `possible_hidden`
    say what the prior would identify with an injective piecewise affine decoder. `fitted` says that
    the prior was fitted to latents instead of trained with the model, `relus_assumed` that weights
    were read with ReLUs between them because no leak was given.
    """

    name: str
    width: int
    decoder: str | None
    n_rows: int | None
    fitted: bool
    prior_up_to: Group | None
    decoder_up_to: Group | None
    hidden: bool
    possible_up_to: Group | None
    possible_hidden: bool
    assumptions: tuple[AssumptionCheck, ...]
    rungs: tuple[Rung, ...]
    components: tuple[PriorComponent, ...]
    relus_assumed: bool = False

    def assumption(self, name: str) -> AssumptionCheck:
        """Return an assumption by name, e.g. ``"P2"``."""
        return pick(self.assumptions, name, "there is no assumption {!r}, only {}.")


def weakest_group(groups: Sequence[Group | None]) -> Group | None:
    """Return the group up to which all identify P(Z) or f; None if one identifies nothing."""
    if None in groups:
        return None
    return Group.AFFINE if Group.AFFINE in groups else Group.SCALED_PERMUTATION


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedComponent(Record):
    """A component of the first run and its partner in the second, numbered from 1.

    `second` and its weight are None without a partner.
    """

    first: int
    second: int | None
    overlap: float
    first_weight: float
    second_weight: float | None
    recurs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCodes(Record):
    """Rows of two runs with the same samples: their error up to a group, and their clusters.

    `error` is that of held-out rows over the diameter of the second run, `chance` that after fits
    to shuffled rows. `rand_index` is the adjusted Rand index of the components that the rows of
    each run belong to, whose chance level is 0.
    """

    up_to: Group
    error: Estimate
    chance: float | None
    p_value: float | None
    rand_index: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MixturePair(Record):
    """An ordered pair of runs: the prior of the second is mapped onto that of the first."""

    first: str
    second: str
    distance: float
    overlap: float
    n_recurring: int
    matches: tuple[MatchedComponent, ...]
    codes: SharedCodes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Record):
    """A mean over pairs of runs beside its chance level.

    `limit` is what 5 % of the single pairs with random means reach; None for fewer than 19 draws.
    """

    value: Estimate
    chance: float | None
    limit: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability(Record):
    """How alike the priors of runs are up to affine maps.

    `distance` is the L2 distance of the densities over the norm of the first, `overlap` the mean
    overlap of components with their partners, and `recurring` the fraction of components whose
    overlap is at least `enough`. `identical` says that all priors have the same parameters, as
    those that are not trained do: matching them shows nothing.
    """

    n_pairs: int
    n_draws: int
    enough: float
    distance: Compared
    overlap: Compared
    recurring: Compared
    identical: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodesSummary(Record):
    """Means over pairs of runs of the error of their rows and of the adjusted Rand index."""

    up_to: Group
    n_samples: int
    error: Estimate
    chance: float | None
    rand_index: Estimate
