"""Cases for Theorems 2 and 3 in which `upto.ICA` searches and may reach another optimum."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning

from upto.ica.contrasts import Contrast, LogCosh
from upto.ica.ica import ICA
from upto.theory.ica_bounds import unmixing_promise
from upto.theory.structural import structure_promises
from upto_studies.trials.case import Case
from upto_studies.trials.component_cases import (
    best_rotation,
    longest_rows,
    product_sources,
    reconstructed,
    share_out,
)
from upto_studies.trials.stationary_points import contrast_signs, follow
from upto_studies.trials.white import centred, linear_maps, whitening_map

if TYPE_CHECKING:
    from upto.core import Promise
    from upto.core.array_types import Float


ELSEWHERE = "-elsewhere"
"""Suffix of statements of cases whose two searches reached different optima."""

_ROWS = 400
_TOLERANCE = 1e-8
_SAME = 1e-3
"""Maximum difference of rows of one optimum, found twice."""


def searched_cases(
    rng: np.random.Generator, count: int, dimensions: list[int]
) -> tuple[list[Case], int]:
    """Perturb a linear image of a mixed run, and unmix both by `upto.ICA`: Theorem 2.

    A signed permutation maps the components of one run to those of the other. The theorem concerns
    a stationary point that follows its rows, so that of the first search is followed: if it reaches
    that of the second search, the two correspond and the bound must hold. Other cases have a
    statement of their own.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of pairs of runs.
    dimensions
        Numbers of components to alternate between, each at least 2.

    Returns
    -------
    tuple
        The cases, and the number whose stationary point could not be found and followed.
    """
    found: list[Case | None] = []
    for d, contrast, share in share_out(count, dimensions):
        for _ in range(share):
            heavy, light = rng.laplace(size=(_ROWS, d)), rng.uniform(-1.0, 1.0, size=(_ROWS, d))
            sources = np.where(rng.random(size=d) < 0.5, heavy, light)
            found.append(
                _unmixed(rng, sources, contrast, ("theorem-2", contrast.name), largest=0.1)
            )
    return _told(found)


def star_cases(rng: np.random.Generator, count: int) -> tuple[list[Case], int]:
    """Repeat on rows of an eight-pointed star, which has two optima: the control.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of pairs of runs.

    Returns
    -------
    tuple
        The cases, and the number whose stationary point could not be found and followed.
    """
    found: list[Case | None] = []
    for _ in range(count):
        angles = rng.integers(8, size=_ROWS) * np.pi / 4.0
        spokes = np.column_stack([np.cos(angles), np.sin(angles)])
        rows = rng.uniform(0.5, 1.5, size=(_ROWS, 1)) * spokes
        rows += 0.02 * rng.normal(size=rows.shape)
        # So near that a bound on the wrong optimum would be visibly violated.
        found.append(_unmixed(rng, rows, LogCosh(), ("star", "logcosh"), largest=1e-4))
    return _told(found)


def searched_structure_cases(
    rng: np.random.Generator, count: int, dimensions: list[int]
) -> tuple[list[Case], int]:
    """Generate data from independent sources, reconstruct it and unmix by `upto.ICA`: Theorem 3.

    Parameters
    ----------
    rng, count, dimensions
        See `searched_cases`.

    Returns
    -------
    tuple
        The cases, and the number whose stationary point could not be found and followed.
    """
    found: list[Case | None] = []
    for d, contrast, share in share_out(count, dimensions):
        for _ in range(share):
            sources = product_sources(rng, d)
            kind, excess, latents = reconstructed(rng, sources)
            rows = centred(latents[None])[0]
            least = float(whitening_map(rows[None])[1][0])
            width = max(float(pdist(sources).max()), float(pdist(latents).max()))
            turn = best_rotation(sources[None], rows[None])[0]
            searched = _search(rng, rows, contrast)
            followed = _follow(contrast, sources, turn, rows)
            if searched is None or followed is None:
                found.append(None)
                continue
            _, unmixed = structure_promises(
                excess[0],
                generator_lipschitz=excess[1],
                n_dimensions=d,
                diameter=width,
                smallest_eigenvalue=least,
                curvature=followed[1],
                contrast=contrast,
            )
            named = ("theorem-3", f"{kind}, {contrast.name}")
            found.append(_case(named, sources, searched, followed, unmixed))
    return _told(found)


def _unmixed(
    rng: np.random.Generator,
    rows: Float,
    contrast: Contrast,
    named: tuple[str, str],
    *,
    largest: float,
) -> Case | None:
    """Mix rows, perturb a linear image of them, and search for the components of both."""
    d = rows.shape[1]
    (mixing,), _ = linear_maps(rng, 1, d)
    (matrix,), (values,) = linear_maps(rng, 1, d)
    first = centred((rows @ mixing)[None])[0]
    straight = first @ matrix
    amount = largest * float(np.exp(rng.uniform(np.log(1e-4), 0.0)))
    shift = centred(amount * rng.normal(size=(1, *first.shape)))[0]
    second = straight + shift
    components, searched = _search(rng, first, contrast), _search(rng, second, contrast)
    if components is None or searched is None:
        return None
    # White images of the linear map are a rotation of the white components.
    white = straight[None] @ whitening_map(straight[None])[0]
    turn = best_rotation(components[None], white)[0]
    followed = _follow(contrast, components, turn, second)
    if followed is None:
        return None
    both = np.stack([first, second])
    promise = unmixing_promise(
        float(longest_rows(shift[None])[0]),
        radius=float(longest_rows(both).max()),
        smallest_eigenvalue=float(whitening_map(both)[1].min()),
        curvature=followed[1],
        n_dimensions=d,
        smallest_singular=float(values.min()),
        largest_singular=float(values.max()),
        contrast=contrast,
    )
    return _case(named, components, searched, followed, promise)


def _follow(
    contrast: Contrast, components: Float, turn: Float, target: Float
) -> tuple[Float, float] | None:
    """Follow rotated components to the white target; return the end point and the curvature."""
    signs = contrast_signs(contrast, components[None])
    white = target @ whitening_map(target[None])[0][0]
    path = follow(contrast, signs, (components @ turn)[None], white[None], turn[None])
    if not path.found[0]:
        return None
    return white @ path.rotations[0].T, float(path.curvature[0])


def _case(
    named: tuple[str, str],
    components: Float,
    searched: Float,
    followed: tuple[Float, float],
    promise: Promise,
) -> Case:
    """Compare the error of the search with its bound, and classify where the search ended."""
    place, curvature = followed
    d = components.shape[1]
    radius = float(longest_rows(components[None])[0])
    corresponds = _apart(searched, place) < _SAME * radius
    # The search ends near a stationary point, within its tolerance over the curvature.
    slack = 2.0 * radius * d * _TOLERANCE / curvature
    return Case(
        statement=f"{named[0]}-searched" + ("" if corresponds else ELSEWHERE),
        kind=named[1],
        n_dimensions=d,
        measured=_apart(searched, components),
        bound=float(promise) + slack,
    )


def _apart(first: Float, second: Float) -> float:
    """Return the largest distance between rows after the best signed permutation."""
    agreement = first.T @ second
    rows, columns = linear_sum_assignment(-np.abs(agreement))
    matched = np.empty_like(first)
    matched[:, columns] = first[:, rows] * np.sign(agreement[rows, columns])
    return float(longest_rows((matched - second)[None])[0])


def _told(found: list[Case | None]) -> tuple[list[Case], int]:
    cases = [each for each in found if each is not None]
    return cases, len(found) - len(cases)


def _search(rng: np.random.Generator, rows: Float, contrast: Contrast) -> Float | None:
    """Return the components found by the library, None if it does not converge."""
    ica = ICA(
        contrast=contrast.name,
        alpha=contrast.alpha if isinstance(contrast, LogCosh) else 1.0,
        tolerance=_TOLERANCE,
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        components: Float = ica.fit_transform(rows)
    return components if ica.converged_ else None
