from __future__ import annotations

import errno
import io
import os
import signal
import threading

import h5py
import numpy as np
import pytest

from upto.files.safe_hdf5 import open_hdf5


class FailingOnce(io.BytesIO):
    """A disk that is full for a moment: one operation fails, those before and after it do not."""

    def __init__(self, failing: int, content: bytes = b"") -> None:
        super().__init__(content)
        self.failing, self.count = failing, 0

    def open(self, _mode: str, **_options: object) -> FailingOnce:
        return self

    def write(self, data) -> int:
        self.operate()
        return super().write(data)

    def truncate(self, size=None) -> int:
        self.operate()
        return super().truncate(size)

    def close(self) -> None:
        """Stay readable, as a file on a disk does."""

    def operate(self) -> None:
        self.count += 1
        if self.count == self.failing:
            self.fail()

    def fail(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Full(FailingOnce):
    """A disk that stays full."""

    def operate(self) -> None:
        self.count += 1
        if self.count >= self.failing:
            self.fail()


class Interrupted(FailingOnce):
    """A disk that is written to when Ctrl-C comes."""

    def fail(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def fill(disk: FailingOnce) -> None:
    with open_hdf5(disk, new=not disk.getvalue()) as (file, careful):
        with careful():
            if "ids" not in file:
                file["ids"] = np.array([f"row {i}" for i in range(3000)], dtype=object)
            if "x" in file:
                del file["x"]
            array = file.create_dataset("x", (100, 50), "f8")
        for start in range(0, 100, 10):
            with careful():
                array[start : start + 10] = start


def open_files() -> int:
    return h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)


def test_a_file_is_what_hdf5_reads():
    disk = FailingOnce(failing=-1)
    fill(disk)
    with h5py.File(disk) as file:
        np.testing.assert_array_equal(file["x"][:, 0], np.arange(100) // 10 * 10)
        assert file["ids"].asstr()[2999] == "row 2999"


@pytest.mark.parametrize("disk", [FailingOnce, Full, Interrupted])
@pytest.mark.parametrize("is_new", [True, False])
def test_an_operation_that_fails_is_the_error_whichever_it_is(disk, is_new):
    whole = FailingOnce(failing=-1)
    fill(whole)
    content = b"" if is_new else whole.getvalue()
    healthy = FailingOnce(failing=-1, content=content)
    fill(healthy)
    assert healthy.count > 10
    before = open_files()
    expected = KeyboardInterrupt if disk is Interrupted else OSError
    for failing in range(1, healthy.count + 1):
        broken = disk(failing, content)
        with pytest.raises(expected) as caught:
            fill(broken)
        if expected is OSError:
            assert caught.value.errno == errno.ENOSPC
            assert broken.count == failing
    assert open_files() == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_is_not_interrupted_and_writes_all_the_same():
    disk = FailingOnce(failing=-1)
    thread = threading.Thread(target=fill, args=(disk,))
    thread.start()
    thread.join()
    with h5py.File(disk) as file:
        assert file["x"][99, 0] == 90


def write_and_read(disk: FailingOnce, arrays: np.ndarray) -> None:
    with open_hdf5(disk, new=True) as (file, _careful):
        for number, array in enumerate(arrays):
            file[f"x{number}"] = array
        for number, array in enumerate(arrays):
            np.testing.assert_array_equal(file[f"x{number}"][:], array)
            np.testing.assert_array_equal(file[f"x{number}"][7:9, 3], array[7:9, 3])


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_hdf5_finds_again_what_the_disk_did_not_take(failing, rng):
    with pytest.raises(OSError, match="No space left"):
        write_and_read(Full(failing), rng.normal(size=(3, 500, 40)))
