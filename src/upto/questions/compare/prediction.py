"""Map one run onto another by every group, and evaluate the maps on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from upto.alignment import MonotoneMap
from upto.core import Group
from upto.core.array_types import Float
from upto.evidence.intervals import r_squared
from upto.evidence.pairings import are_near
from upto.questions.compare.pair import (
    CONSTANT,
    Map,
    Pair,
    PairMoments,
    affine_from_rows,
    candidate_maps,
    iterate_errors,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.questions.compare.pair_options import Options


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidate:
    """Held-out scores of one group.

    `robust_r2` is the lower of R² with and without outlying rows, and `typical_r2` decides whether
    the map beats the mean. `directions` is R² along the principal directions of the target, widest
    first.
    """

    error: float
    r2: float
    robust_r2: float
    typical_r2: float
    directions: Float
    p_value: float | None = None

    @property
    def even(self) -> float | None:
        """R² averaged over directions, with negative values set to zero."""
        if len(self.directions) == 0:
            return None
        return float(np.mean(np.clip(self.directions, 0.0, 1.0)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Onto:
    """Maps of the first run of a pair onto the second, with the errors of rows and the scores.

    `predictions` are the images of the rows that are re-paired.
    """

    maps: dict[str, Map]
    errors: dict[str, Float]
    predictions: dict[str, Float]
    candidates: dict[str, Candidate]

    @property
    def baseline(self) -> float:
        """Error of predicting the mean."""
        return self.candidates[CONSTANT].error

    @property
    def groups(self) -> dict[Group, Candidate]:
        """The scores of every group, without ICA and the mean."""
        return {group: self.candidates[group] for group in Group if str(group) in self.candidates}

    def tested(self, p_values: Mapping[str, float]) -> Onto:
        """Return a copy with p-values."""
        candidates = {
            name: replace(each, p_value=p_values.get(name))
            for name, each in self.candidates.items()
        }
        return replace(self, candidates=candidates)


def map_onto(pair: Pair, moments: PairMoments, options: Options) -> Onto:
    """Fit every map on the fitted rows and evaluate it on the held-out ones.

    If no rows were held out, maps are fitted and evaluated on all rows.
    """
    holding = pair.split.n_held_out > 0
    maps = fitted_maps(pair, moments, options, fitted=holding)
    errors = dict(iterate_errors(pair, maps, held_out=holding))
    part = pair.target.held_out if holding else pair.target.everything
    total = float(np.trace(part.scatter)) / pair.extent**2
    predictions = _predictions(pair, maps)
    candidates = _candidates(pair, maps, predictions, errors, total)
    return Onto(maps=maps, errors=errors, predictions=predictions, candidates=candidates)


def map_back(pair: Pair, moments: PairMoments, options: Options) -> Onto:
    """Map the second run onto the first, evaluated only on the rows that are re-paired."""
    pair, moments = pair.flipped(), moments.flipped()
    maps = fitted_maps(pair, moments, options, fitted=pair.split.n_held_out > 0)
    predictions, target = _predictions(pair, maps), pair.target.paired
    errors = {
        name: np.linalg.norm(target - predicted, axis=1) / pair.extent
        for name, predicted in predictions.items()
    }
    total = float(np.sum(np.var(target, axis=0))) * len(target) if len(target) else 0.0
    total /= pair.extent**2
    candidates = _candidates(pair, maps, predictions, errors, total)
    return Onto(maps=maps, errors=errors, predictions=predictions, candidates=candidates)


def _predictions(pair: Pair, maps: Mapping[str, Map]) -> dict[str, Float]:
    return {name: each.predict(pair.source.paired) for name, each in maps.items()}


def _candidates(
    pair: Pair,
    maps: Mapping[str, Map],
    predictions: Mapping[str, Float],
    errors: Mapping[str, Float],
    total: float,
) -> dict[str, Candidate]:
    bulk = _bulk_r2(pair, predictions)
    directions = _Directions(pair.target.paired, pair.target.axes)
    candidates = {}
    for name, found in errors.items():
        r2 = r_squared(found, total) if len(found) else 0.0
        robust = min(r2, bulk.get(name, r2))
        # A monotone function is not determined beyond the range of its fitted rows.
        typical = bulk.get(name, r2) if isinstance(maps[name], MonotoneMap) else robust
        candidates[name] = Candidate(
            error=float(found.mean()) if len(found) else 0.0,
            r2=r2,
            robust_r2=robust,
            typical_r2=typical,
            directions=directions.r2(predictions[name]),
        )
    return candidates


def fitted_maps(
    pair: Pair, moments: PairMoments, options: Options, *, fitted: bool
) -> dict[str, Map]:
    """Return every map between two runs, fitted on the fitted rows or on all rows."""
    monotone = None
    if Group.MONOTONE_PERMUTATION in options.groups:
        monotone = pair.monotone_fit(fitted=fitted).fit()
    unmixings = (pair.source.unmixing_in_sample, pair.target.unmixing_in_sample)
    chosen = moments.everything
    if fitted:
        unmixings = (pair.source.unmixing, pair.target.unmixing)
        chosen = moments.fitted
    maps = candidate_maps(options.groups, chosen, unmixings, monotone)
    if pair.source.is_thin and Group.AFFINE in maps:
        maps[Group.AFFINE] = affine_from_rows(*pair.sample_rows(fitted=fitted))
    return maps


def _bulk_r2(pair: Pair, predictions: Mapping[str, Float]) -> dict[str, float]:
    """Return the R² of every map on held-out rows without outliers; empty if too few are left.

    One outlier shared by the runs would otherwise make unrelated runs agree.
    """
    y = pair.target.paired
    if len(y) < 3:
        return {}
    away = np.linalg.norm(y - np.median(y, axis=0), axis=1)
    inner = np.zeros(len(y), dtype=bool)
    inner[np.argsort(away, kind="stable")[: len(y) - -(-len(y) // 100)]] = True
    near = inner & are_near(y) & are_near(pair.source.paired)
    if near.sum() < 2:
        return {}
    total = float(np.vdot(centred := y[near] - y[near].mean(axis=0), centred))
    return {
        name: r_squared(np.linalg.norm(y[near] - predicted[near], axis=1), total)
        for name, predicted in predictions.items()
    }


class _Directions:
    """R² of predictions along principal directions."""

    def __init__(self, rows: Float, axes: Float) -> None:
        self._axes, self._rows = axes, rows
        spread = (rows - rows.mean(axis=0) if len(rows) else rows) @ axes
        self._total = np.einsum("ij,ij->j", spread, spread)

    def r2(self, predicted: Float) -> Float:
        """Return R² along each direction; empty without rows."""
        if len(predicted) == 0:
            return np.empty(0)
        residual = (self._rows - predicted) @ self._axes
        left = np.einsum("ij,ij->j", residual, residual)
        share = np.divide(left, self._total, out=np.ones_like(left), where=self._total > 0)
        found: Float = 1.0 - share
        return found
