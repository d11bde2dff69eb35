"""Tiny files in the formats of published sets of images."""

from __future__ import annotations

import dataclasses
import io
import json
import struct
import tarfile
import zipfile

import numpy as np

from upto.datasets.known import KNOWN_SETS, NORB_TESTING, NORB_TRAINING

NORB_BYTES, NORB_WHOLE = 0x55, 0x54


def idx(array, code=8):
    head = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def norb_matrix(array, code):
    shape = (*array.shape, 1, 1)[: max(3, array.ndim)]
    return struct.pack(f"<Ii{len(shape)}I", 0x1E3D4C00 + code, array.ndim, *shape) + array.tobytes()


def shrink(monkeypatch, name, levels=None, pixels=None, n_images=None):
    """Let a set be small: with these levels, and images of this size."""
    known = KNOWN_SETS[name]
    if levels is not None:
        n_images = int(np.prod([len(each) for each in levels]))
    small = dataclasses.replace(
        known,
        levels=levels,
        pixels=pixels,
        n_images=n_images,
        factor_names=known.factor_names if levels is None else known.factor_names[: len(levels)],
    )
    monkeypatch.setitem(KNOWN_SETS, name, small)
    return small


def draw_pixels(n_images, *size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n_images, *size), dtype=np.uint8)


def png(image):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def write_idx_set(folder, *, n_labels=3, dash="-"):
    folder.mkdir(parents=True, exist_ok=True)
    pixels = draw_pixels(6, 4, 4)
    for part, own in (("train", pixels[:3]), ("t10k", pixels[3:])):
        (folder / f"{part}-images{dash}idx3-ubyte").write_bytes(idx(own))
        labels = np.arange(n_labels, dtype=np.uint8)
        (folder / f"{part}-labels{dash}idx1-ubyte").write_bytes(idx(labels))
    return pixels


def write_numbered(folder, images, labels=None, name="train-rec.labels"):
    (folder / "images").mkdir(parents=True)
    for number, image in enumerate(images):
        (folder / "images" / f"{number:06d}.png").write_bytes(png(image))
    if labels is not None:
        with (folder / name).open("wb") as file:
            np.save(file, labels)


def zip_folder(folder, path):
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder.parent))


def tar_folder(folder, path):
    with tarfile.open(path, "w:gz") as archive:
        archive.add(folder, folder.name)


def write_cars(folder, images, order):
    """Write cars from images of elevation × azimuth × car × height × width × 3."""
    from scipy.io import savemat

    folder.mkdir(parents=True)
    for number, name in enumerate(order):
        savemat(folder / f"{name}.mat", {"im": images[:, :, number].transpose(2, 3, 4, 1, 0)})
    (folder / "list.txt").write_text("\n".join(order) + "\n")


def write_norb(folder, levels, images, instances):
    """Write both parts of SmallNORB, shuffled, from rows of levels and their images."""
    folder.mkdir(exist_ok=True)
    order = np.random.default_rng(0).permutation(len(levels))
    for part, own in zip((NORB_TRAINING, NORB_TESTING), instances, strict=True):
        rows = [row for row in order if levels[row, 1] in own]
        category, others = levels[rows, 0], levels[rows, 1:] * (1, 1, 2, 1)
        pairs = np.stack([images[rows], 255 - images[rows]], axis=1)
        (folder / f"{part}-dat.mat").write_bytes(norb_matrix(pairs, NORB_BYTES))
        for kind, array in (("cat", category), ("info", others)):
            content = norb_matrix(array.astype(np.int32), NORB_WHOLE)
            (folder / f"{part}-{kind}.mat").write_bytes(content)


def write_fashion(folder, images):
    """Write a JSON file for each class from images of class × n × 28 × 28."""
    folder.mkdir(parents=True)
    for number, own in enumerate(images):
        rows = own.reshape(len(own), -1).tolist() + [[]] * (number == 0)
        (folder / f"{number}.json").write_text(json.dumps({"data": rows}))


def cifar_batch(images, labels):
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.column_stack([labels, planes]).astype(np.uint8).tobytes()
