"""Maps with a known local bi-Lipschitz constant: linear, LeakyReLU networks, compositions.

Maps act on rows. A constant Λ = 1 + L bounds every singular value of the Jacobian by Λ from above
and by 1/Λ from below.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, random_stream
from upto.core.arrays import Float

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixing(ABC):
    """An injective map from `n_in` to `n_out` coordinates.

    Parameters
    ----------
    n_in, n_out
        Its widths; never narrowing.
    lipschitz
        L, where 1 + L is its local bi-Lipschitz constant: 0 for an isometry.
    attained
        Whether the constant is exact: some point has a singular value of 1 + L or 1/(1 + L).
        Otherwise it is an upper bound.
    radius
        The constant is valid (and, if exact, attained) on the ball of this radius about zero; None
        where it is valid everywhere.
    keeps_balls
        Whether it maps that ball and those within it onto balls, so that both supports are convex.
    """

    n_in: int
    n_out: int
    lipschitz: float
    attained: bool
    radius: float | None = None
    keeps_balls: bool = False

    @property
    def constant(self) -> float:
        """The constant Λ = 1 + L itself."""
        return 1.0 + self.lipschitz

    def __call__(self, points: Any) -> Float:
        """Map rows of `n_in` coordinates."""
        return self._map(checked(points, self.n_in))

    def inverse(self, images: Any) -> Float:
        """Map rows of `n_out` coordinates back; exact for rows that are images."""
        return self._inverse(checked(images, self.n_out))

    def jacobian(self, points: Any) -> Float:
        """Return the derivative at each row, of shape (rows, n_out, n_in)."""
        return self._jacobian(checked(points, self.n_in))

    @abstractmethod
    def _map(self, points: Float) -> Float: ...

    @abstractmethod
    def _inverse(self, images: Float) -> Float: ...

    @abstractmethod
    def _jacobian(self, points: Float) -> Float: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearMixing(Mixing):
    """Rows times a matrix, plus a translation."""

    matrix: Float
    translation: Float

    def _map(self, points: Float) -> Float:
        return points @ self.matrix + self.translation

    def _inverse(self, images: Float) -> Float:
        return (images - self.translation) @ np.linalg.pinv(self.matrix)

    def _jacobian(self, points: Float) -> Float:
        return np.broadcast_to(self.matrix.T, (len(points), self.n_out, self.n_in))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeakyMixing(Mixing):
    """Orthogonal layers without bias, and a LeakyReLU between any two of them."""

    weights: tuple[Float, ...]
    leak: float

    def _map(self, points: Float) -> Float:
        for weight in self.weights[:-1]:
            points = points @ weight
            points = np.where(points > 0, points, self.leak * points)
        return points @ self.weights[-1]

    def _inverse(self, images: Float) -> Float:
        for weight in self.weights[:0:-1]:
            images = images @ weight.T
            images = np.where(images > 0, images, images / self.leak)
        return images @ self.weights[0].T

    def _jacobian(self, points: Float) -> Float:
        jacobian: Float = np.broadcast_to(np.eye(self.n_in), (len(points), self.n_in, self.n_in))
        for weight in self.weights[:-1]:
            points = points @ weight
            slopes = np.where(points > 0, 1.0, self.leak)
            jacobian = slopes[:, :, None] * (weight.T @ jacobian)
            points = points * slopes
        return np.asarray(self.weights[-1].T @ jacobian)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composition(Mixing):
    """Several mixings, the first applied first."""

    parts: tuple[Mixing, ...]

    def _map(self, points: Float) -> Float:
        for part in self.parts:
            points = part(points)
        return points

    def _inverse(self, images: Float) -> Float:
        for part in reversed(self.parts):
            images = part.inverse(images)
        return images

    def _jacobian(self, points: Float) -> Float:
        first, *rest = self.parts
        jacobian = first.jacobian(points)
        for before, part in zip(self.parts, rest, strict=False):
            points = before(points)
            jacobian = part.jacobian(points) @ jacobian
        return jacobian


def rigid_mixing(n_in: int, *, n_out: int | None = None, seed: int) -> LinearMixing:
    """Return a random rotation or reflection, into more coordinates if asked.

    Examples
    --------
    >>> mixing = rigid_mixing(3, n_out=5, seed=0)
    >>> points = np.eye(3)
    >>> bool(np.allclose(mixing.inverse(mixing(points)), points)), mixing.lipschitz
    (True, 0.0)
    """
    return _linear(np.ones(n_in), n_out, seed, lipschitz=0.0)


def linear_mixing(
    singular_values: Sequence[float], *, n_out: int | None = None, seed: int
) -> LinearMixing:
    """Return a random matrix with these singular values.

    Examples
    --------
    >>> linear_mixing([2.0, 1.0, 0.25], seed=0).lipschitz
    3.0
    """
    values = np.asarray(singular_values, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not np.all(np.isfinite(values) & (values > 0)):
        message = f"singular values {list(singular_values)} are not all positive: make them so."
        raise InputError(message)
    lipschitz = max(float(values.max()), 1 / float(values.min())) - 1
    return _linear(values, n_out, seed, lipschitz=lipschitz)


def leaky_mixing(widths: Sequence[int], *, leak: float, seed: int) -> LeakyMixing:
    """Return a random network of orthogonal layers with a LeakyReLU between any two.

    Its constant is at most 1/leak for each LeakyReLU. That is exact with one LeakyReLU after a
    square layer, and where there is none; deeper or wider networks stay below it.

    Parameters
    ----------
    widths
        The widths from input to output, never narrowing: ``(2, 8, 8)`` has two layers.
    leak
        The slope of the LeakyReLU below zero, above 0 and at most 1.
    seed
        The seed of the weights.

    Examples
    --------
    >>> mixing = leaky_mixing((2, 8, 8), leak=0.8, seed=0)
    >>> mixing.n_out, mixing.lipschitz, mixing.attained
    (8, 0.25, False)
    """
    if len(widths) < 2 or min(widths) < 1 or list(widths) != sorted(widths):
        message = f"widths {tuple(widths)} do not grow: give two or more that never narrow."
        raise InputError(message)
    if not 0 < leak <= 1:
        message = f"a leak of {leak:g} is not in (0, 1]: at zero the network is not injective."
        raise InputError(message)
    stream = random_stream(seed, "mixing", "leaky")
    n_leaks = len(widths) - 2
    return LeakyMixing(
        n_in=widths[0],
        n_out=widths[-1],
        lipschitz=leak**-n_leaks - 1,
        attained=leak == 1 or n_leaks == 0 or (n_leaks == 1 and widths[0] == widths[1]),
        keeps_balls=leak == 1 or n_leaks == 0,
        weights=tuple(
            orthonormal_rows(stream, before, after) for before, after in itertools.pairwise(widths)
        ),
        leak=leak,
    )


def compose(*parts: Mixing) -> Mixing:
    """Return the map that applies mixings one after the other.

    Constants multiply, which is an upper bound; it stays exact where all but one are isometries.
    The result's `radius` is that of the first part: see to it that images stay within the others'.

    Examples
    --------
    >>> both = compose(linear_mixing([2.0, 1.0], seed=0), linear_mixing([1.5, 1.0], seed=1))
    >>> both.lipschitz, both.attained
    (2.0, False)
    """
    if not parts:
        message = "0 mixings cannot be composed: give at least one."
        raise InputError(message)
    for before, after in itertools.pairwise(parts):
        if before.n_out != after.n_in:
            message = (
                f"a mixing into {before.n_out} coordinates cannot be followed by one from "
                f"{after.n_in}: make the widths meet."
            )
            raise InputError(message)
    if len(parts) == 1:
        return parts[0]
    bending = [part for part in parts if part.lipschitz > 0]
    radii = [part.radius for part in parts if part.radius is not None]
    return Composition(
        n_in=parts[0].n_in,
        n_out=parts[-1].n_out,
        # Of one part alone the constant is kept to the last bit.
        lipschitz=(
            bending[0].lipschitz
            if len(bending) == 1
            else math.prod(part.constant for part in parts) - 1
        ),
        attained=not bending or (len(bending) == 1 and bending[0].attained),
        radius=parts[0].radius if parts[0].radius is not None else next(iter(radii), None),
        keeps_balls=all(part.keeps_balls for part in parts),
        parts=parts,
    )


def orthonormal_rows(stream: np.random.Generator, n_in: int, n_out: int) -> Float:
    """Draw a matrix with orthonormal rows, uniformly."""
    columns, triangle = np.linalg.qr(stream.normal(size=(n_out, n_in)))
    # Without the signs QR does not give every rotation the same chance.
    return np.asarray((columns * np.where(np.diag(triangle) < 0, -1.0, 1.0)).T)


def checked(rows: Any, width: int) -> Float:
    """Return points as an array of doubles, or say what is wrong with them."""
    points: Float = np.asarray(rows, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != width:
        message = f"points of shape {points.shape} are not rows of {width} coordinates."
        raise InputError(message)
    if not np.isfinite(points).all():
        n_bad = int((~np.isfinite(points).all(axis=1)).sum())
        message = f"{n_bad} of {len(points)} points are not finite: leave them out."
        raise InputError(message)
    return points


def _linear(values: Float, n_out: int | None, seed: int, *, lipschitz: float) -> LinearMixing:
    n_in = len(values)
    n_out = n_in if n_out is None else n_out
    if n_in < 1 or n_out < n_in:
        message = f"{n_in} coordinates do not fit into {n_out}: ask for {max(n_in, 1)} or more."
        raise InputError(message)
    stream = random_stream(seed, "mixing", "linear")
    left, right = orthonormal_rows(stream, n_in, n_in), orthonormal_rows(stream, n_in, n_out)
    return LinearMixing(
        n_in=n_in,
        n_out=n_out,
        lipschitz=lipschitz,
        attained=True,
        keeps_balls=lipschitz == 0,
        matrix=(left * values) @ right,
        translation=np.zeros(n_out),
    )
