from __future__ import annotations

import pytest

from upto.core.files import write_atomically, write_text_atomically


def test_text_is_written_as_it_is(tmp_path):
    write_text_atomically(tmp_path / "page.html", "ε ≤ 0.1\n")
    assert (tmp_path / "page.html").read_bytes() == "ε ≤ 0.1\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_bytes_replace_what_was_there(tmp_path):
    (tmp_path / "run.npy").write_text("old")
    with write_atomically(str(tmp_path / "run.npy"), binary=True) as file:
        file.write(b"new")
        assert (tmp_path / "run.npy").read_text() == "old"
        assert len(list(tmp_path.iterdir())) == 2
    assert (tmp_path / "run.npy").read_bytes() == b"new"


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "page.html").write_text("old")

    def fail():
        with write_atomically(tmp_path / "page.html") as file:
            file.write("half")
            message = "stop"
            raise KeyboardInterrupt(message)

    with pytest.raises(KeyboardInterrupt, match="stop"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert (tmp_path / "page.html").read_text() == "old"


def test_permissions_are_those_of_an_ordinary_file(tmp_path):
    (tmp_path / "ordinary").touch()
    write_text_atomically(tmp_path / "new", "x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "ordinary").stat().st_mode
    (tmp_path / "new").chmod(0o600)
    write_text_atomically(tmp_path / "new", "y")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600


def test_a_missing_folder_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_text_atomically(tmp_path / "nowhere" / "x", "y")
