"""Archives whose bytes, sizes or headers do not fit each other give no numbers."""

from __future__ import annotations

import io
import pickle
import struct
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from upto.core import InputError
from upto.files import checksums, read_columns, read_labels, read_run
from upto.files.shaped import shaped_array


def npy_bytes(shape, content=b"", descr="'<f4'", version=1, header=None):
    text = header or f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    data = text.encode("latin1") + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(data))
    return b"\x93NUMPY" + bytes([version, 0]) + length + data + content


def write_zip(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def flip(path, value, bits=1):
    """Change one byte of a number that is in the file once."""
    content = bytearray(path.read_bytes())
    content[content.index(value) + 2] ^= bits
    path.write_bytes(content)


@pytest.fixture
def values(rng):
    """Rows enough that the head of their file is read without them."""
    return rng.normal(size=(3700, 5)).astype(np.float32)


@pytest.fixture
def flipped(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, label=np.arange(len(values)))
    flip(tmp_path / "run.npz", values[2020, 3].tobytes())
    return tmp_path / "run.npz"


def test_a_flipped_bit_of_a_stored_archive_gives_no_row(flipped):
    rows = read_run(flipped).rows
    for wanted in (slice(0, 2), slice(3000, 3700), slice(None)):
        with pytest.raises(
            InputError,
            match=r"run\.npz is damaged: .*checksum is [0-9a-f]{8} instead of",
        ):
            rows[wanted]
    with pytest.raises(InputError, match="checksum"):
        rows.gather(np.array([1, 2]))


def test_a_flipped_bit_is_found_in_columns_of_fortran_order_and_after_pickling(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=np.asfortranarray(values))
    flip(tmp_path / "run.npz", values[2020, 3].tobytes())
    rows = read_run(tmp_path / "run.npz").rows
    for each in (rows, pickle.loads(pickle.dumps(rows))):
        with pytest.raises(InputError, match="checksum"):
            each[:3]


def test_a_flipped_bit_of_a_vector_gives_no_labels(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, label=np.arange(3700) + 7000)
    flip(tmp_path / "run.npz", np.int64(7020).tobytes())
    for read in (read_run, read_labels, read_columns):
        with pytest.raises(InputError, match=r"run\.npz is damaged .*label"):
            read(tmp_path / "run.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_fewer_rows_in_the_header_than_were_written_are_a_damage(tmp_path, values, save):
    save(tmp_path / "run.npz", emb=values)
    with zipfile.ZipFile(tmp_path / "run.npz") as archive:
        (member,) = archive.infolist()
        content = archive.read(member).replace(b"(3700, 5)", b"(1700, 5)")
    # The checksum is still that of 3700 rows.
    write_zip(tmp_path / "new.npz", [("emb.npy", content)], compression=member.compress_type)
    changed = (tmp_path / "new.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "new.npz") as archive:
        wrong = struct.pack("<I", archive.infolist()[0].CRC)
    (tmp_path / "new.npz").write_bytes(changed.replace(wrong, struct.pack("<I", member.CRC)))
    with pytest.raises(InputError, match=r"new\.npz.* is damaged"):
        read_run(tmp_path / "new.npz").rows[:]


def test_an_archive_is_checked_once_and_again_when_it_changes(tmp_path, values, monkeypatch):
    np.savez(tmp_path / "run.npz", emb=values)
    summed = []
    real = checksums.zlib.crc32
    monkeypatch.setattr(
        checksums.zlib, "crc32", lambda data, start=0: summed.append(None) or real(data, start)
    )
    run = read_run(tmp_path / "run.npz")
    assert not summed
    with ThreadPoolExecutor(8) as pool:
        blocks = list(pool.map(lambda start: run.rows[start : start + 37], range(0, 3700, 37)))
    np.testing.assert_array_equal(np.concatenate(blocks), values)
    assert len(summed) == 1
    read_run(tmp_path / "run.npz").rows[:]
    assert len(summed) == 1
    flip(tmp_path / "run.npz", values[2020, 3].tobytes())
    with pytest.raises(InputError, match="checksum"):
        run.rows[:2]


def test_more_rows_in_the_header_than_the_member_holds_are_refused(tmp_path, values):
    content = npy_bytes((3701, 5), values.tobytes())
    for options in ({}, {"compression": zipfile.ZIP_DEFLATED}):
        write_zip(tmp_path / "run.npz", [("emb.npy", content)], **options)
        with pytest.raises(
            InputError,
            match=r"::emb is truncated: its header announces 3701 × 5 float32 values, 74020 bytes, "
            r"but 74000 follow",
        ):
            read_run(tmp_path / "run.npz")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_tiny_archive_of_a_trillion_rows_is_refused_at_once(tmp_path, compression):
    content = npy_bytes((10**12, 5), bytes(1000))
    write_zip(tmp_path / "run.npz", [("emb.npy", content)], compression=compression)
    started = time.perf_counter()
    with pytest.raises(InputError, match=r"announces 1000000000000 × 5 float32"):
        read_run(tmp_path / "run.npz")
    assert time.perf_counter() - started < 1.0


def test_a_member_that_says_it_inflates_to_more_than_it_can_is_refused(tmp_path):
    content = npy_bytes((2**38, 4), bytes(2**16))
    path = write_zip(tmp_path / "run.npz", [("emb.npy", content)], compression=zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    central = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, central + 24, 2**32 - 2)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"run\.npz"):
        read_run(path)
    content = npy_bytes((2**28, 3), bytes(2**16))
    path = write_zip(tmp_path / "run.npz", [("emb.npy", content)], compression=zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 2**32 - 2)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"4294967294 bytes.*cannot contain"):
        read_run(path)


def test_a_compressed_member_larger_than_the_memory_is_refused(tmp_path, values, monkeypatch):
    np.savez_compressed(tmp_path / "run.npz", emb=values)
    monkeypatch.setattr("upto.files.declared.memory_size", lambda: 7000)
    with pytest.raises(
        InputError, match=r"::emb .*74128 bytes.*save it uncompressed.*numpy\.savez"
    ):
        read_run(tmp_path / "run.npz")


def test_a_head_of_four_gigabytes_is_not_read(tmp_path):
    head = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b" " * 2**20
    (tmp_path / "run.npy").write_bytes(head)
    write_zip(tmp_path / "run.npz", [("emb.npy", head)], compression=zipfile.ZIP_DEFLATED)
    for name in ("run.npy", "run.npz"):
        with pytest.raises(InputError, match=r"its header has 4294967295 bytes"):
            read_run(tmp_path / name)


def test_two_members_of_one_name_are_refused(tmp_path, values):
    content = npy_bytes(values.shape, values.tobytes())
    with pytest.warns(UserWarning, match="Duplicate name"):
        write_zip(tmp_path / "run.npz", [("emb.npy", content), ("emb.npy", content)])
    with pytest.raises(InputError, match=r"run\.npz holds two arrays named 'emb'"):
        read_run(tmp_path / "run.npz")


def test_names_that_lead_out_of_the_folder_are_only_names(tmp_path, values):
    content = npy_bytes(values.shape, values.tobytes())
    (tmp_path / "in").mkdir()
    write_zip(tmp_path / "in" / "run.npz", [("../out.npy", content)])
    np.testing.assert_array_equal(read_run(tmp_path / "in" / "run.npz").rows[:], values)
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (37, 5), ",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (37, -5), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 5), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (37, 5.0), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (37, 5, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 3000 + "37",
        "{'descr': " + "[" * 99 + "('a'," + "]" * 99 + ", 'fortran_order': 0, 'shape': (3, 5)}",
        "{'descr': '\\d4', 'fortran_order': False, 'shape': (37, 5), }",
        "{'descr': '<M8[q]', 'fortran_order': False, 'shape': (37, 5), }",
        "{'descr': ('<f4', (2, -3)), 'fortran_order': False, 'shape': (37, 5), }",
        "{'descr': ('<f4', 10**9), 'fortran_order': False, 'shape': (37, 5), }",
        '\'"""',
        "\xe9\xff",
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_damaged_header_is_one_sentence(tmp_path, values, header, version):
    content = npy_bytes(None, values.tobytes(), header=header, version=version)
    (tmp_path / "run.npy").write_bytes(content)
    write_zip(tmp_path / "run.npz", [("emb.npy", content)])
    for name in ("run.npy", "run.npz"):
        for read in (read_run, read_labels, read_columns):
            with pytest.raises(InputError, match=rf"{name} is damaged or truncated \(.*copy or"):
                read(tmp_path / name)
        assert shaped_array(tmp_path / name) is None


def test_what_a_library_says_is_cut_to_its_first_line(tmp_path, values):
    shape = "(" + "1, " * 3000 + ")"
    (tmp_path / "run.npy").write_bytes(npy_bytes(shape, values.tobytes()))
    with pytest.raises(InputError) as caught:
        read_run(tmp_path / "run.npy")
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def test_text_of_no_length_and_of_no_characters_is_refused(tmp_path, values):
    for descr, shape, content in (
        ("'<U0'", (10**12,), b""),
        ("'|S0'", (10**12,), b""),
        ("'|V0'", (10**12,), b""),
        ("'<U1'", (37,), b"\xff\xff\xff\x7f" * 37),
        ("'<U1'", (37,), b"\x00\xd8\x00\x00" * 37),
    ):
        (tmp_path / "label.npy").write_bytes(npy_bytes(shape, content, descr=descr))
        for read in (read_labels, read_columns):
            with pytest.raises(InputError, match=r"label\.npy"):
                read(tmp_path / "label.npy")


def test_a_shaped_array_of_a_damaged_archive_is_left_to_others(tmp_path):
    images = np.arange(4 * 3 * 3.0).reshape(4, 3, 3)
    np.savez(tmp_path / "images.npz", a=images)
    np.testing.assert_array_equal(shaped_array(tmp_path / "images.npz"), images)
    flip(tmp_path / "images.npz", images[2, 1, 1].tobytes())
    assert shaped_array(tmp_path / "images.npz") is None
    (tmp_path / "images.npz").write_bytes(b"PK\x03\x04")
    assert shaped_array(tmp_path / "images.npz") is None
    buffer = io.BytesIO()
    np.save(buffer, images)
    (tmp_path / "images.npy").write_bytes(buffer.getvalue()[:-8])
    assert shaped_array(tmp_path / "images.npy") is None


def test_a_damaged_name_does_not_hide_the_ids(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, ids=np.arange(3700))
    content = bytearray((tmp_path / "run.npz").read_bytes())
    content[content.rindex(b"ids.npy") + 3] = 0
    (tmp_path / "run.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"File name in directory .* differ"):
        read_run(tmp_path / "run.npz")


def test_other_members_of_an_archive_are_left_alone(tmp_path, values):
    content = npy_bytes(values.shape, values.tobytes())
    members = [("emb.npy", content), ("README.txt", b"words"), ("folder/", b"")]
    write_zip(tmp_path / "run.npz", members)
    np.testing.assert_array_equal(read_run(tmp_path / "run.npz").rows[:], values)


def test_a_name_with_pickle_in_it_makes_no_pickle_of_a_damage(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, pickled=np.arange(3700) + 7000)
    flip(tmp_path / "run.npz", np.int64(7020).tobytes())
    with pytest.raises(InputError, match=r"run\.npz is damaged .*CRC-32 for file 'pickled.npy'"):
        read_run(tmp_path / "run.npz")


def test_no_more_checksums_are_remembered_than_a_bound(tmp_path, monkeypatch, values):
    monkeypatch.setattr(checksums, "_MOST_REMEMBERED", 3)
    monkeypatch.setattr(checksums, "_VERIFIED", {})
    for number in range(5):
        np.savez(tmp_path / f"{number}.npz", emb=values)
        np.testing.assert_array_equal(read_run(tmp_path / f"{number}.npz").rows[:], values)
    assert [name[-5:] for name, _ in checksums._VERIFIED] == ["2.npz", "3.npz", "4.npz"]
