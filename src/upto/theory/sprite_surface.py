"""Appendix A.6: the surface of images of a white square that moves and grows, in closed form.

The square has its centre at (p, 0) and half side r. Images are smoothed by a Gaussian, squared
norms are divided by the smoothing constant, and the width goes to zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.core import Constant, InputError, Promise, finite_or_none
from upto.theory.isometry import LOCAL_CLAIM, stretch_constants
from upto.theory.valid_numbers import check_finite, check_number, check_size, infinite_says_nothing

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scaling = Literal["centred", "smallest", "none"]


def sprite_metric(half_side: float) -> NDArray[np.float64]:
    r"""Return the metric in (p, r): two moving edges of length 2r, and four growing ones.

    Parameters
    ----------
    half_side
        Half side r of the square, between 0 and 1.

    Returns
    -------
    ndarray of shape (2, 2)
        The metric tensor.

    See Also
    --------
    conformal_factor : Its root in the coordinates (p, √2 r).
    sprite_promise : The bi-Lipschitz constant that follows.

    Notes
    -----
    An image changes only at the edges of the square: two edges of length 2r move with p, four with
    r.

    .. math::

        ds^2 = 4 r \, dp^2 + 8 r \, dr^2

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import sprite_metric
    >>> sprite_metric(0.25).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    r = _half_side(half_side)
    return np.diag([4.0 * r, 8.0 * r])


def conformal_factor(half_side: float) -> float:
    r"""Return 2√r, the stretch of (p, √2 r) in every direction: the map is conformal.

    Parameters
    ----------
    half_side
        Half side r of the square, between 0 and 1.

    Returns
    -------
    float
        The length in image space of a unit step in any direction of (p, √2 r).

    See Also
    --------
    sprite_metric : The metric in (p, r).
    position_distance : Distances at constant size.

    Notes
    -----
    In the coordinates (p, q) with q = √2 r the metric is a multiple of the Euclidean one:

    .. math::

        ds^2 = 4 r \, (dp^2 + dq^2)

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import conformal_factor
    >>> conformal_factor(0.25)
    1.0
    """
    return 2.0 * math.sqrt(_half_side(half_side))


def position_distance(first: float, second: float, *, half_side: float) -> float:
    """Return the distance along the images of a moving square of constant size, 2√r per unit.

    Parameters
    ----------
    first, second
        Positions p₀ and p₁.
    half_side
        Half side r.

    Returns
    -------
    float
        2√r times the distance between the positions.

    See Also
    --------
    conformal_factor : The length of a unit step.
    sprite_promise : The bi-Lipschitz constant over all sizes.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import position_distance
    >>> position_distance(-0.5, 0.25, half_side=0.25)
    0.75
    """
    start, end = check_number(first, "the first position"), check_number(second, "the second")
    return conformal_factor(half_side) * abs(end - start)


def sprite_promise(smallest: float, largest: float, *, scaling: Scaling = "centred") -> Promise:
    r"""Return the bi-Lipschitz constant of the images over (p, √2 r).

    The paper's clause on the scale is illegible, so there are three options; `centred` gives the
    smallest constant over all scales of the images.

    Parameters
    ----------
    smallest, largest
        Extreme half sides of the square.
    scaling
        ``centred``: scale images so that stretching and shrinking are equal; ``smallest``: so that
        the smallest square is not stretched; ``none``: no scaling.

    Returns
    -------
    Promise
        Λ near every point; its constant ``Λ scaled`` is that of ``centred``.

    See Also
    --------
    conformal_factor : The stretch at one size.
    stitched_defect : What Λ becomes with an encoder.
    rigid_promise : Takes L.

    Notes
    -----
    The stretch is 2√r in every direction, for half sides from r₋ to r₊. So

    .. math::

        \Lambda_{\mathrm{centred}} = (r_+ / r_-)^{1/4}, \qquad
        \Lambda_{\mathrm{smallest}} = (r_+ / r_-)^{1/2}, \qquad
        \Lambda_{\mathrm{none}} = \max\left(2 \sqrt{r_+}, \, 1 / (2 \sqrt{r_-})\right)

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import sprite_promise
    >>> float(sprite_promise(0.1, 0.4, scaling="smallest"))
    2.0
    """
    low, high = _half_side(smallest), _half_side(largest)
    if low > high:
        message = f"the smallest half side, {low:g}, exceeds the largest, {high:g}: exchange them."
        raise InputError(message)
    bare = math.inf if low == 0.0 else max(2.0 * math.sqrt(high), 0.5 / math.sqrt(low))
    by_scaling = {
        "centred": math.inf if low == 0.0 else (high / low) ** 0.25,
        "smallest": math.inf if low == 0.0 else math.sqrt(high / low),
        "none": bare,
    }
    if scaling not in by_scaling:
        message = f"there is no scaling {scaling!r}: choose one of {', '.join(by_scaling)}."
        raise InputError(message)
    stretch = by_scaling[scaling]
    promise = Promise(
        statement="Appendix A.6",
        claim=LOCAL_CLAIM,
        value=finite_or_none(stretch),
        constants=(
            *stretch_constants(stretch, by_scaling["centred"]),
            Constant(symbol="r₋", value=low, meaning="smallest half side"),
            Constant(symbol="r₊", value=high, meaning="largest half side"),
        ),
        condition=f"half sides are between {low:.4g} and {high:.4g}, the smaller of which must be "
        "more than 0, and the square stays inside the frame, which is not checked here",
        holds=None if low > 0.0 else False,
    )
    return infinite_says_nothing(promise)


def stitched_defect(sprite: float, encoder: float, *, diameter: float) -> float:
    """Return the near-isometry defect (Λ Λₑ - 1)Δ of an encoder of the images.

    Parameters
    ----------
    sprite, encoder
        Bi-Lipschitz constants Λ of the images and Λₑ of the encoder, both at least one.
    diameter
        Diameter Δ of the latent space (p, √2 r), which is convex, as is the encoder's image.

    Returns
    -------
    float
        The largest change of a distance.

    See Also
    --------
    sprite_promise : Λ of the images.
    rigid_promise_from_defect : The bound that follows.

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import stitched_defect
    >>> round(stitched_defect(1.2, 1.1, diameter=2.0), 2)
    0.64
    """
    for name, constant in (("sprite", sprite), ("encoder", encoder)):
        value = check_number(constant, f"the bi-Lipschitz constant of the {name}")
        if value < 1.0:
            message = (
                f"the bi-Lipschitz constant of the {name} is {value:g}, but it is at least one: "
                "give Λ, not its excess L."
            )
            raise InputError(message)
    width = check_finite(diameter, "the diameter")
    return 0.0 if width == 0.0 else (float(sprite) * float(encoder) - 1.0) * width


def _half_side(value: float) -> float:
    r = check_size(value, "the half side")
    if r > 1.0:
        message = f"the half side is {r:g}, but the frame [-1, 1]² allows at most 1."
        raise InputError(message)
    return r
