"""The threads engine: blocks, order, selection, errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from upto.core import InputError
from upto.engines import (
    ENGINE_NAMES,
    DaskEngine,
    ThreadsEngine,
    add,
    block_length,
    choose_engine,
)
from upto.engines.cores import Limits, one_blas_thread
from upto.engines.threads import _pool

ROUNDING = 1e-12
N_ROWS = 1000
BLOCK_ROWS = 7
# More tasks than threads, so that some wait while others run.
engines = pytest.mark.parametrize(
    "engine",
    [ThreadsEngine(n_threads=n, block_rows=BLOCK_ROWS) for n in (1, 2, 5)],
    ids=lambda engine: f"{engine.n_threads} threads",
)


@pytest.fixture
def rows():
    return np.arange(N_ROWS * 2.0).reshape(N_ROWS, 2)


def total(xp, x):
    return xp.sum(x, axis=0), xp.asarray(x.shape[0])


def positions(xp, x):
    return (x[:, 0],)


def join(first, second):
    return (np.concatenate([first[0], second[0]]),)


def even(xp, x):
    return (x[xp.astype(x[:, 0], xp.int64) % 4 == 0],)


def doubled(xp, x, factor):
    return x * factor, x


def fail_on_row_500(xp, x):
    if np.any(np.asarray(x[:, 0]) == 1000.0):
        message = "row 500 is bad"
        raise ZeroDivisionError(message)
    return total(xp, x)


def slow_in_front(xp, x):
    time.sleep(0.003 if x[0, 0] < 400 else 0)
    return (x[:, 0],)


def others():
    """Count the threads beside those of the pool, which stay for the next pass."""
    return sum(not thread.name.startswith("upto") for thread in threading.enumerate())


@engines
def test_statistics_of_blocks_are_added(engine, rows):
    sums, count = engine.reduce_blocks(total, rows)
    np.testing.assert_allclose(sums, rows.sum(axis=0), rtol=ROUNDING)
    assert count == N_ROWS
    assert isinstance(sums, np.ndarray)


@engines
@pytest.mark.parametrize("statistic", [positions, slow_in_front])
def test_partial_results_are_combined_in_row_order(engine, rows, statistic):
    (order,) = engine.reduce_blocks(statistic, rows, combine=join)
    np.testing.assert_array_equal(order, rows[:, 0])


@engines
def test_transformed_blocks_are_joined_in_row_order(engine, rows):
    np.testing.assert_array_equal(
        engine.map_blocks(doubled, rows, params=(np.array([2.0, 3.0]),)), rows * [2, 3]
    )


@engines
def test_a_function_may_select_rows(engine, rows):
    np.testing.assert_array_equal(engine.map_blocks(even, rows), rows[rows[:, 0] % 4 == 0])


@engines
def test_blocks_are_written_where_the_caller_says(engine, rows, tmp_path):
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", dtype=np.float32, shape=rows.shape)
    returned = engine.map_blocks(doubled, rows, params=(2.0,), out=out)
    assert returned is out
    np.testing.assert_array_equal(out, rows * 2)


def test_written_blocks_reach_the_caller_in_order_and_without_overlap(rows):
    class Recorder:
        def __init__(self):
            self.slices = []

        def __setitem__(self, key, block):
            self.slices.append((key.start, key.stop, len(block)))

    out = Recorder()
    ThreadsEngine(n_threads=3, block_rows=BLOCK_ROWS).map_blocks(
        doubled, rows, params=(1,), out=out
    )
    starts = list(range(0, N_ROWS, BLOCK_ROWS))
    assert out.slices == [(i, min(i + 7, N_ROWS), min(i + 7, N_ROWS) - i) for i in starts]


@engines
@pytest.mark.timeout(30)
def test_an_error_in_a_statistic_reaches_the_caller_and_nothing_hangs(engine, rows):
    before = others()
    with pytest.raises(ZeroDivisionError, match="row 500 is bad"):
        engine.reduce_blocks(fail_on_row_500, rows)
    with pytest.raises(ZeroDivisionError, match="row 500 is bad"):
        engine.map_blocks(fail_on_row_500, rows)
    assert others() == before
    assert engine.reduce_blocks(total, rows)[1] == N_ROWS


@engines
@pytest.mark.timeout(30)
def test_an_error_where_blocks_are_written_reaches_the_caller(engine, rows):
    class Full:
        def __setitem__(self, key, block):
            message = "no space left"
            raise OSError(message)

    before = others()
    with pytest.raises(OSError, match="no space left"):
        engine.map_blocks(doubled, rows, params=(1,), out=Full())
    assert others() == before


def test_few_blocks_are_in_flight(rows):
    lock = threading.Lock()
    seen = {"now": 0, "most": 0}

    class Counted:
        shape, dtype = rows.shape, rows.dtype

        def __getitem__(self, key):
            with lock:
                seen["now"] += 1
                seen["most"] = max(seen["most"], seen["now"])
            time.sleep(0.0005)
            with lock:
                seen["now"] -= 1
            return rows[key]

    ThreadsEngine(n_threads=3, block_rows=5).reduce_blocks(total, Counted())
    assert 2 <= seen["most"] <= 3


class SlowRows:
    """Rows that tell how many of their blocks are being read."""

    def __init__(self, rows):
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype
        self.lock, self.n_reading = threading.Lock(), 0

    def __getitem__(self, key):
        with self.lock:
            self.n_reading += 1
        time.sleep(0.02)
        with self.lock:
            self.n_reading -= 1
        return self.rows[key]


@pytest.mark.parametrize("call", [1, 2, 4, 5])
@pytest.mark.parametrize(
    ("owner", "name"), [(ThreadPoolExecutor, "submit"), (Future, "result")], ids=["sent", "awaited"]
)
def test_no_block_is_read_after_an_interrupt(rows, monkeypatch, owner, name, call):
    engine = ThreadsEngine(n_threads=3, block_rows=50)
    engine.reduce_blocks(total, rows)
    slow, calls, real = SlowRows(rows), [], getattr(owner, name)

    def interrupted(*args, **kwargs):
        calls.append(name)
        if len(calls) == call and name == "result":
            raise KeyboardInterrupt
        done = real(*args, **kwargs)
        if len(calls) == call:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.reduce_blocks(total, slow)
    assert slow.n_reading == 0
    time.sleep(0.005)
    assert slow.n_reading == 0


@pytest.mark.timeout(30)
def test_an_interrupt_while_a_thread_starts_leaves_none_that_waits_for_ever(rows, monkeypatch):
    started, start = [], threading.Thread.start

    def interrupted(self):
        start(self)
        started.append(self)
        if len(started) == 1:
            # Thread.start waits for the thread, and is interrupted there.
            raise KeyboardInterrupt

    _pool.cache_clear()
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    engine = ThreadsEngine(n_threads=2, block_rows=BLOCK_ROWS)
    with pytest.raises(KeyboardInterrupt):
        engine.reduce_blocks(total, rows)
    (lost,) = started
    lost.join(10)
    assert not lost.is_alive()
    assert engine.reduce_blocks(total, rows)[1] == N_ROWS


def test_partial_sums_never_change_the_statistics_own_arrays(rows):
    """A statistic may return an array it keeps; sums in place must not grow it between calls."""
    ones = np.ones(2)
    ones.flags.writeable = False
    engine = ThreadsEngine(n_threads=1, block_rows=100)
    (count,) = engine.reduce_blocks(lambda xp, x: (ones,), rows)
    np.testing.assert_array_equal(count, [10, 10])
    np.testing.assert_array_equal(ones, [1, 1])


def test_the_input_is_left_alone(rows):
    before = rows.copy()
    # One block: the statistic returns a view of the caller's rows.
    ThreadsEngine(block_rows=N_ROWS).reduce_blocks(lambda xp, x: (x,), rows)
    ThreadsEngine(block_rows=N_ROWS // 2).reduce_blocks(lambda xp, x: (xp.sum(x, axis=0),), rows)
    np.testing.assert_array_equal(rows, before)


def test_a_statistic_that_returns_its_block_does_not_change_the_rows(rows):
    before = rows.copy()
    ThreadsEngine(block_rows=N_ROWS // 2).reduce_blocks(lambda xp, x: (x,), rows)
    np.testing.assert_array_equal(rows, before)


def test_rows_of_different_lengths_are_refused(rows):
    with pytest.raises(InputError, match=r"a pass have \[999, 1000\] rows: pass equally"):
        ThreadsEngine().reduce_blocks(total, rows, rows[1:])


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="no rows to pass over"):
        ThreadsEngine().reduce_blocks(total, np.empty((0, 2)))


def test_vectors_arrive_as_they_are_and_matrices_in_the_asked_type(rows):
    seen = []

    def look(xp, x, flags):
        seen.append((x.dtype, flags.dtype, flags.ndim))
        return (xp.sum(x),)

    flags = np.ones(N_ROWS, dtype=bool)
    ThreadsEngine(n_threads=1).reduce_blocks(look, rows.astype(np.int16), flags, dtype="float32")
    assert set(seen) == {(np.dtype("float32"), np.dtype("bool"), 1)}


def test_partial_sums_are_added():
    first, second = (np.array([1, 5]), np.array(2)), (np.array([3, 4]), np.array(1))
    np.testing.assert_array_equal(add(first, second)[0], [4, 9])


@pytest.mark.parametrize(
    ("n_samples", "widths", "length"),
    [
        (10**9, [1], 65_536),
        (10**9, [32], 4096),
        (10**9, [128, 512], 512),
        (10**9, [10**6], 512),
        (100, [1], 100),
        (100, [0], 100),
        (0, [8], 1),
    ],
)
def test_blocks_fit_the_cache_within_limits(n_samples, widths, length):
    assert block_length(n_samples, widths) == length


def test_an_engine_is_chosen_by_name_by_object_or_by_default(monkeypatch):
    monkeypatch.setattr(DaskEngine, "connect", lambda self: self)
    engine = ThreadsEngine(n_threads=1)
    assert choose_engine(engine) is engine
    assert choose_engine() == ThreadsEngine()
    for name in {*ENGINE_NAMES} - {"dask"}:  # a cluster is connected to
        assert choose_engine(name).name == name
    with pytest.raises(InputError, match="there is no engine 'spark': choose one of threads"):
        choose_engine("spark")


def n_blas_threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    with threadpool_limits(2, "blas"):
        yield


def test_limits_of_threads_that_end_in_any_order_are_lifted(two_blas_threads):
    before = n_blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    for each in (first, second):
        each.__enter__()
    assert set(n_blas_threads()) == {1}
    first.__exit__(None, None, None)
    assert set(n_blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert n_blas_threads() == before


def test_a_blas_that_is_loaded_later_is_limited_too():
    pytest.importorskip("faiss", reason="it loads a BLAS of its own")
    code = """
from threadpoolctl import threadpool_info
from upto.engines.cores import one_blas_thread
with one_blas_thread():
    pass
import faiss
with one_blas_thread():
    print({each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"})
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "{1}"


def test_the_smallest_limit_holds(two_blas_threads):
    before = n_blas_threads()
    limits = Limits()
    with limits.at_most(2):
        with limits.at_most(1):
            assert set(n_blas_threads()) == {1}
        assert n_blas_threads() == [min(each, 2) for each in before]
    assert n_blas_threads() == before


def test_a_limit_is_lifted_after_an_error(two_blas_threads):
    before = n_blas_threads()
    limits = Limits()
    with pytest.raises(ZeroDivisionError), limits.at_most(1):
        1 / 0  # noqa: B018 - it is the error
    assert n_blas_threads() == before
