"""One common space for many runs, from the cross-scatter of every pair.

Generalised Procrustes rotates the runs, and synchronisation orders and signs their components, to
maximise the total agreement ``Σ trace(Aᵢᵀ Sᵢⱼ Aⱼ)`` over pairs. Both update one run at a time with
the best element for the sum of the others, so the total never decreases. Narrower runs are embedded
in the space of the widest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.optimize

from upto.core.array_types import Float
from upto.engines import nearest_rotation

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pair = tuple[int, int]

SWEEPS, ROUNDS = 200, 20
"""Maximum number of sweeps over all runs, and of updates of the scales."""
CONVERGED, NEARLY = 1e-12, 1e-8
"""Relative gain of the total agreement below which sweeps stop; the second value is for alignments
without one run, which are used only for predictions."""
_FLAT = 1e-10


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Scatters:
    """Centred scatter matrices of runs and of every pair of runs.

    `cross` contains the pairs i < j; `between` returns any pair.
    """

    own: tuple[Float, ...]
    cross: Mapping[Pair, Float]

    def __len__(self) -> int:
        return len(self.own)

    @property
    def width(self) -> int:
        """Width of the widest run."""
        return max(len(scatter) for scatter in self.own)

    @property
    def spreads(self) -> Float:
        """Total scatter of each run."""
        return np.array([max(float(np.trace(own)), np.finfo(float).tiny) for own in self.own])

    def of_equal_spread(self) -> Scatters:
        """Return the scatters after scaling all runs to one total scatter, the geometric mean."""
        scales = np.exp(np.mean(np.log(self.spreads)) / 2) / np.sqrt(self.spreads)
        return Scatters(
            own=tuple(scale**2 * own for scale, own in zip(scales, self.own, strict=True)),
            cross={(i, j): scales[i] * scales[j] * s for (i, j), s in self.cross.items()},
        )

    def between(self, first: int, second: int) -> Float:
        """Return the scatter between two runs, or of a run with itself."""
        if first == second:
            return self.own[first]
        return self.cross[first, second] if first < second else self.cross[second, first].T

    def without(self, run: int) -> Scatters:
        """Return the scatters without one run; the others keep their order."""
        kept = [i for i in range(len(self)) if i != run]
        return Scatters(
            own=tuple(self.own[i] for i in kept),
            cross={
                (a, b): self.between(i, j)
                for a, i in enumerate(kept)
                for b, j in enumerate(kept)
                if a < b
            },
        )

    def mapped(self, matrices: Sequence[Float]) -> Scatters:
        """Return the scatters of runs multiplied by matrices."""
        return Scatters(
            own=tuple(a.T @ own @ a for a, own in zip(matrices, self.own, strict=True)),
            cross={(i, j): matrices[i].T @ s @ matrices[j] for (i, j), s in self.cross.items()},
        )

    def summed(self) -> Float:
        """Return the scatter of the sum of runs in common coordinates."""
        total = np.sum(self.own, axis=0)
        for between in self.cross.values():
            total = total + between + between.T
        return np.asarray(total, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Agreement:
    """An element for every run, and the total agreement after each sweep, which never decreases.

    Elements act on the right and map to a common space. `scales` are additional factors of the
    runs, 1 unless scaling was requested.
    """

    elements: tuple[Float, ...]
    scales: Float
    totals: tuple[float, ...]

    @property
    def maps(self) -> tuple[Float, ...]:
        """The elements with their scales."""
        return tuple(a * scale for a, scale in zip(self.elements, self.scales, strict=True))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prediction:
    """Prediction of a run from the mean of the others: the sum of ``rows @ maps``, times `back`."""

    maps: dict[int, Float]
    back: Float


def generalised_procrustes(
    scatters: Scatters,
    *,
    scaled: bool = False,
    start: Sequence[Float] | None = None,
    tolerance: float = CONVERGED,
) -> Agreement:
    """Rotate runs so that all are close to their mean.

    Parameters
    ----------
    scatters
        Scatter matrices of the runs.
    scaled
        Whether each run has its own scale. The total variance is kept (Ten Berge, 1977).
    start
        Initial rotations; by default runs are added one by one, starting with the run most similar
        to the others.
    tolerance
        Relative gain of the total agreement below which sweeps stop.
    """
    order = np.argsort(-_likeness(scatters), kind="stable")
    weights, totals = np.ones(len(scatters)), list[float]()
    elements = start
    for _ in range(ROUNDS if scaled else 1):
        found, gains = _ascend(
            scatters, nearest_rotation, order, start=elements, weights=weights, tolerance=tolerance
        )
        elements, totals = found, totals + gains
        if not scaled:
            break
        before = weights
        elements, weights = _with_scales(scatters, found)
        if np.abs(weights - before).max() <= 1e-9 * weights.max():
            break
    return Agreement(
        elements=tuple(np.asarray(each) for each in elements or ()),
        scales=weights,
        totals=tuple(totals),
    )


def principal_axes(scatters: Scatters, agreement: Agreement) -> tuple[Float, Float]:
    """Return the principal axes of the mean of the rotated runs and the scatter along them.

    Axes are sorted by scatter; those without scatter are dropped.
    """
    scatter = scatters.mapped(agreement.maps).summed() / len(scatters) ** 2
    values, vectors = np.linalg.eigh(scatter)
    kept = values > _FLAT * max(values[-1], np.finfo(float).tiny)
    return vectors[:, kept][:, ::-1], values[kept][::-1]


def turn_runs(scatters: Scatters, *, scaled: bool = False, **options: Any) -> Agreement:
    """Rotate runs onto their mean, after scaling them to equal spread unless `scaled`.

    Otherwise a run of large spread would determine the rotation of all others.
    """
    turned = scatters if scaled else scatters.of_equal_spread()
    return generalised_procrustes(turned, scaled=scaled, **options)


def weights_by_spread(scatters: Scatters) -> Float:
    """Return the weight of each run (column) in the prediction of another (row); 0 for itself.

    A rigid motion keeps the spread: the more the variances of two runs differ, the less one
    predicts the other, and a run of large spread would dominate the mean.
    """
    spreads = scatters.spreads
    weights: Float = np.minimum.outer(spreads, spreads) / np.maximum.outer(spreads, spreads)
    np.fill_diagonal(weights, 0.0)
    return weights


def predict_left_out(
    scatters: Scatters, agreement: Agreement, run: int, *, scaled: bool = False
) -> Prediction:
    """Align the other runs without this one, and rotate their mean onto it.

    Without scaling, runs are weighted by how close their spread is to that of this run.
    """
    others = [i for i in range(len(scatters)) if i != run]
    rest = scatters.without(run)
    known = [agreement.elements[i] for i in others]
    fitted = turn_runs(
        rest, scaled=scaled, start=known if rest.width == scatters.width else None, tolerance=NEARLY
    )
    weights = np.ones(len(others)) if scaled else weights_by_spread(scatters)[run, others]
    weights = weights / weights.sum()
    maps = {i: w * a for i, w, a in zip(others, weights, fitted.maps, strict=True)}
    cross = np.sum([a.T @ scatters.between(i, run) for i, a in maps.items()], axis=0)
    back = nearest_rotation(cross)
    if scaled:
        mean = rest.mapped(list(maps.values())).summed()
        spread = float(np.vdot(back, mean @ back))
        back = back * (float(np.vdot(back, cross)) / spread if spread > 0 else 0.0)
    return Prediction(maps=maps, back=back)


def synchronise(correlations: Scatters) -> Agreement:
    """Find a common order and sign of the components of all runs.

    Parameters
    ----------
    correlations
        Correlations between the components of every two runs. A run with fewer components than
        another has empty columns in its element.
    """
    matches = pairwise_matches(correlations)
    likeness = np.zeros(len(correlations))
    for (i, j), (ours, theirs) in matches.items():
        likeness[[i, j]] += np.abs(correlations.cross[i, j][ours, theirs]).mean()
    order = np.argsort(-likeness, kind="stable")
    elements, totals = _ascend(correlations, signed_matching, order)
    return Agreement(
        elements=tuple(elements), scales=np.ones(len(correlations)), totals=tuple(totals)
    )


def pairwise_matches(
    correlations: Scatters,
) -> dict[Pair, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Match the components of every two runs separately, one to one."""
    return {
        pair: scipy.optimize.linear_sum_assignment(np.abs(between), maximize=True)
        for pair, between in correlations.cross.items()
    }


