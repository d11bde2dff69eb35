"""A view of codes and factors in which quantities shared by several scores are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.disentanglement.above_chance import chance_orders, known_values
from upto.disentanglement.codes_and_classes import ClassSimilarities, class_similarities
from upto.disentanglement.dci import Dci, dci_scores
from upto.disentanglement.info_scores import explicitness_score, ratio_scores
from upto.disentanglement.info_variants import VARIANTS, told_shares, varying_codes
from upto.disentanglement.predictive import predictive_chance, predictive_shares
from upto.disentanglement.predictor_tables import Codes, Labels, Whole, as_codes
from upto.disentanglement.shared_information import (
    ADJUSTED,
    PERMUTATIONS,
    Estimator,
    Information,
    information,
)
from upto.disentanglement.shares import tellable
from upto.disentanglement.undetected import unseen_shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.core.array_types import Float
    from upto.disentanglement.score import FactorScore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """Codes and factors: all rows, permuted rows, or half of the rows.

    Parameters
    ----------
    codes, factors
        Codes and factors that were read once: scores accept them instead of arrays.
    discrete_codes, seed
        As in every score.
    permutations
        Number of permutations of labels for scores that are adjusted for chance.
    lenders
        Other views whose permuted labels are used instead: they have the same distribution, so a
        permutation or half-sample need not permute its own.
    """

    codes: Codes
    factors: Labels
    discrete_codes: bool
    seed: int
    permutations: int = PERMUTATIONS
    lenders: Sequence[View] = ()
    _known: dict[Any, Any] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[str, Any]:
        """Options of every score for the kinds of codes and factors."""
        continuous = [factor.is_continuous for factor in self.factors.factors]
        return {"continuous": continuous, "discrete_codes": self.discrete_codes}

    def shuffled(self, order: Whole) -> View:
        """Return the view in which row `order[i]` has the labels of row i."""
        return self._beside(self.codes, self.factors.shuffled(order))

    def independent(self, rng: np.random.Generator) -> View:
        """Return the view of codes that were permuted independently."""
        return self._beside(as_codes(rng.permuted(self.codes.columns, axis=0)), self.factors)

    def halved(self, halves: Sequence[Whole]) -> list[View]:
        """Return one view per set of rows; one permutation of each of the first ten serves all."""
        lenders: list[View] = []
        views = [
            replace(
                self,
                codes=as_codes(self.codes.columns[half]),
                factors=self.factors.taken(half),
                permutations=int(number < PERMUTATIONS),
                lenders=lenders,
                _known={},
            )
            for number, half in enumerate(halves)
        ]
        lenders += views[:PERMUTATIONS]
        return views

    def _beside(self, codes: Codes, factors: Labels) -> View:
        return replace(
            self, codes=codes, factors=factors, permutations=0, lenders=(self,), _known={}
        )

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the cached result for a key, or compute it."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def information(self, estimator: Estimator) -> Information:
        """Return the information of codes about factors by an estimator."""
        found = self._own_information(estimator)
        if estimator != ADJUSTED or not self.lenders:
            return found
        chance: Float = self.once(
            "lent",
            lambda: np.concatenate(
                [each._own_information(estimator).chance for each in self.lenders]
            ),
        )
        perfect = self.lenders[0]._own_information(estimator).perfect
        return replace(found, chance=chance, perfect=perfect)

    def _own_information(self, estimator: Estimator) -> Information:
        known: Information | None = self._known.get(ADJUSTED)
        if known is not None and known.is_by(estimator):
            return known
        found: Information = self.once(
            estimator,
            lambda: information(
                self.codes,
                self.factors,
                estimator=estimator,
                permutations=self.permutations if estimator == ADJUSTED else 0,
                seed=self.seed,
                **self.kinds,
            ),
        )
        return found

    def permuted(self, score: Callable[[View], FactorScore], key: Any) -> list[float]:
        """Return a score's values for permuted rows, or for the views that lend theirs."""
        if self.lenders:
            return [value for each in self.lenders for value in each._own_permuted(score, key)]
        return self._own_permuted(score, key)

    def _own_permuted(self, score: Callable[[View], FactorScore], key: Any) -> list[float]:
        found: list[float] = self.once(
            key,
            lambda: known_values(
                [
                    score(self.shuffled(order))
                    for order in chance_orders(self.factors.n_rows, self.permutations, self.seed)
                ]
            ),
        )
        return found

    def infomec(self, part: str, variant: str) -> FactorScore:
        """Return one of the three scores of InfoMEC, without computing the others."""
        rule = VARIANTS[variant]
        found = self.information(rule.estimator)
        if part == "explicitness":
            can_tell = bool(varying_codes(found, variant).any())
            told = self._predicted(found.faults, adjusted=rule.adjusted) if can_tell else None
            return explicitness_score(told, found.faults, variant)
        if rule.adjusted:
            found = tellable(found)
        shares, active = self.once(("told", variant), lambda: told_shares(found, variant))
        unseen = None
        if rule.adjusted:
            unseen = self.once(("unseen", variant), lambda: unseen_shares(found))
        modularity, compactness = ratio_scores(shares, active, found.faults, variant, unseen)
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
        """Return the similarities between codes and classes."""
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
        def predicted() -> tuple[list[float | None], list[str]]:
            chance = self._first_lender._predicted_by_chance(faults) if adjusted else None
            return predictive_shares(
                self.codes, self.factors, skipped=faults, chance=chance, **self.kinds
            )

        found: tuple[list[float | None], list[str]] = self.once(("predicted", adjusted), predicted)
        return found

    @property
    def _first_lender(self) -> View:
        return self.lenders[0] if self.lenders else self

    def _predicted_by_chance(self, faults: Sequence[str]) -> list[float | None]:
        found: list[float | None] = self.once(
            "predicted by chance",
            lambda: predictive_chance(
                self.codes, self.factors, skipped=faults, seed=self.seed, **self.kinds
            ),
        )
        return found
