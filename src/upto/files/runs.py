"""Read several runs and give them unique names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from upto.core import InputError
from upto.core.errors import shortened
from upto.core.read_file import expanded
from upto.files.formats import read_run
from upto.files.manifest import ListedRun, listed_runs, manifest_of
from upto.files.packages import check_packages
from upto.files.request import listed, split_key
from upto.files.run_names import with_distinct_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from upto.core import Embeddings


def read_runs(paths: Iterable[str | Path], *, ids: str | None = None) -> tuple[Embeddings, ...]:
    """Read several runs; a manifest (``.toml``) is replaced by the runs it lists.

    Runs are named as in their manifest, or by their key or file name; names that repeat are
    distinguished by layer, file or folder, and numbered if nothing else differs.

    Parameters
    ----------
    paths
        Files, ``path::key``, manifests, or the folder of a recording as ``folder::layer``.
    ids
        Column or entry with one id per row, in files that are not in a manifest.

    Returns
    -------
    tuple of Embeddings
        The runs.

    See Also
    --------
    upto.read_run : Read one.
    upto.read_manifest : Read the runs that a manifest lists.
    upto.compare : Takes paths as well.

    Examples
    --------
    >>> import upto
    >>> path = upto.files.bundled_path("cifar_resnets")
    >>> [run.name for run in upto.read_runs([f"{path}::resnet20", f"{path}::resnet32"])]
    ['resnet20', 'resnet32']
    """
    wanted: list[ListedRun] = []
    for path in paths:
        found = listed_in(path, ids=ids)
        _refuse_many(path, found)
        _, key = split_key(path)
        # Whoever chose a layer sees it in the name.
        wanted += [
            replace(run, name=f"{run.name}/{key}")
            if key is not None and run.name is not None and run.layer == key
            else run
            for run in found
        ]
    return _read_all(wanted)


def read_manifest(path: str | Path) -> tuple[Embeddings, ...]:
    r"""Read all runs of a manifest.

    A manifest is a TOML file with one ``[[run]]`` per run: its `path`, relative to the manifest
    and with ``::key`` where needed, and optionally its `name`, `layer`, `seed`, the column of
    `ids` and the list of columns used as `labels`.

    Parameters
    ----------
    path
        The manifest.

    Returns
    -------
    tuple of Embeddings
        The runs, in the order of the manifest.

    See Also
    --------
    upto.read_runs : Reads manifests and other files.
    upto.record_activations : Writes a manifest of layers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import upto
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "a.npy", np.eye(3))
    >>> manifest = folder / "runs.toml"
    >>> _ = manifest.write_text('[[run]]\npath = "a.npy"\nname = "first"\nseed = 0\n')
    >>> [(run.name, run.seed) for run in upto.read_manifest(manifest)]
    [('first', 0)]
    """
    return _read_all(listed_runs(expanded(path)))


def listed_in(path: str | Path, *, ids: str | None = None) -> tuple[ListedRun, ...]:
    """Return the runs that a path stands for, without reading them.

    Parameters
    ----------
    path
        A file, ``path::key``, a manifest or the folder of a recording; ``::layer`` after the last
        two selects the runs of one layer.
    ids
        Column or entry with one id per row, in a file that is not in a manifest.
    """
    file, key = split_key(path)
    manifest = manifest_of(file)
    if manifest is None:
        return (ListedRun(path=file, key=key, ids=ids),)
    runs = listed_runs(manifest)
    if key is None:
        return runs
    chosen = [run for run in runs if key in (run.layer, run.name)]
    if not chosen:
        known = listed(list(dict.fromkeys(run.layer or run.name or run.path.stem for run in runs)))
        message = f"{file} has no layer or run {shortened(key)!r}: it has {known}."
        raise InputError(message)
    return tuple(chosen)


def read_listed(run: ListedRun) -> Embeddings:
    """Read a run as it is listed."""
    read = read_run(run.path, key=run.key, name=run.name, ids=run.ids, columns=run.labels)
    return replace(read, layer=run.layer, seed=run.seed)


def _read_all(wanted: Sequence[ListedRun]) -> tuple[Embeddings, ...]:
    check_packages(run.path for run in wanted)
    return with_distinct_names(map(read_listed, wanted))


def _refuse_many(path: str | Path, found: Sequence[ListedRun]) -> None:
    """Refuse the folder of a recording of several layers, of which one was not chosen."""
    if len(found) > 1 and split_key(path)[0].is_dir():
        layers = [str(run.layer or run.name) for run in found]
        message = (
            f"{path} has {len(found)} layers ({listed(layers, 4)}): name one, as in "
            f"{str(path).rstrip('/')}::{layers[-1]}, or compare the layers of runs with "
            "`upto layers`."
        )
        raise InputError(message)
