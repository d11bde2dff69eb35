"""Save and load fitted transforms as safetensors: arrays and a JSON description, no pickle."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from upto.core import InputError, TraceStep, read_tensors, write_tensors
from upto.core.errors import one_sentence, reason, shortened
from upto.core.read_file import expanded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.ica.ica import ICA
    from upto.ica.whitener import Whitener

    Transform = ICA | Whitener

SCHEMA = 1
DESCRIPTION = "transform"
"""Name of the entry that describes a transform; the other entries are its arrays."""

_Value = None | bool | int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Fitted attributes in a file, without the trailing underscore.

    `arrays` maps names to shapes, one letter per dimension: d input and k output coordinates; a
    question mark means optional.
    """

    module: str
    name: str
    arrays: dict[str, str]
    scalars: tuple[str, ...]


_KINDS = {
    "ica": _Kind(
        module="upto.ica.ica",
        name="ICA",
        arrays={
            "mean": "d",
            "components": "kd",
            "mixing": "dk",
            "whitening": "kd",
            "turning": "k",
            "stability": "?k",
        },
        scalars=("n_iter", "converged", "trace"),
    ),
    "whitener": _Kind(
        module="upto.ica.whitener",
        name="Whitener",
        arrays={"mean": "d", "whitening": "kd", "unwhitening": "dk", "explained_variance": "k"},
        scalars=("rank",),
    ),
}
_MASKS = ("turning",)
_NUMBERS = (np.dtype(np.float64), np.dtype(np.float32))
_INVERSE = 1e-4
"""Largest deviation from the identity of the transform followed by its inverse."""


class _Description(msgspec.Struct, omit_defaults=True):
    kind: str
    schema: int
    upto: str
    parameters: dict[str, _Value]
    feature_names: list[str] | None = None
    n_iter: int | None = None
    converged: bool | None = None
    trace: tuple[TraceStep, ...] | None = None
    rank: int | None = None


def save_transform(path: str | Path, estimator: Transform) -> None:
    """Save a fitted `ICA` or `Whitener` to a safetensors file, atomically.

    The engine, a random state that is not an integer and a contrast that is a function are not
    saved: a loaded estimator transforms identically, but refitting it may give another result.

    Parameters
    ----------
    path
        Output file, ending in ``.safetensors``.
    estimator
        The fitted estimator.

    Raises
    ------
    InputError
        If the file cannot be written or the estimator is neither.
    """
    check_transform_path(path)
    entries = pack_transform(estimator)
    description = entries.pop(DESCRIPTION)
    write_tensors(expanded(path), entries, {DESCRIPTION: description})


def check_transform_path(path: str | Path) -> None:
    """Refuse a path that does not end in ``.safetensors``."""
    if Path(path).suffix.lower() != ".safetensors":
        message = f"{path} does not end in .safetensors, the format of saved transforms: rename it."
        raise InputError(message)


def load_transform(path: str | Path) -> Transform:
    """Load a fitted `ICA` or `Whitener` saved by `save_transform`.

    No code in the file is run: only known arrays and plain parameters are read.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If the file is not a saved transform, is damaged, or was written by a later version of upto.
    """
    path = expanded(path)
    arrays, words = read_tensors(path)
    if DESCRIPTION not in words:
        message = f"{path} is not a saved transform: make one with `upto unmix --save`."
        raise InputError(message)
    return unpack_transform({**arrays, DESCRIPTION: words[DESCRIPTION]}, str(path))


def pack_transform(estimator: Transform) -> dict[str, Any]:
    """Return the arrays of a fitted estimator and its description as JSON.

    Parameters
    ----------
    estimator
        The fitted estimator.
    """
    from sklearn.utils.validation import check_is_fitted

    name = next((key for key, kind in _KINDS.items() if isinstance(estimator, _type(kind))), None)
    if name is None:
        known = " and ".join(kind.name for kind in _KINDS.values())
        message = f"{type(estimator).__name__} cannot be saved: {known} can."
        raise InputError(message)
    check_is_fitted(estimator)
    kind, names = _KINDS[name], getattr(estimator, "feature_names_in_", None)
    description = _Description(
        kind=name,
        schema=SCHEMA,
        upto=metadata.version("upto"),
        parameters=_plain(estimator.get_params(deep=False)),
        feature_names=None if names is None else [str(each) for each in names],
        **{each: _item(getattr(estimator, f"{each}_")) for each in kind.scalars},
    )
    found = {each: getattr(estimator, f"{each}_") for each in kind.arrays}
    entries: dict[str, Any] = {
        each: np.asarray(array) for each, array in found.items() if array is not None
    }
    return entries | {DESCRIPTION: msgspec.json.encode(description).decode()}


