"""Extreme singular values of the Jacobians of a decoder at many points.

A small Jacobian is formed, one product J v for each latent, and its singular values are exact. A
large one is never formed: Golub-Kahan-Lanczos bidiagonalisation finds its extremes from products
J v and Jᵀ u, all points at once; residuals say how far they can be from singular values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from upto.core.arrays import Float
from upto.engines import host_array

if TYPE_CHECKING:
    from collections.abc import Callable


DENSE_ENTRIES, DENSE_LATENTS = 2**25, 1024
"""A Jacobian with more entries or columns than this is not formed."""
BATCH_BYTES, MOST_POINTS = 2**27, 256
"""Points are taken together as far as their Jacobians or bases fit, and no more than these."""
TOLERANCE = 1e-7
"""A singular value is settled when its residual is at most this share of it."""
_CONDITION = 1e-6
"""Smallest over largest squared singular value from which the Gram matrix gives nine digits."""
_CHECK_EVERY = 8
_NOTHING = 1e-307
"""Length that cannot be divided by."""


class Linear(Protocol):
    """What is asked of a decoder at points: `upto.decoders.decoder.Linearisation` is one."""

    @property
    def points(self) -> Any:
        """The points, n×d."""
        ...

    @property
    def push(self) -> Callable[[Any], Any]:
        """J v for a direction at each point, n×d to n×m."""
        ...

    @property
    def pull(self) -> Callable[[Any], Any] | None:
        """Jᵀ u for weights at each point, n×m to n×d."""
        ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Extremes:
    """The largest and the smallest singular value at each point.

    `settled` says where both are known: everywhere if the Jacobian was formed. Elsewhere the
    largest is at least, and the smallest at most, what is given. `values` are all singular values,
    the largest first, and `columns` the lengths of the columns, where the Jacobian was formed.
    """

    largest: Float
    smallest: Float
    settled: NDArray[np.bool_]
    values: Float | None = None
    columns: Float | None = None


def jacobian_method(
    n_latents: int, n_outputs: int, *, can_pull: bool = True
) -> Literal["dense", "lanczos"]:
    """Say how the extremes of Jacobians of this size are best found."""
    is_small = n_latents <= DENSE_LATENTS and n_latents * n_outputs <= DENSE_ENTRIES
    return "dense" if is_small or not can_pull else "lanczos"


def batch_of_points(n_latents: int, n_outputs: int, steps: int | None = None) -> int:
    """Return how many points to take together; `steps` are those of Lanczos."""
    entries = n_latents * n_outputs if steps is None else steps * (n_latents + n_outputs)
    return max(1, min(MOST_POINTS, BATCH_BYTES // (8 * entries)))


def form_jacobians(linear: Linear) -> Any:
    """Return the transposed Jacobians, n×d×m, by one product for each latent."""
    xp, points = array_api_compat.array_namespace(linear.points), linear.points
    n_points, n_latents = points.shape
    device = array_api_compat.device(points)
    rows, formed = xp.eye(n_latents, dtype=points.dtype, device=device), None
    for latent in range(n_latents):
        pushed = linear.push(xp.broadcast_to(rows[latent, :], points.shape))
        if formed is None:
            shape = (n_points, n_latents, pushed.shape[1])
            formed = xp.empty(shape, dtype=pushed.dtype, device=device)
        formed[:, latent, :] = pushed
    return formed


def dense_extremes(jacobians: Any) -> Extremes:
    """Return all singular values of transposed Jacobians, n×d×m.

    The Gram matrix of d×d is enough where a Jacobian is well conditioned; elsewhere the singular
    values are those of the triangular factor of its QR decomposition.
    """
    xp = array_api_compat.array_namespace(jacobians)
    n_points, n_latents, n_outputs = jacobians.shape
    with np.errstate(over="ignore", invalid="ignore"):
        gram = jacobians @ xp.matrix_transpose(jacobians)
    diagonal = host_array(xp.linalg.diagonal(gram)).astype(np.float64)
    values = np.zeros((n_points, n_latents))
    columns = np.sqrt(diagonal)
    good: NDArray[np.bool_] = np.zeros(n_points, dtype=bool)
    if jacobians.dtype == xp.float64 and n_outputs >= n_latents:
        good[:] = np.isfinite(diagonal).all(axis=1) & (diagonal.max(axis=1) > 1e-200)
    if good.any():
        squares = host_array(xp.linalg.eigvalsh(gram[_index(xp, jacobians, good), ...]))[:, ::-1]
        clear = squares[:, -1] > _CONDITION * squares[:, 0]
        good[good] = clear
        values[good] = np.sqrt(squares[clear])
    if not good.all():
        rest = jacobians[_index(xp, jacobians, ~good), ...]
        columns[~good] = row_lengths(rest)
        values[~good, : min(n_latents, n_outputs)] = _careful_values(xp, rest)
    return Extremes(
        largest=values[:, 0],
        smallest=values[:, -1],
        settled=np.ones(n_points, dtype=bool),
        values=values,
        columns=columns,
    )


def row_lengths(rows: Any) -> Float:
    """Return the lengths along the last axis, though squares may leave the range of numbers.

    Parameters
    ----------
    rows
        An array of any library.
    """
    xp = array_api_compat.array_namespace(rows)
    scale = power_of_two(host_array(xp.max(xp.abs(rows), axis=-1)).astype(np.float64))
    device = array_api_compat.device(rows)
    scaled = rows / xp.asarray(scale[..., None], dtype=rows.dtype, device=device)
    squares = host_array(xp.sum(scaled * scaled, axis=-1)).astype(np.float64)
    with np.errstate(over="ignore"):
        lengths: Float = scale * np.sqrt(squares)
    return lengths


def power_of_two(sizes: Any) -> Float:
    """Return the largest powers of two up to given sizes, 1 for zero: dividing by them is exact."""
    sizes = np.asarray(sizes, dtype=np.float64)
    usable = np.isfinite(sizes) & (sizes > 0.0)
    _, exponents = np.frexp(np.where(usable, sizes, 1.0))
    scale: Float = np.where(usable, np.ldexp(1.0, exponents - 1), 1.0)
    return scale


def _careful_values(xp: Any, jacobians: Any) -> Float:
    found = host_array(jacobians).astype(np.float64)
    values = np.full((len(found), min(found.shape[1:])), np.nan)
    finite = np.isfinite(found).all(axis=(1, 2))
    some = xp.astype(jacobians[_index(xp, jacobians, finite), ...], xp.float64)
    if finite.any():
        if some.shape[1] < some.shape[2]:
            some = xp.linalg.qr(xp.matrix_transpose(some), mode="reduced")[1]
        values[finite] = host_array(xp.linalg.svdvals(some))
    return values


def _index(xp: Any, like: Any, chosen: Any) -> Any:
    return xp.asarray(np.flatnonzero(chosen), device=array_api_compat.device(like))


def lanczos_extremes(
    linear: Linear, *, steps: int, rng: np.random.Generator, tolerance: float = TOLERANCE
) -> Extremes:
    """Return the extremes by Golub-Kahan-Lanczos bidiagonalisation, bases kept orthogonal.

    J V = U B with B upper bidiagonal. A singular value of B is within β |p| of one of J, where p is
    the last entry of its left singular vector. With as many steps as latents nothing is left out
    and the extremes are exact.

    Parameters
    ----------
    linear
        The decoder at the points; it must know `pull`.
    steps
        Largest number of steps; each takes one product J v and one Jᵀ u.
    rng
        Draws the first direction, and others where the search has seen all it can from there.
    tolerance
        Residual at which an extreme is settled, over its value.
    """
    pull = linear.pull
    if pull is None:
        message = "Lanczos needs products with the transposed Jacobian."
        raise ValueError(message)
    n_points, n_latents = linear.points.shape
    steps = min(steps, n_latents)
    rights = _Basis(linear.points, n_latents, steps)
    right = rights.drawn(rng)
    first = linear.push(right)
    lefts = _Basis(first, first.shape[1], steps)
    diagonal, above = np.zeros((2, n_points, steps))
    for step in range(steps):
        rights.append(right)
        left = first if step == 0 else linear.push(right)
        left, diagonal[:, step] = lefts.orthogonal(left, _scale(diagonal, above))
        lefts.append(left)
        right, above[:, step] = rights.orthogonal(pull(left), _scale(diagonal, above))
        is_last = step + 1 == steps
        if is_last or (step + 1) % _CHECK_EVERY == 0:
            is_complete = step + 1 == n_latents
            found = _ritz(diagonal, above, step + 1, tolerance, is_complete=is_complete)
            if is_last or bool(found.settled.all()):
                return found
        right = rights.renewed(right, above[:, step] == 0.0, rng)
    message = f"there are no extremes after {steps} steps."
    raise ValueError(message)


def _scale(diagonal: Float, above: Float) -> Float:
    """Return the size of the largest entries so far, at each point."""
    scale: Float = np.maximum(diagonal, above).max(axis=1)
    return scale


def _ritz(
    diagonal: Float, above: Float, steps: int, tolerance: float, *, is_complete: bool
) -> Extremes:
    """Return the extremes of the bidiagonal matrices, and whether they are settled."""
    n_points = len(diagonal)
    matrices = np.zeros((n_points, steps, steps))
    places = np.arange(steps)
    matrices[:, places, places] = diagonal[:, :steps]
    matrices[:, places[:-1], places[1:]] = above[:, : steps - 1]
    finite = np.isfinite(matrices).all(axis=(1, 2))
    matrices[~finite] = 0.0
    lefts, values, _ = np.linalg.svd(matrices)
    largest, smallest = values[:, 0], values[:, -1]
    largest[~finite] = smallest[~finite] = np.nan
    if is_complete:
        settled = np.ones(n_points, dtype=bool)
    else:
        residuals = above[:, steps - 1, None] * np.abs(lefts[:, -1, :])
        rounding = steps * np.finfo(np.float64).eps * largest
        settled = (residuals[:, 0] <= tolerance * largest) & (
            residuals[:, -1] <= tolerance * smallest + rounding
        )
    return Extremes(largest=largest, smallest=smallest, settled=settled)


class _Basis:
    """Orthonormal vectors at each point, in the array library of the points."""

    def __init__(self, like: Any, width: int, steps: int) -> None:
        self.xp = array_api_compat.array_namespace(like)
        self.dtype, self.device = like.dtype, array_api_compat.device(like)
        self.vectors = self.xp.zeros(
            (like.shape[0], steps, width), dtype=self.dtype, device=self.device
        )
        self.count = 0
        self.tiny = float(self.xp.finfo(self.dtype).eps) * max(width, 8)

    def append(self, vectors: Any) -> None:
        """Take one more vector at each point."""
        self.vectors[:, self.count, :] = vectors
        self.count += 1

    def drawn(self, rng: np.random.Generator) -> Any:
        """Draw a unit vector at each point."""
        n_points, _, width = self.vectors.shape
        numbers = rng.standard_normal((n_points, width))
        return self._array(numbers / np.linalg.norm(numbers, axis=1, keepdims=True))

    def orthogonal(self, vectors: Any, scale: Float) -> tuple[Any, Float]:
        """Return unit vectors orthogonal to the basis and their lengths, zero if nothing is left.

        The three-term recurrence is part of this: what it takes off lies in the basis.
        """
        kept = self.vectors[:, : self.count, :]
        # Once is not enough where most of a vector lies in the basis; twice always is.
        for _ in range(2 if self.count else 0):
            shares = kept @ vectors[..., None]
            vectors = vectors - (self.xp.matrix_transpose(kept) @ shares)[..., 0]
        lengths = row_lengths(vectors)
        lengths[lengths <= np.maximum(self.tiny * scale, _NOTHING)] = 0.0
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths != 0.0)
        return vectors * self._array(inverse[:, None]), lengths

    def renewed(self, vectors: Any, ended: NDArray[np.bool_], rng: np.random.Generator) -> Any:
        """Draw new vectors where the search has seen all it can from the first one."""
        if not ended.any():
            return vectors
        drawn, _ = self.orthogonal(self.drawn(rng), np.zeros(len(ended)))
        where = self.xp.asarray(ended[:, None], device=self.device)
        return self.xp.where(where, drawn, vectors)

    def _array(self, numbers: Float) -> Any:
        return self.xp.asarray(numbers, dtype=self.dtype, device=self.device)
