"""Texts and images from a user's folder, for the models that the user has."""

from __future__ import annotations

import csv
import lzma
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, MissingExtraError
from upto_studies.cifar_images import read_cifar
from upto_studies.held_out_data import data_folder, find_file
from upto_studies.train.texts.novels import FILE, read_novels

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TEXTS, IMAGES = "texts.txt", "images.npz"
"""Files that are looked for by default."""
_HOW = f"put texts into {TEXTS}, one on each line, or images into {IMAGES}"


def read_texts(data: Path | None, *, name: str = "", column: str = "text") -> list[str]:
    """Read texts.

    Parameters
    ----------
    data
        The user's folder.
    name
        A file in it: lines (``.txt``, ``.txt.xz``) or a table (``.csv``, ``.parquet``). By default
        ``texts.txt``, or else the novels of the study ``layers-of-gpts``.
    column
        Column of a table.

    Raises
    ------
    InputError
        If the file or the column is missing, or there is no text.
    """
    folder = data_folder(data, _HOW)
    path = find_file(folder, name or TEXTS)
    if path is None and not name and find_file(folder, FILE) is not None:
        return read_novels(folder)
    if path is None:
        message = f"{folder} has no {name or TEXTS}: {_HOW}."
        raise InputError(message)
    if path.suffix == ".csv":
        texts = _csv_column(path, column)
    elif path.suffix == ".parquet":
        texts = _parquet_column(path, column)
    else:
        texts = _lines(path)
    kept = [text for text in texts if text and text.strip()]
    if not kept:
        message = f"{path} contains no text: {_HOW}."
        raise InputError(message)
    return kept


def read_pictures(data: Path | None, *, name: str = "", count: int) -> NDArray[np.uint8]:
    """Read images as bytes, count × height × width × 3.

    Parameters
    ----------
    data
        The user's folder.
    name
        An ``.npz`` file in it with the array ``images``. By default ``images.npz``, or else the
        test images of CIFAR-10.
    count
        Largest number of images.

    Raises
    ------
    InputError
        If there are none, or the array has another shape.
    """
    folder = data_folder(data, _HOW)
    path = find_file(folder, name or IMAGES)
    if path is None and not name:
        try:
            return read_cifar(folder).test[:count]
        except InputError as error:
            message = f"{folder} has no {IMAGES}: {_HOW}. Nor is CIFAR-10 there: {error}"
            raise InputError(message) from None
    if path is None:
        message = f"{folder} has no {name}: {_HOW}."
        raise InputError(message)
    try:
        with np.load(path, allow_pickle=False) as stored:
            images = stored["images"][:count]
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        message = f"{path} does not contain the array images ({error}): write it with numpy.savez."
        raise InputError(message) from None
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3:
        shape = " × ".join(map(str, images.shape))
        message = (
            f"{path} has images of {shape} {images.dtype}, not count × height × width × 3 bytes."
        )
        raise InputError(message)
    found: NDArray[np.uint8] = images
    return found


def _lines(path: Path) -> list[str]:
    try:
        content = path.read_bytes()
        if path.suffix == ".xz":
            content = lzma.decompress(content)
        return content.decode("utf-8-sig").splitlines()
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        message = f"{path} is not UTF-8 text ({error}): save it again as UTF-8."
        raise InputError(message) from None


def _csv_column(path: Path, column: str) -> list[str]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            _check_column(path, column, reader.fieldnames or ())
            return [row[column] or "" for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        message = f"{path} is not a table in UTF-8 ({error}): save it again."
        raise InputError(message) from None


def _parquet_column(path: Path, column: str) -> list[str]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        what = f"reading {path}"
        raise MissingExtraError(what, package="pyarrow", extra="tables") from None
    try:
        _check_column(path, column, parquet.read_schema(path).names)
        values = parquet.read_table(path, columns=[column])[column].to_pylist()
    except (ArrowException, OSError) as error:
        message = f"{path} cannot be read as Parquet ({error}): save it again."
        raise InputError(message) from None
    return [str(value) for value in values if value is not None]


def _check_column(path: Path, column: str, names: Any) -> None:
    if column not in names:
        message = (
            f"{path} has no column {column!r}, but {', '.join(map(str, names))}: name the one with "
            "the texts by --set column=NAME."
        )
        raise InputError(message)
