"""Chance level of every map, from refits on shuffled rows.

What shuffling does not change is computed once: the moments of each run, and for affine maps the
rows times the inverse scatter. One cross product per shuffle serves all fits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment import AffineMap
from upto.core import Errors, Group
from upto.core.array_types import Float
from upto.engines import (
    CrossMoments,
    Moments,
    compute,
    nearest_rotation,
    product,
    side_by_side,
)
from upto.engines.concurrent_steps import WIDEST_SIDE_BY_SIDE
from upto.evidence.intervals import average, summarise
from upto.evidence.pairings import shuffles
from upto.questions.compare.pair import CONSTANT, candidate_maps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from upto.engines.base import Arrays
    from upto.questions.compare.pair import Pair
    from upto.questions.compare.pair_options import Options


CHANCE_ROWS = 5000
MONOTONE_JUDGED, MONOTONE_REFITS = 500, 2
"""Rows and maximum number of shuffles for the chance level of monotone maps."""
AGREEMENT = 0.005
"""Standard error of the mean errors, over the error of predicting the mean, at which refits
stop."""
WELL_CONDITIONED = 1e8
"""Condition number of the source's scatter, and ratio of the diameters, up to which single
precision gives the chance level."""


def chance_rows(width: int) -> int:
    """Return the number of rows for the chance level: at least ten per dimension."""
    return max(CHANCE_ROWS, 10 * width)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chance:
    """Errors on shuffled rows, by map, and the number of shuffles."""

    in_sample: dict[str, Errors]
    held_out: dict[str, Errors]
    errors: dict[str, Float]
    n_refits: int = 0


def chance_level(pair: Pair, options: Options, advance: Callable[[int], None]) -> Chance:
    """Refit every map on rows shuffled within the fitted and within the held-out part.

    Refits stop once they know every mean error well enough: after one, by the errors of its rows
    (wide runs), later by the differences between refits.
    """
    if options.refits == 0:
        return Chance(in_sample={}, held_out={}, errors={})
    rows = _Rows(pair)
    fits = [_Refit(pair, rows, options.groups, held_out=False)]
    if rows.n_fitted < len(rows.place):
        fits.append(_Refit(pair, rows, options.groups, held_out=True))
    is_wide = pair.width >= WIDEST_SIDE_BY_SIDE
    if is_wide:
        # Rows by the inverses are all that refits need of them.
        for part in (rows.everything, rows.fitted):
            part.forget_inverse()
    pooled: dict[str, list[Float]] = {}
    orders = shuffles(pair.split, rows.index, options.refits, options.seed)
    for number, order in enumerate(orders, start=1):
        shuffled = rows.shuffled(order)
        monotone = Group.MONOTONE_PERMUTATION in options.groups and number <= MONOTONE_REFITS
        for some in [[refit] for refit in fits] if is_wide else [fits]:
            if is_wide:
                # Sorting again takes a moment, and a decomposition needs the room.
                pair.forget_sorted()
            own = rows.cross_products(shuffled, some)
            for refit, errors in _refitted(pair, some, own, shuffled, order, monotone=monotone):
                for name, each in errors.items():
                    total = refit.total * len(each) / refit.n_judged
                    refit.summaries.setdefault(name, []).append(summarise(each, total))
                    if refit.held_out:
                        pooled.setdefault(name, []).append(each)
        advance(1)
        if all(_agree(refit.summaries, refit.n_independent) for refit in fits):
            break
    inside, *outside = [
        {name: average(each) for name, each in refit.summaries.items()} for refit in fits
    ]
    return Chance(
        in_sample=inside,
        held_out=outside[0] if outside else {},
        errors={name: np.concatenate(each) for name, each in pooled.items()},
        n_refits=number,
    )


def _refitted(
    pair: Pair,
    fits: Sequence[_Refit],
    crosses: Sequence[Float],
    shuffled: Float,
    order: NDArray[np.intp],
    *,
    monotone: bool,
) -> list[tuple[_Refit, dict[str, Float]]]:
    """Return the errors of maps that are refitted side by side."""
    # Matching coordinates leaves the interpreter to other threads.
    calls: list[Callable[[], Any]] = [
        partial(refit.maps, cross) for refit, cross in zip(fits, crosses, strict=True)
    ]
    if monotone:
        calls += [partial(refit.monotone_errors, pair, order) for refit in fits]
    found = side_by_side(calls, width=pair.width)
    result = []
    for number, refit in enumerate(fits):
        errors = refit.errors(pair, shuffled, found[number])
        if monotone:
            errors[Group.MONOTONE_PERMUTATION] = found[number + len(fits)]
        result.append((refit, errors))
    return result


def _agree(summaries: Mapping[str, list[Errors]], n_independent: int) -> bool:
    """Return whether the mean error of every map is known well enough, but for monotone ones."""
    limit = AGREEMENT * summaries[CONSTANT][0].mean.value
    return all(
        _standard_error(each, n_independent) <= limit
        for name, each in summaries.items()
        if name != Group.MONOTONE_PERMUTATION
    )


def _standard_error(refits: Sequence[Errors], n_independent: int) -> float:
    """Return the standard error of the mean error over refits, or over the rows of the only one."""
    means = [each.mean.value for each in refits]
    if len(means) > 1:
        return float(np.std(means, ddof=1)) / math.sqrt(len(means))
    # Pairing rows anew varies their mean error by no more than drawing rows anew would. Fits vary
    # too: together up to 1.9 times as much, in data of nine kinds and four sizes.
    variance = max(refits[0].rms ** 2 - means[0] ** 2, 0.0)
    return 2.0 * math.sqrt(variance / n_independent) if n_independent else math.inf


class _Rows:
    """The rows of both runs, fitted ones first, centred and over the diameters.

    Single precision suffices for errors as large as those of chance, unless the directions of the
    source differ so much in width that an affine fit amplifies rounding, fewer rows than dimensions
    leave directions to which a rotation is fitted by rounding alone, or the runs differ in scale.
    """

    def __init__(self, pair: Pair) -> None:
        x, y = pair.source.sample, pair.target.sample
        self.index = pair.split.first_rows(len(x))
        held_out = pair.split.parts[self.index] == 1
        self.place = np.argsort(held_out, kind="stable")
        self.n_fitted = len(x) - int(np.count_nonzero(held_out))
        self.centres = x.mean(axis=0), y.mean(axis=0)
        self.units = pair.source.summary.diameter.value or 1.0, pair.extent or 1.0
        self.everything, self.fitted = pair.source.everything, pair.source.fitted
        if len(x) < len(pair.split.parts):
            self.everything, self.fitted = _moments(x), _moments(x[~held_out])
        condition = max(self.everything.condition, self.fitted.condition)
        is_determined = condition <= WELL_CONDITIONED and self.n_fitted > pair.width
        is_comparable = 1 / WELL_CONDITIONED < self.units[0] / self.units[1] < WELL_CONDITIONED
        self.dtype = "float32" if is_determined and is_comparable else "float64"
        self.source, self._target = side_by_side(
            [
                partial(self._scaled, *each)
                for each in zip((x, y), self.centres, self.units, strict=True)
            ],
            width=pair.width,
        )
        self._back = np.argsort(self.place)

    def _scaled(self, rows: Float, centre: Float, unit: float) -> Float:
        found = rows - centre
        found /= unit
        return found.astype(self.dtype, copy=False)[self.place]

    def shuffled(self, order: NDArray[np.intp]) -> Float:
        """Return the rows of the target in another order."""
        found: Float = self._target[self._back[order[self.place]]]
        return found

    def cross_products(self, shuffled: Float, refits: Sequence[_Refit]) -> list[Float]:
        """Return the cross products of the rows that refits are fitted to, in double precision.

        Both at once share a product; wide runs have room for one at a time.
        """
        n_parts = 1 if all(refit.held_out for refit in refits) else 2
        function = partial(_cross_products, n_fitted=self.n_fitted, n_parts=n_parts)
        first, *others = compute(function, self.source, shuffled)
        fitted = np.asarray(first, dtype=np.float64)
        if not others:
            return [fitted] * len(refits)
        # In place if only the sum is asked for.
        out = fitted if not any(refit.held_out for refit in refits) else None
        everything = np.add(fitted, others[0], out=out)
        return [fitted if refit.held_out else everything for refit in refits]


@dataclass(frozen=True, slots=True, eq=False)
class _Maps:
    """Maps fitted to shuffled rows; `cross` gives the affine one."""

    maps: dict[str, AffineMap]
    cross: Float


class _Refit:
    """What shuffling does not change in a fit to all rows, or to the fitted ones if `held_out`."""

    def __init__(self, pair: Pair, rows: _Rows, groups: Sequence[Group], *, held_out: bool) -> None:
        self.rows, self.held_out, self.groups = rows, held_out, groups
        self.summaries: dict[str, list[Errors]] = {}
        self.own, self.judged, fitted = rows.everything, slice(None), slice(None)
        self.unmixings = (pair.source.unmixing_in_sample, pair.target.unmixing_in_sample)
        if held_out:
            self.own, self.judged = rows.fitted, slice(rows.n_fitted, None)
            fitted = slice(rows.n_fitted)
            self.unmixings = (pair.source.unmixing, pair.target.unmixing)
        y = pair.target.sample
        mean = y[rows.place[fitted]].mean(axis=0)
        # Fits need no scatter of the target.
        self.other = Moments(self.own.weight, mean, np.empty((0, 0)))
        centred = y[rows.place[self.judged]]
        centred -= centred.mean(axis=0)
        self.n_judged = len(centred)
        self.n_independent = self.n_judged if pair.split.clusters(rows.index) is None else 0
        self.total = float(np.vdot(centred, centred)) / pair.extent**2
        self._off = [
            (part.mean - centre) / unit
            for part, centre, unit in zip(
                (self.own, self.other), rows.centres, rows.units, strict=True
            )
        ]
        self._influence = self._rows_by_inverse() if Group.AFFINE in groups else None

    def _rows_by_inverse(self) -> Float:
        """Return the rows times the inverse scatter: times a cross product, the affine map."""
        judged = self.rows.source[self.judged] - self._off[0]
        inverse = self.own.inverse * self.rows.units[0] ** 2
        return product(judged, inverse).astype(self.rows.dtype, copy=False)

    def maps(self, cross: Float) -> _Maps:
        """Fit every map to a cross product, which is centred in place."""
        cross -= self.own.weight * np.outer(*self._off)
        unit = self.rows.units[0] * self.rows.units[1]
        cross *= unit
        moments = CrossMoments(self.own, self.other, cross)
        groups = [group for group in self.groups if group is not Group.AFFINE]
        if {Group.RIGID, Group.SIMILARITY} & set(groups):
            moments.keep_rotation(nearest_rotation(moments.cross, rough=True))
        maps = candidate_maps(groups, moments, self.unmixings)
        affine = {name: each for name, each in maps.items() if isinstance(each, AffineMap)}
        cross /= unit
        return _Maps(affine, cross.astype(self.rows.dtype, copy=False))

    def errors(self, pair: Pair, shuffled: Float, found: _Maps) -> dict[str, Float]:
        """Return the errors of every map over the diameter."""
        rows, (own, extent) = self.rows, self.rows.units
        params: list[NDArray[Any]] = []
        operands: list[NDArray[Any]] = []
        for each in found.maps.values():
            operand = each.index if each.matrix is None else each.matrix
            operands.append(np.asarray(operand))
            offset = each.predict(rows.centres[0][None])[0] - rows.centres[1]
            params += [
                operands[-1]
                if each.matrix is None
                else operands[-1].astype(rows.dtype, copy=False),
                (each.scale * (own / extent)).astype(rows.dtype),
                (offset / extent).astype(rows.dtype),
            ]
        # A group and its scaled version share one product.
        shared = tuple(next(j for j, b in enumerate(operands) if b is a) for a in operands)
        arrays, names = [rows.source[self.judged], shuffled[self.judged]], list(found.maps)
        if self._influence is not None:
            arrays.append(self._influence)
            params = [found.cross, self._off[1].astype(rows.dtype), *params]
            names.insert(0, Group.AFFINE)
        function = partial(_errors_of_block, shared=shared, affine=self._influence is not None)
        errors = pair.engine.map_blocks(function, *arrays, params=params, dtype=rows.dtype)
        return dict(zip(names, np.asarray(errors, dtype=np.float64).T, strict=True))

    def monotone_errors(self, pair: Pair, order: NDArray[np.intp]) -> Float:
        """Return the errors of a monotone map on a subset of shuffled rows."""
        fit = pair.monotone_fit(fitted=self.held_out)
        own = np.argsort(order[: fit.n_rows], kind="stable")
        # In sample, the map is evaluated on the pairs it was fitted to.
        x, y = fit.source[:MONOTONE_JUDGED], fit.target[own[:MONOTONE_JUDGED]]
        if self.held_out:
            judged = self.rows.place[self.judged][:MONOTONE_JUDGED]
            x, y = pair.source.sample[judged], pair.target.sample[order[judged]]
        errors: Float = np.linalg.norm(y - fit.fit(own).predict(x), axis=1) / pair.extent
        return errors


def _cross_products(xp: Any, x: Any, y: Any, *, n_fitted: int, n_parts: int) -> Arrays:
    parts = (slice(n_fitted), slice(n_fitted, None))[:n_parts]
    return tuple(xp.matmul(x[part, :].T, y[part, :]) for part in parts)


def _errors_of_block(
    xp: Any, x: Any, y: Any, *rest: Any, shared: tuple[int, ...], affine: bool
) -> Arrays:
    columns = []
    if affine:
        influence, cross, offset, *rest = rest  # type: ignore[assignment]
        columns.append(_lengths(xp, y - offset - xp.matmul(influence, cross)))
    products: dict[int, Any] = {}
    for number, first in enumerate(shared):
        operand, scale, offset = rest[3 * number : 3 * number + 3]
        if first not in products:
            is_index = operand.ndim == 1
            products[first] = xp.take(x, operand, axis=1) if is_index else xp.matmul(x, operand)
        columns.append(_lengths(xp, y - offset - products[first] * scale))
    return (xp.stack(columns, axis=1),)


def _lengths(xp: Any, rows: Any) -> Any:
    return xp.sqrt(xp.linalg.vecdot(rows, rows))


def _moments(rows: Float) -> Moments:
    mean = rows.mean(axis=0)
    centred = rows - mean
    return Moments(float(len(rows)), mean, product(centred.T, centred))
