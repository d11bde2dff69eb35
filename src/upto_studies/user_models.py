"""Two models that a user has, recorded block by block on the same inputs.

A model is a folder that transformers or timm saved with safetensors, a ResNet-18 as torchvision
names its weights (``.safetensors``), or activations recorded before: a file of rows, or a folder of
`upto.record_activations`. Nothing is downloaded or unpickled.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.activations import load_model, record_activations
from upto.activations.inputs import import_torch
from upto.activations.layers_of_runs import read_layers
from upto.core import InputError, MissingExtraError, read_tensors
from upto.core.read_file import expanded
from upto.files.manifest import MANIFEST
from upto_studies.pretrained_families import Family
from upto_studies.train.checkpoints import fingerprint
from upto_studies.user_inputs import read_pictures, read_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from upto.core.array_types import Float
    from upto_studies.model_pairs import Settings
    from upto_studies.outcome import Work

    Layers = dict[str, Float]

_BATCH = 32
_FEWEST_INPUTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Images that a model takes.

    Parameters
    ----------
    n_pixels
        Height and width; None for any.
    mean, scale
        What is subtracted from each colour, of values from 0 to 1, and what it is divided by; by
        default as most published models expect.
    """

    n_pixels: int | None = None
    mean: tuple[float, ...] = (0.485, 0.456, 0.406)
    scale: tuple[float, ...] = (0.229, 0.224, 0.225)


def user_families(settings: Settings, work: Work) -> list[Family]:
    """Record both models on the same inputs; one family per block, the representation last.

    Raises
    ------
    InputError
        If one is no model, their tokenisers differ, the inputs are missing or too long, outputs
        are not finite, or recorded activations have different rows.
    """
    paths = [expanded(each) for each in settings.own_models]
    names = _names(paths)
    are_recorded = [_is_recorded(path) for path in paths]
    tokens = _same_tokens(paths, settings, work)
    # Both are loaded before either is recorded, which may take long.
    models = [
        None if is_recorded else _loaded(path, has_tokens=tokens is not None)
        for path, is_recorded in zip(paths, are_recorded, strict=True)
    ]
    _refuse_too_long([each for each in models if _is_language(each)], settings.context)
    found = []
    for path, name, model in zip(paths, names, models, strict=True):
        layers = _layers_in(
            path if model is None else _recording(path, name, model, tokens, settings, work)
        )
        _refuse_not_finite(path, layers, is_recorded=model is None)
        found.append(layers)
    return list(_paired(names, found))


