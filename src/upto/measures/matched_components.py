"""Overlaps of the components of two mixtures, and the best pairing of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from upto.core.array_types import Float
from upto.measures.densities import Mixture, check_widths, push_forward
from upto.measures.density_matching import match_densities


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ComponentMatch:
    """Components of two mixtures, paired after the best affine map of the second.

    Parameters
    ----------
    distance
        L2 distance of the densities after the map, as by `match_densities`.
    partners
        Component of the second mixture that each of the first is paired with; -1 if none.
    overlaps
        Overlap with the partner, 0 without one.
    """

    distance: float
    partners: NDArray[np.intp]
    overlaps: Float


def component_overlap(first: Mixture, second: Mixture) -> Float:
    """Return the overlap of every component of one mixture with every one of another.

    The overlap is the Bhattacharyya coefficient, the integral of the root of the product of two
    densities: 1 for equal components, 0 for disjoint ones, 0.61 for equal shapes two standard
    deviations apart. Weights do not enter, and no affine map of both mixtures changes it.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.measures import Mixture, component_overlap
    >>> near = Mixture(weights=[0.5, 0.5], means=[[0.0], [2.0]], covariances=np.ones((2, 1, 1)))
    >>> component_overlap(near, near).round(2).tolist()
    [[1.0, 0.61], [0.61, 1.0]]
    """
    check_widths(first, second)
    between = (first.covariances[:, None] + second.covariances[None]) / 2.0
    away = first.means[:, None] - second.means[None]
    pulled = np.linalg.solve(between, away[..., None])[..., 0]
    volumes = [np.linalg.slogdet(each.covariances)[1] for each in (first, second)]
    logs = np.linalg.slogdet(between)[1] - (volumes[0][:, None] + volumes[1][None]) / 2.0
    overlaps: Float = np.exp(-np.sum(away * pulled, axis=-1) / 8.0 - np.maximum(logs, 0.0) / 2.0)
    return overlaps


def match_components(
    first: Mixture, second: Mixture, *, n_starts: int = 4, improve: bool = True
) -> ComponentMatch:
    """Pair components after the affine map that brings the second density closest to the first.

    The pairing maximises the sum of overlaps. `n_starts` and `improve` are those of
    `match_densities`.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.measures import Mixture, match_components
    >>> near = Mixture(weights=[0.3, 0.7], means=[[0.0], [4.0]], covariances=np.ones((2, 1, 1)))
    >>> far = Mixture(weights=[0.7, 0.3], means=[[1.0], [9.0]], covariances=np.full((2, 1, 1), 4.0))
    >>> match_components(near, far).partners.tolist()
    [1, 0]
    """
    match = match_densities(first, second, n_starts=n_starts, improve=improve)
    overlaps = component_overlap(first, push_forward(second, match.matrix, match.shift))
    ours, theirs = scipy.optimize.linear_sum_assignment(overlaps, maximize=True)
    partners = np.full(first.n_components, -1, dtype=np.intp)
    partners[ours] = theirs
    best = np.zeros(first.n_components)
    best[ours] = overlaps[ours, theirs]
    return ComponentMatch(distance=match.distance, partners=partners, overlaps=best)
