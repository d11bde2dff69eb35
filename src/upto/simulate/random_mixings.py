"""Random mixings by name, with a prescribed bi-Lipschitz constant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from upto.core import InputError
from upto.simulate.mixings import Mixing, compose, leaky_mixing, linear_mixing, rigid_mixing
from upto.simulate.twists import spiral, twist
from upto.simulate.warps import ball_inversion, radial_warp, shear_wave

Maker = Callable[[int, float, float, int], Mixing]


def draw_mixing(
    kind: str,
    n_in: int,
    *,
    n_out: int | None = None,
    lipschitz: float,
    radius: float = 1.0,
    seed: int,
) -> Mixing:
    """Draw a mixing whose local bi-Lipschitz constant on a ball is 1 + `lipschitz`, exactly.

    Parameters
    ----------
    kind
        One of `MIXINGS`: ``linear``, ``leaky``, ``radial``, ``twist``, ``spiral``, ``inversion`` or
        ``wave``. All but ``leaky`` and, at zero, ``spiral`` are smooth; ``radial``, ``twist``,
        ``spiral`` and ``inversion`` map the ball onto a ball. ``twist``, ``spiral`` and ``wave``
        need two dimensions.
    n_in, n_out
        Input and output width; a larger output is an isometric embedding.
    lipschitz
        L, at least 0.
    radius
        Radius of the ball about zero on which the constant is valid and attained.
    seed
        Seed of the random number generator.

    Returns
    -------
    Mixing
        The map, with its inverse and its Jacobian.

    See Also
    --------
    draw_ball : Points on which the constant holds.
    radial_warp : One kind by itself, as are `twist`, `spiral`, `ball_inversion` and `shear_wave`.
    compose : Several maps in turn.
    upto.lipschitz : Measures the constant of a decoder.

    Examples
    --------
    >>> from upto.simulate import draw_mixing
    >>> mixing = draw_mixing("twist", 4, lipschitz=0.1, n_out=10, seed=0)
    >>> mixing.n_out, mixing.lipschitz, mixing.attained, mixing.keeps_balls
    (10, 0.1, True, True)
    """
    if kind not in MIXINGS:
        message = f"there is no mixing {kind!r}: choose one of {', '.join(MIXINGS)}."
        raise InputError(message)
    mixing = MIXINGS[kind](n_in, lipschitz, radius, seed)
    return compose(mixing, rigid_mixing(n_in, n_out=n_out, seed=seed))


def _linear(n: int, lipschitz: float, _: float, seed: int) -> Mixing:
    _check(lipschitz)
    values = np.geomspace(1 + lipschitz, 1 / (1 + lipschitz), n)
    return linear_mixing([1 + lipschitz, *values[1:]], seed=seed)


def _leaky(n: int, lipschitz: float, _: float, seed: int) -> Mixing:
    _check(lipschitz)
    return leaky_mixing((n, n, n), leak=1 / (1 + lipschitz), seed=seed)


def _check(lipschitz: float) -> None:
    if not (np.isfinite(lipschitz) and lipschitz >= 0):
        message = f"L = {lipschitz:g} is not a valid constant: give 0, an isometry, or more."
        raise InputError(message)


MIXINGS: dict[str, Maker] = {
    "linear": _linear,
    "leaky": _leaky,
    "radial": lambda n, lipschitz, radius, _: radial_warp(n, lipschitz=lipschitz, radius=radius),
    "twist": lambda n, lipschitz, radius, seed: twist(
        n, lipschitz=lipschitz, radius=radius, seed=seed
    ),
    "spiral": lambda n, lipschitz, _, seed: spiral(n, lipschitz=lipschitz, seed=seed),
    "inversion": lambda n, lipschitz, radius, seed: ball_inversion(
        n, lipschitz=lipschitz, radius=radius, seed=seed
    ),
    "wave": lambda n, lipschitz, radius, seed: shear_wave(
        n, lipschitz=lipschitz, radius=radius, seed=seed
    ),
}
"""Constructors of the mixings of `draw_mixing`."""
