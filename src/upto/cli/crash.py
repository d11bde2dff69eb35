"""Crash reports for unexpected errors."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
import traceback
from importlib import metadata
from pathlib import Path

from upto.core import library_versions

_OPTIONAL = ("array-api-compat", "msgspec", "click", "rich", "h5py", "pyarrow", "zarr", "torch")


def write_crash_file(error: BaseException) -> str:
    """Write traceback, command and versions to the current or the temporary folder.

    Returns
    -------
    str
        Name of the file, or a phrase in its place if none can be written.
    """
    name = f"upto-crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    text = _report(error)
    for folder in (Path(), Path(tempfile.gettempdir())):
        try:
            # Exclusive creation: an existing name may be a planted link.
            with (folder / name).open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return str(folder / name)
    sys.stderr.write(text)
    return "the output above"


def _report(error: BaseException) -> str:
    versions = library_versions()
    for name in _OPTIONAL:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    lines = [
        f"upto {' '.join(sys.argv[1:])}",
        f"{platform.platform()}, {os.cpu_count()} cores",
        *(f"{name} {version}" for name, version in versions.items()),
        "",
        "".join(traceback.format_exception(error)),
    ]
    return "\n".join(lines)
