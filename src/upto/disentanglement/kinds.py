"""What a score of codes against factors is: a declaration, and a way to compute it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from upto.disentanglement.score import FactorScore
from upto.disentanglement.shared_information import Estimator
from upto.disentanglement.views import View

Compute = Callable[[View, str], FactorScore]

ADJUSTED = "adjusted"
"""The variant that counts only what is beyond chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreKind:
    """A score of codes, and what is known about it.

    Parameters
    ----------
    name
        What it is called everywhere, as ``infomec/modularity``.
    family
        What selects it together with its relatives, as ``infomec``.
    title
        What it is called in a sentence.
    says
        Its definition in a sentence.
    rewards
        The property of codes that it is high for, in a few words.
    source
        Where it was published.
    variants
        The ways to compute it, by the name of the package; the first is taken if none is named.
    low, high
        Its range; infinite where it has no end.
    better
        Whether better codes have a ``higher`` or a ``lower`` value.
    costly
        Whether it takes so long that few shuffles and half-samples are made.
    unsupervised
        Whether it needs no factors, so that rows of codes can be shuffled without changing it.
    compute
        The score of one view by one variant.
    estimators
        By variant, the estimate of information that it is made of, where it is.
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
    """A score in one of its variants."""

    kind: ScoreKind
    variant: str

    @property
    def name(self) -> str:
        """The full name, as ``infomec/modularity@adjusted``."""
        return f"{self.kind.name}@{self.variant}"

    @property
    def is_adjusted(self) -> bool:
        """Whether the value is already what is beyond chance."""
        return self.variant == ADJUSTED

    @property
    def estimator(self) -> Estimator | None:
        """The estimate of information that it is made of, where it is."""
        return self.kind.estimators.get(self.variant)

    def of(self, view: View) -> FactorScore:
        """Return the score of one view."""
        return self.kind.compute(view, self.variant)
