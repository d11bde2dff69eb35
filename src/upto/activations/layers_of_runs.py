"""Read the layers of runs listed in a manifest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from upto.core.read_file import expanded
from upto.files.formats import read_run, short_name
from upto.files.manifest import listed_runs

if TYPE_CHECKING:
    from pathlib import Path

    from upto.core import Embeddings


def read_layers(path: str | Path) -> tuple[Embeddings, ...]:
    """Read the layers listed in a manifest; layers of one run share its name.

    Any other file is a run of one layer.

    Parameters
    ----------
    path
        A manifest or a file of embeddings.
    """
    file = expanded(path)
    if file.suffix.lower() != ".toml":
        return (read_run(path),)
    return tuple(
        replace(
            read_run(
                run.path,
                key=run.key,
                name=run.name if run.name is not None else short_name(run.path, run.key),
                ids=run.ids,
                columns=run.labels,
            ),
            layer=run.layer,
            seed=run.seed,
        )
        for run in listed_runs(file)
    )
