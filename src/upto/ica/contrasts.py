"""Contrasts: even functions whose means distinguish components from Gaussian ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class Contrast(Protocol):
    """A function G of sources, with its derivative g and second derivative g′.

    Called as ``contrast(xp, sources)`` in the array namespace of the engine, it returns the three
    arrays. Engines with several processes need it to be picklable.
    """

    @property
    def name(self) -> str:
        """Name of the contrast in results."""
        ...

    def __call__(self, xp: Any, sources: Any) -> tuple[Any, Any, Any]:
        """Return G, g and g′ of every source."""
        ...

    def derivatives(self, xp: Any, sources: Any) -> tuple[Any, Any]:
        """Return g and g′ only."""
        ...


@dataclass(frozen=True, slots=True)
class LogCosh:
    """``log(cosh(alpha u)) / alpha``: robust, the default; `alpha` between 1 and 2."""

    alpha: float = 1.0
    name: str = "logcosh"

    def __call__(self, xp: Any, sources: Any) -> tuple[Any, Any, Any]:
        """Return log cosh, tanh and 1 - tanh²."""
        scaled = sources if self.alpha == 1.0 else self.alpha * sources
        size = xp.abs(scaled)
        # This exponential cannot overflow.
        falling = xp.exp(-2.0 * size)
        value = (size + xp.log(1.0 + falling) - math.log(2.0)) / self.alpha
        return value, *self.derivatives(xp, sources)

    def derivatives(self, xp: Any, sources: Any) -> tuple[Any, Any]:
        """Return tanh and 1 - tanh²."""
        if self.alpha == 1.0:
            # Without factors, which take as long as sums do.
            score = xp.tanh(sources)
            return score, 1.0 - score * score
        score = xp.tanh(self.alpha * sources)
        return score, self.alpha * (1.0 - score * score)


@dataclass(frozen=True, slots=True)
class Exp:
    """``-exp(-u²/2)``: for very heavy tails."""

    name: str = "exp"

    def __call__(self, xp: Any, sources: Any) -> tuple[Any, Any, Any]:
        """Return -exp(-u²/2) and its derivatives."""
        square = sources * sources
        bell = xp.exp(-0.5 * square)
        return -bell, sources * bell, (1.0 - square) * bell

    def derivatives(self, xp: Any, sources: Any) -> tuple[Any, Any]:
        """Return the two derivatives."""
        _, score, slope = self(xp, sources)
        return score, slope


@dataclass(frozen=True, slots=True)
class Cube:
    """``u⁴/4``, kurtosis: for light tails; sensitive to outliers."""

    name: str = "cube"

    def __call__(self, xp: Any, sources: Any) -> tuple[Any, Any, Any]:
        """Return u⁴/4, u³ and 3u²."""
        square = sources * sources
        return 0.25 * square * square, sources * square, 3.0 * square

    def derivatives(self, xp: Any, sources: Any) -> tuple[Any, Any]:
        """Return the two derivatives."""
        _, score, slope = self(xp, sources)
        return score, slope


@dataclass(frozen=True, slots=True)
class Custom:
    """A user's function, called as ``function(xp, sources)`` and returning G, g and g′."""

    function: Callable[[Any, Any], tuple[Any, Any, Any]]

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, xp: Any, sources: Any) -> tuple[Any, Any, Any]:
        """Call the function."""
        return self.function(xp, sources)

    def derivatives(self, xp: Any, sources: Any) -> tuple[Any, Any]:
        """Return the two derivatives."""
        _, score, slope = self(xp, sources)
        return score, slope


CONTRASTS: Mapping[str, type[LogCosh | Exp | Cube]] = {"logcosh": LogCosh, "exp": Exp, "cube": Cube}


def choose_contrast(contrast: str | Callable[..., Any], alpha: float = 1.0) -> Contrast:
    """Return a contrast by name, or from a function whose derivatives are checked."""
    if isinstance(contrast, LogCosh | Exp | Cube):
        return contrast
    if isinstance(contrast, str):
        if contrast not in CONTRASTS:
            message = (
                f"there is no contrast {contrast!r}: choose one of {', '.join(CONTRASTS)}, or give "
                "a function of (xp, sources) that returns G, g and g′."
            )
            raise InputError(message)
        if contrast == "logcosh":
            if not 1.0 <= alpha <= 2.0:
                message = f"alpha of logcosh is {alpha:g}, but it must be between 1 and 2."
                raise InputError(message)
            return LogCosh(alpha)
        return CONTRASTS[contrast]()
    custom = Custom(contrast)
    check_derivatives(custom)
    return custom


def check_derivatives(contrast: Contrast) -> None:
    """Refuse a function whose g and g′ are not derivatives, or whose G is not even."""
    import array_api_compat

    step = 1e-5
    grid = np.linspace(-3.0, 3.0, 61)[:, None]
    xp = array_api_compat.array_namespace(grid)
    try:
        values, score, slope = (np.asarray(part) for part in contrast(xp, grid))
        after, score_after, _ = (np.asarray(part) for part in contrast(xp, grid + step))
        before, score_before, _ = (np.asarray(part) for part in contrast(xp, grid - step))
    except (AttributeError, TypeError, ValueError) as error:
        message = (
            f"the contrast {contrast.name} must take (xp, sources) and return the three arrays G, "
            f"g and g′: {error}."
        )
        raise InputError(message) from None
    if not (values.shape == score.shape == slope.shape == grid.shape):
        message = (
            f"the contrast {contrast.name} returned arrays of shapes {values.shape}, {score.shape} "
            f"and {slope.shape} for sources of shape {grid.shape}: it must keep the shape."
        )
        raise InputError(message)
    pairs = (
        ("g", "G", score, (after - before) / (2 * step)),
        ("g′", "g", slope, (score_after - score_before) / (2 * step)),
    )
    for name, of, given, numeric in pairs:
        wrong = np.abs(given - numeric) / np.maximum(1.0, np.abs(numeric))
        worst = int(np.nan_to_num(wrong, nan=np.inf).argmax())
        if not wrong.ravel()[worst] < 1e-4:
            message = (
                f"the contrast {contrast.name} returns {name}({grid.ravel()[worst]:.2f}) = "
                f"{given.ravel()[worst]:.6g}, but the slope of its {of} there is "
                f"{numeric.ravel()[worst]:.6g}: return G, its derivative and its second derivative."
            )
            raise InputError(message)
    if not np.allclose(values, values[::-1], rtol=1e-9, atol=1e-12):
        message = f"the contrast {contrast.name} is not even, so signs would matter: use an even G."
        raise InputError(message)


_GAUSS_NODES = 101


@cache
def _gauss_rule() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(_GAUSS_NODES)
    return nodes, weights / weights.sum()


def gaussian_moments(contrast: Contrast) -> tuple[float, float]:
    """Return E[G(ν)] of a standard normal ν, and the deviation of g′(ν) - g(ν)ν.

    Components have unit variance by construction, so the deviation excludes the part linear in ν².
    """
    import array_api_compat

    nodes, weights = _gauss_rule()
    value, score, slope = (
        part[:, 0] for part in contrast(array_api_compat.array_namespace(nodes), nodes[:, None])
    )
    excess = slope - score * nodes
    square = (nodes**2 - 1.0) / np.sqrt(2.0)
    left = excess - np.sum(weights * excess * square) * square
    return float(np.sum(weights * value)), float(np.sqrt(np.sum(weights * left**2)))
