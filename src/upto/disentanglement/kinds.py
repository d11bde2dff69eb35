"""Declarations of scores of codes against factors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from upto.disentanglement.score import FactorScore
from upto.disentanglement.shared_information import Estimator
from upto.disentanglement.views import View

Compute = Callable[[View, str], FactorScore]

ADJUSTED = "adjusted"
"""The variant that counts only information beyond chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreKind:
    """A score of codes, and its properties.

    Parameters
    ----------
    name
        Name in the catalogue, such as ``infomec/modularity``.
    family
        Name that selects it together with related scores, such as ``infomec``.
    title
        Name in running text.
    says
        Definition.
    rewards
        The property of codes for which it is high, in a few words.
    source
        Publication.
    variants
        Variants, named after their packages; the first is the default.
    low, high
        Range; infinite where unbounded.
    better
        Whether better codes have a ``higher`` or a ``lower`` value.
    costly
        Whether it is too slow for more than a few permutations and half-samples.
    unsupervised
        Whether it uses no factors, so permuting the rows of codes does not change it.
    compute
        Function from a view and a variant to the score.
    estimators
        Estimator of information of each variant, if any.

    See Also
    --------
    find_scores : Returns scores by name.
    NamedScore : A score in one of its variants.
    """

    name: str
    family: str
    title: str
    says: str
    rewards: str
    source: str
    variants: tuple[str, ...]
    low: float = 0.0
    high: float = 1.0
    better: Literal["higher", "lower"] = "higher"
    costly: bool = False
    unsupervised: bool = False
    compute: Compute = field(repr=False, compare=False)
    estimators: Mapping[str, Estimator] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedScore:
    """A score in one of its variants.

    See Also
    --------
    find_scores : Returns them.
    ScoreKind : The score with its properties.
    """

    kind: ScoreKind
    variant: str

    @property
    def name(self) -> str:
        """Full name, such as ``infomec/modularity@adjusted``."""
        return f"{self.kind.name}@{self.variant}"

    @property
    def is_adjusted(self) -> bool:
        """Whether the value already excludes chance."""
        return self.variant == ADJUSTED

    @property
    def estimator(self) -> Estimator | None:
        """Estimator of information, if any."""
        return self.kind.estimators.get(self.variant)

    def of(self, view: View) -> FactorScore:
        """Return the score of a view."""
        return self.kind.compute(view, self.variant)
