"""Take mixture priors: files, objects of other libraries and arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.files.named_arrays import NamedArrays
from upto.files.request import listed, split_key
from upto.files.run_names import distinct_names
from upto.measures.densities import Mixture
from upto.theory.mixtures import Components, as_components, may_be_covariance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_NAMES = {
    "weights": ("weights", "weights_", "pi"),
    "log_weights": ("log_weights", "logits"),
    "means": ("means", "means_", "mu"),
    "covariances": ("covariances", "covariances_"),
    "variances": ("variances",),
    "log_variances": ("log_variances", "logvar"),
}
"""Names of the parameters in files and mappings, with those that other libraries use."""
_SHAPES = ("covariances", "variances", "log_variances")
_TYPE = "covariance_type"
"""Name under which scikit-learn says how covariances are stored."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prior:
    """A mixture prior: what `check_prior` takes, its components, and whether it was fitted."""

    name: str
    given: Any
    fitted: bool
    components: Components

    @property
    def width(self) -> int:
        """Number of latent coordinates."""
        return int(self.components.means.shape[1])

    @property
    def count(self) -> int:
        """Number of components."""
        return len(self.components.weights)

    def density(self) -> Mixture | None:
        """Return the prior as a density; None if it has none, with degenerate components."""
        weights, means, covariances = self.components.given
        try:
            return Mixture(
                weights=weights / weights.sum(),
                means=means,
                covariances=(covariances + covariances.swapaxes(1, 2)) / 2.0,
                fitted=self.fitted,
            )
        except InputError:
            return None


def take_priors(given: Sequence[Any], *, fitted: bool) -> list[Prior]:
    """Return priors with distinct names.

    Parameters
    ----------
    given
        Paths, mappings of arrays, mixtures of scikit-learn or `upto.measures`, or triples.
    fitted
        Whether parameters in files, mappings and triples were fitted to latents. Those under the
        names of scikit-learn, with an underscore at the end, always were.

    Raises
    ------
    InputError
        If one of them is not a mixture.
    """
    names = distinct_names([_choices(prior, number) for number, prior in enumerate(given, 1)])
    return [_taken(prior, name, fitted=fitted) for prior, name in zip(given, names, strict=True)]


def _taken(given: Any, name: str, *, fitted: bool) -> Prior:
    mixture, own = given, False
    if isinstance(given, str | os.PathLike):
        mixture, own = _read(NamedArrays(_path(given)))
    elif isinstance(given, Mapping):
        told = None if given.get(_TYPE) is None else str(given[_TYPE])
        arrays = {key: _array(value) for key, value in given.items() if key != _TYPE}
        mixture, own = _parameters(arrays, name, told)
    try:
        components = as_components(mixture)
    except InputError as error:
        message = f"{name}: {error}"
        raise InputError(message) from None
    own = own or hasattr(mixture, "weights_") or getattr(mixture, "fitted", False) is True
    return Prior(name=name, given=mixture, fitted=fitted or own, components=components)


def _array(value: Any) -> NDArray[Any]:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        # NumPy has no bfloat16.
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
    return np.asarray(value)


def _read(arrays: NamedArrays) -> tuple[tuple[NDArray[Any], ...], bool]:
    known = {name for names in _NAMES.values() for name in names}
    chosen = {name: arrays[name] for name in arrays.names if name in known}
    if not chosen:
        message = (
            f"{arrays.path} has no weights and means of a mixture: it holds "
            f"{listed(arrays.names)}; select those of a model as {arrays.path}::PREFIX."
        )
        raise InputError(message)
    return _parameters(chosen, str(arrays.path), arrays.text(_TYPE))


def _parameters(
    arrays: Mapping[str, NDArray[Any]], where: str, told: str | None
) -> tuple[tuple[NDArray[Any], ...], bool]:
    """Find weights, means and covariances, and whether a fit of scikit-learn named them."""
    found: dict[str, NDArray[Any]] = {}
    own = False
    for role, names in _NAMES.items():
        held = [name for name in names if name in arrays]
        if len(held) > 1:
            message = f"{where} has {listed(held)}, which are all {role}: keep one of them."
            raise InputError(message)
        if held:
            found[role] = arrays[held[0]]
            own = own or held[0].endswith("_")
    shapes = [role for role in _SHAPES if role in found]
    weights = [role for role in ("weights", "log_weights") if role in found]
    lacks = [
        what
        for what, own in (
            ("weights", weights),
            ("means", "means" in found),
            ("variances or covariances", shapes),
        )
        if not own
    ]
    if lacks:
        message = f"{where} has no {' and no '.join(lacks)}: it holds {listed(list(arrays))}."
        raise InputError(message)
    if len(shapes) + len(weights) > 2:
        message = f"{where} has {listed([*weights, *shapes])}: keep one kind of each."
        raise InputError(message)
    means, shape = found["means"], found[shapes[0]]
    if shapes[0] == "covariances":
        shape = _full(shape, means, where, told)
    else:
        shape = _variances(shape, shapes[0], where)
    # One variance for all coordinates of a component.
    if means.ndim == 2 and shape.shape in ((len(means),), (len(means), 1)):
        shape = np.repeat(shape.reshape(-1, 1), means.shape[1], axis=1)
    return (_weights(found), means, shape), own


def _weights(found: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    if "weights" in found:
        return found["weights"]
    logs = found["log_weights"].astype(np.float64)
    raised = np.exp(logs - logs.max(initial=-np.inf))
    return np.asarray(raised / raised.sum())


def _variances(given: NDArray[Any], role: str, where: str) -> NDArray[Any]:
    values = np.exp(given) if role == "log_variances" else given
    if values.size and not (values > 0).all():
        message = f"{where} has variances down to {values.min():g}: give positive ones."
        raise InputError(message)
    return values


def _full(values: NDArray[Any], means: NDArray[Any], where: str, told: str | None) -> NDArray[Any]:
    """Return covariances as scikit-learn's type of them says; refuse those of two meanings."""
    if means.ndim != 2:
        return values
    count, width = means.shape
    if told is None:
        if values.shape == means.shape and may_be_covariance(values):
            message = (
                f"{where} has symmetric {width}×{width} covariances, which may be one covariance "
                f"of all components or variances of {count}: give J×d×d covariances, or name them "
                "variances."
            )
            raise InputError(message)
        return values
    forms: dict[str, tuple[int, ...]] = {
        "full": (count, width, width),
        "tied": (width, width),
        "diag": (count, width),
        "spherical": (count,),
    }
    if forms.get(told) != values.shape:
        message = (
            f"{where} has covariances of shape {values.shape} and the covariance_type {told!r}: "
            f"give {', '.join(f'{name} {shape}' for name, shape in forms.items())}."
        )
        raise InputError(message)
    if told == "tied":
        return np.broadcast_to(values, (count, width, width))
    if told == "diag":
        return np.asarray(values[:, :, None] * np.eye(width, dtype=values.dtype))
    return values


def _choices(given: Any, number: int) -> tuple[str, ...]:
    """Return possible names of a prior, from the shortest to the most specific."""
    if not isinstance(given, str | os.PathLike):
        return (f"run {number}",)
    path, prefix = split_key(_path(given))
    folders = [folder.name for folder in path.absolute().parents if folder.name]
    more = [] if prefix is None else [f"{path.stem}::{prefix}"]
    return (path.stem, *more, *(f"{folder}/{path.stem}" for folder in folders))


def _path(given: Any) -> str | Path:
    return given if isinstance(given, str) else Path(given)
