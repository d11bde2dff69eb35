"""Choose the embedding, ids and labels in files with several named arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, Rows
from upto.files.damage import PICKLED
from upto.files.request import ID_NAMES, Columns, Contents, Request, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Entry:
    """One array of a container; `problem` is why it cannot be an embedding, or None."""

    shape: tuple[int, ...]
    kind: str
    problem: str | None

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: Any) -> Entry:
        """Describe an array by its shape and type."""
        return cls(tuple(shape), str(dtype), problem_of(tuple(shape), np.dtype(dtype)))

    def __str__(self) -> str:
        return f"{' × '.join(map(str, self.shape)) or 'scalar'} {self.kind}"


class Container(ABC):
    """Named arrays in one file.

    Subclasses fill `arrays`, which a key can select; `vectors`, the lengths of possible ids and
    labels; and `ids`, the vector used as ids by default.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Entry] = {}
        self.vectors: dict[str, int] = {}
        self.ids: str | None = None

    @abstractmethod
    def rows(self, key: str) -> Rows:
        """Return one array as rows, read lazily where the format allows."""

    @abstractmethod
    def values(self, name: str) -> NDArray[Any]:
        """Read one vector."""

    def features(self, key: str) -> tuple[str, ...]:
        """Return the names of an array's columns; empty if they have none."""
        return ()

    def add(self, name: str, entry: Entry) -> None:
        """Add an array; a plain vector may be labels or, by its name, ids."""
        self.arrays[name] = entry
        if len(entry.shape) == 1 and entry.kind != "object":
            self.vectors[name] = entry.shape[0]
            self.ids = next((name for name in ID_NAMES if name in self.vectors), None)


class ArrayContainer(Container):
    """Named arrays in one file, of any shape."""

    @abstractmethod
    def whole(self, name: str) -> NDArray[Any]:
        """Read one array into memory."""


def problem_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str | None:
    """Return why an array cannot be an embedding, as the predicate of a sentence, or None."""
    if dtype.kind == "O":
        return PICKLED
    if dtype.names:
        fields = listed(dtype.names)
        return f"holds records of {fields}: save the numbers as one two-dimensional array."
    if len(shape) != 2:
        remedy = "Flatten or pool the others first." if len(shape) > 2 else "Choose one with two."
        count = f"{len(shape)} dimension{'' if len(shape) == 1 else 's'}"
        return (
            f"has {count}, its shape is {shape}: embeddings have two, one row per sample. {remedy}"
        )
    if dtype.kind == "c":
        return (
            f"holds {dtype} values, not real numbers: take the real part, or put the real and "
            "imaginary parts side by side."
        )
    if dtype.kind not in "fiub":
        return f"holds {dtype} values, not real numbers: choose a numeric array or convert it."
    return f"is empty: its shape is {shape}." if 0 in shape else None


def read_container(request: Request, container: Container) -> Contents:
    """Read the embedding, the ids and the labels of a container."""
    key = _choose(request, container)
    n_samples = container.arrays[key].shape[0]
    label = request.item(key)
    names = request.columns
    ids = request.ids if request.ids is not None else container.ids
    if request.ids is None and ids is not None and container.vectors[ids] != n_samples:
        ids = None
    if names is None:
        names = tuple(
            name
            for name, length in container.vectors.items()
            if length == n_samples and name not in (ids, key)
        )
    for name in (*names, *([ids] if ids is not None else [])):
        _check_vector(request, container, name, label, n_samples)
    return Contents(
        rows=container.rows(key),
        ids=None if ids is None else container.values(ids),
        columns={name: container.values(name) for name in names},
        features=container.features(key),
    )


def container_labels(request: Request, container: Container) -> tuple[str, NDArray[Any]]:
    """Return the vector named by the key, or the only one."""
    vectors = [name for name in container.vectors if name != container.ids]
    name = request.key
    if name is None:
        if len(vectors) != 1:
            found = f"has the columns {listed(vectors)}" if vectors else "has no column of labels"
            example = request.choice("labels")
            message = f"{request.path} {found}: name the one to use, as in {example}."
            raise InputError(message)
        name = vectors[0]
    if name not in container.vectors:
        raise InputError(_no_column(request, container, name))
    return name, container.values(name)


