"""Sets of images with labels, from tiny files of the published formats."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from image_files import (
    cifar_batch,
    draw_pixels,
    png,
    shrink,
    tar_folder,
    write_fashion,
    write_idx_set,
)

from upto.core import InputError
from upto.datasets import read_image_set

PARTS = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
@pytest.mark.parametrize(
    ("inside", "packed", "dash"),
    [("", True, "-"), ("{name}", False, "-"), ("data", True, "."), ("package/data", False, ".")],
)
def test_idx_files_are_found_in_a_folder(tmp_path, name, inside, packed, dash):
    if name == "fashion-mnist" and "data" in inside:
        inside = "data/fashion"
    folder = tmp_path / inside.format(name=name)
    pixels = write_idx_set(folder, dash=dash)
    for file in [*folder.iterdir()] if packed else []:
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    found = read_image_set(name, tmp_path, check="none")
    assert np.array_equal(found.read(), pixels[..., None])
    assert np.array_equal(found.read_floats(), pixels[..., None] / np.float32(255))
    assert found.read_floats().dtype == np.float32
    assert found.factors.ravel().tolist() == [0, 1, 2, 0, 1, 2]
    assert found.training_rows.tolist() == [0, 1, 2]
    assert found.held_rows.tolist() == [3, 4, 5]


def test_images_without_their_labels_are_refused(tmp_path):
    write_idx_set(tmp_path, n_labels=2)
    with pytest.raises(InputError, match="3 × 4 × 4 uint8 and 2 uint8 values"):
        read_image_set("mnist", tmp_path, check="none")


def test_fewer_images_than_were_published_are_refused_unless_asked_for(tmp_path, monkeypatch):
    write_idx_set(tmp_path)
    with pytest.raises(InputError, match=r"6 × 4 × 4 × 1 .* has 70000 × 28 × 28 × 1.*check="):
        read_image_set("fashion-mnist", tmp_path)
    shrink(monkeypatch, "fashion-mnist", pixels=(4, 4, 1), n_images=6)
    assert len(read_image_set("fashion-mnist", tmp_path)) == 6


def test_fashion_is_read_from_lists_without_their_empty_rows(tmp_path, monkeypatch):
    shrink(monkeypatch, "fashion-mnist", pixels=(28, 28, 1), n_images=20)
    images = draw_pixels(10, 2, 28, 28)
    write_fashion(tmp_path / "package" / "src" / "clothes", images)
    found = read_image_set("fashion-mnist", tmp_path)
    assert np.array_equal(found.read(), images.reshape(20, 28, 28, 1))
    assert found.factors.ravel().tolist() == np.repeat(np.arange(10), 2).tolist()
    assert found.held is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"data": [[1, 2', "damaged"),
        ('{"data": [[1, 2]]}', r"images of \[2\] pixels"),
        ('{"data": []}', r"images of \[\] pixels"),
        ('{"rows": []}', "damaged.*data"),
        (json.dumps({"data": [[256] * 784]}), "damaged.*range"),
    ],
)
def test_damaged_lists_are_refused(tmp_path, content, words):
    write_fashion(tmp_path / "clothes", draw_pixels(10, 1, 28, 28))
    (tmp_path / "clothes" / "4.json").write_text(content)
    with pytest.raises(InputError, match=rf"4\.json.*{words}"):
        read_image_set("fashion-mnist", tmp_path / "clothes")


@pytest.mark.parametrize("layout", ["binary", "archive", "sheets"])
def test_cifar10_is_the_same_from_every_version(tmp_path, monkeypatch, layout):
    shrink(monkeypatch, "cifar10", pixels=(32, 32, 3), n_images=12)
    images, labels = draw_pixels(12, 32, 32, 3), np.arange(12) % 10
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for number, part in enumerate(PARTS):
        own = slice(2 * number, 2 * number + 2)
        if layout == "sheets":
            (folder / f"{part}.png").write_bytes(png(images[own].reshape(2, 1024, 3)))
        else:
            (folder / f"{part}.bin").write_bytes(cifar_batch(images[own], labels[own]))
    if layout == "sheets":
        (folder / "train_lables.json").write_text(json.dumps(labels[:10].tolist()))
        (folder / "test_lables.json").write_text(json.dumps(labels[10:].tolist()))
    if layout == "archive":
        tar_folder(folder, tmp_path / "cifar-10-binary.tar.gz")
        folder.rename(tmp_path / "unpacked")
    found = read_image_set("cifar10", tmp_path, check="none" if layout == "archive" else "quick")
    assert np.array_equal(found.read(), images)
    assert np.array_equal(found.factors.ravel(), labels)
    assert found.held_rows.tolist() == [10, 11]


@pytest.mark.parametrize(
    "name", ["data_batch_1", "cifar-10-python.tar.gz", "cifar-10-batches-py/data_batch_1"]
)
def test_the_pickles_of_cifar10_are_refused(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\x80\x02}q\x01.")
    with pytest.raises(InputError, match=r"a pickle, which upto never loads.*cifar-10-binary"):
        read_image_set("cifar10", tmp_path)


def test_damaged_batches_of_cifar10_are_refused(tmp_path):
    batch = cifar_batch(draw_pixels(2, 32, 32, 3), np.arange(2))
    for part in PARTS:
        (tmp_path / f"{part}.bin").write_bytes(batch)
    with pytest.raises(InputError, match=r"12 × 32 × 32 × 3 values .* has 60000"):
        read_image_set("cifar10", tmp_path)
    (tmp_path / "data_batch_3.bin").write_bytes(batch[:-1])
    with pytest.raises(InputError, match=r"data_batch_3\.bin has 6145 bytes, not 3073"):
        read_image_set("cifar10", tmp_path)
    (tmp_path / "data_batch_3.bin").unlink()
    with pytest.raises(InputError, match=r"no data_batch_3\.bin"):
        read_image_set("cifar10", tmp_path)
    tar_folder(tmp_path, tmp_path / "cifar-10-binary.tar.gz")
    with pytest.raises(InputError, match=r"has no data_batch_3\.bin"):
        read_image_set("cifar10", tmp_path, check="none")
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(b"\x1f\x8b rest")
    with pytest.raises(InputError, match=r"tar\.gz is damaged"):
        read_image_set("cifar10", tmp_path, check="none")


def test_the_small_digits_hold_out_every_fifth():
    digits = read_image_set("digits")
    assert digits.shape == (1797, 8, 8, 1)
    assert digits.held_rows.tolist() == list(range(0, 1797, 5))
    assert 0 <= digits.read_floats().min() < digits.read_floats().max() == 1
    assert set(digits.factors[digits.held_rows, 0]) == set(range(10))


def test_images_of_fractions_are_not_cut_to_bytes(tmp_path):
    write_idx_set(tmp_path)
    (path,) = tmp_path.glob("train-images*")
    head = bytes([0, 0, 13, 3]) + np.array([3, 4, 4], ">u4").tobytes()
    path.write_bytes(head + np.full((3, 4, 4), -0.5, ">f4").tobytes())
    with pytest.raises(InputError, match=r"3 × 4 × 4 float32 .* not 8-bit images"):
        read_image_set("mnist", tmp_path, check="none")
