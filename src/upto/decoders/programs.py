"""Load modules from TorchScript and `torch.export` files, never from pickles.

A `torch.save` file is a pickle, which may run any code on loading. TorchScript has its own
interpreter. An exported program is data, but torch would unpickle some entries of its archive and
evaluate others: entries with anything but numbers are rejected before torch loads the file.
"""

from __future__ import annotations

import inspect
import io
import json
import logging
import warnings
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from upto.activations.inputs import import_torch
from upto.core import InputError
from upto.decoders.exported import is_computation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PLAIN = ("weight_", "tensor_")
"""Name prefixes of raw numbers in an exported program; other entries are objects."""


def load_program(path: Path) -> Any:
    """Load the module of a TorchScript or `torch.export` file.

    Parameters
    ----------
    path
        The file; its format is detected from its content, not its suffix.

    Raises
    ------
    InputError
        If the file has another format, or content that would have to be unpickled.
    """
    torch = import_torch("decoders in files")
    if path.suffix.lower() == ".safetensors":
        message = (
            f"{path} contains only weights, not the network: name a function that builds "
            "the decoder and loads them, as package.module:function."
        )
        raise InputError(message)
    try:
        archive = torch._C.PyTorchFileReader(str(path))
        entries = set(archive.get_all_records())
    except RuntimeError:
        raise InputError(_unknown(path)) from None
    if "archive_format" in entries:
        _refuse_objects(torch, path, archive, entries)
        return _load(path, lambda: _module(torch.export.load(str(path))))
    if "constants.pkl" in entries and any(entry.startswith("code/") for entry in entries):
        return _load(path, lambda: torch.jit.load(str(path), map_location="cpu"))
    if "data.pkl" in entries:
        raise InputError(_pickled(path))
    raise InputError(_unknown(path))


def _module(program: Any) -> Any:
    """Return the module of a program, without its guards, which are Python code."""
    known = inspect.signature(program.module).parameters
    return program.module(**({"check_guards": False} if "check_guards" in known else {}))


def _refuse_objects(torch: Any, path: Path, archive: Any, entries: set[str]) -> None:
    with zipfile.ZipFile(path) as whole:
        # If the program itself cannot be read, torch unpickles one in an older format.
        is_older = any("/" not in entry for entry in whole.namelist())
    if is_older or "models/model.json" not in entries:
        raise InputError(_unknown(path))
    if any(entry.startswith("data/aotinductor/") for entry in entries):
        message = (
            f"{path} contains compiled code, which upto never runs: save the exported program with "
            "torch.export.save."
        )
        raise InputError(message)
    for entry in sorted(entries):
        if entry.startswith("data/sample_inputs/"):
            try:
                torch.load(io.BytesIO(archive.get_record(entry)), weights_only=True)
            except Exception:  # noqa: BLE001 - whatever is not plain tensors must not reach torch
                raise InputError(_pickled(path)) from None
        elif entry.startswith(("data/weights/", "data/constants/")):
            if entry.endswith("_config.json"):
                if not _are_plain(archive.get_record(entry)):
                    raise InputError(_pickled(path))
            elif entry.endswith(".pt"):
                raise InputError(_pickled(path))
        elif entry.startswith("models/") and not is_computation(archive.get_record(entry)):
            message = (
                f"{path} contains a program with more than tensor computations, which upto never "
                "runs: save the decoder again with torch.export.save, or name a function that "
                "builds it, as package.module:function."
            )
            raise InputError(message)


def _are_plain(listing: bytes) -> bool:
    """Return whether all entries in a list of weights or constants are raw numbers."""
    try:
        payloads = list(json.loads(listing)["config"].values())
        return not any(
            each.get("use_pickle") or not str(each.get("path_name")).startswith(_PLAIN)
            for each in payloads
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _load(path: Path, loaded: Any) -> Any:
    try:
        with _quiet():
            return loaded()
    except Exception as error:  # noqa: BLE001 - whatever torch finds wrong with a file
        (why, *_) = str(error).strip().splitlines() or [type(error).__name__]
        message = f"{path} cannot be loaded ({why.rstrip('.')}): save it again with this torch."
        raise InputError(message) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress torch's deprecation warnings."""
    logger = logging.getLogger("torch.export")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _pickled(path: Path) -> str:
    return (
        f"{path} contains Python objects (a pickle), which upto never loads: save the decoder with "
        "torch.export.save or as TorchScript, or name a function that builds it, as "
        "package.module:function."
    )


def _unknown(path: Path) -> str:
    return (
        f"{path} is neither TorchScript nor an exported program: save the decoder with "
        "torch.export.save or as TorchScript."
    )
