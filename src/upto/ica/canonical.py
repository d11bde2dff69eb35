"""Canonical order and signs of components, so that two people get the same file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core.array_types import Float

if TYPE_CHECKING:
    from upto.engines.base import Arrays
    from upto.ica.solver import Point, Problem


SETTLED = 1e-6
"""Smaller differences do not count: rounding or another start could reverse them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CanonicalForm:
    """Order and signs of components.

    Components are sorted by decreasing non-Gaussianity |E[g′(s)] - E[g(s)s]|; those that can rotate
    into each other come last, by explained variance. The sign makes E[s|s|] positive, or the
    largest coefficient where E[s|s|] is zero. Apart from those two exceptions, neither depends on
    an affine map of the rows. `unsettled_order` and `unsettled_signs` list, in the new order,
    components for which the rule is decided by less than rounding.
    """

    order: NDArray[np.intp]
    signs: Float
    unsettled_order: tuple[int, ...]
    unsettled_signs: tuple[int, ...]


def canonical_form(problem: Problem, point: Point, frozen: NDArray[np.bool_]) -> CanonicalForm:
    """Find the order and signs of components in one pass."""
    unmixing = (point.rotation @ problem.matrix).T
    keep = np.ones(problem.rows.shape[0], dtype=bool) if problem.keep is None else problem.keep
    (skew,) = problem.engine.reduce_blocks(
        _signed_squares, problem.rows, keep, params=(problem.mean, unmixing)
    )
    skew = skew / problem.n_samples
    size = np.abs(point.excess)
    # Axes of frozen components were ordered by variance already.
    order = np.lexsort((np.where(frozen, np.arange(len(size)), 0), -size * ~frozen, frozen))
    settled = SETTLED + 10 * point.gradient
    weak = np.abs(skew) < settled
    leading = unmixing[np.abs(unmixing).argmax(axis=0), np.arange(unmixing.shape[1])]
    signs = np.where(np.where(weak, leading, skew) < 0, -1.0, 1.0)
    ordered = size[order][: np.count_nonzero(~frozen)]
    close = np.abs(np.diff(ordered)) < settled
    unsettled = np.flatnonzero(np.append(close, False) | np.insert(close, 0, False))
    return CanonicalForm(
        order=order,
        signs=signs[order],
        unsettled_order=tuple(int(i) for i in unsettled),
        unsettled_signs=tuple(int(i) for i in np.flatnonzero(weak[order])),
    )


def _signed_squares(xp: Any, x: Any, keep: Any, mean: Any, unmixing: Any) -> Arrays:
    sources = xp.matmul(x[keep] - mean, unmixing)
    return (xp.sum(sources * xp.abs(sources), axis=0),)
