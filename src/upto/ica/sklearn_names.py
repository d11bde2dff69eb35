"""Translate the parameters of scikit-learn's FastICA."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.ica.contrasts import check_derivatives, choose_contrast

if TYPE_CHECKING:
    from upto.ica.contrasts import Contrast

ALIASES = {"fun": "contrast", "tol": "tolerance", "max_iter": "max_iterations"}
"""Scikit-learn's names of our parameters."""
_ALGORITHMS = ("parallel", "deflation")
_WHITEN_SOLVERS = ("svd", "eigh")
_WHITEN = {True: "arbitrary-variance", False: "none"}
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


@dataclass(frozen=True, slots=True)
class ScoreFunction:
    """A contrast defined by its derivative, as in scikit-learn.

    ``function(sources, **arguments)`` returns g and the mean of g′ along the last axis.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, xp: Any, sources: Any) -> tuple[Any, Any, Any]:
        """Return G, g and g′; G is the integral of g from zero."""
        total = xp.zeros_like(sources)
        for node, weight in zip(0.5 * (1.0 + _NODES), 0.5 * _WEIGHTS, strict=True):
            # Cubed nodes are dense near zero, where g varies most.
            score, _ = self.derivatives(xp, float(node) ** 3 * sources)
            total = total + 3.0 * float(weight) * float(node) ** 2 * score * sources
        return total, *self.derivatives(xp, sources)

    def derivatives(self, xp: Any, sources: Any) -> tuple[Any, Any]:
        """Return g and g′."""
        # The mean over a last axis of length one is the value itself.
        score, slope = self.function(xp.reshape(sources, (-1, 1)), **self.arguments)
        return xp.reshape(score, sources.shape), xp.reshape(slope, sources.shape)


def in_our_words(given: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an `ICA` as fields of `Settings`.

    Parameters
    ----------
    given
        All parameters, by name.
    usual
        Their defaults; our name and scikit-learn's for the same parameter exclude each other.
    """
    for theirs, ours in ALIASES.items():
        if given[theirs] is not None and not _is_usual(given[ours], usual[ours]):
            message = (
                f"{theirs}={given[theirs]!r} and {ours}={given[ours]!r} are both given, but are "
                "two names of one parameter: give one of them."
            )
            raise InputError(message)
    whiten = given["whiten"]
    whiten = _WHITEN[whiten] if isinstance(whiten, bool) else whiten
    deflation = _choice(given, "algorithm", _ALGORITHMS) == "deflation"
    _choice(given, "whiten_solver", _WHITEN_SOLVERS)
    first = given["w_init"]
    _refuse_two_starts(given, is_given=first is not None, deflation=deflation)
    if deflation and given["solver"] == "picard":
        message = "algorithm='deflation' requires FastICA: leave it or solver='picard' out."
        raise InputError(message)
    n_components = given["n_components"]
    if given["whiten"] is False and n_components is not None:
        warnings.warn("Ignoring n_components with whiten=False.", stacklevel=5)
        n_components = None
    return {
        "n_components": n_components,
        "contrast": _contrast(given, usual),
        "whiten": "unit-variance" if whiten == "arbitrary-variance" else whiten,
        "unit_norm": whiten == "arbitrary-variance",
        "turn": given["tol"],
        "tolerance": given["tolerance"],
        "max_iterations": _first(given["max_iter"], given["max_iterations"]),
        "first": None if first is None else _square(first),
        "deflation": deflation,
    }


def _first(theirs: Any, ours: Any) -> Any:
    return ours if theirs is None else theirs


def _is_usual(value: Any, usual: Any) -> bool:
    return isinstance(value, type(usual)) and bool(value == usual)


def _choice(given: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> Any:
    if given[name] is not None and given[name] not in choices:
        message = f"{name} is {given[name]!r}: choose one of {', '.join(choices)}."
        raise InputError(message)
    return given[name]


def _refuse_two_starts(given: Mapping[str, Any], *, is_given: bool, deflation: bool) -> None:
    for what, is_asked in (("w_init", is_given), ("algorithm='deflation'", deflation)):
        if is_asked and given["restarts"] != 1:
            message = f"{what} is one search, and restarts={given['restarts']}: leave one out."
            raise InputError(message)
    if is_given and given["warm_start"]:
        message = "w_init and warm_start both set the start of the search: leave one out."
        raise InputError(message)


def _contrast(given: Mapping[str, Any], usual: Mapping[str, Any]) -> Contrast:
    arguments = given["fun_args"]
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        message = f"fun_args is {arguments!r}: give a dictionary, as in {{'alpha': 1.5}}."
        raise InputError(message)
    alpha = given["alpha"]
    if "alpha" in arguments:
        alpha = arguments["alpha"]
        if not _is_usual(given["alpha"], usual["alpha"]):
            message = (
                f"alpha={given['alpha']!r} and fun_args={arguments!r} are both given: give one."
            )
            raise InputError(message)
        if not (isinstance(alpha, int | float | np.number) and 1 <= alpha <= 2):
            message = f"alpha must be in [1,2], but fun_args gives {alpha!r}."
            raise InputError(message)
    fun = given["fun"]
    if fun is None or isinstance(fun, str):
        return choose_contrast(_first(fun, given["contrast"]), alpha)
    if not callable(fun):
        message = f"fun is {fun!r}: give logcosh, exp, cube or a function."
        raise InputError(message)
    return _checked(ScoreFunction(fun, dict(arguments)))


def _checked(contrast: ScoreFunction) -> Contrast:
    grid = np.linspace(-3.0, 3.0, 61)[:, None]
    try:
        contrast.derivatives(np, grid)
    except (AttributeError, TypeError, ValueError) as error:
        message = (
            f"fun={contrast.name} must take sources and return g of each and the mean of g′ along "
            f"the last axis: {error}."
        )
        raise InputError(message) from None
    check_derivatives(contrast)
    return contrast


def _square(first: Any) -> Any:
    array = np.asarray(first, dtype=np.float64)
    if array.ndim != 2 or not np.isfinite(array).all():
        message = f"w_init has the shape {array.shape}: give a square matrix of finite numbers."
        raise InputError(message)
    return array
