"""Distinct names of runs, as short as possible: by layer, file and folder."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from upto.files.formats import short_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.core import Embeddings


def with_distinct_names(runs: Iterable[Embeddings]) -> tuple[Embeddings, ...]:
    """Return runs with distinct names; names that are distinct already stay.

    A name that repeats is followed by the run's layer, then preceded by the nearest folder that
    differs; runs that differ in nothing are numbered.

    Parameters
    ----------
    runs
        Runs; those read from files know their origin.
    """
    runs = tuple(runs)
    names = distinct_names([name_choices(run, layer=run.layer) for run in runs])
    return tuple(
        run if run.name == name else replace(run, name=name)
        for run, name in zip(runs, names, strict=True)
    )


def name_choices(run: Embeddings, *, layer: str | None = None) -> tuple[str, ...]:
    """Return possible names of a run, from the shortest to the most specific.

    Parameters
    ----------
    run
        The run.
    layer
        Layer that distinguishes it from others of its name, if any.
    """
    names = [run.name]
    if layer is not None and not run.name.endswith(f"/{layer}"):
        names.append(f"{run.name}/{layer}")
    if run.origin is None:
        return tuple(names)
    file, mark, key = run.origin.partition("::")
    path = Path(file).absolute()
    folders = [folder.name for folder in path.parents if folder.name]
    if run.name == short_name(path, key or None):
        names += [f"{path.stem}::{key}"] if mark else []
        specific = [f"{path.name}::{key}" if mark else path.name]
    else:
        # A recording is named after its folder.
        folders = folders[1:] if folders[:1] == [run.name.partition("/")[0]] else folders
        specific = []
    label = names[-1]
    names += [f"{folder}/{label}" for folder in folders]
    names += ["/".join([*reversed(folders[:depth]), label]) for depth in range(2, len(folders) + 1)]
    return (*names, *specific)


def distinct_names(choices: Sequence[Sequence[str]]) -> list[str]:
    """Choose a distinct name for each, as short as possible.

    Parameters
    ----------
    choices
        Possible names of each, from the shortest to the most specific. Those with equal choices
        are numbered.

    Examples
    --------
    >>> distinct_names([["run", "a/run"], ["run", "b/run"], ["other"], ["other"]])
    ['a/run', 'b/run', 'other', 'other (2)']
    """
    levels = dict.fromkeys(map(tuple, choices), 0)
    while True:
        counts = Counter(own[level] for own, level in levels.items())
        longer = [
            own for own, level in levels.items() if counts[own[level]] > 1 and level + 1 < len(own)
        ]
        if not longer:
            break
        for own in longer:
            levels[own] += 1
    taken: set[str] = set()
    names = []
    for own in map(tuple, choices):
        name = unique = own[levels[own]]
        number = 2
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        taken.add(unique)
        names.append(unique)
    return names
