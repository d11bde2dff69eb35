"""Hill-climbed cases for Lemmas A.5 and A.6: runs that are close before whitening."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.theory.whitening_bounds import rotation_promise, whitening_promise
from upto_studies.trials.case import Case

if TYPE_CHECKING:
    from upto.core.array_types import Float


def whitened_cases(
    rng: np.random.Generator, count: int, dimensions: list[int], *, steps: int = 60
) -> list[Case]:
    """Perturb small runs, with and without a linear map, and compare them after whitening.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of pairs of runs; half are close without a linear map (A.5), half up to one (A.6).
    dimensions
        Dimensions to alternate between.
    steps
        Steps of hill climbing.
    """
    cases = []
    for position, d in enumerate(dimensions):
        share = count // len(dimensions) + (position < count % len(dimensions))
        for mapped in (False, True):
            some = share // 2 + (share % 2 if mapped else 0)
            if some:
                cases += _climbed(rng, some, d, mapped=mapped, steps=steps)
    return cases


def whitening_map(rows: Float) -> tuple[Float, Float]:
    """Return the symmetric roots Cov^-½ of a stack of centred runs, and smallest eigenvalues."""
    values, vectors = np.linalg.eigh(covariance(rows))
    roots: Float = (vectors / np.sqrt(np.maximum(values, 1e-300))[:, None]) @ vectors.swapaxes(1, 2)
    return roots, values[:, 0]


def covariance(rows: Float) -> Float:
    """Return the covariances of a stack of centred runs."""
    products: Float = rows.swapaxes(1, 2) @ rows / rows.shape[1]
    return products


def centred(rows: Float) -> Float:
    """Centre every run of a stack."""
    result: Float = rows - rows.mean(axis=1, keepdims=True)
    return result


def linear_maps(rng: np.random.Generator, count: int, d: int) -> tuple[Float, Float]:
    """Draw linear maps, from rotations to ill-conditioned ones, and their singular values."""
    left, _ = np.linalg.qr(rng.normal(size=(count, d, d)))
    right, _ = np.linalg.qr(rng.normal(size=(count, d, d)))
    values = np.exp(rng.uniform(size=(count, 1)) ** 2 * rng.uniform(-1.0, 1.0, size=(count, d)))
    return (left * values[:, None]) @ right, values


def _climbed(
    rng: np.random.Generator, count: int, d: int, *, mapped: bool, steps: int
) -> list[Case]:
    size = 2 * d + 3
    source = centred(rng.standard_t(4, size=(count, size, d)))
    matrices, values = linear_maps(rng, count, d)
    if not mapped:
        matrices, values = np.broadcast_to(np.eye(d), (count, d, d)), np.ones((count, d))
    amount = np.exp(rng.uniform(np.log(1e-4), np.log(0.5), size=(count, 1, 1)))
    shift = centred(amount * rng.normal(size=source.shape))

    def measure(source: Float, shift: Float) -> tuple[Float, ...]:
        straight = source @ matrices
        target = straight + shift
        error = np.linalg.norm(shift, axis=2).max(axis=1)
        radius = np.maximum(
            *(np.linalg.norm(each, axis=2).max(axis=1) for each in (source, target))
        )
        source_map, source_least = whitening_map(source)
        target_map, target_least = whitening_map(target)
        straight_map, _ = whitening_map(straight)
        # Lemma A.6 rotates the white source by the white image of the linear map.
        turned = straight @ straight_map if mapped else source @ source_map
        distance = np.linalg.norm(target @ target_map - turned, axis=2).max(axis=1)
        return distance, error, radius, np.minimum(source_least, target_least)

    def share(found: tuple[Float, ...]) -> Float:
        distance, error, radius, least = found
        low, high = values.min(axis=1), values.max(axis=1)
        stretch = high * (1.0 + high) / (low * (1.0 + low))
        ratio: Float = distance / (error * (least**-0.5 + stretch * radius**2 * least**-1.5))
        return ratio

    best = share(measure(source, shift))
    for step in range(steps):
        size_of_step = 0.3 * 0.95**step
        moved = centred(source + size_of_step * rng.normal(size=source.shape))
        moved_shift = centred(shift + size_of_step * amount * rng.normal(size=source.shape))
        found = share(measure(moved, moved_shift))
        better = found > best
        source[better], shift[better] = moved[better], moved_shift[better]
        best[better] = found[better]
    cases = []
    for number, (distance, error, radius, least) in enumerate(
        zip(*measure(source, shift), strict=True)
    ):
        if mapped:
            promise = rotation_promise(
                error,
                radius=radius,
                smallest_eigenvalue=least,
                smallest_singular=values[number].min(),
                largest_singular=values[number].max(),
            )
        else:
            promise = whitening_promise(error, radius=radius, smallest_eigenvalue=least)
        cases.append(
            Case(
                statement="lemma-a6" if mapped else "lemma-a5",
                kind="climbed",
                n_dimensions=d,
                measured=float(distance),
                bound=float(promise),
            )
        )
    return cases
