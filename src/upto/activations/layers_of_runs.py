"""Read the layers of runs: of a recording, or as listed in a manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.files.packages import check_packages
from upto.files.runs import listed_in, read_listed

if TYPE_CHECKING:
    from pathlib import Path

    from upto.core import Embeddings


def read_layers(path: str | Path) -> tuple[Embeddings, ...]:
    """Read the layers of a recording or manifest; layers of one run share its name.

    Any other file is a run of one layer.

    Parameters
    ----------
    path
        The folder of a recording, a manifest or a file of embeddings.
    """
    found = listed_in(path)
    check_packages(run.path for run in found)
    return tuple(map(read_listed, found))
