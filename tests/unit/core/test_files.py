from __future__ import annotations

import errno
import os
import signal
import socket
from pathlib import Path

import pytest

from upto.core import InputError
from upto.core.files import check_outputs, write_atomically, write_text_atomically


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


def test_a_folder_that_is_not_there_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"the folder .*/nowhere does not exist: make it first"):
        write_text_atomically(tmp_path / "nowhere" / "x", "y")
    with pytest.raises(InputError, match=r"the folder .*/file is not a folder"):
        write_text_atomically(tmp_path / "file" / "x", "y")


def special(path, kind):
    """Make something at a path that is neither a file nor a folder."""
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    else:
        path.symlink_to("/dev/null")


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a device"])
def test_what_is_no_file_is_never_replaced(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    special(Path("x"), kind)
    before = os.lstat("x")
    with pytest.raises(InputError, match=f"x is {kind}, which is never replaced"):
        write_text_atomically("x", "lost")
    assert os.lstat("x") == before
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_links_are_written_through_and_stay(tmp_path):
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to("old")
    (tmp_path / "dangling").symlink_to("new")
    write_text_atomically(tmp_path / "link", "one")
    write_text_atomically(tmp_path / "dangling", "two")
    assert (tmp_path / "link").readlink() == Path("old")
    assert (tmp_path / "dangling").readlink() == Path("new")
    assert [(tmp_path / name).read_text() for name in ("old", "new")] == ["one", "two"]


@pytest.mark.parametrize("name", ["circle", "~nobody-of-this-name/x", "nul\0"])
def test_what_is_no_path_is_one_sentence(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("circle").symlink_to("circle")
    with pytest.raises(InputError, match="is not a usable path"):
        write_text_atomically(name, "x")


def test_long_names_have_room_for_a_temporary_one(tmp_path):
    for name in ("n" * 250 + ".json", "ε" * 120 + ".json"):
        write_text_atomically(tmp_path / name, "x")
        assert (tmp_path / name).read_text() == "x"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_is_protected_stays(tmp_path):
    (tmp_path / "kept").write_text("old")
    (tmp_path / "kept").chmod(0o400)
    with pytest.raises(InputError, match="is write-protected"):
        write_text_atomically(tmp_path / "kept", "new")
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="no write permission for the folder"):
        write_text_atomically(tmp_path / "new", "x")
    tmp_path.chmod(0o700)


def test_a_full_disk_names_the_file_and_not_its_descriptor(tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("upto.core.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_text_atomically(tmp_path / "page.html", "x")
    assert caught.value.filename == str(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_second_signal_does_not_stop_the_removal_of_temporaries(tmp_path, monkeypatch):
    unlink = Path.unlink

    def interrupted(self, *, missing_ok=False):
        os.kill(os.getpid(), signal.SIGINT)
        unlink(self, missing_ok=missing_ok)

    def fail():
        with write_atomically(tmp_path / "x"):
            message = "first"
            raise ValueError(message)

    monkeypatch.setattr(Path, "unlink", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fail()
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


def test_outputs_are_held_against_inputs_and_each_other(tmp_path):
    for name in ("run.npy", "folder/run.npy"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link.npy").symlink_to("run.npy")
    (tmp_path / "hard.npy").hardlink_to(tmp_path / "run.npy")
    for name in ("run.npy", "link.npy", "hard.npy", "folder/../run.npy"):
        with pytest.raises(InputError, match=r"run.npy is an input"):
            check_outputs({"-o": tmp_path / name}, [tmp_path / "run.npy"])
    with pytest.raises(InputError, match="is an input"):
        check_outputs({"-o": tmp_path / "folder"}, [tmp_path / "folder" / "run.npy"])
    with pytest.raises(InputError, match=r"^-o and --report are the same file, .*new: choose"):
        check_outputs({"-o": tmp_path / "new", "--report": f"{tmp_path}/folder/../new"}, [])
    with pytest.raises(InputError, match=r"^-o and --report are the same file"):
        check_outputs({"-o": tmp_path / "run.npy", "--report": tmp_path / "hard.npy"}, [])
    check_outputs({"-o": tmp_path / "new", "--report": None}, [tmp_path / "run.npy"])
