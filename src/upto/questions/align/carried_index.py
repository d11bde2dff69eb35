"""The index that is carried: its parts, and its size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from upto.core import Embeddings, InputError
from upto.files.accept import single_run
from upto.transforms.coordinate_names import places_among
from upto.transforms.several_files import name_of_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def size_of(index: Sequence[Embeddings], n_pairs: int, asked: int | None) -> int:
    """Return the number of rows of the index, by default those that are known of."""
    known = sum(part.n_samples for part in index) or n_pairs
    if asked is not None and asked < known:
        message = (
            f"index_size is {asked}, but the index has at least the {known:,} rows that were "
            f"given: pass {known} or more, or leave it out."
        )
        raise InputError(message)
    return asked or known


def find_index(
    old: Embeddings, new: Embeddings, apply: Any, ids: str | Sequence[ArrayLike] | None
) -> tuple[Embeddings, ...]:
    """Return the parts of the index; without any, `old` if not all of its rows were embedded."""
    if apply is None:
        return (old,) if old.n_samples > new.n_samples else ()
    name = column_of_ids(ids)
    parts = tuple(
        single_run(part, "align", ids=name_of_ids(part, name)) for part in parts_of(apply)
    )
    for part in parts:
        if part.origin is not None and part.origin == new.origin != old.origin:
            message = (
                f"{part.name} has the rows of the new model, which need not be carried: give the "
                "index that the old model made."
            )
            raise InputError(message)
        if part.n_features != old.n_features:
            message = (
                f"the index {part.name} has {part.n_features} coordinates, but {old.name} has "
                f"{old.n_features}: give the index that the old model made"
            )
            if part.n_features == new.n_features:
                message += f", not one of {new.name}, whose width this is"
            message += "."
            raise InputError(message)
        # Other columns are refused before anything is fitted.
        places_among(old.features, part.features, part.name)
    return parts


def column_of_ids(ids: str | Sequence[ArrayLike] | None) -> str | None:
    """Return the name of the column of ids; ids given as values are those of the pairs."""
    return ids if isinstance(ids, str) else None


def parts_of(apply: Any) -> Sequence[Any]:
    """Return the parts of an index; a list of numbers is one part."""
    if isinstance(apply, list | tuple) and apply:
        first = apply[0]
        if isinstance(first, str | Path | Embeddings) or len(getattr(first, "shape", ())) == 2:
            return apply
    return (apply,)
