"""What every format shares: blocks equal the whole, in threads, after pickling, without loading."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from upto.core import InputError, Rows
from upto.files import hierarchies, read_run
from upto.files.rows import BlockRows, ThreadHandles

bounds = st.none() | st.integers(-45, 45)
steps = st.none() | st.sampled_from([-3, -1, 1, 2, 7])


def test_every_format_gives_the_numbers_that_were_saved(any_file, values):
    run = read_run(any_file)
    assert isinstance(run.rows, Rows)
    assert run.rows.shape == values.shape
    np.testing.assert_array_equal(run.rows[:], values)
    assert run.rows[:].dtype == run.rows.dtype


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells what is resident")
@pytest.mark.parametrize("name", ["run.npy", "run.npz"])
def test_a_pass_over_a_file_leaves_none_of_it_resident(tmp_path, name):
    values = np.zeros((2**17, 64), dtype=np.float32)
    np.save(tmp_path / name, values) if name.endswith("npy") else np.savez(
        tmp_path / name, emb=values
    )
    rows = read_run(tmp_path / name).rows
    before = _resident_file_bytes()
    for start in range(0, len(values), 2**12):
        rows[start : start + 2**12]
    assert _resident_file_bytes() - before < values.nbytes / 8


def _resident_file_bytes():
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssFile:")[1].split()[0]) * 1024


@pytest.mark.parametrize("name", ["run.zarr", "run.h5"])
def test_a_pass_reads_every_chunk_once(tmp_path, name, monkeypatch):
    values = np.arange(400.0).reshape(100, 4)
    if name.endswith("zarr"):
        array = pytest.importorskip("zarr").create_array(
            tmp_path / name, shape=values.shape, dtype=values.dtype, chunks=(32, 4)
        )
        array[:] = values
    else:
        with pytest.importorskip("h5py").File(tmp_path / name, "w") as file:
            file.create_dataset("emb", data=values, chunks=(32, 4))
    asked = []

    class Watched:
        def __init__(self, array):
            self.array = array
            self.shape, self.dtype, self.chunks = array.shape, array.dtype, array.chunks

        def __getitem__(self, rows):
            asked.append((rows.start, rows.stop))
            return self.array[rows]

    run = read_run(tmp_path / name).rows
    real = hierarchies._member
    monkeypatch.setattr(hierarchies, "_member", lambda root, key: Watched(real(root, key)))
    blocks = [run[start : start + 8] for start in range(0, 100, 8)]
    np.testing.assert_array_equal(np.concatenate(blocks), values)
    assert asked == [(0, 32), (32, 64), (64, 96), (96, 128)]
    np.testing.assert_array_equal(run[20:90], values[20:90])
    np.testing.assert_array_equal(run[3:5], values[3:5])


def test_formats_with_blocks_keep_single_precision_in_native_order(block_file):
    run = read_run(block_file)
    assert run.rows.dtype == np.float32
    assert run.rows.dtype.isnative
    assert run.rows[2:4].flags.aligned


def test_rows_of_formats_with_blocks_stay_in_their_file(block_file):
    rows = read_run(block_file).rows
    assert isinstance(rows, BlockRows)
    assert not any(
        isinstance(value, np.ndarray) and value.size > 40 for value in vars(rows).values()
    )


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(start=bounds, stop=bounds, step=steps)
def test_a_slice_of_a_file_equals_the_slice_of_the_array(any_file, values, start, stop, step):
    rows = read_run(any_file).rows
    wanted = slice(start, stop, step)
    np.testing.assert_array_equal(rows[wanted], values[wanted])


def test_several_threads_read_the_same_rows_at_once(block_file, values):
    rows = read_run(block_file).rows
    starts = list(range(0, len(values), 3)) * 4
    with ThreadPoolExecutor(8) as pool:
        blocks = list(pool.map(lambda start: np.array(rows[start : start + 7]), starts))
    for start, block in zip(starts, blocks, strict=True):
        np.testing.assert_array_equal(block, values[start : start + 7])


def test_a_pickled_reader_is_small_and_opens_the_file_itself(block_file, values):
    rows = read_run(block_file).rows
    before = len(pickle.dumps(rows))
    rows[:]
    data = pickle.dumps(rows)
    assert len(data) == before < values.nbytes + 200
    copy = pickle.loads(data)
    np.testing.assert_array_equal(copy[5:20], values[5:20])
    assert copy.dtype == rows.dtype


def test_a_pickled_reader_does_not_grow_with_the_file(tmp_path):
    np.save(tmp_path / "long.npy", np.zeros((100_000, 4)))
    assert len(pickle.dumps(read_run(tmp_path / "long.npy").rows)) < 2000


def test_a_reader_finds_its_file_from_another_folder(savers, tmp_path, values, monkeypatch):
    (tmp_path / "data").mkdir()
    for name, save in savers.items():
        path, mark, key = save(tmp_path / "data", values).partition("::")
        monkeypatch.chdir(tmp_path / "data")
        rows = read_run(path.rpartition("/")[2] + mark + key).rows
        monkeypatch.chdir(tmp_path)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows))[:4], values[:4], name)
        np.testing.assert_array_equal(rows[:4], values[:4], name)


def test_a_forked_process_opens_the_file_again(monkeypatch):
    opened = []
    handles = ThreadHandles(lambda: opened.append(None) or len(opened))
    assert [handles(), handles()] == [1, 1]
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert handles() == 2


def test_a_reader_becomes_an_array_when_asked(block_file, values):
    rows = read_run(block_file).rows
    np.testing.assert_array_equal(np.asarray(rows), values)
    assert np.asarray(rows, dtype=np.float64).dtype == np.float64


def test_a_reader_shows_its_file_and_size(tmp_path, values):
    np.save(tmp_path / "run.npy", values)
    shown = repr(read_run(tmp_path / "run.npy").rows)
    assert shown == f"StoredRows('{tmp_path / 'run.npy'}': 37 × 5 float32)"


def test_a_file_that_vanishes_before_it_is_read_is_reported(tmp_path, values):
    np.save(tmp_path / "run.npy", values)
    rows = read_run(tmp_path / "run.npy").rows
    (tmp_path / "run.npy").unlink()
    with pytest.raises(InputError, match=r"run\.npy can no longer be read: .*No such file"):
        rows[:2]


def test_a_file_that_shrinks_while_it_is_read_is_reported(tmp_path, values):
    class Shrunk(BlockRows):
        def _read(self, start, stop):
            return values[start : stop - 1]

    rows = Shrunk(tmp_path / "run.h5", values.shape, values.dtype)
    with pytest.raises(InputError, match=r"changed while it was read: rows 2 to 6 .* \(3, 5\)"):
        rows[2:6]
