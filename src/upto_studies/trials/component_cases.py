"""Cases for Lemma A.8 and Theorems 2 and 3: components that follow their rows."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from upto.ica.contrasts import Contrast, Cube, Exp, LogCosh
from upto.simulate import draw_mixing
from upto.theory.ica_bounds import ica_promise, unmixing_promise
from upto.theory.structural import structure_promises
from upto_studies.trials.case import Case
from upto_studies.trials.rigid_cases import squared_errors
from upto_studies.trials.stationary_points import Followed, contrast_signs, follow, turning_shift
from upto_studies.trials.white import centred, linear_maps, whitening_map

if TYPE_CHECKING:
    from upto.core.array_types import Float

CONTRASTS: tuple[Contrast, ...] = (LogCosh(), LogCosh(2.0), Exp(), Cube())
_ROWS = 80


def perturbed_cases(
    rng: np.random.Generator, count: int, dimensions: list[int]
) -> tuple[list[Case], int]:
    """Perturb white rows and follow their components: Lemma A.8.

    If the curvature at the optimum alone proves that enough of it is kept, there are two more
    cases: one that uses no curvature along the path, and one for the curvature lost.

    Parameters
    ----------
    rng
        Random number generator.
    count
        Number of runs.
    dimensions
        Numbers of components to alternate between, each at least 2.

    Returns
    -------
    tuple
        The cases, and the number of runs whose stationary point could not be followed.
    """
    cases, lost = [], 0
    for d, contrast, share in share_out(count, dimensions):
        white, signs, optimum = _optima(rng, contrast, share, d)
        amount = np.exp(rng.uniform(np.log(1e-7), np.log(0.2), size=(share, 1, 1)))
        noise = rng.normal(size=white.shape)
        pushes = turning_shift(contrast, signs, white, optimum)
        pushed = np.arange(share) % 2 == 0
        shift = np.where(pushed[:, None, None], pushes, noise)
        moved = centred(white + amount * shift)
        moved = moved @ whitening_map(moved)[0]
        path = follow(contrast, signs, white, moved, optimum.rotations)
        usable = optimum.found & path.found
        lost += int((~usable).sum())
        error, radius = longest_rows(moved - white), longest_rows(white)
        measured = longest_rows(_components(white, optimum) - _components(moved, path))
        for number in np.flatnonzero(usable):
            promise_for = partial(
                ica_promise,
                float(error[number]),
                radius=float(radius[number]),
                n_dimensions=d,
                contrast=contrast,
            )
            at_optimum = float(optimum.curvature[number])
            kept = float(path.curvature[number])
            kind = f"{contrast.name}, {'pushed' if pushed[number] else 'shaken'}"
            promise = promise_for(curvature=kept, curvature_at_optimum=at_optimum)
            promises = {"lemma-a8": promise}
            proved = promise_for(curvature=at_optimum / 2.0, curvature_at_optimum=at_optimum)
            if proved.holds:
                promises["lemma-a8-proved"] = proved
            cases += [
                Case(
                    statement=statement,
                    kind=kind,
                    n_dimensions=d,
                    measured=float(measured[number]),
                    bound=float(bound),
                )
                for statement, bound in promises.items()
            ]
            cases.append(
                Case(
                    statement="curvature",
                    kind=kind,
                    n_dimensions=d,
                    measured=max(0.0, at_optimum - kept),
                    bound=promise.constant("μ lost"),
                )
            )
    return cases, lost


def unmixed_cases(
    rng: np.random.Generator, count: int, dimensions: list[int]
) -> tuple[list[Case], int]:
    """Perturb a linear image of a mixed run, and unmix both: Theorem 2.

    Parameters
    ----------
    rng, count, dimensions
        See `perturbed_cases`.

    Returns
    -------
    tuple
        The cases, and the number of runs whose stationary point could not be followed.
    """
    cases, lost = [], 0
    for d, contrast, share in share_out(count, dimensions):
        sources, signs, optimum = _optima(rng, contrast, share, d)
        mixing, _ = linear_maps(rng, share, d)
        matrices, values = linear_maps(rng, share, d)
        first = sources @ mixing
        straight = first @ matrices
        amount = np.exp(rng.uniform(np.log(1e-5), np.log(0.1), size=(share, 1, 1)))
        # White images of the linear map are a rotation of the white sources.
        root = whitening_map(straight)[0]
        white = straight @ root
        back = best_rotation(sources, white)
        start = optimum.rotations @ back
        pushes = turning_shift(contrast, signs, sources, optimum) @ back @ np.linalg.inv(root)
        pushed = np.arange(share) % 2 == 0
        shift = np.where(pushed[:, None, None], pushes, rng.normal(size=first.shape))
        shift = centred(amount * shift)
        second = straight + shift
        target_map, target_least = whitening_map(second)
        _, source_least = whitening_map(first)
        path = follow(contrast, signs, white, second @ target_map, start)
        usable = optimum.found & path.found
        lost += int((~usable).sum())
        error = longest_rows(shift)
        radius = np.maximum(longest_rows(first), longest_rows(second))
        measured = longest_rows(
            white @ start.swapaxes(1, 2) - second @ target_map @ path.rotations.swapaxes(1, 2)
        )
        for number in np.flatnonzero(usable):
            promise = unmixing_promise(
                error[number],
                radius=radius[number],
                smallest_eigenvalue=min(source_least[number], target_least[number]),
                curvature=path.curvature[number],
                n_dimensions=d,
                smallest_singular=values[number].min(),
                largest_singular=values[number].max(),
                contrast=contrast,
            )
            cases.append(
                Case(
                    statement="theorem-2",
                    kind=f"{contrast.name}, {'pushed' if pushed[number] else 'shaken'}",
                    n_dimensions=d,
                    measured=float(measured[number]),
                    bound=float(promise),
                )
            )
    return cases, lost


def structure_cases(
    rng: np.random.Generator, count: int, dimensions: list[int]
) -> tuple[list[Case], int]:
    """Generate data from independent sources, reconstruct it and unmix: Theorem 3.

    Sources are all combinations of a few values, so they are exactly independent and white, and an
    exact optimum. Generator and decoder map balls to balls or the whole space to itself.

    Parameters
    ----------
    rng, count, dimensions
        See `perturbed_cases`.

    Returns
    -------
    tuple
        The cases, and the number of runs whose stationary point could not be followed.
    """
    cases, lost = [], 0
    for d, contrast, share in share_out(count, dimensions):
        for _ in range(share):
            sources = product_sources(rng, d)
            kind, excess, latents = reconstructed(rng, sources)
            rows = centred(latents[None])
            turn = best_rotation(sources[None], rows)
            signs = contrast_signs(contrast, sources[None])
            root, least = whitening_map(rows)
            turned = sources[None] @ turn
            path = follow(contrast, signs, turned, rows @ root, turn)
            width = max(float(pdist(sources).max()), float(pdist(latents).max()))
            rigid, unmixed = structure_promises(
                excess[0],
                generator_lipschitz=excess[1],
                n_dimensions=d,
                diameter=width,
                smallest_eigenvalue=float(least[0]),
                curvature=float(path.curvature[0]),
                contrast=contrast,
            )
            worst = float(np.sqrt(squared_errors(sources[None], latents[None]).max()))
            cases.append(
                Case(
                    statement="theorem-3-rigid",
                    kind=kind,
                    n_dimensions=d,
                    measured=worst,
                    bound=float(rigid),
                )
            )
            if not path.found[0]:
                lost += 1
                continue
            found = rows @ root @ path.rotations.swapaxes(1, 2)
            cases.append(
                Case(
                    statement="theorem-3",
                    kind=f"{kind}, {contrast.name}",
                    n_dimensions=d,
                    measured=float(longest_rows(found - sources[None])[0]),
                    bound=float(unmixed),
                )
            )
    return cases, lost


def share_out(count: int, dimensions: list[int]) -> list[tuple[int, Contrast, int]]:
    """Distribute cases over dimensions and contrasts."""
    both = list(itertools.product(dimensions, CONTRASTS))
    shares = [count // len(both) + (number < count % len(both)) for number in range(len(both))]
    return [
        (d, contrast, share) for (d, contrast), share in zip(both, shares, strict=True) if share
    ]


def _optima(
    rng: np.random.Generator, contrast: Contrast, count: int, d: int
) -> tuple[Float, Float, Followed]:
    """Draw white runs of nearly independent sources, and find a stationary point of each."""
    shape = (count, _ROWS, d)
    heavy, light = rng.laplace(size=shape), rng.uniform(-1.0, 1.0, size=shape)
    rows = centred(np.where(rng.random(size=(count, 1, d)) < 0.5, heavy, light))
    white = rows @ whitening_map(rows)[0]
    signs = contrast_signs(contrast, white)
    identity = np.broadcast_to(np.eye(d), (count, d, d))
    return white, signs, follow(contrast, signs, white, white, identity, n_stops=0)


def product_sources(rng: np.random.Generator, d: int) -> Float:
    """Return all combinations of a few values of each source, centred and of unit variance."""
    columns = []
    for _ in range(d):
        values = rng.uniform(-1.0, 1.0, size=7)
        if rng.random() < 0.5:
            values = values**3
        columns.append((values - values.mean()) / values.std())
    return np.array(list(itertools.product(*columns)))


def reconstructed(
    rng: np.random.Generator, sources: Float
) -> tuple[str, tuple[float, float], Float]:
    """Map sources by two maps of known constants to the latents of a perfect model."""
    d = sources.shape[1]
    radius = float(np.linalg.norm(sources, axis=1).max())
    family = ["radial", "twist", "inversion"] if rng.random() < 0.5 else ["linear", "leaky", "wave"]
    kinds = [str(each) for each in rng.choice(family, size=2)]
    excess = np.exp(rng.uniform(np.log(1e-4), np.log(0.3), size=2))
    decoder, generator = (
        draw_mixing(kind, d, lipschitz=float(value), radius=radius, seed=int(rng.integers(2**31)))
        for kind, value in zip(kinds, excess, strict=True)
    )
    latents = decoder.inverse(generator(sources))
    return "+".join(kinds), (float(excess[0]), float(excess[1])), latents


def best_rotation(source: Float, target: Float) -> Float:
    """Return the best orthogonal Q with target ≈ source Q, for a stack of runs."""
    left, _, right = np.linalg.svd(source.swapaxes(1, 2) @ target)
    rotation: Float = left @ right
    return rotation


def _components(rows: Float, followed: Followed) -> Float:
    components: Float = rows @ followed.rotations.swapaxes(1, 2)
    return components


def longest_rows(rows: Float) -> Float:
    """Return the norm of the longest row of every run of a stack."""
    norms: Float = np.linalg.norm(rows, axis=2).max(axis=1)
    return norms
