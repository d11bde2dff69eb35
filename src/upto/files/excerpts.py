"""Data bundled with the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from upto.core import InputError

BUNDLED = ("admet_members", "cifar_resnets")


def bundled_path(name: str) -> Path:
    """Return the path of a bundled excerpt; see the README next to it for source and licence.

    Parameters
    ----------
    name
        Name of the excerpt, e.g. ``"cifar_resnets"``.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    upto.read_run : Read a run from it.
    upto.read_runs : Read several.

    Examples
    --------
    >>> import upto
    >>> upto.files.bundled_path("cifar_resnets").name
    'cifar_resnets.npz'
    """
    if name not in BUNDLED:
        message = f"there is no bundled data {name!r}: choose one of {', '.join(BUNDLED)}."
        raise InputError(message)
    path = Path(str(resources.files("upto.files") / "bundled" / f"{name}.npz"))
    if not path.is_file():
        message = (
            f"{name} is not part of the installed package: use a checkout of the repository, which "
            f"has it as src/upto/files/bundled/{name}.npz."
        )
        raise InputError(message)
    return path
