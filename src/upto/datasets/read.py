"""Sets of images with known factors, from files you have."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from upto.core import InputError
from upto.core.read_file import expanded
from upto.datasets import class_sets as labelled
from upto.datasets import gridded
from upto.datasets.known import KNOWN_SETS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from upto.datasets.described import KnownSet
    from upto.datasets.find import Check
    from upto.datasets.image_set import ImageSet

    Reader = Callable[[KnownSet, Path, Check], ImageSet]

DATA_VARIABLE = "UPTO_DATA"
"""The environment variable with the folder of datasets, where none is named."""

IMAGE_SETS = (*KNOWN_SETS, "digits")
"""The sets of images that can be read; ``digits`` comes with scikit-learn."""

_READERS: dict[str, Reader] = {
    "shapes3d": gridded.read_shapes3d,
    "mpi3d-toy": gridded.read_mpi3d,
    "mpi3d-realistic": gridded.read_mpi3d,
    "mpi3d-real": gridded.read_mpi3d,
    "mpi3d-complex": gridded.read_mpi3d,
    "falcor3d": gridded.read_numbered,
    "isaac3d": gridded.read_numbered,
    "dsprites": gridded.read_dsprites,
    "cars3d": gridded.read_cars3d,
    "smallnorb": labelled.read_smallnorb,
    "mnist": labelled.read_mnist,
    "fashion-mnist": labelled.read_fashion,
    "cifar10": labelled.read_cifar10,
}


def read_image_set(
    name: str, folder: str | Path | None = None, *, check: Check = "quick"
) -> ImageSet:
    """Read a set of images with known factors from its published files.

    Images of large sets stay in their files until they are asked for. Nothing is downloaded,
    unpacked or unpickled.

    Parameters
    ----------
    name
        One of `IMAGE_SETS`.
    folder
        The folder with its files, a folder with such a folder, or the one file it needs; by
        default what the environment variable ``UPTO_DATA`` names.
    check
        ``quick`` compares files with the published checksums, of files above half a gigabyte only
        three pieces; ``full`` reads all of every file; ``none`` takes files as they are. Shapes
        and the order of factors are checked always.

    Returns
    -------
    ImageSet
        With its ``grid`` where every combination of factors is there once.

    Raises
    ------
    InputError
        If files are missing, damaged, or differ from the published ones.
    MissingExtraError
        If HDF5 or PNG files need a package that is not installed.

    Examples
    --------
    >>> digits = read_image_set("digits")
    >>> digits.shape, digits.factor_names, len(digits.held_rows)
    ((1797, 8, 8, 1), ('digit',), 360)
    >>> digits.read_floats([0, 1]).max()
    np.float32(1.0)
    """
    if name not in IMAGE_SETS:
        message = f"there is no set of images {name!r}: choose one of {', '.join(IMAGE_SETS)}."
        raise InputError(message)
    if check not in ("quick", "full", "none"):
        message = f"check={check!r} is none of quick, full and none: choose one."
        raise InputError(message)
    if name == "digits":
        return labelled.read_digits()
    known = KNOWN_SETS[name]
    named = folder or os.environ.get(DATA_VARIABLE)
    if not named:
        message = (
            f"{known.title} does not come with upto: get it ({known.n_images:,} images, "
            f"{known.size}, licence: {known.licence}) from {known.source} and name the folder "
            f"with {known.layout}: here, as `--data` of a study, or as the variable "
            f"{DATA_VARIABLE}."
        )
        raise InputError(message)
    return _READERS[name](known, expanded(named), check)
