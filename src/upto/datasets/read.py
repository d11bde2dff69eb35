"""Read image sets with known factors from local files."""

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
"""Environment variable with the default folder of datasets."""

IMAGE_SETS = (*KNOWN_SETS, "digits")
"""Names of the image sets that `read_image_set` reads; ``digits`` comes with scikit-learn."""

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
    """Read an image set with known factors from its published files.

    Images of large sets stay in their files until needed. Nothing is downloaded, unpacked or
    unpickled.

    Parameters
    ----------
    name
        One of `IMAGE_SETS`.
    folder
        Folder with its files, a parent of such a folder, or the single file it needs; by default
        the value of the environment variable ``UPTO_DATA``.
    check
        ``quick`` compares files with the published checksums, for files above half a gigabyte only
        three pieces; ``full`` reads every file completely; ``none`` skips the comparison. Shapes
        and the order of factors are always checked.

    Returns
    -------
    ImageSet
        The set, with a ``grid`` if every combination of factors occurs exactly once.

    Raises
    ------
    InputError
        If files are missing, damaged, or differ from the published ones.
    MissingExtraError
        If HDF5 or PNG files need a package that is not installed.

    See Also
    --------
    upto.ImageSet : What it returns.
    upto.factors : Score latents of its images against its factors.
    upto.datasets.IMAGE_SETS : The names.

    Examples
    --------
    >>> import upto
    >>> digits = upto.read_image_set("digits")
    >>> digits.shape, digits.factor_names, len(digits.held_rows)
    ((1797, 8, 8, 1), ('digit',), 360)
    >>> float(digits.read_floats([0, 1]).max())
    1.0
    """
    if name not in IMAGE_SETS:
        message = f"there is no image set {name!r}: choose one of {', '.join(IMAGE_SETS)}."
        raise InputError(message)
    if check not in ("quick", "full", "none"):
        message = f"check={check!r} does not exist: choose quick, full or none."
        raise InputError(message)
    if name == "digits":
        return labelled.read_digits()
    known = KNOWN_SETS[name]
    named = folder or os.environ.get(DATA_VARIABLE)
    if not named:
        message = (
            f"{known.title} does not come with upto: get it ({known.n_images:,} images, "
            f"{known.size}, licence: {known.licence}) from {known.source} and give the folder "
            f"with {known.layout} here, as `--data` of a study, or in the variable "
            f"{DATA_VARIABLE}."
        )
        raise InputError(message)
    return _READERS[name](known, expanded(named), check)
