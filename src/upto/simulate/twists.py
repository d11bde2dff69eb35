"""Twists and spirals: smooth rotations of spheres with a prescribed bi-Lipschitz constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from upto.core import random_stream
from upto.core.array_types import Float
from upto.simulate.mixings import Mixing, orthonormal_rows
from upto.simulate.warps import check_warp, norms, polar, shear_size


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Twist(Mixing):
    """Map that rotates every sphere about zero by an angle that depends on its radius.

    The angle is k·|x|²/(2R²), or k·log|x| for a spiral: the time-one map of a divergence-free flow,
    since every sphere keeps its volume.
    """

    generator: Float
    shear: float
    is_spiral: bool

    def _map(self, points: Float) -> Float:
        return self._turned(points, self._angles(norms(points)))

    def _inverse(self, images: Float) -> Float:
        return self._turned(images, -self._angles(norms(images)))

    def _jacobian(self, points: Float) -> Float:
        radii, directions = polar(points)
        angles, shears = self._angles(radii), self._shears(radii)
        # The derivative of x ↦ exp(angle·G)·x is exp(angle·G)·(I + shear·G·x̂·x̂ᵀ).
        columns = (
            np.eye(self.n_in)
            + (shears * (directions @ self.generator))[:, :, None] * (directions[:, None, :])
        )
        turned = self._turned(
            columns.swapaxes(1, 2).reshape(-1, self.n_in), np.repeat(angles, self.n_in, axis=0)
        )
        return np.asarray(turned.reshape(-1, self.n_in, self.n_in).swapaxes(1, 2))

    def _turned(self, points: Float, angles: Float) -> Float:
        moved = points @ self.generator
        planes = -moved @ self.generator
        return np.asarray(points + (np.cos(angles) - 1) * planes + np.sin(angles) * moved)

    def _angles(self, radii: Float) -> Float:
        if self.is_spiral:
            return self.shear * np.log(np.where(radii > 0, radii, 1.0))
        return np.asarray(self.shear * (radii / self._size) ** 2 / 2)

    def _shears(self, radii: Float) -> Float:
        if self.is_spiral:
            return np.where(radii > 0, self.shear, 0.0)
        return np.asarray(self.shear * (radii / self._size) ** 2)

    @property
    def _size(self) -> float:
        return 1.0 if self.radius is None else self.radius


def twist(n: int, *, lipschitz: float, radius: float = 1.0, seed: int) -> Twist:
    r"""Return a smooth twist; its constant is valid on the ball and attained on its surface.

    Parameters
    ----------
    n
        Number of coordinates, at least 2; in odd dimensions one axis does not move.
    lipschitz
        L, at least 0.
    radius
        Radius R of the ball on which the constant is valid.
    seed
        Seed of the planes of rotation.

    Returns
    -------
    Mixing
        The map.

    See Also
    --------
    spiral : Equal singular values everywhere.
    draw_mixing : The same by name.

    Notes
    -----
    With Λ = 1 + L and a matrix G that turns orthogonal planes by right angles,

    .. math::

        x' = e^{\theta G} x, \qquad \theta = \frac{k |x|^2}{2 R^2}, \quad k = \Lambda - 1 / \Lambda

    The Jacobian is a rotation times a shear of size k\|x\|²/R², whose singular values at \|x\| = R
    are Λ and 1/Λ. Volumes do not change.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.simulate import twist
    >>> mixing = twist(2, lipschitz=0.5, seed=0)
    >>> values = np.linalg.svd(mixing.jacobian([[1.0, 0.0]]), compute_uv=False)
    >>> values.round(6).tolist()
    [[1.5, 0.666667]]
    """
    check_warp(n, lipschitz, radius, least=2)
    return _twist(n, lipschitz, radius, seed)


def spiral(n: int, *, lipschitz: float, seed: int) -> Twist:
    r"""Return a logarithmic spiral, with the same singular values at every point except zero.

    In odd dimensions they are largest perpendicular to the axis. At zero the map is continuous but
    not differentiable.

    Parameters
    ----------
    n
        Number of coordinates, at least 2.
    lipschitz
        L, at least 0.
    seed
        Seed of the planes of rotation.

    Returns
    -------
    Mixing
        The map.

    See Also
    --------
    twist : A smooth map of the same kind.
    draw_mixing : The same by name.

    Notes
    -----
    It is that of `twist` with the angle θ = k log\|x\|, so that the shear is k everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.simulate import spiral
    >>> mixing = spiral(2, lipschitz=0.5, seed=0)
    >>> values = np.linalg.svd(mixing.jacobian([[0.1, 0.0], [9.0, 9.0]]), compute_uv=False)
    >>> values.round(6).tolist()
    [[1.5, 0.666667], [1.5, 0.666667]]
    """
    check_warp(n, lipschitz, 1.0, least=2)
    return _twist(n, lipschitz, None, seed)


def _twist(n: int, lipschitz: float, radius: float | None, seed: int) -> Twist:
    planes = np.zeros((n, n))
    first = np.arange(0, n - 1, 2)
    planes[first, first + 1], planes[first + 1, first] = 1.0, -1.0
    frame = orthonormal_rows(random_stream(seed, "mixing", "twist"), n, n)
    return Twist(
        n_in=n,
        n_out=n,
        lipschitz=lipschitz,
        attained=True,
        radius=radius,
        keeps_balls=True,
        generator=frame.T @ planes @ frame,
        shear=shear_size(lipschitz),
        is_spiral=radius is None,
    )
