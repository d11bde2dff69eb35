"""One look at codes and factors, in which what several scores need is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from upto.measure.factors.dci import Dci, dci_scores
from upto.measure.factors.info_scores import (
    VARIANTS,
    active_codes,
    explicitness_score,
    ratio_scores,
)
from upto.measure.factors.matching_classes import ClassSimilarities, class_similarities
from upto.measure.factors.predictive import predictive_shares
from upto.measure.factors.shared_information import (
    Estimator,
    Float,
    Information,
    Mask,
    beyond_chance,
    information,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.measure.factors.score import FactorScore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """Codes beside factors, as they are or after a shuffle or on half the rows.

    Parameters
    ----------
    codes, factors, continuous, discrete_codes, seed
        As every score takes them.
    permutations
        How often labels are permuted for each estimator in it: what adjusted scores need.
    lent
        By estimator, the information of permuted labels that was found in other views. It is the
        same in law, so that a shuffle or a half-sample need not find its own.
    """

    codes: Float
    factors: ArrayLike
    continuous: bool | Sequence[bool]
    discrete_codes: bool
    seed: int
    permutations: dict[Estimator, int]
    lent: dict[Estimator, Float]
    _known: dict[Any, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[str, Any]:
        """What every score is told of the kinds of codes and factors."""
        return {"continuous": self.continuous, "discrete_codes": self.discrete_codes}

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what was made for a key before, or make it."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def information(self, estimator: Estimator) -> Information:
        """Return what codes tell about factors by an estimator."""
        found: Information = self.once(
            estimator,
            lambda: information(
                self.codes,
                self.factors,
                estimator=estimator,
                permutations=self.permutations.get(estimator, 0),
                seed=self.seed,
                **self.kinds,
            ),
        )
        return replace(found, chance=self.lent[estimator]) if estimator in self.lent else found

    def infomec(self, part: str, variant: str) -> FactorScore:
        """Return one of the three scores of InfoMEC: `infomec` without those not asked for."""
        rule = VARIANTS[variant]
        found = self.information(Estimator(size=rule.neighbours))
        spread: Mask = active_codes(
            found, rule.active_discrete if self.discrete_codes else rule.active
        )
        if part == "explicitness":
            told = self._predicted(found.faults, adjusted=rule.adjusted) if spread.any() else None
            return explicitness_score(told, found.faults, variant)
        shares = beyond_chance(found) if rule.adjusted else found.shares
        active = spread & (shares.max(axis=0, initial=0.0) > 0.0) if rule.adjusted else spread
        modularity, compactness = ratio_scores(shares, active, found.faults, variant)
        return modularity if part == "modularity" else compactness

    def dci(self, variant: str) -> Dci:
        """Return all scores of DCI, which share their predictors."""
        found: Dci = self.once(
            ("dci", variant),
            lambda: dci_scores(
                self.codes, self.factors, variant=variant, seed=self.seed, **self.kinds
            ),
        )
        return found

    def similarities(self, similarity: str) -> ClassSimilarities:
        """Return how similar codes are to classes."""
        found: ClassSimilarities = self.once(
            ("classes", similarity),
            lambda: class_similarities(
                self.codes, self.factors, similarity=similarity, **self.kinds
            ),
        )
        return found

    def _predicted(
        self, faults: Sequence[str], *, adjusted: bool
    ) -> tuple[list[float | None], list[str]]:
        found: tuple[list[float | None], list[str]] = self.once(
            ("predicted", adjusted),
            lambda: predictive_shares(
                self.codes,
                self.factors,
                skipped=faults,
                adjusted=adjusted,
                seed=self.seed,
                **self.kinds,
            ),
        )
        return found
