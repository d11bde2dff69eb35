"""Mixings with known local bi-Lipschitz constant: linear, LeakyReLU networks, compositions.

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
from upto.core.array_types import Float

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mixing(ABC):
    """An injective map from `n_in` to `n_out` coordinates.

    Parameters
    ----------
    n_in, n_out
        Input and output width; ``n_out`` is at least ``n_in``.
    lipschitz
        L, where 1 + L is the local bi-Lipschitz constant: 0 for an isometry.
    attained
        Whether the constant is exact, i.e. some point has a singular value of 1 + L or 1/(1 + L);
        otherwise it is an upper bound.
    radius
        Radius of the ball about zero on which the constant is valid (and, if exact, attained); None
        if it is valid everywhere.
    keeps_balls
        Whether that ball and those within it are mapped onto balls, so both supports are convex.

    See Also
    --------
    draw_mixing : Random ones by name.
    linear_mixing : A matrix with given singular values.
    leaky_mixing : A network.
    compose : Several in turn.
    """

    n_in: int
    n_out: int
    lipschitz: float
    attained: bool
    radius: float | None = None
    keeps_balls: bool = False

    @property
    def constant(self) -> float:
        """The constant Λ = 1 + L."""
        return 1.0 + self.lipschitz

    def __call__(self, points: Any) -> Float:
        """Map rows of `n_in` coordinates."""
        return self._map(checked(points, self.n_in))

    def inverse(self, images: Any) -> Float:
        """Map rows of `n_out` coordinates back; exact for images of rows."""
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
    """Rows times a matrix, plus a translation.

    See Also
    --------
    linear_mixing : Draws one with given singular values.
    rigid_mixing : Draws an isometry.
    """

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
    """Orthogonal layers without bias, with a LeakyReLU between consecutive layers.

    See Also
    --------
    leaky_mixing : Draws one.
    """

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
    """Return a random rotation or reflection, into `n_out` coordinates if given.

    Parameters
    ----------
    n_in, n_out
        Input and output width; equal by default.
    seed
        Seed of the random number generator.

    Returns
    -------
    LinearMixing
        An isometry, of constant L = 0.

    See Also
    --------
    linear_mixing : The same with other singular values.
    upto.testing.random_element : Random elements of groups as arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.simulate import rigid_mixing
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

    Parameters
    ----------
    singular_values
        Positive numbers, as many as inputs.
    n_out
        Output width; that of the input by default.
    seed
        Seed of the singular vectors.

    Returns
    -------
    LinearMixing
        The map, of constant Λ = max(σ₊, 1/σ₋).

    See Also
    --------
    rigid_mixing : All singular values are one.
    draw_mixing : A matrix, or another map, for a given constant.

    Examples
    --------
    >>> from upto.simulate import linear_mixing
    >>> linear_mixing([2.0, 1.0, 0.25], seed=0).lipschitz
    3.0
    """
    values = np.asarray(singular_values, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not np.all(np.isfinite(values) & (values > 0)):
        message = f"singular values {list(singular_values)} are not positive: give positive ones."
        raise InputError(message)
    lipschitz = max(float(values.max()), 1 / float(values.min())) - 1
    return _linear(values, n_out, seed, lipschitz=lipschitz)


def leaky_mixing(widths: Sequence[int], *, leak: float, seed: int) -> LeakyMixing:
    r"""Return a random network of orthogonal layers with LeakyReLUs between them.

    Its constant is at most the product of 1/leak over the LeakyReLUs. This is exact without
    LeakyReLUs and for one after a square layer; for deeper or wider networks it is an upper bound.

    Parameters
    ----------
    widths
        Widths from input to output, non-decreasing: ``(2, 8, 8)`` has two layers.
    leak
        Slope of the LeakyReLU below zero, in (0, 1].
    seed
        Seed of the weights.

    Returns
    -------
    LeakyMixing
        The network.

    See Also
    --------
    upto.theory.leaky_bound : The same bound as a promise.
    upto.theory.certify_network : The bound for weights that are not orthogonal.
    draw_mixing : Smooth maps with an exact constant.

    Notes
    -----
    For leak α and k LeakyReLUs, Λ is at most

    .. math::

        1 + L = \alpha^{-k}

    Examples
    --------
    >>> from upto.simulate import leaky_mixing
    >>> mixing = leaky_mixing((2, 8, 8), leak=0.8, seed=0)
    >>> mixing.n_out, mixing.lipschitz, mixing.attained
    (8, 0.25, False)
    """
    if len(widths) < 2 or min(widths) < 1 or list(widths) != sorted(widths):
        message = f"widths {tuple(widths)} are invalid: give two or more that never decrease."
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
    """Return the composition of mixings, the first applied first.

    The product of the constants is an upper bound, and exact if all but one are isometries. The
    `radius` is that of the first part: make sure that images stay within those of the others.

    Parameters
    ----------
    *parts
        Mixings, each as wide as the one before.

    Returns
    -------
    Mixing
        The composition.

    See Also
    --------
    draw_mixing : Mixings to compose.

    Notes
    -----
    Constants multiply: Λ is at most the product of those of the parts.

    Examples
    --------
    >>> from upto.simulate import compose, linear_mixing
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
                f"{after.n_in}: make the widths match."
            )
            raise InputError(message)
    if len(parts) == 1:
        return parts[0]
    bending = [part for part in parts if part.lipschitz > 0]
    radii = [part.radius for part in parts if part.radius is not None]
    return Composition(
        n_in=parts[0].n_in,
        n_out=parts[-1].n_out,
        # The constant of a single part stays exact to the last bit.
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
    """Draw a uniformly random matrix with orthonormal rows."""
    columns, triangle = np.linalg.qr(stream.normal(size=(n_out, n_in)))
    # Without the signs, QR does not sample rotations uniformly.
    return np.asarray((columns * np.where(np.diag(triangle) < 0, -1.0, 1.0)).T)


def checked(rows: Any, width: int) -> Float:
    """Return points as a checked array of doubles."""
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
        message = f"{n_in} coordinates do not fit into {n_out}: use {max(n_in, 1)} or more."
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