def _names(paths: list[Path]) -> list[str]:
    """Return the shortest ends of the paths that differ, or numbers."""
    for depth in (1, 2, 3):
        names = ["/".join(path.absolute().parts[-depth:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    message = f"{paths[0]} was given twice: give two models."
    raise InputError(message)


def _is_resnet(path: Path) -> bool:
    return path.is_file() and path.suffix == ".safetensors"


def _is_recorded(path: Path) -> bool:
    if path.is_dir() and (path / MANIFEST).is_file():
        return True
    fault = "" if path.exists() else "does not exist"
    if path.is_dir() and not (path / "config.json").is_file():
        fault = "is no model: it has no config.json"
    if fault:
        message = (
            f"{path} {fault}. Give a folder with config.json and safetensors, a ResNet-18 as "
            ".safetensors, or recorded activations."
        )
        raise InputError(message)
    return path.is_file() and not _is_resnet(path)


def _refuse_not_finite(path: Path, layers: Layers, *, is_recorded: bool) -> None:
    counts = {layer: int((~np.isfinite(rows)).sum()) for layer, rows in layers.items()}
    layer, count = next(((layer, count) for layer, count in counts.items() if count), ("", 0))
    if count and is_recorded:
        message = (
            f"{path} has {count:,} values that are NaN or infinite: remove those rows from both "
            "files, or record them again."
        )
        raise InputError(message)
    if count:
        message = (
            f"{path} computes {count:,} values that are NaN or infinite, first in {layer}: mend "
            "its weights, or give another model."
        )
        raise InputError(message)


def _paired(names: list[str], found: list[Layers]) -> Iterator[Family]:
    """Yield the layers of both, from the first to the last, or the last ones alone."""
    ours, theirs = (list(each.items()) for each in found)
    if len(ours) != len(theirs):
        ours, theirs = ours[-1:], theirs[-1:]
    for (layer, first), (other, second) in zip(ours, theirs, strict=True):
        if len(first) != len(second):
            message = (
                f"{names[0]} has {len(first)} rows and {names[1]} {len(second)}: record both on "
                "the same inputs."
            )
            raise InputError(message)
        title = layer if layer == other else f"{layer} and {other}"
        yield Family(
            title=title,
            remark="the user's models",
            runs={names[0]: first, names[1]: second},
        )


def _same_tokens(paths: list[Path], settings: Settings, work: Work) -> Any:
    """Return the windows of tokens for language models, after comparing their tokenisers."""
    folders = [path for path in paths if path.is_dir() and not _is_recorded(path)]
    readers = {folder: reader for folder in folders if (reader := _tokeniser(folder)) is not None}
    if not readers:
        return None
    missing = [folder for folder in folders if folder not in readers]
    if missing:
        message = (
            f"{missing[0]} has no tokeniser and {next(iter(readers))} has one: save both models "
            "with theirs, or give two models of images."
        )
        raise InputError(message)
    vocabularies = [reader.get_vocab() for reader in readers.values()]
    if any(each != vocabularies[0] for each in vocabularies[1:]):
        sizes = " and ".join(f"{len(each):,}" for each in vocabularies)
        message = (
            f"{paths[0]} and {paths[1]} have different tokenisers ({sizes} tokens), so their "
            "tokens are not the same rows: choose models of one tokeniser."
        )
        raise InputError(message)
    texts = read_texts(work.data, name=settings.inputs, column=settings.column)
    return _windows(next(iter(readers.values())), texts, settings)


def _tokeniser(folder: Path) -> Any:
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json")):
        return None
    _check_config(folder / "config.json")
    try:
        from transformers import AutoTokenizer
    except ImportError:
        what = "reading a tokeniser"
        raise MissingExtraError(what, package="transformers", extra="hub") from None
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        (why, *_) = str(error).strip().splitlines() or [type(error).__name__]
        message = (
            f"the tokeniser of {folder} could not be loaded ({why.rstrip('.')}): save it again."
        )
        raise InputError(message) from None


def _check_config(path: Path) -> None:
    """Raise an error for a damaged file, which the tokeniser's reader would take for its own."""
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        message = f"{path} is not valid JSON ({error}): save the model again."
        raise InputError(message) from None


def _windows(reader: Any, texts: list[str], settings: Settings) -> Any:
    """Return texts as rows of equally many tokens, which need no padding."""
    torch = import_torch()
    wanted, tokens = settings.n_inputs * settings.context, []
    for text in texts:
        tokens += reader(text, add_special_tokens=False)["input_ids"]
        if len(tokens) >= wanted:
            break
    count = min(settings.n_inputs, len(tokens) // settings.context)
    if count < _FEWEST_INPUTS:
        message = (
            f"the texts have {len(tokens)} tokens, {count} times {settings.context}: give more, or "
            "a shorter --set context."
        )
        raise InputError(message)
    return torch.tensor(tokens[: count * settings.context]).view(count, settings.context)


def _loaded(path: Path, *, has_tokens: bool) -> Any:
    model = _resnet(path) if _is_resnet(path) else load_model(path)
    if _is_language(model) and not has_tokens:
        message = f"{path} has no tokeniser: save it in the same folder."
        raise InputError(message)
    return model


def _refuse_too_long(models: list[Any], context: int) -> None:
    """Raise an error for windows of more tokens than a language model has positions."""
    positions = [getattr(each.config, "max_position_embeddings", None) for each in models]
    # XLNet, which has no limit, says -1.
    most = min((each for each in positions if isinstance(each, int) and each > 0), default=context)
    if most < context:
        message = (
            f"the windows have {context} tokens and the models {most} positions: pass --set "
            f"context={most}."
        )
        raise InputError(message)


def _recording(
    path: Path, name: str, model: Any, tokens: Any, settings: Settings, work: Work
) -> Path:
    """Return the folder of a recording, which a resumed run may have made before."""
    is_text, called = _is_language(model), name.replace("/", " ")
    batches = (
        [{"input_ids": part} for part in tokens.split(_BATCH)]
        if is_text
        else _image_batches(settings, work, pictures_of(model))
    )
    given = [batch["input_ids"] if is_text else batch for batch in batches]
    # Inputs and weights may have changed since the run was interrupted.
    folder = work.folder / f"layers of {called}, {_digest(path, given)}"
    if not folder.exists():
        record_activations(
            model.to(work.device),
            batches,
            folder,
            layers=[*_blocks(model), ""],
            pool=settings.pool if is_text else _image_pool(model),
            name=called,
            progress=work.progress,
        )
    return folder


def _digest(path: Path, given: list[Any]) -> str:
    """Return a short hash of the files of a model and of the tensors that it is given."""
    found = blake2b(fingerprint(*(each.numpy() for each in given)).encode(), digest_size=8)
    files = (
        sorted(each for each in path.iterdir() if each.suffix in (".json", ".safetensors"))
        if path.is_dir()
        else [path]
    )
    for each in files:
        with each.open("rb") as file:
            found.update(file_digest(file, blake2b).digest())
    return found.hexdigest()


def _layers_in(path: Path) -> Layers:
    layers = read_layers(path)
    return {each.layer or each.name: np.asarray(each.rows[:], np.float64) for each in layers}


def _is_language(model: Any) -> bool:
    return getattr(getattr(model, "config", None), "vocab_size", None) is not None


def _blocks(model: Any) -> list[str]:
    """Return the names of the repeated blocks: of the longest list of modules of one type."""
    nn = import_torch().nn
    longest: list[str] = []
    for name, module in model.named_modules():
        is_list = isinstance(module, nn.ModuleList | nn.Sequential)
        if is_list and len({type(each) for each in module}) == 1 and len(module) > len(longest):
            longest = [f"{name}.{number}" for number in range(len(module))]
    if hasattr(model, "layer4"):
        return [f"layer{number}" for number in range(1, 5)]
    # The last block is followed by at most a norm, which the model's own output includes.
    return longest[:-1]


def _image_pool(model: Any) -> str:
    config = getattr(model, "config", None)
    is_patched = hasattr(model, "patch_embed") or hasattr(config, "patch_size")
    return "mean-patches" if is_patched else "mean"


def pictures_of(model: Any) -> Pictures:
    """Return the images that a model takes: timm says so itself, transformers their size."""
    if cfg := getattr(model, "pretrained_cfg", None):
        return Pictures(
            n_pixels=int(cfg["input_size"][-1]), mean=tuple(cfg["mean"]), scale=tuple(cfg["std"])
        )
    config = getattr(model, "config", None)
    if config is not None and hasattr(config, "mask_ratio"):
        # A masked autoencoder sees every patch when it is used.
        config.mask_ratio = 0.0
    side = getattr(config, "image_size", None)
    return Pictures(n_pixels=side[0] if isinstance(side, list | tuple) else side)


def _image_batches(settings: Settings, work: Work, pictures: Pictures) -> list[Any]:
    torch = import_torch()
    images = read_pictures(work.data, name=settings.inputs, count=settings.n_inputs)
    mean, scale = (torch.tensor(each)[:, None, None] for each in (pictures.mean, pictures.scale))
    size = (pictures.n_pixels, pictures.n_pixels)
    batches = []
    for part in torch.from_numpy(images).split(_BATCH):
        pixels = part.permute(0, 3, 1, 2).float() / 255
        if pictures.n_pixels is not None and tuple(pixels.shape[2:]) != size:
            pixels = torch.nn.functional.interpolate(
                pixels, size=size, mode="bicubic", antialias=True
            )
        batches.append((pixels - mean) / scale)
    return batches


def _resnet(path: Path) -> Any:
    torch = import_torch()
    from upto_studies.train.vision.resnets import Features, ResNet

    arrays, _ = read_tensors(path)
    arrays = {name.removeprefix("module."): values for name, values in arrays.items()}
    stem, head = arrays.get("conv1.weight"), arrays.get("fc.weight")
    if stem is None or head is None or stem.ndim != 4 or "layer4.1.conv2.weight" not in arrays:
        message = (
            f"{path} is no ResNet-18 as torchvision names its weights: save its state dict by "
            "safetensors."
        )
        raise InputError(message)
    model = ResNet(width=len(stem), n_classes=len(head), small_images=stem.shape[2] == 3)
    try:
        model.load_state_dict({name: torch.from_numpy(values) for name, values in arrays.items()})
    except RuntimeError as error:
        (why, *_) = str(error).strip().splitlines()[1:] or [str(error)]
        message = f"{path} is no ResNet-18 ({why.strip().rstrip('.')}): save its state dict."
        raise InputError(message) from None
    return Features(model).eval()
