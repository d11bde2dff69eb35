"""Kinds of fitted estimators that can be saved and applied: one record each.

To apply an estimator is to apply a map to every row, whatever the estimator: ICA and whitening are
affine maps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.alignment.kernel_map import KernelMap
from upto.alignment.maps import AffineMap
from upto.alignment.monotone import MonotoneMap
from upto.alignment.network_map import NetworkMap
from upto.alignment.row_lengths import FittedMap, without_length
from upto.core import Group, InputError
from upto.core.array_types import Float

if TYPE_CHECKING:
    from upto.alignment import Aligner, KernelAligner, NetworkAligner, RidgeAligner
    from upto.ica import ICA, Whitener

    Transform = ICA | Whitener | Aligner | RidgeAligner | KernelAligner | NetworkAligner

Map = FittedMap

LARGEST = 1e150
"""Products with larger numbers overflow; no run that upto takes has any."""
_INVERSE = 1e-4
"""Largest deviation from the identity of a transform followed by its inverse."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An array in a file.

    `letters` is its shape, one letter per dimension: d input and k output coordinates, q knots, m
    centres, h hidden units.
    `values` are numbers, a mask, positions of input coordinates, or partners: positions, or −1.
    """

    letters: str
    values: str = "numbers"
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of fitted estimator.

    Parameters
    ----------
    module, name
        Home and name of the class; scikit-learn, which it imports, takes a second to load.
    prefix
        Prefix of the names of transformed coordinates.
    arrays
        The fitted arrays.
    scalars
        Further fitted attributes, without the trailing underscore; a question mark means optional.
    get, put
        Function that returns a fitted estimator's arrays, and one that sets them; it is given the
        estimator, the arrays, the number of coordinates, and the scalars.
    forward, backward
        Functions that return the map of an estimator and its inverse.
    flaw
        Function that returns what is wrong with a loaded estimator, or None.
    mixing
        Function that returns the matrix that maps new coordinates back, one row per original
        coordinate; None if it is not of interest.
    """

    module: str
    name: str
    prefix: str
    arrays: Mapping[str, Stored]
    scalars: tuple[str, ...]
    get: Callable[[Any, str], Any]
    put: Callable[[Any, dict[str, Any], int, Mapping[str, Any]], object]
    forward: Callable[[Any], Map]
    backward: Callable[[Any], Map]
    flaw: Callable[[Any], str | None]
    mixing: Callable[[Any], Float] | None = None

    def type(self) -> Any:
        """Return the class of the estimator."""
        return getattr(import_module(self.module), self.name)

    def found_in(self, estimator: Any) -> dict[str, Any]:
        """Return the arrays of a fitted estimator; empty if it lacks some."""
        found = {name: self.get(estimator, name) for name in self.arrays}
        lacking = {name for name, array in found.items() if array is None}
        if any(not self.arrays[name].optional for name in lacking):
            return {}
        return {name: np.asarray(array) for name, array in found.items() if name not in lacking}


