"""Convert arrays, paths, manifests and `Embeddings` to `Embeddings`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, InputError, Rows
from upto.files import read_runs
from upto.files.packages import check_packages
from upto.files.run_names import with_distinct_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    Run = Embeddings | ArrayLike | str | Path


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def as_embeddings(runs: Sequence[Run], names: Sequence[str] = _ORDINALS) -> tuple[Embeddings, ...]:
    """Convert arrays, paths, manifests and embeddings to embeddings with unique names."""
    check_packages(runs)
    embeddings: list[Embeddings] = []
    for position, run in enumerate(runs):
        if isinstance(run, Embeddings):
            embeddings.append(run)
        elif isinstance(run, str | Path):
            embeddings.extend(read_runs([run]))
        else:
            name = names[position] if position < len(names) else f"run {position + 1}"
            embeddings.append(Embeddings(rows=_as_rows(run, name), name=name))
    return with_distinct_names(embeddings)


def single_run(run: Run, asker: str, *, ids: str | None = None, name: str = "run") -> Embeddings:
    """Take the one run that a function works on; `ids` names the column of ids of a file.

    Raises
    ------
    InputError
        If a manifest lists several.
    """
    if ids is not None and isinstance(run, str | Path):
        found = read_runs([run], ids=ids)
    else:
        found = as_embeddings([run], names=(name,))
    if len(found) != 1:
        message = f"{asker} takes one run, but the manifest lists {len(found)}: name one of them."
        raise InputError(message)
    return found[0]


def _as_rows(run: Any, name: str) -> Any:
    if hasattr(run, "toarray"):
        message = f"{name} is a sparse matrix: pass its `toarray()`."
        raise InputError(message)
    if isinstance(run, np.ma.MaskedArray) and np.ma.is_masked(run):
        count = int(np.ma.getmaskarray(run).sum())
        message = f"{name} has {count} masked values: remove or fill them first."
        raise InputError(message)
    if isinstance(run, Rows):
        return run
    try:
        return np.asarray(run)
    except ValueError:
        message = f"{name} is not an array: its rows differ in length."
        raise InputError(message) from None


def with_column(
    given: str | ArrayLike, runs: tuple[Embeddings, ...], what: str, name: str
) -> tuple[str, tuple[Embeddings, ...]]:
    """Find a column of the first run by name, or add values as a column."""
    first = runs[0]
    if isinstance(given, str):
        if given not in first.columns:
            known = ", ".join(first.columns) or "none"
            message = (
                f"{first.name} has no column {given!r} besides its coordinates; its columns are: "
                f"{known}. Numeric columns are coordinates: name one as FILE::COLUMN or pass "
                "its values."
            )
            raise InputError(message)
        return given, runs
    values = np.asarray(given)
    if values.ndim != 1 or len(values) != len(first):
        message = (
            f"{what} have shape {values.shape} but {first.name} has {len(first)} rows: pass one "
            f"{name} per row."
        )
        raise InputError(message)
    return name, (replace(first, columns={**first.columns, name: values}), *runs[1:])
