"""Read image sets with exactly one image per combination of factors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import FactorGrid, InputError
from upto.core.read_file import read_whole
from upto.datasets.archives import member_bits, member_header, member_pictures, read_member
from upto.datasets.find import Check, check_file, find_file, missing_files
from upto.datasets.image_set import ImageSet, Pictures
from upto.datasets.matlab import read_matlab_bytes
from upto.datasets.storage import (
    REMEDY,
    ArrayPictures,
    BitPictures,
    Hdf5Pictures,
    PngPictures,
    decode_png,
    open_hdf5,
    open_zip,
)
from upto.datasets.tapes import members_of
from upto.files.damage import damage_reported
from upto.files.npy import load_member, mapped_npy
from upto.files.npy import member_header as header_of
from upto.files.request import listed
from upto.files.stored import check_stored

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.datasets.described import KnownSet

_LABEL_FILES = ("train-rec.labels", "labels.npy")
_FIRST = "000000.png"
_TOLERANCE = 1e-6
"""Allowed spread of values of one level, relative to the factor's largest value."""


def read_shapes3d(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read Shapes3D; images are read from the file on demand."""
    path = _one_file(known, folder, check)
    with open_hdf5(path) as file:
        shape = _dataset_shape(known, path, file, "images")
        labels = _read_dataset(path, file, "labels")
    return _gridded(known, path, Hdf5Pictures(path, "images", shape), labels)


def read_mpi3d(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read one of the four MPI3D sets; images stay in the file unless it is compressed."""
    path = _one_file(known, folder, check)
    header = member_header(path, "images")
    _check_shape(known, path, header.shape, header.dtype)
    return _gridded(known, path, member_pictures(path, "images"))


def read_dsprites(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read dSprites from its `.npz` or HDF5 file, without the Python objects of the former."""
    path = _one_file(known, folder, check)
    pictures: BitPictures | Hdf5Pictures
    if path.suffix == ".npz":
        header = member_header(path, "imgs")
        _check_shape(known, path, (*header.shape, 1), header.dtype)
        pictures = member_bits(path, "imgs")
        values, classes = (read_member(path, f"latents_{each}") for each in ("values", "classes"))
    else:
        with open_hdf5(path) as file:
            shape = _dataset_shape(known, path, file, "imgs")
            values, classes = (
                _read_dataset(path, file, f"latents/{each}") for each in ("values", "classes")
            )
        pictures = Hdf5Pictures(path, "imgs", shape)
    n_images, n_factors = known.n_images, len(known.factor_names) + 1
    if values.shape != (n_images, n_factors) or classes.shape != (n_images, n_factors):
        message = (
            f"{path} has latents of shape {values.shape} and {classes.shape}, not "
            f"{(n_images, n_factors)}: get it again."
        )
        raise InputError(message)
    # The first factor is colour, which is white in all images.
    _gridded(known, path, pictures, classes[:, 1:])
    return _gridded(known, path, pictures, values[:, 1:], brightest=1)


def read_numbered(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read Falcor3D or Isaac3D from a folder or a zip archive of numbered PNG files."""
    archive = find_file(known, folder, *known.names)
    if archive is not None:
        check_file(known, archive, check)
        return _from_zip(known, archive)
    for place in (folder, *(folder / each for each in known.places)):
        for inside in (place / "images", place):
            if (inside / _FIRST).is_file():
                return _from_folder(known, place, inside)
    raise missing_files(known, folder, f"images/{_FIRST}")


def read_cars3d(known: KnownSet, folder: Path, check: Check) -> ImageSet:
    """Read Cars3D into memory: from its archive, from a folder of its cars, or as an `.npz`."""
    path = find_file(known, folder, *known.names)
    if path is not None:
        check_file(known, path, check)
        if path.suffix == ".npz":
            header = member_header(path, "images")
            _check_shape(known, path, header.shape, header.dtype)
            return _gridded(known, path, member_pictures(path, "images"))
        return _gridded(known, path, _cars(known, path, *_packed_cars(path)))
    for place in (folder, *(folder / each for each in known.places)):
        files = sorted(place.glob("*.mat")) if place.is_dir() else []
        if files:
            meshes = {file.stem: _mesh(read_whole(file), file) for file in files}
            listed = place / "list.txt"
            named = listed.read_text("utf-8", "replace") if listed.is_file() else ""
            return _gridded(known, place, _cars(known, place, meshes, named.split()))
    raise missing_files(known, folder)


def _one_file(known: KnownSet, folder: Path, check: Check) -> Path:
    path = find_file(known, folder, *known.names)
    if path is None:
        raise missing_files(known, folder, " or ".join(known.names))
    check_file(known, path, check)
    return path


def _dataset_shape(known: KnownSet, path: Path, file: Any, key: str) -> tuple[int, int, int, int]:
    with damage_reported(path, key, REMEDY):
        stored = file.get(key)
        if hasattr(stored, "dtype"):
            check_stored(path, key, stored)
    if not hasattr(stored, "dtype"):
        message = f"{path} has no dataset {key}: it contains {listed([*file]) or 'nothing'}."
        raise InputError(message)
    shape = stored.shape if stored.ndim == 4 else (*stored.shape, 1)
    n_images, height, width, n_channels = _check_shape(known, path, shape, stored.dtype)
    return n_images, height, width, n_channels


def _read_dataset(path: Path, file: Any, key: str) -> NDArray[Any]:
    with damage_reported(path, key, REMEDY):
        stored = file[key]
        check_stored(path, key, stored)
        return np.asarray(stored[()])


def _check_shape(
    known: KnownSet, path: Path, shape: tuple[int, ...], dtype: Any
) -> tuple[int, ...]:
    fits = len(shape) == 4 and shape[0] == known.n_images and shape[3] in (1, 3)
    if known.pixels is not None:
        fits = fits and shape[1:] == known.pixels
    if not fits or np.dtype(dtype) != np.uint8:
        found = " × ".join(map(str, shape))
        size = " × ".join(map(str, known.pixels or ("height", "width", 3)))
        message = (
            f"{path} contains {found} {np.dtype(dtype)} values, but {known.title} has "
            f"{known.n_images} images of {size} bytes: get it again."
        )
        raise InputError(message)
    return shape


def _gridded(
    known: KnownSet,
    path: Path,
    pictures: Pictures,
    labels: NDArray[Any] | None = None,
    *,
    brightest: int = 255,
) -> ImageSet:
    grid = known.grid if labels is None else _grid_of(known.grid, labels, path)
    return ImageSet(
        name=known.title,
        pictures=pictures,
        factors=grid.factors(),
        factor_names=known.factor_names,
        grid=grid,
        brightest=brightest,
    )


def _grid_of(grid: FactorGrid, labels: NDArray[Any], path: Path) -> FactorGrid:
    """Return the grid with the level values of a file, whose images must be in grid order."""
    is_read = labels.dtype.kind in "fiub" and labels.shape == (len(grid), len(grid.names))
    if not is_read or not np.isfinite(labels).all():
        message = (
            f"{path} has factors of shape {labels.shape} and type {labels.dtype}, or non-finite "
            f"ones, but its images need {len(grid)} rows of {len(grid.names)} numbers: get it "
            "again."
        )
        raise InputError(message)
    levels, values = grid.levels(), []
    for j, (name, size) in enumerate(zip(grid.names, grid.sizes, strict=True)):
        column = labels[:, j].astype(np.float64)
        own = np.empty(size)
        own[levels[:, j]] = column
        least = _TOLERANCE * np.abs(column).max()
        is_one_value = (np.abs(column - own[levels[:, j]]) <= least).all()
        if not is_one_value or (np.diff(np.sort(own)) <= least).any():
            message = (
                f"{path} does not have its images in the order of the grid ({name} does not have "
                f"one value for each of {size} levels): get the published file."
            )
            raise InputError(message)
        values.append(tuple(own.tolist()))
    return FactorGrid(names=grid.names, values=tuple(values))


def _from_folder(known: KnownSet, place: Path, inside: Path) -> ImageSet:
    with os.scandir(inside) as entries:
        n_files = sum(entry.name.endswith(".png") for entry in entries)
    with (inside / _FIRST).open("rb") as file:
        size = decode_png(file, inside / _FIRST).shape
    _check_shape(known, inside, (n_files, *size), np.uint8)
    labels = None
    for name in _LABEL_FILES:
        if (place / name).is_file():
            labels = np.array(mapped_npy(place / name))
    pictures = PngPictures(inside, "", (n_files, size[0], size[1], size[2]))
    return _gridded(known, place, pictures, labels)


def _from_zip(known: KnownSet, path: Path) -> ImageSet:
    archive = open_zip(path)
    names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
    first = next((name for name in names if name.rpartition("/")[2] == _FIRST), None)
    if first is None:
        archive.close()
        message = f"{path} has no image {_FIRST}: get it again."
        raise InputError(message)
    inside = first.removesuffix(_FIRST)
    n_files = sum(name.startswith(inside) and name.endswith(".png") for name in names)
    labels = None
    try:
        with damage_reported(path, remedy=REMEDY):
            with archive.open(first) as file:
                size = decode_png(file, f"{path}/{first}").shape
            for member in archive.infolist():
                if member.filename.rpartition("/")[2] in _LABEL_FILES:
                    header_of(archive, path, member)
                    labels = load_member(archive, path, member)
    except InputError:
        archive.close()
        raise
    _check_shape(known, path, (n_files, *size), np.uint8)
    pictures = PngPictures(path, inside, (n_files, size[0], size[1], size[2]), archive)
    return _gridded(known, path, pictures, labels)


def _packed_cars(path: Path) -> tuple[dict[str, NDArray[np.uint8]], list[str]]:
    meshes, order = {}, []
    for name, content in members_of(path):
        folder, _, last = name.rpartition("/")
        if folder.rpartition("/")[2] != "cars":
            continue
        if last == "list.txt":
            order = content().decode("utf-8", "replace").split()
        elif last.endswith(".mat"):
            meshes[last.removesuffix(".mat")] = _mesh(content(), f"{path}/{name}")
    return meshes, order


def _mesh(content: bytes, where: object) -> NDArray[np.uint8]:
    mesh = read_matlab_bytes(content, "im", where)
    if mesh.ndim != 5:
        message = (
            f"{where} has an array im of shape {mesh.shape}, not of height × width × 3 × 24 × 4: "
            "get it again."
        )
        raise InputError(message)
    return mesh


def _cars(
    known: KnownSet, path: Path, meshes: dict[str, NDArray[np.uint8]], order: list[str]
) -> ArrayPictures:
    names = [name.removesuffix(".mat") for name in order] or sorted(meshes)
    n_elevations, n_azimuths, n_cars = known.grid.sizes
    absent = [name for name in names if name not in meshes]
    if absent or len(names) != n_cars:
        first = f", without {absent[0]}.mat" if absent else ""
        message = f"{path} has {len(meshes)} cars{first}, not {n_cars}: get it again."
        raise InputError(message)
    size = meshes[names[0]].shape[:3]
    images = np.empty((n_elevations, n_azimuths, n_cars, *size), dtype=np.uint8)
    for number, name in enumerate(names):
        mesh = meshes.pop(name)
        if mesh.shape != (*size, n_azimuths, n_elevations):
            message = f"{path} has a car {name} of shape {mesh.shape}: get it again."
            raise InputError(message)
        images[:, :, number] = mesh.transpose(4, 3, 0, 1, 2)
    flat = images.reshape(-1, *size)
    _check_shape(known, path, flat.shape, flat.dtype)
    return ArrayPictures(flat)