def container_columns(request: Request, container: Container) -> Columns:
    """Return the vectors of a container as columns, or else the columns of its only array.

    A key selects one vector, or an array whose columns are returned.
    """
    ids = request.ids if request.ids is not None else container.ids
    if ids is not None and ids not in container.vectors:
        raise InputError(_no_column(request, container, ids))
    names = [name for name in container.vectors if name != ids]
    if request.key is not None and request.key in container.vectors:
        names = [request.key]
    elif request.key is not None or not names:
        key = _choose(request, container)
        columns = as_columns(request, short_key(key), np.asarray(container.rows(key)[:]))
        return _of_one_length(request, container, ids, columns)
    return _of_one_length(request, container, ids, {name: container.values(name) for name in names})


def as_columns(request: Request, name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of an array, numbered from 0; a vector is one column."""
    if values.ndim == 1:
        return {name: values}
    if values.ndim != 2 or values.shape[1] == 0:
        message = (
            f"{request.path} has shape {values.shape}: columns need an array of one or two "
            "dimensions."
        )
        raise InputError(message)
    return {f"{name} {number}": column for number, column in enumerate(values.T)}


def short_key(key: str) -> str:
    """Return the last part of a key."""
    return key.rstrip("/").rpartition("/")[2] or key


def _of_one_length(
    request: Request, container: Container, ids: str | None, columns: dict[str, NDArray[Any]]
) -> Columns:
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = listed([f"{name} ({length})" for name, length in lengths.items()])
        message = (
            f"{request.path} has vectors of different lengths: {shown}. Choose one array, as in "
            f"{request.choice(next(iter(lengths)))}."
        )
        raise InputError(message)
    length = next(iter(lengths.values()))
    if ids is not None and container.vectors[ids] != length:
        if request.ids is not None:
            _check_vector(request, container, ids, next(iter(columns)), length)
        ids = None
    return Columns(ids=None if ids is None else container.values(ids), columns=columns)


def _choose(request: Request, container: Container) -> str:
    arrays = container.arrays
    if request.key is not None:
        key = _find(request.key, arrays)
        if key is None:
            held = [f"{name} ({entry})" for name, entry in arrays.items()]
            message = (
                f"{request.path} has no array {request.key!r}: it holds {listed(held) or 'none'}."
            )
            raise InputError(message)
        if (problem := arrays[key].problem) is not None:
            raise InputError(f"{request.item(key)} {problem}")  # noqa: EM102 - a sentence in two
        return key
    usable = [name for name, entry in arrays.items() if entry.problem is None]
    if len(usable) == 1:
        return usable[0]
    if usable:
        shown = [f"{name} ({arrays[name]})" for name in usable]
        message = (
            f"{request.path} holds {len(usable)} arrays that could be the embedding: "
            f"{listed(shown)}. Choose one, as in {request.choice(usable[0])}."
        )
        raise InputError(message)
    if len(arrays) == 1:
        name, entry = next(iter(arrays.items()))
        message = f"{request.item(name)} {entry.problem}"
    elif sparse := [name for name, entry in arrays.items() if entry.kind == "sparse"]:
        message = f"{request.item(sparse[0])} {arrays[sparse[0]].problem}"
    else:
        held = [f"{name} ({entry})" for name, entry in arrays.items()]
        message = (
            f"{request.path} holds no two-dimensional numeric array: it holds "
            f"{listed(held) or 'nothing'}."
        )
    raise InputError(message)


def _find(key: str, arrays: dict[str, Entry]) -> str | None:
    if key.strip("/") in arrays:
        return key.strip("/")
    ends = [name for name in arrays if name.endswith(f"/{key}")]
    return ends[0] if len(ends) == 1 else None


def _check_vector(
    request: Request, container: Container, name: str, label: str, n_samples: int
) -> None:
    if name not in container.vectors:
        raise InputError(_no_column(request, container, name))
    if (length := container.vectors[name]) != n_samples:
        message = (
            f"{name!r} has {length} values but {label} has {n_samples} rows: "
            "pass one value per row."
        )
        raise InputError(message)


def _no_column(request: Request, container: Container, name: str) -> str:
    held = listed([*container.vectors]) or "none"
    if (entry := container.arrays.get(name)) is not None:
        is_pickle = entry.problem == PICKLED
        why = PICKLED if is_pickle else f"is {entry}, not one value per row."
        return f"{request.item(name)} {why}"
    return f"{request.path} has no column {name!r}: its columns are {held}."
