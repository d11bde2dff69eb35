"""Bounds on the derivatives of contrasts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from upto.core import InputError
from upto.ica.contrasts import Exp, LogCosh, choose_contrast
from upto.theory.valid_numbers import check_count, check_finite

if TYPE_CHECKING:
    from upto.ica.contrasts import Contrast


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastBounds:
    """Bounds on the derivatives of a contrast Σ G(sₖ) at the components.

    Parameters
    ----------
    name
        Name of the contrast.
    first
        G₁, a bound on the norm of the gradient: √d times the largest magnitude of g.
    second
        G₂, a bound on the norm of the Hessian: the largest magnitude of g′.
    third
        Bound on the magnitude of g″, needed to prove that the curvature is kept; None if unknown.

    See Also
    --------
    contrast_bounds : Returns these for the contrasts of `upto.ICA`.
    ica_promise : Takes them instead of the name of a contrast.
    """

    name: str
    first: float
    second: float
    third: float | None = None


def contrast_bounds(
    contrast: str | Contrast, *, n_dimensions: int, radius: float, alpha: float = 1.0
) -> ContrastBounds:
    r"""Return the bounds of a contrast on rows of norm at most `radius`.

    Parameters
    ----------
    contrast
        ``logcosh``, ``exp``, ``cube`` or a contrast of `upto.ica`.
    n_dimensions
        Number d of components.
    radius
        Largest norm of a row; only the bounds of ``cube`` depend on it.
    alpha
        Parameter of ``logcosh``.

    Returns
    -------
    ContrastBounds
        Bounds on the first three derivatives.

    See Also
    --------
    ica_promise : The bound that uses them.
    ContrastBounds : Bounds of another contrast, given by yourself.

    Notes
    -----
    For a contrast :math:`\sum_k G(s_k)` with derivative g of G, on rows of norm at most r,

    .. math::

        G_1 = \sqrt{d} \, \sup |g|, \qquad G_2 = \sup |g'|

    ======================  ======================  ==============  ==============
    contrast                g(u)                    sup of \|g\|    sup of \|g′\|
    ======================  ======================  ==============  ==============
    ``logcosh``             tanh(αu)                1               α
    ``exp``                 u exp(-u²/2)            exp(-½)         1
    ``cube``                u³                      r³              3r²
    ======================  ======================  ==============  ==============

    References
    ----------
    Hyvärinen (1999). Fast and robust fixed-point algorithms for independent component analysis.
    IEEE Transactions on Neural Networks 10, 626-634.

    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.

    Examples
    --------
    >>> from upto.theory import contrast_bounds
    >>> bounds = contrast_bounds("logcosh", n_dimensions=4, radius=3.0)
    >>> bounds.first, bounds.second
    (2.0, 1.0)
    """
    d = check_count(n_dimensions, "n_dimensions")
    r = check_finite(radius, "the radius")
    chosen = choose_contrast(contrast, alpha)
    if isinstance(chosen, LogCosh):
        a = chosen.alpha
        score, slope, bend = 1.0, a, a * a * 4.0 / (3.0 * math.sqrt(3.0))
    elif isinstance(chosen, Exp):
        # |u³ - 3u| exp(-u²/2) is largest at u² = 3 - √6.
        square = 3.0 - math.sqrt(6.0)
        bend = math.sqrt(square) * (3.0 - square) * math.exp(-square / 2.0)
        score, slope = math.exp(-0.5), 1.0
    elif chosen.name == "cube":
        score, slope, bend = r * r * r, 3.0 * r * r, 6.0 * r
    else:
        message = (
            f"the bounds of the contrast {chosen.name} are not known: "
            "give them as ContrastBounds(name=…, first=…, second=…)."
        )
        raise InputError(message)
    return ContrastBounds(name=chosen.name, first=math.sqrt(d) * score, second=slope, third=bend)


def known_bounds(
    contrast: str | Contrast | ContrastBounds, alpha: float, n_dimensions: int, ball: float
) -> ContrastBounds:
    """Return bounds unchanged, or those of a contrast by name."""
    if isinstance(contrast, ContrastBounds):
        check_finite(contrast.first, "the bound on the contrast's gradient")
        check_finite(contrast.second, "the bound on the contrast's Hessian")
        return contrast
    return contrast_bounds(contrast, n_dimensions=n_dimensions, radius=ball, alpha=alpha)
