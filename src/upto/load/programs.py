"""Modules in files: TorchScript and `torch.export`, and never a pickle.

A file of `torch.save` is a pickle, which may run any code when it is loaded. TorchScript is read by
an interpreter of its own. An exported program is data, but torch would unpickle some entries of its
archive: those that hold any are refused before it is asked.
"""

from __future__ import annotations

import io
import json
import logging
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.load.batches import import_torch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PLAIN = ("weight_", "tensor_")
"""How entries of raw numbers are called in an exported program; other kinds are objects."""


def load_program(path: Path) -> Any:
    """Load the module of a file of TorchScript or `torch.export`.

    Parameters
    ----------
    path
        The file; what it holds is read from it, not from its suffix.

    Raises
    ------
    InputError
        If the file holds something else, or something that would have to be unpickled.
    """
    torch = import_torch()
    if path.suffix.lower() == ".safetensors":
        message = (
            f"{path} holds weights only, not what is done with them: name a function that builds "
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
        return _load(path, lambda: torch.export.load(str(path)).module())
    if "constants.pkl" in entries and any(entry.startswith("code/") for entry in entries):
        return _load(path, lambda: torch.jit.load(str(path), map_location="cpu"))
    if "data.pkl" in entries:
        raise InputError(_pickled(path))
    raise InputError(_unknown(path))


def _refuse_objects(torch: Any, path: Path, archive: Any, entries: set[str]) -> None:
    if any(entry.startswith("data/aotinductor/") for entry in entries):
        message = (
            f"{path} holds compiled code, which upto never runs: save the exported program with "
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
                listed = json.loads(archive.get_record(entry)).get("config", {})
                if any(not _is_plain(each) for each in listed.values()):
                    raise InputError(_pickled(path))
            elif entry.endswith(".pt"):
                raise InputError(_pickled(path))


def _is_plain(payload: dict[str, Any]) -> bool:
    return not payload.get("use_pickle") and str(payload.get("path_name")).startswith(_PLAIN)


def _load(path: Path, loaded: Any) -> Any:
    try:
        with _quiet():
            return loaded()
    except (RuntimeError, ValueError, KeyError, AssertionError) as error:
        (why, *_) = str(error).strip().splitlines() or [type(error).__name__]
        message = f"{path} cannot be loaded ({why.rstrip('.')}): save it again with this torch."
        raise InputError(message) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep torch from announcing what it will drop some day."""
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
        f"{path} holds Python objects (a pickle), which upto never loads: save the decoder with "
        "torch.export.save or as TorchScript, or name a function that builds it, as "
        "package.module:function."
    )


def _unknown(path: Path) -> str:
    return (
        f"{path} is neither TorchScript nor an exported program: save the decoder with "
        "torch.export.save or as TorchScript."
    )
