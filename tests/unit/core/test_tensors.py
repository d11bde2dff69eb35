from __future__ import annotations

import errno
import json
import os
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from upto.core import InputError
from upto.core.tensors import read_tensors, tensors_header, write_tensors

TYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")


@pytest.fixture
def tensors(rng) -> dict[str, np.ndarray]:
    made = {f"of {kind}": (rng.normal(size=(3, 5)) * 9).astype(kind) for kind in TYPES}
    made |= {
        "turned": rng.normal(size=(4, 6)).T,
        "big end": rng.normal(size=7).astype(">f8"),
        "scalar": np.array(2.5),
        "empty": np.empty((0, 4)),
        "cube": np.arange(24).reshape(2, 3, 4),
        "ε": np.ones(1, dtype=np.int8),
    }
    return made


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape


def test_what_is_written_is_read_again(tmp_path, tensors):
    write_tensors(tmp_path / "x.safetensors", tensors, {"words": "ε ≤ 0", "more": ""})
    found, words = read_tensors(tmp_path / "x.safetensors")
    assert_same(found, tensors)
    assert words == {"words": "ε ≤ 0", "more": ""}


def test_the_library_reads_ours(tmp_path, tensors):
    write_tensors(tmp_path / "x.safetensors", tensors, {"words": "ε"})
    assert_same(load_file(tmp_path / "x.safetensors"), tensors)
    with safe_open(tmp_path / "x.safetensors", framework="numpy") as file:
        assert file.metadata() == {"words": "ε"}


def test_we_read_the_library_s(tmp_path, tensors):
    plain = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    del plain["big end"]  # The library writes its bytes the wrong way round.
    plain["scalar"] = tensors["scalar"]
    save_file(plain, tmp_path / "x.safetensors", metadata={"words": "ε"})
    found, words = read_tensors(tmp_path / "x.safetensors")
    assert_same(found, plain)
    assert words == {"words": "ε"}


def test_nothing_is_a_file_too(tmp_path):
    write_tensors(tmp_path / "x.safetensors", {}, {})
    assert read_tensors(tmp_path / "x.safetensors") == ({}, {})
    assert load_file(tmp_path / "x.safetensors") == {}