def kept_matches(correlations: Scatters, synchronised: Agreement, above: float) -> float | None:
    """Return the share of pairwise matches above a correlation that synchronisation keeps.

    It is 1 if matches are consistent along every cycle of runs, and None if nothing can be
    inconsistent: with two runs, or without matches above the correlation.
    """
    kept, total = 0, 0
    slots = [np.abs(element).argmax(axis=1) for element in synchronised.elements]
    for (i, j), (ours, theirs) in pairwise_matches(correlations).items():
        counts = np.abs(correlations.cross[i, j][ours, theirs]) > above
        total += int(counts.sum())
        kept += int((slots[i][ours] == slots[j][theirs])[counts].sum())
    return kept / total if total and len(correlations) > 2 else None


def signed_matching(gain: Float) -> Float:
    """Return the signed permutation P, partial if not square, that maximises ``trace(Pᵀ gain)``."""
    rows, columns = scipy.optimize.linear_sum_assignment(np.abs(gain), maximize=True)
    matching = np.zeros_like(gain)
    matching[rows, columns] = np.where(gain[rows, columns] < 0, -1.0, 1.0)
    return matching


def _likeness(scatters: Scatters) -> Float:
    """Return the similarity of each run to the others: the sum of its linear CKA with them."""
    lengths = [max(float(np.linalg.norm(own)), np.finfo(float).tiny) for own in scatters.own]
    likeness = np.zeros(len(scatters))
    for (i, j), between in scatters.cross.items():
        likeness[[i, j]] += float(np.vdot(between, between)) / (lengths[i] * lengths[j])
    return likeness


