"""Map one run onto another by every group, and evaluate the maps on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment import AffineMap, MonotoneMap, monotone_errors, row_errors_both_ways
from upto.core import Group
from upto.core.array_types import Float
from upto.engines import side_by_side
from upto.engines.concurrent_steps import WIDEST_SIDE_BY_SIDE
from upto.evidence.intervals import r_squared
from upto.questions.compare.images import Images
from upto.questions.compare.pair import (
    CONSTANT,
    UNMIXED,
    Map,
    Pair,
    PairMoments,
    affine_from_rows,
    candidate_maps,
    iterate_errors,
    keep_rotation_of_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from upto.core.array_types import Index
    from upto.questions.compare.pair_options import Options

_PLACED_ROWS = 128
"""Rows mapped at a time by monotone functions, so that they stay in the cache."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidate:
    """Held-out scores of one map.

    `robust_r2` is the lower of R² with and without outlying rows, and `typical_r2` decides whether
    the map beats the mean.
    """

    name: str
    error: float
    r2: float
    robust_r2: float
    typical_r2: float
    images: Images | None
    p_value: float | None = None

    @property
    def directions(self) -> Float:
        """R² along the principal directions of the target, widest first; empty without rows."""
        return np.empty(0) if self.images is None else self.images.r2(self.name)

    def is_less_even(self, limit: float) -> bool:
        """Return whether some directions prove that R² averaged over all is below a limit."""
        return self.images is not None and self.images.is_less_even(self.name, limit)

    def alone(self) -> Candidate:
        """Return the scores without what they came from, to be kept for every pair of many."""
        return replace(self, images=None)

    @property
    def even(self) -> float | None:
        """R² averaged over directions, with negative values set to zero."""
        if len(self.directions) == 0:
            return None
        return float(np.mean(np.clip(self.directions, 0.0, 1.0)))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Onto:
    """Maps of the first run of a pair onto the second, with the errors of rows and the scores.

    `images` are those of the rows that are re-paired.
    """

    maps: dict[str, Map]
    errors: dict[str, Float]
    images: Images
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


def map_both_ways(
    pair: Pair, moments: PairMoments, options: Options, *, both_in_full: bool
) -> tuple[Onto, Onto]:
    """Fit every map and its reverse on the fitted rows and evaluate them on the held-out ones.

    Unless `both_in_full`, reverse maps are evaluated only on the rows that are re-paired. If no
    rows were held out, maps are fitted and evaluated on all rows.
    """
    holding = pair.split.n_held_out > 0
    pair.whiten()
    if pair.width >= WIDEST_SIDE_BY_SIDE:
        pair.forget_white()
    maps = fitted_maps(pair, moments, options, fitted=holding)
    # Flipped after the fit: rotations and matchings are those of the maps.
    back = pair.flipped()
    back_maps = fitted_maps(back, moments.flipped(), options, fitted=holding)
    if pair.width >= WIDEST_SIDE_BY_SIDE and not both_in_full:
        # Other pairs of the same runs would need them again; of two runs, nothing else does.
        pair.forget_fits()
    images, back_images = Images(pair, maps), Images(back, back_maps)
    totals = [_total(each, holding=holding) for each in (pair, back)]
    if both_in_full:
        errors, back_errors = _errors_both_ways(pair, images, back_images, held_out=holding)
    else:
        errors = dict(iterate_errors(pair, maps, held_out=holding))
        back_errors = _errors_of_images(back, back_images, errors, pair)
        rows = back.target.paired
        totals[1] = float(np.sum(np.var(rows, axis=0))) * len(rows) if len(rows) else 0.0
        totals[1] /= back.extent**2
    found = []
    # Of all held-out rows, those that are re-paired.
    again = pair.side(pair.target).among_held_out
    for each, own, own_errors, total, places in (
        (pair, images, errors, totals[0], again),
        (back, back_images, back_errors, totals[1], again if both_in_full else slice(None)),
    ):
        candidates = _candidates(each, own, own_errors, total, places)
        found.append(Onto(maps=own.maps, errors=own_errors, images=own, candidates=candidates))
    return found[0], found[1]


def _total(pair: Pair, *, holding: bool) -> float:
    part = pair.target.held_out if holding else pair.target.everything
    return part.total_variance * part.weight / pair.extent**2


def _errors_both_ways(
    pair: Pair, images: Images, back: Images, *, held_out: bool
) -> tuple[dict[str, Float], dict[str, Float]]:
    """Return the errors of all rows, or of the held-out rows, over the diameters."""
    source, target, keep = pair.rows_to_judge(held_out=held_out)
    names = [name for name, each in images.maps.items() if isinstance(each, AffineMap)]
    forward, backward = ([own.maps[name] for name in names] for own in (images, back))
    both = row_errors_both_ways(
        pair.engine,
        source,
        target,
        forward,  # type: ignore[arg-type]
        backward,  # type: ignore[arg-type]
        keep,
        turns=[images.is_turn(name) for name in names],
    )
    extents = (pair.extent, pair.flipped().extent)
    found = [
        dict(zip(names, (errors / extent).T, strict=True))
        for errors, extent in zip(both, extents, strict=True)
    ]
    for each, own, errors in ((pair, images, found[0]), (pair.flipped(), back, found[1])):
        for name, monotone in own.maps.items():
            if isinstance(monotone, MonotoneMap):
                errors[name] = _monotone_errors(each, own, name, monotone, held_out=held_out)
    return found[0], found[1]