def kind_of(estimator: Any) -> tuple[str, Kind]:
    """Return the kind of a fitted estimator, after its name in files.

    Raises
    ------
    InputError
        If the estimator is of no known kind, or not fitted.
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    of_class = {key: kind for key, kind in KINDS.items() if isinstance(estimator, kind.type())}
    if not of_class:
        *others, last = dict.fromkeys(kind.name for kind in KINDS.values())
        message = (
            f"{type(estimator).__name__} cannot be saved or applied to files: {', '.join(others)} "
            f"and {last} can."
        )
        raise InputError(message)
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        message = f"this {type(estimator).__name__} is not fitted: call its `fit` first."
        raise InputError(message) from None
    return next((key, kind) for key, kind in of_class.items() if kind.found_in(estimator))


def _attribute(estimator: Any, name: str) -> Any:
    return getattr(estimator, f"{name}_")


def _set_attributes(
    estimator: Any, arrays: dict[str, Any], n_features: int, scalars: Mapping[str, Any]
) -> None:
    for name, array in arrays.items():
        setattr(estimator, f"{name}_", array)
    estimator.n_features_in_ = n_features


def _centred(mean: Any, matrix: Any) -> AffineMap:
    """Return the map that subtracts the mean, then multiplies."""
    matrix = np.asarray(matrix, dtype=np.float64).T
    width = matrix.shape[1]
    return AffineMap(
        source_mean=np.asarray(mean, dtype=np.float64),
        target_mean=np.zeros(width),
        scale=np.ones(width),
        matrix=matrix,
    )


def _shifted(mean: Any, matrix: Any) -> AffineMap:
    """Return the map that multiplies, then adds the mean."""
    matrix = np.asarray(matrix, dtype=np.float64).T
    return AffineMap(
        source_mean=np.zeros(len(matrix)),
        target_mean=np.asarray(mean, dtype=np.float64),
        scale=np.ones(matrix.shape[1]),
        matrix=matrix,
    )


def _no_inverse(inward: Any, back: Any) -> str | None:
    with np.errstate(all="ignore"):
        both = inward @ back
        leads_back = np.abs(both - np.eye(len(both))).max() <= _INVERSE
    return None if leads_back else "its inverse does not invert it"


def _part_of_map(aligner: Any, name: str) -> Any:
    return getattr(without_length(aligner.map_), name, None)


def _keep_map(kind: Callable[..., FittedMap], *further: str) -> Callable[..., object]:
    """Return the function that gives an aligner a map of its arrays, and of further scalars."""

    def put(
        aligner: Any, arrays: dict[str, Any], n_features: int, scalars: Mapping[str, Any]
    ) -> None:
        more = {name: scalars[name] for name in further}
        aligner.keep(kind(**arrays, **more), n_features, length=scalars["length"])

    return put


def _no_group(aligner: Any) -> str | None:
    if not isinstance(aligner.up_to, str) or aligner.up_to not in set(Group):
        return f"there is no group {aligner.up_to!r}"
    return _no_alignment(aligner)


def _no_alignment(aligner: Any) -> str | None:
    if aligner.length_ is not None and not 0 < aligner.length_ <= LARGEST:
        return f"the length of its rows is {aligner.length_}"
    names, width = aligner.target_names_, len(aligner.map_.target_mean)
    if names is not None and len(set(names)) != width:
        return f"{len(set(names))} names for {width} coordinates of the target"
    return None


def _no_monotone_alignment(aligner: Any) -> str | None:
    found: Any = without_length(aligner.map_)
    ascending = (np.diff(found.knots, axis=0) >= 0).all()
    steps = np.diff(found.values, axis=0)
    if not (ascending and ((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)).all()):
        return "its functions are not monotone"
    return _no_group(aligner)


def _no_ridge_alignment(aligner: Any) -> str | None:
    if aligner.shrinkage_ < 0:
        return f"its shrinkage is {aligner.shrinkage_}"
    most = min(aligner.n_features_in_, len(aligner.map_.target_mean))
    if not 1 <= getattr(aligner, "rank_", most) <= most:
        return f"its rank is {aligner.rank_}"
    return _no_alignment(aligner)


def _no_kernel_alignment(aligner: Any) -> str | None:
    if not 1 / LARGEST <= aligner.bandwidth_ <= LARGEST:
        return f"its bandwidth is {aligner.bandwidth_}"
    return _no_ridge_alignment(aligner)


_MAP: dict[str, Any] = {
    "prefix": "aligned",
    "get": _part_of_map,
    "forward": lambda aligner: aligner.map_,
    "backward": lambda aligner: aligner.map_.exact_inverse(),
    "flaw": _no_alignment,
}
_NAMED = ("?target_names", "?length")
_ALIGNER = _MAP | {
    "module": "upto.alignment.aligner",
    "name": "Aligner",
    "flaw": _no_group,
    "scalars": ("?worst_error", *_NAMED),
}
_RIDGE = _MAP | {
    "module": "upto.alignment.ridge_aligner",
    "name": "RidgeAligner",
    "flaw": _no_ridge_alignment,
    "scalars": ("shrinkage", "rank", *_NAMED),
}
_KERNEL = _MAP | {
    "module": "upto.alignment.kernel_aligner",
    "name": "KernelAligner",
    "flaw": _no_ridge_alignment,
    "scalars": ("shrinkage", "?bandwidth", *_NAMED),
}
_NETWORK = _MAP | {
    "module": "upto.alignment.network_aligner",
    "name": "NetworkAligner",
    "flaw": _no_ridge_alignment,
    "scalars": ("shrinkage", "n_iter", *_NAMED),
}
_MATRIX = {"matrix": Stored("dk")}
_NONLINEAR = _MATRIX | {
    "source_mean": Stored("d"),
    "target_mean": Stored("k"),
    "constant": Stored("k"),
}
_AFFINE = {"source_mean": Stored("d"), "target_mean": Stored("k"), "scale": Stored("k")}

KINDS: dict[str, Kind] = {
    "ica": Kind(
        module="upto.ica.ica",
        name="ICA",
        prefix="ica",
        arrays={
            "mean": Stored("d"),
            "components": Stored("kd"),
            "mixing": Stored("dk"),
            "whitening": Stored("kd"),
            "turning": Stored("k", "mask"),
            "stability": Stored("k", optional=True),
        },
        scalars=("n_iter", "converged", "trace"),
        get=_attribute,
        put=_set_attributes,
        forward=lambda ica: _centred(ica.mean_, ica.components_),
        backward=lambda ica: _shifted(ica.mean_, ica.mixing_),
        flaw=lambda ica: _no_inverse(ica.components_, ica.mixing_),
        mixing=lambda ica: ica.mixing_,
    ),
    "whitener": Kind(
        module="upto.ica.whitener",
        name="Whitener",
        prefix="white",
        arrays={
            "mean": Stored("d"),
            "whitening": Stored("kd"),
            "unwhitening": Stored("dk"),
            "explained_variance": Stored("k"),
        },
        scalars=("rank",),
        get=_attribute,
        put=_set_attributes,
        forward=lambda white: _centred(white.mean_, white.whitening_),
        backward=lambda white: _shifted(white.mean_, white.unwhitening_),
        flaw=lambda white: _no_inverse(white.whitening_, white.unwhitening_),
        mixing=lambda white: white.unwhitening_,
    ),
    "aligner": Kind(arrays=_AFFINE | _MATRIX, put=_keep_map(AffineMap), **_ALIGNER),
    "matching-aligner": Kind(
        arrays=_AFFINE | {"index": Stored("k", "positions")}, put=_keep_map(AffineMap), **_ALIGNER
    ),
    "monotone-aligner": Kind(
        arrays={
            "index": Stored("k", "partners"),
            "knots": Stored("qk"),
            "values": Stored("qk"),
            "target_mean": Stored("k"),
        },
        put=_keep_map(MonotoneMap),
        **_ALIGNER
        | {
            "scalars": ("n_features_in", *_ALIGNER["scalars"]),
            "flaw": _no_monotone_alignment,
        },
    ),
    "ridge-aligner": Kind(arrays=_AFFINE | _MATRIX, put=_keep_map(AffineMap), **_RIDGE),
    "kernel-aligner": Kind(
        arrays=_NONLINEAR | {"centres": Stored("md"), "coefficients": Stored("mk")},
        put=_keep_map(KernelMap, "bandwidth"),
        **_KERNEL
        | {
            "scalars": ("shrinkage", "bandwidth", *_NAMED),
            "flaw": _no_kernel_alignment,
        },
    ),
    "affine-kernel-aligner": Kind(arrays=_AFFINE | _MATRIX, put=_keep_map(AffineMap), **_KERNEL),
    "network-aligner": Kind(
        arrays=_NONLINEAR
        | {
            "hidden_weights": Stored("dh"),
            "hidden_bias": Stored("h"),
            "output_weights": Stored("hk"),
        },
        put=_keep_map(NetworkMap),
        **_NETWORK,
    ),
    "affine-network-aligner": Kind(arrays=_AFFINE | _MATRIX, put=_keep_map(AffineMap), **_NETWORK),
}
"""Kinds by their name in files. An aligner stores a matrix, or the coordinate matched to each one,
or monotone functions; one that may be nonlinear, what is added to a matrix, if anything is."""
