"""Arrays in the formats of MNIST, of NORB and of MATLAB, and damaged ones."""

from __future__ import annotations

import gzip
import io
import struct

import numpy as np
import pytest
from image_files import idx, norb_matrix
from scipy.io import savemat

from upto.core import InputError
from upto.datasets.binary import read_idx, read_norb_matrix
from upto.datasets.matlab import read_matlab_bytes


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
        (b"", "is not an IDX file"),
        (b"PK\x03\x04rest", "50 4b 03 04"),
        (b"\0\0\x07\x01" + bytes(8), "it starts with"),
        (b"\0\0\x08\0", "it starts with"),
        (b"\0\0\x08\x03\0\0", "declares"),
        (idx(np.zeros((3, 4), dtype=np.uint8))[:-1], "declares 3 × 4 values, 12 bytes, but 11"),
        (idx(np.zeros((3, 4), dtype=np.uint8)) + b"x", "but 13 or more follow"),
        (b"\0\0\x0e\x03" + b"\xff" * 12, "but 0 follow"),
        (gzip.compress(idx(np.zeros(9, dtype=np.uint8)))[:-6], "cannot be read"),
        (b"\0\0\x08\x46" + b"\0\0\0\1" * 70 + b"x", "70 axes that form no array"),
        (b"\0\0\x08\4" + bytes(4) + b"\xff" * 12, "4 axes that form no array"),
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


@pytest.mark.parametrize(
    ("code", "dtype"),
    [(0x55, "u1"), (0x54, "i4"), (0x56, "i2"), (0x51, "f4"), (0x53, "f8")],
)
@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3), (1, 2, 1, 3)])
@pytest.mark.parametrize("packed", [False, True])
def test_matrices_of_norb_are_read_with_any_number_of_axes(tmp_path, code, dtype, shape, packed):
    array = np.arange(6, dtype=dtype).reshape(shape)
    content = norb_matrix(array, code)
    path = tmp_path / "matrix.mat"
    path.write_bytes(gzip.compress(content) if packed else content)
    found = read_norb_matrix(path)
    assert np.array_equal(found, array)
    assert found.shape == shape
    assert found.dtype == np.dtype(dtype)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a NORB matrix"),
        (b"MATLAB 5.0 MAT-file", "4d 41 54 4c 41 42 20 35"),
        (struct.pack("<Ii", 0x1E3D4C55, 0) + bytes(12), "it starts with"),
        (struct.pack("<Ii", 0x1E3D4C55, -1) + bytes(12), "it starts with"),
        (norb_matrix(np.zeros((3, 4), np.uint8), 0x55)[:-1], "3 × 4 values, 12 bytes, but 11"),
        (norb_matrix(np.zeros((3, 4), np.uint8), 0x55) + b"x", "but 13 or more follow"),
        (struct.pack("<IiIII", 0x1E3D4C53, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1), "but 0 follow"),
        (gzip.compress(norb_matrix(np.zeros(9, np.uint8), 0x55))[:-6], "cannot be read"),
    ],
    ids=["empty", "matlab", "scalar", "negative", "short", "long", "huge", "gzip"],
)
def test_damaged_matrices_of_norb_are_refused(tmp_path, content, words):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_norb_matrix(path)


def matlab(arrays, **options):
    file = io.BytesIO()
    savemat(file, arrays, **options)
    return file.getvalue()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 3), (3, 4, 3, 2, 5)])
def test_bytes_that_scipy_wrote_for_matlab_are_read(rng, shape, packed):
    array = rng.integers(0, 256, shape, dtype=np.uint8)
    others = {"a": np.zeros((3, 3)), "mask": np.ones((2, 5), np.uint8), "words": "text"}
    content = matlab({**others, "im": array}, do_compression=packed)
    found = read_matlab_bytes(content, "im", "car.mat")
    assert found.dtype == np.uint8
    assert np.array_equal(found, array)
    assert np.array_equal(read_matlab_bytes(content, "mask", "car.mat"), others["mask"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a MATLAB 5 file"),
        (b"\x80\x04N.", "80 04 4e 2e"),
        (matlab({"im": np.zeros((3, 3), np.uint8)})[:128], "no array im"),
        (matlab({"other": np.zeros((3, 3), np.uint8)}), "no array im"),
        (matlab({"im": np.zeros((3, 3))}), r"not a byte array of shape \(3, 3\)"),
        (matlab({"im": np.zeros((3, 0), np.uint8)}), "not a byte array"),
        (matlab({"im": np.zeros((3, 3), np.uint8)})[:-8], "has"),
        (matlab({"im": np.zeros((9, 9), np.uint8)}, do_compression=True)[:-4], "has"),
    ],
    ids=["empty", "pickle", "head", "name", "floats", "nothing", "short", "short zlib"],
)
def test_other_files_of_matlab_are_refused(content, words):
    with pytest.raises(InputError, match=words):
        read_matlab_bytes(content, "im", "car.mat")


def test_no_damage_to_a_file_of_matlab_does_more_than_raise(rng):
    whole = matlab({"im": rng.integers(0, 9, (3, 4, 3, 2, 2), dtype=np.uint8)})
    n_refused = 0
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= int(rng.integers(1, 256))
        for content in (bytes(changed), whole[:place]):
            try:
                assert read_matlab_bytes(content, "im", "car.mat").size == 144
            except InputError:
                n_refused += 1
    assert n_refused > len(whole)
