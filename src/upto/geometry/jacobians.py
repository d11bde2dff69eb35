"""Extreme singular values of the Jacobians of a decoder at many points.

A small Jacobian is formed, with one product J v per latent, and its singular values are exact. A
large one is not formed: Golub-Kahan-Lanczos bidiagonalisation finds its extremes from products J v
and Jᵀ u, for all points at once; residuals bound their distance from true singular values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from upto.core.array_types import Float
from upto.engines import host_array

if TYPE_CHECKING:
    from collections.abc import Callable


DENSE_ENTRIES, DENSE_LATENTS = 2**25, 1024
"""Largest number of entries and of columns of a Jacobian that is formed."""
BATCH_BYTES, MOST_POINTS = 2**27, 256
"""Memory for the Jacobians or bases of points processed together, and their largest number."""
TOLERANCE = 1e-7
"""A singular value has converged if its residual is at most this fraction of it."""
_CONDITION = 1e-6
"""Smallest ratio of squared singular values for which the Gram matrix gives nine digits."""
_CHECK_EVERY = 8
_NOTHING = 1e-307
"""Length below which division is unsafe."""


class Linear(Protocol):
    """Linearisation of a decoder at points, e.g. `upto.decoders.decoder.Linearisation`."""

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

    `settled` marks points where both have converged: all, if the Jacobian was formed. Elsewhere
    `largest` is a lower and `smallest` an upper bound. `values` are all singular values, largest
    first, and `columns` the norms of the columns, if the Jacobian was formed.
    """

    largest: Float
    smallest: Float
    settled: NDArray[np.bool_]
    values: Float | None = None
    columns: Float | None = None


def jacobian_method(
    n_latents: int, n_outputs: int, *, can_pull: bool = True
) -> Literal["dense", "lanczos"]:
    """Return the best method for the extremes of Jacobians of this size."""
    is_small = n_latents <= DENSE_LATENTS and n_latents * n_outputs <= DENSE_ENTRIES
    return "dense" if is_small or not can_pull else "lanczos"


def batch_of_points(n_latents: int, n_outputs: int, steps: int | None = None) -> int:
    """Return the number of points to process together; `steps` are Lanczos steps."""
    entries = n_latents * n_outputs if steps is None else steps * (n_latents + n_outputs)
    return max(1, min(MOST_POINTS, BATCH_BYTES // (8 * entries)))


def form_jacobians(linear: Linear) -> Any:
    """Return the transposed Jacobians, n×d×m, by one product per latent."""
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

    The d×d Gram matrix suffices if a Jacobian is well conditioned; otherwise the singular values
    are those of the triangular factor of its QR decomposition.
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
    """Return norms along the last axis, even if squares would overflow or underflow.

    Parameters
    ----------
    rows
        Array of any library.
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
    """Return the largest powers of two up to given sizes, 1 for zero; dividing by them is exact."""
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
    """Return the extremes by Golub-Kahan-Lanczos bidiagonalisation with reorthogonalisation.

    J V = U B with B upper bidiagonal. A singular value of B is within β |p| of one of J, where p is
    the last entry of its left singular vector. With as many steps as latents the extremes are
    exact.

    Parameters
    ----------
    linear
        The decoder at the points; it must provide `pull`.
    steps
        Largest number of steps, each with one product J v and one Jᵀ u.
    rng
        Random number generator of the first direction, and of new ones after a breakdown.
    tolerance
        Residual, relative to its value, at which an extreme has converged.
    """
    pull = linear.pull
    if pull is None:
        message = "Lanczos needs products with the transposed Jacobian: provide `pull`."
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
    message = f"there are no extremes after {steps} steps: allow at least one."
    raise ValueError(message)


def _scale(diagonal: Float, above: Float) -> Float:
    """Return the largest absolute entry so far at each point."""
    scale: Float = np.maximum(diagonal, above).max(axis=1)
    return scale


def _ritz(
    diagonal: Float, above: Float, steps: int, tolerance: float, *, is_complete: bool
) -> Extremes:
    """Return the extremes of the bidiagonal matrices, and whether they have converged."""
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
    """Orthonormal vectors at each point, in the points' array library."""

    def __init__(self, like: Any, width: int, steps: int) -> None:
        self.xp = array_api_compat.array_namespace(like)
        self.dtype, self.device = like.dtype, array_api_compat.device(like)
        self.vectors = self.xp.zeros(
            (like.shape[0], steps, width), dtype=self.dtype, device=self.device
        )
        self.count = 0
        self.tiny = float(self.xp.finfo(self.dtype).eps) * max(width, 8)

    def append(self, vectors: Any) -> None:
        """Append one vector at each point."""
        self.vectors[:, self.count, :] = vectors
        self.count += 1

    def drawn(self, rng: np.random.Generator) -> Any:
        """Draw a unit vector at each point."""
        n_points, _, width = self.vectors.shape
        numbers = rng.standard_normal((n_points, width))
        return self._array(numbers / np.linalg.norm(numbers, axis=1, keepdims=True))

    def orthogonal(self, vectors: Any, scale: Float) -> tuple[Any, Float]:
        """Return unit vectors orthogonal to the basis and their lengths, zero if nothing remains.

        This includes the three-term recurrence, whose correction lies in the basis.
        """
        kept = self.vectors[:, : self.count, :]
        # One pass is not enough if most of a vector lies in the basis; two always are.
        for _ in range(2 if self.count else 0):
            shares = kept @ vectors[..., None]
            vectors = vectors - (self.xp.matrix_transpose(kept) @ shares)[..., 0]
        lengths = row_lengths(vectors)
        lengths[lengths <= np.maximum(self.tiny * scale, _NOTHING)] = 0.0
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths != 0.0)
        return vectors * self._array(inverse[:, None]), lengths

    def renewed(self, vectors: Any, ended: NDArray[np.bool_], rng: np.random.Generator) -> Any:
        """Draw new vectors where the Krylov space is exhausted."""
        if not ended.any():
            return vectors
        drawn, _ = self.orthogonal(self.drawn(rng), np.zeros(len(ended)))
        where = self.xp.asarray(ended[:, None], device=self.device)
        return self.xp.where(where, drawn, vectors)

    def _array(self, numbers: Float) -> Any:
        return self.xp.asarray(numbers, dtype=self.dtype, device=self.device)
