"""Check whether a head has enough difference vectors to identify its representation.

A softmax over classes y with log-odds ``(g(a) - g(b)) · f(x)`` depends on f only through
differences of the class vectors g. If M of them are linearly independent, where M is the width of
f, two models with the same probabilities have representations that differ by an invertible matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from upto.core import InputError, finite_or_none
from upto.core.array_types import Float
from upto.theory.class_vectors import (
    as_float,
    as_frequencies,
    as_head,
    centred_triangle,
    centred_values,
    mean_of,
)
from upto.theory.precision import rounding_norm, stored_precision
from upto.theory.spectrum import noise_directions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


ILL_CONDITIONED = 1e8
"""Condition numbers above this leave less than half of the digits of double precision."""

_MUCH = 8.0
"""Factor by which given deviations must exceed one gap of the stored type to count."""
_BLOCK = 64
_SHORTLIST = 4 * _BLOCK


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadDiversity:
    """Diversity of the class vectors of a head.

    Parameters
    ----------
    n_classes, width
        Number of occurring classes, K, and of coordinates, M.
    rank
        Rank of the centred class vectors: the number of independent differences.
    singular_values
        The M singular values of the centred class vectors, the largest first; zero beyond K - 1.
    condition
        Largest over smallest singular value, weighted by frequency if that is worse; None if the
        rank is below M.
    smallest_variance
        Largest c with Cov[g(y)] ≥ c I, for y drawn with the frequencies.
    stored_as
        Number type with the precision of the values: ``"bfloat16"`` for a bfloat16 head that was
        widened to float32; or ``"few decimals"``.
    rounding
        Largest effect of rounding to that precision on the smallest singular value.
    n_apart
        Number of smallest singular values so far below the others, and so close to each other,
        that they may be rounding or noise whatever the bits.
    base, chosen
        A class y0 and M others whose differences ``g(y) - g(y0)`` are independent and about as
        well conditioned as any choice; `chosen` is empty if there are none.
    differences_condition
        Condition number κ of the matrix L of those differences; None if there is none.

    See Also
    --------
    head_diversity : Returns it.
    """

    n_classes: int
    width: int
    rank: int
    singular_values: Float
    condition: float | None
    smallest_variance: float
    stored_as: str
    rounding: float
    n_apart: int
    base: int
    chosen: NDArray[np.intp]
    differences_condition: float | None

    @property
    def holds(self) -> bool:
        """Whether M independent differences exist."""
        return self.rank == self.width

    @property
    def is_ill_conditioned(self) -> bool:
        """Whether the margin is so small that noise or rounding may have caused it."""
        if not self.holds:
            return False
        worst = max(map(_or_infinite, (self.condition, self.differences_condition)))
        smallest = float(self.singular_values[-1])
        return worst > ILL_CONDITIONED or smallest <= self.rounding or self.n_apart > 0


def head_diversity(
    head: ArrayLike,
    *,
    frequencies: ArrayLike | None = None,
    deviations: ArrayLike | None = None,
) -> HeadDiversity:
    r"""Check the diversity condition of linear identifiability on the class vectors of a head.

    Parameters
    ----------
    head
        K×M class, token or context vectors g(y), one row per class, without bias.
    frequencies
        Frequency of each class; equal by default. Classes that never occur are excluded, since no
        data determine their vectors.
    deviations
        Standard deviation of the rounding of each coordinate, if it exceeds that of the bits, e.g.
        for numbers that were written as text.

    Returns
    -------
    HeadDiversity
        The rank, the singular values, and whether the condition holds.

    Raises
    ------
    InputError
        If the head or the frequencies are not finite numbers of fitting shapes.

    See Also
    --------
    linear_map_between : The map between two representations, if the condition holds.
    independent_differences : The choice of classes for the proof.
    centred_rank : The rank alone.
    upto.diversity : The same question for weights in a file, with a verdict.

    Notes
    -----
    In a softmax with log-odds :math:`(g(a) - g(b)) \cdot f(x)` a representation f of width M is
    determined up to an invertible matrix if M differences of class vectors are independent, that is
    if

    .. math::

        \operatorname{rank} \left( I - \tfrac{1}{K} 1 1^\top \right) G = M
        \iff \operatorname{Cov}[g(y)] \ge c \, I \text{ for some } c > 0

    for the K×M matrix G of class vectors. It needs at least M + 1 classes.

    References
    ----------
    Roeder et al. (2021). On linear identifiability of learned representations. International
    Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.theory import head_diversity
    >>> head = np.random.default_rng(0).normal(size=(10, 4))
    >>> head_diversity(head).holds
    True
    >>> head_diversity(head[:4]).holds
    False
    """
    vectors = as_head(head)
    shares = as_frequencies(frequencies, len(vectors))
    occurring = np.flatnonzero(shares)
    kept = vectors if len(occurring) == len(vectors) else vectors[occurring]
    n_classes, width = kept.shape
    values, rank = centred_values(kept)
    spread = values / np.sqrt(n_classes)
    if frequencies is not None and rank == width:
        spread = scipy.linalg.svdvals(centred_triangle([kept], shares[occurring]))
    base, chosen = 0, np.empty(0, dtype=np.intp)
    condition = between = None
    if rank == width:
        condition = max((_condition(each) for each in (values, spread)), key=_or_infinite)
        base, chosen = independent_differences(kept)
        between = _condition(scipy.linalg.svdvals(as_float(kept[chosen]) - as_float(kept[base])))
    precision = stored_precision(kept)
    stored_as, rounding = precision.name, rounding_norm(kept, precision)
    if deviations is not None:
        # Rounding errors are uniform: a gap is √12 standard deviations.
        written = math.sqrt(12.0 * n_classes) * float(np.max(deviations))
        if written > _MUCH * rounding:
            stored_as, rounding = "few decimals", written
    return HeadDiversity(
        n_classes=n_classes,
        width=width,
        rank=rank,
        singular_values=values,
        condition=condition,
        smallest_variance=float(spread[-1] ** 2) if rank == width else 0.0,
        stored_as=stored_as,
        rounding=rounding,
        n_apart=noise_directions(values, n_classes) if rank == width else 0,
        base=int(occurring[base]),
        chosen=occurring[chosen],
        differences_condition=between,
    )


def independent_differences(head: Any) -> tuple[int, NDArray[np.intp]]:
    """Choose a class y0 and M others whose differences from it are well conditioned.

    y0 is the class nearest to the mean, so that differences from it are nearly the centred class
    vectors. The others are found by pivoted QR on shortlists of the farthest classes, which scans
    all K classes in about M/64 matrix products. Each chosen class is at least half as far from the
    span of the previous ones as any other class.

    Parameters
    ----------
    head
        K×M class vectors whose centred rank is M.

    Returns
    -------
    tuple of int and ndarray
        The class y0, and the M others.

    Raises
    ------
    InputError
        If there are no more classes than coordinates.

    See Also
    --------
    head_diversity : Checks first whether there are such classes.
    linear_map_between : Uses them with ``method="pairs"``.

    References
    ----------
    Roeder et al. (2021). On linear identifiability of learned representations. International
    Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.theory import independent_differences
    >>> head = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0], [-1.0, -1.0]])
    >>> base, chosen = independent_differences(head)
    >>> base, sorted(chosen.tolist())
    (0, [1, 2])
    """
    vectors = as_head(head)
    n_classes, width = vectors.shape
    if n_classes <= width:
        message = (
            f"{n_classes} classes have fewer than {width} independent differences: give at least "
            f"{width + 1}."
        )
        raise InputError(message)
    away = np.subtract(vectors, mean_of(vectors), dtype=np.float64)
    base = int(np.argmin(_squared_norms(away)))
    away -= away[base].copy()
    left = _squared_norms(away)
    left[base] = -1.0
    basis = np.empty((width, width))
    chosen: list[int] = []
    while len(chosen) < width:
        found = len(chosen)
        size = min(_SHORTLIST, n_classes - 1 - found)
        shortlist = np.argpartition(left, n_classes - size)[n_classes - size :]
        outside = np.delete(left, shortlist).max(initial=0.0)
        spanned = basis[:, :found]
        listed = away[shortlist].T
        listed -= spanned @ (spanned.T @ listed)
        directions, triangle, order = scipy.linalg.qr(
            listed, mode="economic", pivoting=True, check_finite=False
        )
        far = np.diag(triangle) ** 2 >= 0.25 * outside
        count = min(_BLOCK, width - found, max(1, int(np.argmin(np.append(far, False)))))
        fresh = directions[:, :count]
        fresh = np.linalg.qr(fresh - spanned @ (spanned.T @ fresh))[0]
        basis[:, found : found + count] = fresh
        chosen += [int(each) for each in shortlist[order[:count]]]
        left = np.maximum(left - _squared_norms(away @ fresh), 0.0)
        left[[base, *chosen]] = -1.0
    return base, np.array(chosen, dtype=np.intp)


def _squared_norms(rows: Float) -> Float:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def _condition(values: Float) -> float | None:
    if values[-1] == 0:
        return None
    return finite_or_none(float(values[0] / values[-1]))


def _or_infinite(condition: float | None) -> float:
    return np.inf if condition is None else condition
