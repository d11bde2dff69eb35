"""Save and load fitted transforms as safetensors: arrays and a JSON description, no pickle."""

from __future__ import annotations

from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from upto.core import InputError, TraceStep, read_tensors, write_tensors
from upto.core.errors import one_sentence, reason, shortened
from upto.core.read_file import expanded
from upto.transforms.kinds import KINDS, LARGEST, Stored, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upto.transforms.kinds import Transform

SCHEMA = 1
DESCRIPTION, DIGEST = "transform", "sha256"
"""Names of the texts of a file that describe a transform and reveal damage; all else is arrays."""

_Value = None | bool | int | float | str
_NUMBERS = (np.dtype(np.float64), np.dtype(np.float32))
_LOWEST = {"positions": 0, "partners": -1}


class _Description(msgspec.Struct, omit_defaults=True):
    kind: str
    schema: int
    upto: str
    parameters: dict[str, _Value]
    feature_names: list[str] | None = None
    n_iter: int | None = None
    converged: bool | None = None
    trace: tuple[TraceStep, ...] | None = ()
    rank: int | None = None
    n_features_in: Annotated[int, msgspec.Meta(ge=1)] | None = None
    worst_error: float | None = None
    target_names: tuple[str, ...] | None = None
    length: float | None = None
    shrinkage: float | None = None
    bandwidth: float | None = None
    source: str | None = None
    target: str | None = None


def save_transform(path: str | Path, estimator: Transform) -> None:
    """Save a fitted estimator to a safetensors file, atomically.

    The engine or device, a random state that is not an integer and a contrast that is a function
    are not saved: a loaded estimator transforms identically, but refitting it may give another
    result. The names of the models that a map leads from and to are saved if they are known
    (`source_name_`, `target_name_`).

    Parameters
    ----------
    path
        Output file, ending in ``.safetensors``.
    estimator
        The fitted `ICA`, `Whitener`, `Aligner`, `RidgeAligner`, `KernelAligner` or
        `NetworkAligner`.

    Raises
    ------
    InputError
        If the file cannot be written, or the estimator is none of these or not fitted.

    See Also
    --------
    upto.load_transform : Read the file.
    upto.apply_transform : Apply it to files of any size.
    upto.write_to_anndata : Keep a transform in an AnnData object.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import upto
    >>> source = np.random.default_rng(0).normal(size=(100, 3))
    >>> aligner = upto.Aligner("rigid").fit(source, source[:, ::-1] + 5)
    >>> path = f"{tempfile.mkdtemp()}/map.safetensors"
    >>> upto.save_transform(path, aligner)
    >>> upto.load_transform(path)
    Aligner()
    """
    check_transform_path(path)
    entries = pack_transform(estimator)
    description = entries.pop(DESCRIPTION)
    words = {DESCRIPTION: description, DIGEST: _digest(entries, description)}
    write_tensors(expanded(path), entries, words)


def check_transform_path(path: Any) -> None:
    """Refuse a path that does not end in ``.safetensors``."""
    if not isinstance(path, str | Path):
        message = f"the file of a transform is a path, not {type(path).__name__}: give it first."
        raise InputError(message)
    if Path(path).suffix.lower() != ".safetensors":
        message = f"{path} does not end in .safetensors, the format of saved transforms: rename it."
        raise InputError(message)


def load_transform(path: str | Path) -> Transform:
    """Load a fitted estimator saved by `save_transform`.

    That is an `ICA`, `Whitener`, `Aligner`, `RidgeAligner`, `KernelAligner` or `NetworkAligner`,
    which needs no torch to be applied. No code in the file is run: only known arrays and plain
    parameters are read.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    ICA, Whitener or an aligner
        The fitted estimator.

    Raises
    ------
    InputError
        If the file is not a saved transform, is damaged, or was written by a later version of upto.

    See Also
    --------
    upto.save_transform : Write such a file.
    upto.apply_transform : Apply it to files of any size.
    upto.ica_from_anndata : Read a transform from an AnnData object.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import upto
    >>> rows = np.random.default_rng(0).normal(size=(100, 3))
    >>> path = f"{tempfile.mkdtemp()}/white.safetensors"
    >>> upto.save_transform(path, upto.Whitener().fit(rows))
    >>> upto.load_transform(path).transform(rows).shape
    (100, 3)
    """
    path = expanded(path)
    try:
        arrays, words = read_tensors(path)
    except InputError:
        if path.suffix.lower() == ".safetensors" or not path.exists():
            raise
        words = {}  # a file of another format
    if DESCRIPTION not in words:
        message = (
            f"{path} is not a saved transform: make one with `upto align --save`, "
            "`upto unmix --save` or `upto.save_transform`, which write .safetensors files."
        )
        raise InputError(message)
    if words.get(DIGEST, "") not in ("", _digest(arrays, words[DESCRIPTION])):
        raise InputError(_damaged(str(path), "its numbers are not those that were saved"))
    return unpack_transform({**arrays, DESCRIPTION: words[DESCRIPTION]}, str(path))


