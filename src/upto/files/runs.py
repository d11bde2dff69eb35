"""Read several runs and give them unique names."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from upto.core.read_file import expanded
from upto.files.formats import read_run, short_name
from upto.files.manifest import ListedRun, listed_runs
from upto.files.packages import check_packages
from upto.files.request import split_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from upto.core import Embeddings


def read_runs(paths: Iterable[str | Path], *, ids: str | None = None) -> tuple[Embeddings, ...]:
    """Read several runs; a manifest (``.toml``) is replaced by the runs it lists.

    Runs are named by their key or file name; duplicates are prefixed with the file or folder and,
    if still not unique, numbered.

    Parameters
    ----------
    paths
        Files, ``path::key`` or manifests.
    ids
        Column or entry with one id per row, in files that are not in a manifest.
    """
    wanted: list[ListedRun] = []
    for path in paths:
        if Path(path).suffix.lower() == ".toml":
            wanted += listed_runs(expanded(path))
        else:
            file, key = split_key(path)
            wanted.append(ListedRun(path=file, key=key, ids=ids))
    return _read_all(wanted)


def read_manifest(path: str | Path) -> tuple[Embeddings, ...]:
    """Read all runs of a manifest.

    A manifest is a TOML file with one ``[[run]]`` per run: its `path`, relative to the manifest
    and with ``::key`` where needed, and optionally its `name`, `layer`, `seed`, the column of
    `ids` and the list of columns used as `labels`.

    Parameters
    ----------
    path
        The manifest.
    """
    return _read_all(listed_runs(expanded(path)))


def _read_all(wanted: Sequence[ListedRun]) -> tuple[Embeddings, ...]:
    check_packages(run.path for run in wanted)
    return tuple(
        replace(
            read_run(run.path, key=run.key, name=name, ids=run.ids, columns=run.labels),
            layer=run.layer,
            seed=run.seed,
        )
        for run, name in zip(wanted, _unique_names(wanted), strict=True)
    )


def _unique_names(wanted: Sequence[ListedRun]) -> list[str]:
    choices = [_choices(run) for run in wanted]
    names = [choice[0] for choice in choices]
    for level in (1, 2):
        counts = Counter(names)
        names = [
            choice[min(level, len(choice) - 1)] if counts[name] > 1 else name
            for name, choice in zip(names, choices, strict=True)
        ]
    taken: set[str] = set()
    for position, name in enumerate(names):
        number, unique = 2, name
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        taken.add(unique)
        names[position] = unique
    return names


def _choices(run: ListedRun) -> list[str]:
    """List possible names from the shortest to the most specific."""
    if run.name is not None:
        return [run.name]
    folder = run.path.absolute().parent.name
    if run.key is None:
        return [run.path.stem, f"{folder}/{run.path.stem}"]
    inside = f"{run.path.stem}::{run.key}"
    return [short_name(run.path, run.key), inside, f"{folder}/{inside}"]
