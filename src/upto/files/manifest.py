"""Read manifests: TOML lists of runs with their metadata."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upto.core import InputError
from upto.core.errors import reason, shortened
from upto.core.read_file import read_whole
from upto.files.damage import sentences
from upto.files.request import split_key
from upto.files.signatures import check_exists


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """One run to read, from a manifest or the command line."""

    path: Path
    key: str | None = None
    name: str | None = None
    layer: str | None = None
    seed: int | None = None
    ids: str | None = None
    labels: tuple[str, ...] | None = None


_ALLOWED: dict[str, type] = {
    "path": str,
    "name": str,
    "layer": str,
    "seed": int,
    "ids": str,
    "labels": list,
}
_LONGEST = 2**26
_LARGEST_SEED = 2**63
_WORDS = {str: "text", int: "a whole number", list: "a list of text"}


MANIFEST = "runs.toml"
"""Name of the manifest in the folder of a recording."""


def manifest_of(path: Path) -> Path | None:
    """Return the manifest that a path is, or that the folder of a recording contains."""
    if path.suffix.lower() == ".toml":
        return path
    inside = path / MANIFEST
    # Unlike `Path.is_file`, false for names that are too long and links in a loop.
    is_recording = path.suffix.lower() != ".zarr" and os.path.isfile(inside)  # noqa: PTH113
    return inside if is_recording else None


def listed_runs(manifest: Path) -> tuple[ListedRun, ...]:
    """Read the `[[run]]` entries of a manifest; paths are relative to it."""
    with sentences():
        return _listed_runs(manifest)


def _listed_runs(manifest: Path) -> tuple[ListedRun, ...]:
    check_exists(manifest)
    try:
        # Numbers, dates or nesting beyond Python's limits raise other errors than invalid TOML.
        content = tomllib.loads(read_whole(manifest, _LONGEST).decode("utf-8"))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        message = f"{manifest} is not valid TOML: {reason(error)}."
        raise InputError(message) from None
    for name in content:
        if name != "run":
            message = (
                f"{manifest} has the unknown key {shortened(name)!r}: a manifest has [[run]] only."
            )
            raise InputError(message)
    runs = content.get("run", [])
    if not isinstance(runs, list) or not runs:
        message = f'{manifest} lists no runs: add a [[run]] with path = "run.npy" for each.'
        raise InputError(message)
    return tuple(_listed_run(manifest, number, run) for number, run in enumerate(runs, start=1))


def _listed_run(manifest: Path, number: int, run: Any) -> ListedRun:
    where = f"run {number} of {manifest}"
    if not isinstance(run, dict):
        message = f"{where} is {shortened(repr(run))}: write [[run]] and its keys below."
        raise InputError(message)
    for name, value in run.items():
        if name not in _ALLOWED:
            message = (
                f"{where} has the unknown key {shortened(name)!r}: the keys are "
                f"{', '.join(_ALLOWED)}."
            )
            raise InputError(message)
        is_text_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        fits = is_text_list if _ALLOWED[name] is list else isinstance(value, _ALLOWED[name])
        if not fits or isinstance(value, bool):
            message = (
                f"{where} has {name} = {shortened(repr(value))}: {name} is "
                f"{_WORDS[_ALLOWED[name]]}."
            )
            raise InputError(message)
    if abs(run.get("seed", 0)) >= _LARGEST_SEED:
        message = f"{where} has a seed of {len(str(run['seed']))} digits: use at most 18."
        raise InputError(message)
    if "path" not in run:
        message = f'{where} has no path: add path = "run.npy".'
        raise InputError(message)
    if "\0" in run["path"]:
        message = f"{where} has a path with a null character, which is not allowed: correct it."
        raise InputError(message)
    path, key = split_key(manifest.parent / run["path"])
    labels = run.get("labels")
    return ListedRun(
        path=path,
        key=key,
        name=run.get("name"),
        layer=run.get("layer"),
        seed=run.get("seed"),
        ids=run.get("ids"),
        labels=None if labels is None else tuple(labels),
    )
