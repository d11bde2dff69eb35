"""CIFAR-10 from published files and from one packed file."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto_studies import cifar_images
from upto_studies.cifar_images import CifarImages, balanced_rows, pack_cifar, read_cifar


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    shown = rng.integers(256, size=(60, 32, 32, 3), dtype=np.uint8)
    labels = np.arange(60, dtype=np.uint8) % 10
    return CifarImages(shown[:40], labels[:40], shown[40:], labels[40:])


def save_plain(folder, images):
    np.savez(folder / "cifar10.npz", **images._asdict())


def test_a_packed_subset_has_the_same_images_of_every_class(tmp_path, images):
    save_plain(tmp_path, images)
    packed = tmp_path / "packed" / "cifar10.npz"
    packed.parent.mkdir()
    size = pack_cifar(tmp_path, packed, n_train=20, n_test=10, seed=3)
    assert size == packed.stat().st_size
    found = read_cifar(packed.parent)
    rows = balanced_rows(images.train_labels, 20, seed=3)
    assert np.array_equal(found.train, images.train[rows])
    assert np.array_equal(np.bincount(found.train_labels), np.full(10, 2))
    assert np.array_equal(np.bincount(found.test_labels), np.ones(10))


def test_published_files_are_read_by_the_library(tmp_path, images, monkeypatch):
    known = cifar_images.read_image_set
    monkeypatch.setattr(
        cifar_images, "read_image_set", lambda name, folder: known(name, folder, check="none")
    )
    parts = [*np.split(np.arange(40), 5), np.arange(40, 60)]
    shown = np.concatenate([images.train, images.test])
    labels = np.concatenate([images.train_labels, images.test_labels])
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    for name, rows in zip(names, parts, strict=True):
        planes = shown[rows].transpose(0, 3, 1, 2).reshape(len(rows), -1)
        content = np.concatenate([labels[rows, None], planes], axis=1)
        (tmp_path / name).write_bytes(content.tobytes())
    found = read_cifar(tmp_path, n_train=10)
    assert np.array_equal(np.sort(found.train_labels), np.arange(10))
    assert np.array_equal(found.test, images.test)


def test_bad_files_are_refused(tmp_path, images):
    with pytest.raises(InputError, match="CIFAR-10"):
        read_cifar(tmp_path)
    save_plain(tmp_path, images._replace(test_labels=images.test_labels + 1))
    with pytest.raises(InputError, match="labels 0 to 9"):
        read_cifar(tmp_path)
    np.savez(tmp_path / "cifar10.npz", train=images.train)
    with pytest.raises(InputError, match="does not contain the arrays"):
        read_cifar(tmp_path)
    with pytest.raises(InputError, match="choose 1 to 4"):
        balanced_rows(np.arange(4, dtype=np.uint8), 5)
    with pytest.raises(InputError, match="have the label 0"):
        balanced_rows(np.array([0, 1, 1, 1], dtype=np.uint8), 4)
