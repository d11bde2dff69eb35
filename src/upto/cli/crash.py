"""The file that tells us what happened when nobody foresaw it."""

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
    """Write traceback, command and versions to the current folder, or to that for temporaries.

    Returns
    -------
    str
        The file's name, or what stands for it where none can be written.
    """
    name = f"upto-crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    text = _report(error)
    for folder in (Path(), Path(tempfile.gettempdir())):
        try:
            # A new file: what bears this name already may be a link that somebody laid.
            with (folder / name).open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return str(folder / name)
    sys.stderr.write(text)
    return "what is printed above"


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
