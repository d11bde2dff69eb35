"""Match the rows of several runs to the same samples in the same order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Embeddings, Finding, InputError, SelectedRows
from upto.files.frames import is_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


_BY_POSITION = "call `reset_index(drop=True)` of a pandas frame to match it by position"


def match_rows(
    runs: Sequence[Embeddings],
) -> tuple[tuple[Embeddings, ...], tuple[Finding, ...]]:
    """Select the samples that all runs share, in the order of the first run.

    If every run has ids, rows are matched by id, and ids missing from some runs are dropped with
    finding UP006. Otherwise rows must already be in the same order and equally many. No row is
    read.

    Parameters
    ----------
    runs
        The runs.

    Returns
    -------
    tuple of Embeddings, and tuple of Finding
        The runs with the same samples, and what was left out.

    Raises
    ------
    InputError
        If ids repeat or are missing within a run, no id is in every run, or the numbers of rows
        differ.

    See Also
    --------
    upto.Embeddings : A run with ids.
    upto.compare : Matches rows itself.
    upto.Finding : What was left out.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> one = upto.Embeddings(rows=np.eye(3), ids=np.array(["a", "b", "c"]))
    >>> two = upto.Embeddings(rows=np.eye(3), ids=np.array(["c", "a", "x"]))
    >>> runs, findings = upto.files.match_rows([one, two])
    >>> runs[0].ids.tolist(), runs[1].ids.tolist(), findings[0].code
    (['a', 'c'], ['a', 'c'], 'UP006')
    """
    if len(runs) < 2:
        return tuple(runs), ()
    if any(run.ids is None for run in runs):
        _check_counts(runs)
        return tuple(runs), _by_position(runs)
    for run in runs:
        _check_missing(run)
    all_ids = as_comparable([np.asarray(run.ids) for run in runs])
    for run, ids in zip(runs, all_ids, strict=True):
        _check_unique(run, ids)
    shared = all_ids[0]
    for run, ids in zip(runs[1:], all_ids[1:], strict=True):
        shared = shared[np.isin(shared, ids)]
        if not len(shared):
            message = (
                f"{_names(runs)} share no ids: {runs[0].name} has ids such as "
                f"{str(all_ids[0][0])!r} and {run.name} such as {str(ids[0])!r}. "
                f"Pass ids that name the same samples in every run, or {_BY_POSITION}."
            )
            raise InputError(message)
    matched = tuple(_select(run, ids, shared) for run, ids in zip(runs, all_ids, strict=True))
    return matched, _left_out(runs, all_ids, shared)


def _by_position(runs: Sequence[Embeddings]) -> tuple[Finding, ...]:
    named = [run.name for run in runs if run.ids is not None]
    if not named:
        return ()
    message = f"{', '.join(named)} has ids but not every run does: rows were matched by position."
    return (Finding(code="UP020", message=message),)


def _check_counts(runs: Sequence[Embeddings]) -> None:
    first = runs[0]
    for run in runs[1:]:
        if run.n_samples != first.n_samples:
            message = (
                f"{first.name} has {first.n_samples} rows but {run.name} has {run.n_samples}: "
                "embeddings must describe the same samples in the same order. Pass ids to match "
                "them, or drop the extra rows."
            )
            raise InputError(message)


def as_comparable(all_ids: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Keep ids as integers if every run has integers, and compare as text otherwise."""
    all_ids = [_whole(ids) for ids in all_ids]
    if all(ids.dtype.kind in "iu" for ids in all_ids):
        return all_ids
    return [_as_text(ids) for ids in all_ids]


def _whole(ids: NDArray[Any]) -> NDArray[Any]:
    # Ids from a table with missing values come back as 1.0, 2.0 and still mean 1, 2.
    if ids.dtype.kind == "f" and np.all(np.abs(ids) < 2**53) and np.all(ids == np.floor(ids)):
        return ids.astype(np.int64)
    return ids


def _as_text(ids: NDArray[Any]) -> NDArray[Any]:
    if ids.dtype.kind == "S":
        return np.char.decode(ids, "utf-8")
    return ids.astype(str)


def _check_missing(run: Embeddings) -> None:
    ids = np.asarray(run.ids)
    # The readers of tables return a missing text as an empty one.
    count = 0
    if ids.dtype.kind in "fmM":
        count = int(np.count_nonzero(ids != ids))
    elif ids.dtype.kind in "OSU":
        count = sum(is_missing(each) or each in ("", b"") for each in ids.tolist())
    if count:
        message = (
            f"{run.name} has no id in {count} of {len(ids)} rows: ids must not be missing to match "
            f"rows. Name a column as ids, drop those rows, or {_BY_POSITION}."
        )
        raise InputError(message)


def _check_unique(run: Embeddings, ids: NDArray[Any]) -> None:
    values, counts = np.unique(ids, return_counts=True)
    repeated = np.flatnonzero(counts > 1)
    if len(repeated):
        example = repeated[0]
        message = (
            f"{run.name} has {len(repeated)} ids that occur more than once, such as "
            f"{str(values[example])!r} in {counts[example]} rows: ids must be unique to match "
            f"rows. Pass other ids, drop the repeated rows, or {_BY_POSITION}."
        )
        raise InputError(message)


def _select(run: Embeddings, ids: NDArray[Any], shared: NDArray[Any]) -> Embeddings:
    order = np.argsort(ids, kind="stable")
    index = order[np.searchsorted(ids, shared, sorter=order)]
    if len(index) == len(ids) and np.array_equal(index, np.arange(len(ids))):
        return run
    return replace(
        run,
        rows=SelectedRows(run.rows, index),
        ids=np.asarray(run.ids)[index],
        columns={name: np.asarray(values)[index] for name, values in run.columns.items()},
    )


def _left_out(
    runs: Sequence[Embeddings], all_ids: list[NDArray[Any]], shared: NDArray[Any]
) -> tuple[Finding, ...]:
    parts = []
    for run, ids in zip(runs, all_ids, strict=True):
        missing = ids[~np.isin(ids, shared)]
        if len(missing):
            example = str(missing[0])
            parts.append(f"{len(missing)} of {len(ids)} in {run.name}, such as {example!r}")
    if not parts:
        return ()
    message = f"{len(shared)} ids are in every run; left out were {'; '.join(parts)}."
    return (Finding(code="UP006", message=message),)


def _names(runs: Sequence[Embeddings]) -> str:
    return f"{', '.join(run.name for run in runs[:-1])} and {runs[-1].name}"