def test_data_begin_where_they_can_be_mapped(tmp_path, tensors):
    write_tensors(tmp_path / "x.safetensors", tensors, {"a": "b"})
    content = (tmp_path / "x.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0
    header = json.loads(content[8 : 8 + length])
    for name, array in tensors.items():
        assert header[name]["data_offsets"][0] % array.dtype.itemsize == 0


@pytest.mark.parametrize("kind", ["c16", "U3", "O", "M8[s]"])
def test_other_types_are_refused(tmp_path, kind):
    with pytest.raises(InputError, match=r"'x' of type .* cannot be stored in a safetensors file"):
        write_tensors(tmp_path / "x.safetensors", {"x": np.zeros(2, dtype=kind)}, {})
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_the_metadata_is_no_array_s():
    with pytest.raises(InputError, match="'__metadata__' of type float64 cannot be stored"):
        tensors_header({"__metadata__": ("f8", (2,))}, {})


def file_of(tmp_path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


def entry(**changes):
    return {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]} | changes


DAMAGED = {
    "no header": (b"", b"", 0),
    "not json": (b"{nonsense", b"", None),
    "not text": (b"\xff\xfe\x00\x00", b"", None),
    "a list": ([1, 2], b"", None),
    "deep": (b"[" * 100_000, b"", None),
    "deep inside": (b'{"x":' * 100_000, b"", None),
    "long header": ({"x": entry()}, bytes(16), 10_000),
    "huge header": ({"x": entry()}, bytes(16), 2**63),
    "number for an entry": ({"x": 3}, b"", None),
    "no type": ({"x": {"shape": [2], "data_offsets": [0, 16]}}, bytes(16), None),
    "metadata of numbers": ({"__metadata__": {"a": 1}}, b"", None),
    "negative shape": ({"x": entry(shape=[-2])}, bytes(16), None),
    "negative offset": ({"x": entry(data_offsets=[-16, 0])}, bytes(16), None),
    "offsets turned": ({"x": entry(data_offsets=[16, 0])}, bytes(16), None),
    "fractional shape": ({"x": entry(shape=[2.5])}, bytes(16), None),
    "shape of truth": ({"x": entry(shape=[True, 2])}, bytes(16), None),
    "huge shape": ({"x": entry(shape=[2**62, 2**62])}, bytes(16), None),
    "huge empty shape": (
        {"x": entry(shape=[0, 2**62], data_offsets=[0, 0])}, b"", None
    ),
    "many dimensions": ({"x": entry(shape=[1] * 70, data_offsets=[0, 8])}, bytes(8), None),
    "too few bytes": ({"x": entry()}, bytes(15), None),
    "too many bytes": ({"x": entry()}, bytes(17), None),
    "wrong size": ({"x": entry(shape=[3])}, bytes(16), None),
    "a gap": (
        {"x": entry(), "y": entry(data_offsets=[24, 40])}, bytes(40), None
    ),
    "an overlap": (
        {"x": entry(), "y": entry(data_offsets=[8, 24])}, bytes(24), None
    ),
    "a hidden beginning": ({"x": entry(data_offsets=[8, 24])}, bytes(24), None),
}  # fmt: skip


@pytest.mark.parametrize(("header", "data", "length"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_reported(tmp_path, header, data, length):
    path = file_of(tmp_path, header, data, length)
    with pytest.raises(InputError, match=r"x\.safetensors is damaged or truncated \(.*save it ag"):
        read_tensors(path)
    with pytest.raises((SafetensorError, ValueError)):
        load_file(path)


@pytest.mark.parametrize("kept", range(0, 120, 7))
def test_a_truncated_file_is_reported(tmp_path, kept):
    write_tensors(tmp_path / "x.safetensors", {"x": np.ones(4), "y": np.ones(2)}, {})
    content = (tmp_path / "x.safetensors").read_bytes()
    assert kept < len(content)
    (tmp_path / "x.safetensors").write_bytes(content[:kept])
    with pytest.raises(InputError, match=r"is damaged or truncated"):
        read_tensors(tmp_path / "x.safetensors")


def test_a_type_numpy_does_not_have_is_named(tmp_path):
    path = file_of(tmp_path, {"x": entry(dtype="BF16", data_offsets=[0, 4])}, bytes(4))
    with pytest.raises(InputError, match=r"contains BF16 values in 'x': convert them to float32"):
        read_tensors(path)


def test_a_file_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"x\.safetensors cannot be read: No such file"):
        read_tensors(tmp_path / "x.safetensors")
    with pytest.raises(
        InputError, match=r"y\.safetensors cannot be written: the folder .* does not exist"
    ):
        write_tensors(tmp_path / "nowhere" / "y.safetensors", {}, {})


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    write_tensors(path, {"x": np.ones(2)}, {})
    before = path.read_bytes()

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("upto.core.files.os.fsync", full)
    with pytest.raises(InputError, match=r"cannot be written: No space left on device\."):
        write_tensors(path, {"x": np.zeros(2)}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@given(
    st.dictionaries(
        st.text(min_size=1).filter(lambda name: name != "__metadata__"),
        arrays.arrays(st.sampled_from(TYPES), arrays.array_shapes(min_dims=0, min_side=0)),
        max_size=4,
    ),
    st.dictionaries(st.text(), st.text(), max_size=3),
)
def test_any_arrays_survive(tmp_path_factory, tensors, words):
    path = tmp_path_factory.mktemp("any") / "x.safetensors"
    write_tensors(path, tensors, words)
    found, kept = read_tensors(path)
    assert_same(found, tensors)
    assert kept == words
    assert_same(load_file(path), tensors)
