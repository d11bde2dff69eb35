"""No flipped bit of an archive's list or heads takes its ids or labels away."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from upto.core import InputError
from upto.datasets.storage import open_zip
from upto.files import read_run
from upto.files.zips import check_directory


@pytest.fixture
def saved(tmp_path, rng):
    path = tmp_path / "run.npz"
    ids = np.array([f"s{number}" for number in range(7)])
    np.savez(path, emb=rng.normal(size=(7, 2)), ids=ids, label=np.arange(7))
    return path


def contents(path):
    run = read_run(path)
    columns = {name: column.tolist() for name, column in run.columns.items()}
    return run.rows[:].tolist(), None if run.ids is None else list(run.ids), columns


@pytest.mark.slow
def test_no_flipped_bit_of_the_list_or_a_head_gives_something_else(saved):
    content = saved.read_bytes()
    expected = contents(saved)
    head = content.index(b"ids.npy") - 30
    listed = content.index(b"PK\x01\x02")
    n_refused = 0
    for place in (*range(head, head + 230), *range(listed, len(content))):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            saved.write_bytes(flipped)
            try:
                assert contents(saved) == expected, (place, bit)
            except InputError:
                n_refused += 1
    assert n_refused > 1000


def test_ids_whose_head_says_there_are_none_are_a_damage(saved, rng):
    np.savez(saved, emb=rng.normal(size=(2000, 2)), ids=np.arange(2000))
    content = bytearray(saved.read_bytes())
    content[content.index(b"(2000,)") + 1] = ord("0")
    saved.write_bytes(content)
    with pytest.raises(InputError, match=r"::ids is damaged.*its header, which announces 0"):
        read_run(saved)


def test_a_vector_of_another_length_has_its_checksum_compared(tmp_path, rng):
    path = tmp_path / "run.npz"
    np.savez(path, emb=rng.normal(size=(7, 2)), other=np.arange(5000) + 7000)
    content = bytearray(path.read_bytes())
    content[content.index(np.int64(11999).tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"run\.npz is damaged .*other"):
        read_run(path)


@pytest.mark.parametrize("opened", [open_zip, read_run])
def test_an_entry_behind_a_comment_that_is_too_long_is_missed(saved, opened):
    content = bytearray(saved.read_bytes())
    second = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 1)
    content[second + 33] = 1
    saved.write_bytes(content)
    with pytest.raises(InputError, match=r"run\.npz is damaged .*directory has"):
        opened(saved)


def test_archives_with_comments_words_before_them_and_many_entries_are_whole(tmp_path, monkeypatch):
    path = tmp_path / "run.zip"
    path.write_bytes(b"words before")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a", b"1")
        archive.comment = b"PK, a comment"
    with zipfile.ZipFile(path) as archive:
        check_directory(archive)
    # From here on counts are written in the wider form.
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 2)
    with zipfile.ZipFile(path, "w") as archive:
        for name in "abcd":
            archive.writestr(name, b"1")
    content = path.read_bytes()
    assert b"PK\x06\x06" in content
    with zipfile.ZipFile(path) as archive:
        check_directory(archive)
    path.write_bytes(content.replace((4).to_bytes(8, "little") * 2, (5).to_bytes(8, "little") * 2))
    with (
        zipfile.ZipFile(path) as archive,
        pytest.raises(zipfile.BadZipFile, match="gives 5"),
    ):
        check_directory(archive)


def test_what_macos_adds_to_an_archive_is_left_out(saved):
    expected = contents(saved)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("__MACOSX/._emb.npy", b"\0\5\x16\7 no array")
    assert contents(saved) == expected