def _digest(arrays: Mapping[str, Any], description: str) -> str:
    """Return a SHA-256 digest of a description and the arrays, in order of their names."""
    digest = sha256(description.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.newbyteorder('<').str} {array.shape}".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
    return digest.hexdigest()


def pack_transform(estimator: Transform) -> dict[str, Any]:
    """Return the arrays of a fitted estimator and its description as JSON.

    Parameters
    ----------
    estimator
        The fitted estimator.
    """
    name, kind = kind_of(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    scalars = [each.removeprefix("?") for each in kind.scalars]
    description = _Description(
        kind=name,
        schema=SCHEMA,
        upto=metadata.version("upto"),
        parameters=_plain(estimator.get_params(deep=False)),
        feature_names=None if names is None else [str(each) for each in names],
        source=getattr(estimator, "source_name_", None),
        target=getattr(estimator, "target_name_", None),
        **{each: _item(getattr(estimator, f"{each}_")) for each in scalars},
    )
    return kind.found_in(estimator) | {DESCRIPTION: msgspec.json.encode(description).decode()}


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
    steps, parameters = described.trace, described.parameters
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
    described.trace = ()
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
    if described.kind not in KINDS or described.schema != SCHEMA:
        message = (
            f"{origin} is a transform of kind {shortened(described.kind)!r}, schema "
            f"{shortened(described.schema)}, which this version of upto does not support: load it "
            f"with upto {shortened(described.upto)}."
        )
        raise InputError(message)
    kind = KINDS[described.kind]
    cls = kind.type()
    unknown = set(described.parameters) - set(_plain(cls().get_params(deep=False)))
    if unknown:
        raise InputError(_damaged(origin, f"{cls.__name__} has no parameter {min(unknown)!r}"))
    estimator = cls(**described.parameters)
    scalars = {name.removeprefix("?"): name[0] == "?" for name in kind.scalars}
    for name, optional in scalars.items():
        if getattr(described, name) is None and not optional:
            raise InputError(_damaged(origin, f"it has no {name}"))
    # Without an array as wide as the input, its width is a number of the description.
    sizes: dict[str, int] = {}
    if described.n_features_in is not None and "n_features_in" in scalars:
        sizes["d"] = described.n_features_in
    arrays = {
        name: _array(entries, name, stored, sizes, origin) for name, stored in kind.arrays.items()
    }
    found = {name: getattr(described, name) for name in scalars}
    kind.put(estimator, arrays, sizes["d"], found)
    for name, value in found.items():
        setattr(estimator, f"{name}_", value)
    for name in ("source", "target"):
        if getattr(described, name) is not None:
            setattr(estimator, f"{name}_name_", getattr(described, name))
    if flaw := kind.flaw(estimator):
        raise InputError(_damaged(origin, flaw))
    estimator._n_features_out = sizes["k"]
    if described.feature_names is not None:
        if len(described.feature_names) != sizes["d"]:
            why = f"{len(described.feature_names)} names for {sizes['d']} coordinates"
            raise InputError(_damaged(origin, why))
        estimator.feature_names_in_ = np.array(described.feature_names, dtype=object)
    return estimator  # type: ignore[no-any-return]


def _array(
    entries: Mapping[str, Any], name: str, stored: Stored, sizes: dict[str, int], origin: str
) -> Any:
    if name not in entries:
        if stored.optional:
            return None
        raise InputError(_damaged(origin, f"it has no {name}"))
    array = np.asarray(entries[name])
    fits = array.ndim == len(stored.letters) and 0 not in array.shape
    for letter, size in zip(stored.letters, array.shape, strict=False):
        fits = fits and sizes.setdefault(letter, size) == size
    if not fits:
        raise InputError(_damaged(origin, f"{name} has the shape {array.shape}"))
    if stored.values == "numbers":
        # False if it is NaN.
        valid = array.dtype in _NUMBERS and float(np.abs(array).max()) <= LARGEST
    elif stored.values == "mask":
        valid = array.dtype == bool
    else:
        valid = array.dtype == np.int64 and _LOWEST[stored.values] <= array.min()
        valid = valid and array.max() < sizes["d"]
    if not valid:
        raise InputError(_damaged(origin, f"{name} has invalid values"))
    return array


def _plain(parameters: Mapping[str, Any]) -> dict[str, _Value]:
    """Keep the parameters that are portable to other machines."""
    plain: dict[str, _Value] = {}
    for name, value in parameters.items():
        item = _item(value)
        if name in ("engine", "device") or (
            name == "random_state" and not isinstance(item, int | None)
        ):
            continue
        if isinstance(item, _Value):
            plain[name] = item
    return plain


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _damaged(origin: str, why: object) -> str:
    return one_sentence(
        f"{origin} is not a complete transform of upto ({reason(why)}): save it again."
    )