def _ascend(
    scatters: Scatters,
    best: Callable[[Float], Float],
    order: NDArray[np.intp],
    *,
    start: Sequence[Float] | None = None,
    weights: Float | None = None,
    tolerance: float = CONVERGED,
) -> tuple[list[Float], list[float]]:
    """Replace one element at a time by the best one for the sum of the others.

    Runs are visited by similarity, so that neither the start nor the path depends on their order in
    the arguments.
    """
    weights = np.ones(len(scatters)) if weights is None else weights
    elements: dict[int, Float] = dict(enumerate(start or ()))

    def gain(i: int) -> Float:
        towards = np.zeros((len(scatters.own[i]), scatters.width))
        for j, element in elements.items():
            if j != i:
                towards += weights[j] * (scatters.between(i, j) @ element)
        return towards

    total = 0.0
    for place, i in enumerate(map(int, order)):
        if start is not None:
            total += 0.5 * float(weights[i] * np.vdot(elements[i], gain(i)))
        elif place == 0:
            elements[i] = np.eye(len(scatters.own[i]), scatters.width)
        else:
            towards = gain(i)
            elements[i] = best(towards)
            total += float(weights[i] * np.vdot(elements[i], towards))
    totals = [total]
    for _ in range(SWEEPS if len(scatters) > 1 else 0):
        for i in map(int, order):
            towards = gain(i)
            better = best(towards)
            total += float(weights[i] * np.vdot(better - elements[i], towards))
            elements[i] = better
        totals.append(total)
        if totals[-1] - totals[-2] <= tolerance * abs(total):
            break
    return [elements[i] for i in range(len(scatters))], totals


def _with_scales(scatters: Scatters, elements: Sequence[Float]) -> tuple[list[Float], Float]:
    """Return the scales that maximise agreement at a given total variance."""
    spread = scatters.spreads
    agreement = np.eye(len(scatters))
    for (i, j), between in scatters.cross.items():
        shared = float(np.vdot(elements[i], between @ elements[j]))
        agreement[i, j] = agreement[j, i] = shared / np.sqrt(spread[i] * spread[j])
    leading = np.linalg.eigh(agreement)[1][:, -1]
    leading = leading * (1.0 if leading.sum() >= 0 else -1.0)
    # A negative scale equals a positive scale of the reflected run.
    turned = [
        np.where(share < 0, -1.0, 1.0) * a for share, a in zip(leading, elements, strict=True)
    ]
    return turned, np.abs(leading) * np.sqrt(spread.sum() / spread)