def describe_transform(estimator: Transform) -> dict[str, Any]:
    """Return what another reader needs to apply and undo a transform: arrays, numbers and text.

    `unpack_transform` takes them too. The iterations of the fit are left out.

    Parameters
    ----------
    estimator
        The fitted estimator.
    """
    entries = pack_transform(estimator)
    described = msgspec.json.decode(entries[DESCRIPTION], type=_Description)
    steps, parameters = described.trace or (), described.parameters
    known = {
        "kind": described.kind,
        "version": described.upto,
        "solver": steps[-1].solver if steps else parameters.get("solver"),
        "contrast": parameters.get("contrast"),
        "seed": parameters.get("random_state"),
        "converged": described.converged,
        "n_iterations": described.n_iter,
        "rank": described.rank,
        "feature_names": described.feature_names and np.array(described.feature_names),
    }
    described.trace = None
    facts = {name: value for name, value in known.items() if value is not None}
    return entries | facts | {DESCRIPTION: msgspec.json.encode(described).decode()}


def unpack_transform(entries: Mapping[str, Any], origin: str) -> Transform:
    """Rebuild a fitted estimator from the entries of `pack_transform`.

    Parameters
    ----------
    entries
        The arrays and the description; other entries are ignored.
    origin
        Source of the entries, for error messages.

    Raises
    ------
    InputError
        If they are not a valid transform.
    """
    try:
        described = msgspec.json.decode(entries[DESCRIPTION], type=_Description)
    except (msgspec.MsgspecError, RecursionError, UnicodeError, TypeError) as error:
        raise InputError(_damaged(origin, error)) from None
    if described.kind not in _KINDS or described.schema != SCHEMA:
        message = (
            f"{origin} is a transform of kind {shortened(described.kind)!r}, schema "
            f"{shortened(described.schema)}, which this version of upto does not support: load it "
            f"with upto {shortened(described.upto)}."
        )
        raise InputError(message)
    kind = _KINDS[described.kind]
    cls = _type(kind)
    unknown = set(described.parameters) - set(_plain(cls().get_params(deep=False)))
    if unknown:
        raise InputError(_damaged(origin, f"{cls.__name__} has no parameter {min(unknown)!r}"))
    estimator = cls(**described.parameters)
    sizes: dict[str, int] = {}
    for name, letters in kind.arrays.items():
        setattr(estimator, f"{name}_", _array(entries, name, letters, sizes, origin))
    for name in kind.scalars:
        value = getattr(described, name)
        if value is None and name == "trace":
            value = ()
        if value is None:
            raise InputError(_damaged(origin, f"it has no {name}"))
        setattr(estimator, f"{name}_", value)
    _check_inverse(estimator, origin)
    estimator.n_features_in_ = sizes["d"]
    estimator._n_features_out = sizes["k"]
    if described.feature_names is not None:
        if len(described.feature_names) != sizes["d"]:
            why = f"{len(described.feature_names)} names for {sizes['d']} coordinates"
            raise InputError(_damaged(origin, why))
        estimator.feature_names_in_ = np.array(described.feature_names, dtype=object)
    return estimator  # type: ignore[no-any-return]


def mixing_of(estimator: Transform) -> Any:
    """Return the matrix that maps new coordinates back, one row per original coordinate."""
    return estimator.mixing_ if hasattr(estimator, "mixing_") else estimator.unwhitening_


def _check_inverse(estimator: Transform, origin: str) -> None:
    inward = estimator.components_ if hasattr(estimator, "components_") else estimator.whitening_
    with np.errstate(all="ignore"):
        back = inward @ mixing_of(estimator)
        leads_back = np.abs(back - np.eye(len(back))).max() <= _INVERSE
    if not leads_back:
        raise InputError(_damaged(origin, "its inverse does not invert it"))


def _array(
    entries: Mapping[str, Any], name: str, letters: str, sizes: dict[str, int], origin: str
) -> Any:
    if name not in entries:
        if letters.startswith("?"):
            return None
        raise InputError(_damaged(origin, f"it has no {name}"))
    array, letters = np.asarray(entries[name]), letters.removeprefix("?")
    fits = array.ndim == len(letters) and 0 not in array.shape
    for letter, size in zip(letters, array.shape, strict=False):
        fits = fits and sizes.setdefault(letter, size) == size
    if not fits:
        raise InputError(_damaged(origin, f"{name} has the shape {array.shape}"))
    if name in _MASKS and array.dtype == bool:
        return array
    if name in _MASKS or array.dtype not in _NUMBERS or not np.isfinite(array).all():
        raise InputError(_damaged(origin, f"{name} has invalid values"))
    return array


def _plain(parameters: Mapping[str, Any]) -> dict[str, _Value]:
    """Keep the parameters that are portable to other machines."""
    plain: dict[str, _Value] = {}
    for name, value in parameters.items():
        item = _item(value)
        if name == "engine" or (name == "random_state" and not isinstance(item, int | None)):
            continue
        if isinstance(item, _Value):
            plain[name] = item
    return plain


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _type(kind: _Kind) -> Any:
    # The estimators import scikit-learn, which takes a second.
    return getattr(import_module(kind.module), kind.name)


def _damaged(origin: str, why: object) -> str:
    return one_sentence(
        f"{origin} is not a complete transform of upto ({reason(why)}): save it again."
    )