def _monotone_errors(
    pair: Pair, images: Images, name: str, monotone: MonotoneMap, *, held_out: bool
) -> Float:
    x, y, places = pair.source.judged, pair.target.judged, pair.side(pair.source).places
    if places is None or x is None or y is None:
        source, target, keep = pair.rows_to_judge(held_out=held_out)
        return monotone_errors(pair.engine, source, target, monotone, keep) / pair.extent
    errors, mapped = np.empty(len(y)), np.empty_like(y)
    for start in range(0, len(y), _PLACED_ROWS):
        block = slice(start, start + _PLACED_ROWS)
        mapped[block] = monotone.predict_placed(x[block], places[block])
        errors[block] = np.linalg.norm(y[block] - mapped[block], axis=1)
    images.known[name] = mapped[pair.side(pair.target).among_held_out]
    return errors / pair.extent


def _errors_of_images(
    back: Pair, images: Images, errors: Mapping[str, Float], pair: Pair
) -> dict[str, Float]:
    """Return the errors of the re-paired rows; an orthogonal map and its reverse have the same."""
    rows, found = back.target.paired, {}
    again = pair.side(pair.target).among_held_out
    for name in images.maps:
        if images.is_turn(name) and images.factor(name) == 1.0 and len(rows):
            found[name] = errors[name][again] * (pair.extent / back.extent)
        else:
            found[name] = np.linalg.norm(rows - images.of(name), axis=1) / back.extent
    return found


def _candidates(
    pair: Pair,
    images: Images,
    errors: Mapping[str, Float],
    total: float,
    paired: Index | slice,
) -> dict[str, Candidate]:
    bulk = _bulk_r2(pair, errors, paired)
    candidates = {}
    for name, found in errors.items():
        r2 = r_squared(found, total) if len(found) else 0.0
        robust = min(r2, bulk.get(name, r2))
        # A monotone function is not determined beyond the range of its fitted rows.
        is_monotone = isinstance(images.maps[name], MonotoneMap)
        candidates[name] = Candidate(
            name=name,
            error=float(found.mean()) if len(found) else 0.0,
            r2=r2,
            robust_r2=robust,
            typical_r2=bulk.get(name, r2) if is_monotone else robust,
            images=images,
        )
    return candidates


def fitted_maps(
    pair: Pair, moments: PairMoments, options: Options, *, fitted: bool
) -> dict[str, Map]:
    """Return every map between two runs, fitted on the fitted rows or on all rows."""
    unmixings = (pair.source.unmixing_in_sample, pair.target.unmixing_in_sample)
    chosen = moments.everything
    if fitted:
        unmixings = (pair.source.unmixing, pair.target.unmixing)
        chosen = moments.fitted
    is_turned = not {Group.RIGID, Group.SIMILARITY}.isdisjoint(options.groups)
    if is_turned and (pair.source.is_thin or pair.target.is_thin):
        keep_rotation_of_rows(pair, chosen, fitted=fitted)
    calls: list[Callable[[], Any]] = [partial(candidate_maps, options.groups, chosen, unmixings)]
    if Group.MONOTONE_PERMUTATION in options.groups:
        calls.append(lambda: pair.monotone_fit(fitted=fitted).fit())
    found, *monotone = side_by_side(calls, width=pair.width)
    maps: dict[str, Map] = found
    if monotone:
        others = {name: maps.pop(name) for name in (*UNMIXED, CONSTANT) if name in maps}
        maps |= {Group.MONOTONE_PERMUTATION: monotone[0], **others}
    if pair.source.is_thin and Group.AFFINE in maps:
        maps[Group.AFFINE] = affine_from_rows(*pair.sample_rows(fitted=fitted))
    return maps


def _bulk_r2(pair: Pair, errors: Mapping[str, Float], paired: Index | slice) -> dict[str, float]:
    """Return the R² of every map on held-out rows without outliers; empty if too few are left.

    One outlier shared by the runs would otherwise make unrelated runs agree.
    """
    y = pair.target.paired
    if len(y) < 3:
        return {}
    own, other = pair.side(pair.target), pair.side(pair.source)
    near = own.inner & own.near & other.near
    if near.sum() < 2:
        return {}
    total = float(np.vdot(centred := y[near] - y[near].mean(axis=0), centred))
    return {
        name: r_squared(each[paired][near] * pair.extent, total) for name, each in errors.items()
    }
