"""Representations of independently trained models, one file of row-aligned arrays per family.

A family is an ``.npz`` file in the data folder or its subfolder ``reps``: arrays of two axes and
equally many rows, one per model, whose rows are the same inputs. Arrays of other shapes (labels,
heads) are ignored, but for ``groups``: one whole number per row, equal for inputs that are held out
together since they are not independent, as the atoms of a molecule. A name that ends in ``_WORD``
or begins with ``mid`` or ``final`` is a layer, and only models of the same layer are paired.
"""

from __future__ import annotations

import itertools
import re
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError
from upto.core.array_types import Float

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Groups = NDArray[np.int64]
GROUPS = "groups"
"""Name of the array with the group of each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a family that we describe.

    Parameters
    ----------
    title
        Name in tables.
    remark
        What a reader should know before trusting a row.
    """

    title: str
    remark: str = ""


KNOWN = {
    "admet_tox21": Known(title="ADMET-AI", remark="D-MPNNs of one ensemble, 2,000 molecules"),
    "ani1x": Known(title="ANI-1x", remark="eight networks of one ensemble, carbon atoms"),
    "magika_files": Known(title="magika", remark="shared start: heads correlate .29 to .39"),
    "resnet_cifar10_test": Known(title="CIFAR ResNets", remark="depths differ, widths are equal"),
    "silero_frames": Known(title="Silero VAD", remark="versions 5 and 6, 8 kHz"),
    "spliceai_chr20": Known(title="SpliceAI", remark="five models of one architecture"),
    "unirep": Known(title="UniRep", remark="sizes differ: 64, 256 and 1,900"),
    "vae_mnist_latents": Known(
        title="VAEs of MNIST", remark="one seed, five losses: not independent starts"
    ),
}
"""Families that we describe, by file name; others are read as well."""
_LAYER = re.compile(r"^(mid|final)(?=\d)|_[a-z]+\d*$")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Family:
    """Models of one family, and their representations of the same inputs.

    Parameters
    ----------
    title
        Name of the family.
    remark
        What a reader should know.
    runs
        Rows of each model.
    names_layers
        Whether the names of models end in that of a layer, as in files of several.
    groups
        Group of each row; whole groups are held out. None if rows are independent.
    """

    title: str
    remark: str
    runs: dict[str, Float] = field(repr=False)
    names_layers: bool = False
    groups: Groups | None = field(default=None, repr=False)

    def layer(self, name: str) -> str:
        """Return the layer that the name of a model ends in, or nothing."""
        return layer_of(name) if self.names_layers else ""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return the pairs of models, of one layer each."""
        for first, second in itertools.combinations(self.runs, 2):
            if self.layer(first) == self.layer(second):
                yield first, second


def layer_of(name: str) -> str:
    """Return the layer in the name of an array, or nothing."""
    found = _LAYER.search(name)
    return found.group().strip("_") if found else ""


def read_families(data: Path | None) -> list[Family]:
    """Read every family in a data folder.

    Raises
    ------
    InputError
        If there is none, or a file is damaged or has models with different numbers of rows.
    """
    paths = [] if data is None else sorted([*data.glob("reps/*.npz"), *data.glob("*.npz")])
    found = [family for path in paths if (family := _read_family(path)) is not None]
    if not found:
        message = (
            f"{data or 'no data folder'} has no representations: give a folder with reps/NAME.npz, "
            "two or more arrays of models × features whose rows are the same inputs, as --data."
        )
        raise InputError(message)
    return found


def _read_family(path: Path) -> Family | None:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        message = f"{path} cannot be read as arrays ({error}): write it again with numpy.savez."
        raise InputError(message) from None
    runs = {
        name: values.astype(np.float64)
        for name, values in arrays.items()
        if values.ndim == 2 and values.dtype.kind == "f" and not name.startswith("head")
    }
    if len(runs) < 2:
        return None
    counts = {len(rows) for rows in runs.values()}
    if len(counts) > 1:
        message = (
            f"{path} has models with {' and '.join(map(str, sorted(counts)))} rows: the rows of "
            "all must be the same inputs."
        )
        raise InputError(message)
    bad = [name for name, rows in runs.items() if not np.isfinite(rows).all()]
    if bad:
        message = f"{path} has values in {bad[0]} that are not finite: drop those rows."
        raise InputError(message)
    known = KNOWN.get(path.stem, Known(title=path.stem))
    return Family(
        title=known.title,
        remark=known.remark,
        runs=runs,
        names_layers=True,
        groups=_groups(path, arrays.get(GROUPS), counts.pop()),
    )


def _groups(path: Path, given: NDArray[Any] | None, n_rows: int) -> Groups | None:
    if given is None:
        return None
    if given.shape != (n_rows,) or given.dtype.kind not in "iu" or len(np.unique(given)) < 2:
        message = f"{path} has no groups of its {n_rows} rows: give one number for each."
        raise InputError(message)
    return given.astype(np.int64)
