"""Models of `transformers` and `timm`, from a local folder or by their name on the Hub.

Only safetensors are read: other weights are pickles, which may run code on loading. Code shipped
with a model is never run.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from upto.core import InputError, MissingExtraError
from upto.core.read_file import expanded

_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
_EXTRAS = {"huggingface_hub": "hub", "transformers": "hub", "timm": "timm"}
_WANTED = ["*.json", "*.safetensors"]
"""Files to download: nothing that could be unpickled or run."""


def load_model(
    name: str | Path,
    *,
    library: Literal["transformers", "timm"] | None = None,
    revision: str | None = None,
) -> Any:
    """Load a pretrained model, in evaluation mode.

    Parameters
    ----------
    name
        A folder with ``config.json`` and weights in safetensors, as both libraries save it, or the
        name of such a model on the Hugging Face Hub.
    library
        Library of the model; by default that of its ``config.json``. With ``timm``, the prefix
        ``timm/`` of the name can be omitted.
    revision
        Commit, tag or branch on the Hub.

    Returns
    -------
    torch.nn.Module
        The model, without its head.

    Raises
    ------
    InputError
        If there is no such model, or its weights are not safetensors.
    MissingExtraError
        If the library is not installed.

    See Also
    --------
    upto.record_activations : Record its layers.
    upto.layers : Compare them.

    Examples
    --------
    >>> import tempfile
    >>> import transformers
    >>> import upto
    >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    >>> config = transformers.BertConfig(vocab_size=10, intermediate_size=8, **sizes)
    >>> folder = tempfile.mkdtemp()
    >>> transformers.BertModel(config).save_pretrained(folder)
    >>> type(upto.load_model(folder)).__name__
    'BertModel'
    """
    if library not in (None, *_LOADERS):
        message = f"there is no library {library!r} to load models: choose transformers or timm."
        raise InputError(message)
    folder = expanded(name)
    if not folder.is_dir():
        folder = _downloaded(str(name), library, revision)
    _check_weights(folder)
    found = library or _library_of(folder)
    return _LOADERS[found](folder).eval()


def _downloaded(name: str, library: str | None, revision: str | None) -> Path:
    if name.startswith((".", "/", "~")) or name.count("/") > 1 or Path(name).exists():
        message = f"{name} is not a folder: give the folder of a model, or its name on the Hub."
        raise InputError(message)
    repository = f"timm/{name}" if library == "timm" and "/" not in name else name
    hub = _imported("huggingface_hub", f"loading {name}")
    try:
        return Path(hub.snapshot_download(repository, revision=revision, allow_patterns=_WANTED))
    except (OSError, ValueError) as error:
        # All its errors, of the network or of missing files, are of these types.
        (why, *_) = str(error).strip().splitlines() or [type(error).__name__]
        message = (
            f"{repository} could not be downloaded from the Hub ({why}): check the name and the "
            "network, or give a folder."
        )
        raise InputError(message) from None


def _check_weights(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        message = f"{folder} has no config.json: save the model there with its library."
        raise InputError(message)
    if any(folder.glob("*.safetensors")):
        return
    pickles = sorted(each.name for each in folder.iterdir() if each.suffix.lower() in _PICKLES)
    if pickles:
        message = (
            f"{folder} has its weights in {pickles[0]}, which could run code on loading, not in "
            "safetensors: save the model again with safetensors."
        )
    else:
        message = f"{folder} has no weights in safetensors: save the model with safetensors."
    raise InputError(message)


def _library_of(folder: Path) -> str:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        message = f"{folder / 'config.json'} is not valid JSON: {error}."
        raise InputError(message) from None
    for library, key in (("transformers", "model_type"), ("timm", "architecture")):
        if isinstance(config, dict) and key in config:
            return library
    message = (
        f"{folder / 'config.json'} has neither model_type, as transformers writes, nor "
        "architecture, as timm does: pass library."
    )
    raise InputError(message)


def _load_transformers(folder: Path) -> Any:
    transformers = _imported("transformers", f"loading {folder.name}")
    try:
        return transformers.AutoModel.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, trust_remote_code=False
        )
    except _refusals() as error:
        raise InputError(_failed(folder, "transformers", error)) from None


def _load_timm(folder: Path) -> Any:
    timm = _imported("timm", f"loading {folder.name}")
    # timm looks for this name first, and for pickles before other names.
    if not (folder / "model.safetensors").is_file():
        message = f"{folder} has no model.safetensors, as timm names its weights: rename them."
        raise InputError(message)
    try:
        return timm.create_model(f"local-dir:{folder.absolute()}", pretrained=True, num_classes=0)
    except _refusals() as error:
        raise InputError(_failed(folder, "timm", error)) from None


_LOADERS = {"transformers": _load_transformers, "timm": _load_timm}


def _refusals() -> tuple[type[Exception], ...]:
    """Return the errors raised for a folder without a model or with a damaged one."""
    kinds = (OSError, RuntimeError, ValueError, KeyError)
    try:
        from safetensors import SafetensorError
    except ImportError:
        return kinds
    return (*kinds, SafetensorError)


def _failed(folder: Path, library: str, error: BaseException) -> str:
    (why, *_) = str(error).strip().splitlines() or [type(error).__name__]
    return f"{library} could not load {folder}: {why.rstrip('.')}. Save the model again."


def _imported(package: str, what: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtraError(what, package=package, extra=_EXTRAS[package]) from None
