"""The dask engine on a real cluster of two processes: order, files, losses, errors."""

from __future__ import annotations

import builtins
import os
import pickle
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from upto.core import InputError, Rows, SelectedRows, UptoError
from upto.engines import DaskEngine, ThreadsEngine, choose_engine
from upto.engines import cluster_calls as sending_module
from upto.engines.cluster import ClusterRows
from upto.engines.cluster_calls import has_room, keeping
from upto.engines.workers import MappedArray, portable
from upto.files import read_run
from upto.ica.components import find_components

pytestmark = pytest.mark.slow

cloudpickle = pytest.importorskip("cloudpickle")
distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")
pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

# Workers cannot import this file: its functions travel with their code.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

N_ROWS, WIDTH, CHUNK = 1000, 3, 64


@pytest.fixture
def rows(rng):
    return rng.normal(size=(N_ROWS, WIDTH))


@pytest.fixture
def engine(client):
    return DaskEngine(client=client, block_rows=CHUNK)


class Signing:
    """Rows whose every reading leaves the number of the process that read them."""

    def __init__(self, folder):
        self.folder, self.shape, self.dtype = folder, (N_ROWS, WIDTH), np.dtype("float64")

    def __getitem__(self, key):
        (self.folder / str(os.getpid())).touch()
        return np.arange(N_ROWS * 1.0 * WIDTH).reshape(N_ROWS, WIDTH)[key]


def total(xp, x):
    return xp.sum(x, axis=0), xp.asarray(x.shape[0])


def products(xp, x, y, weights, shift):
    return (xp.matmul((x - shift).T, y * weights[:, None]),)


def first_column(xp, x):
    return (x[:, 0],)


def join(first, second):
    return (np.concatenate([first[0], second[0]]),)


def positive(xp, x):
    return (x[x[:, 0] > 0],)


def doubled(xp, x, factor):
    return (x * factor,)


def fail(xp, x):
    message = "this block is bad"
    raise ZeroDivisionError(message)


def die_once(xp, x, marker):
    if not os.path.exists(marker):  # noqa: PTH110
        open(marker, "w").close()  # noqa: PTH123
        os._exit(1)
    return (xp.sum(x, axis=0), x[:0])


def die_once_mapping(xp, x, marker):
    if float(x[0, 0]) < 0:
        die_once(xp, x, marker)
    return (x * 2,)


def always_die(xp, x):
    os._exit(1)


SOURCES = {
    "array": lambda rows, folder: rows,
    "memory map": lambda rows, folder: _saved(rows, folder),
    "view of a map": lambda rows, folder: _saved(np.repeat(rows, 2, axis=0), folder)[::2],
    "reader": lambda rows, folder: read_run(_path(rows, folder)).rows,
    "parquet": lambda rows, folder: read_run(_parquet(rows, folder)).rows,
    "zarr": lambda rows, folder: zarr.create_array(
        folder / "rows.zarr", data=rows, chunks=(len(rows) // 13, 2)
    ),
    "selected rows of a file": lambda rows, folder: SelectedRows(
        read_run(_path(rows[::-1], folder)).rows, np.arange(N_ROWS)[::-1]
    ),
}
each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
each_persist = pytest.mark.parametrize("persist", [True, False])


def _path(rows, folder):
    np.save(folder / "rows.npy", rows)
    return folder / "rows.npy"


def _parquet(rows, folder):
    table = pyarrow.table({f"f{number}": column for number, column in enumerate(rows.T)})
    pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=130)
    return folder / "rows.parquet"


def _saved(rows, folder):
    return np.load(_path(rows, folder), mmap_mode="r")


@each_source
@each_persist
def test_every_source_gives_the_sums_and_the_rows_it_holds(client, rows, source, persist, tmp_path):
    engine = DaskEngine(client=client, block_rows=300, persist=persist)
    placed = engine.place(source(rows, tmp_path))
    assert isinstance(placed, ClusterRows)
    assert isinstance(placed, Rows)
    sums, count = engine.reduce_blocks(total, placed)
    np.testing.assert_allclose(sums, rows.sum(axis=0), rtol=1e-12)
    assert count == N_ROWS
    np.testing.assert_array_equal(placed[10:20], rows[10:20])
    index = np.array([0, 3, 3, 500, 999])
    np.testing.assert_array_equal(placed.gather(index), rows[index])


def test_runs_of_different_width_and_vectors_are_cut_alike(client, rng):
    """By default narrow rows make longer chunks than wide ones."""
    n_rows = 40_000
    x, y = rng.normal(size=(n_rows, 40)), rng.normal(size=(n_rows, 5)).astype(np.float32)
    weights, shift = rng.uniform(size=n_rows), rng.normal(size=40)
    engine = DaskEngine(client=client)
    placed = engine.place(x)
    assert len(placed.bounds) > 2
    (found,) = engine.reduce_blocks(products, placed, y, weights, params=(shift,))
    (wanted,) = ThreadsEngine().reduce_blocks(products, x, y, weights, params=(shift,))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


def test_results_are_combined_and_joined_in_row_order(engine, rows, tmp_path):
    placed = engine.place(rows)
    (order,) = engine.reduce_blocks(first_column, placed, combine=join)
    np.testing.assert_array_equal(order, rows[:, 0])
    np.testing.assert_array_equal(engine.map_blocks(positive, placed), rows[rows[:, 0] > 0])
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", shape=rows.shape)
    assert engine.map_blocks(doubled, rows, params=(np.full(WIDTH, 2.0),), out=out) is out
    np.testing.assert_array_equal(out, rows * 2)


def test_the_number_of_workers_changes_no_bit(engine, rows):
    placed = engine.place(rows)
    found = engine.reduce_blocks(products, placed, rows, rows[:, 0], params=(0.5,))
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=3, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as alone,
    ):
        one = DaskEngine(client=alone, block_rows=CHUNK)
        wanted = one.reduce_blocks(products, one.place(rows), rows, rows[:, 0], params=(0.5,))
    np.testing.assert_array_equal(found, wanted)


def test_sums_of_single_precision_chunks_go_on_in_double_precision(client):
    # Single precision cannot count beyond 2²⁴ by ones.
    rows = np.ones((10, 1), dtype=np.float32)
    rows[0] = 2**24
    engine = DaskEngine(client=client, block_rows=1)
    found, _ = engine.reduce_blocks(total, rows, dtype="float32")
    assert found.dtype == np.float64
    assert found[0] == 2**24 + 9


@each_persist
def test_workers_read_files_and_the_client_does_not(client, persist, tmp_path):
    engine = DaskEngine(client=client, block_rows=CHUNK, persist=persist)
    placed = engine.place(Signing(tmp_path))
    sums, _ = engine.reduce_blocks(total, placed)
    np.testing.assert_array_equal(sums, Signing(tmp_path / "..")[:].sum(axis=0))
    readers = {int(path.name) for path in tmp_path.iterdir()}
    assert readers
    assert readers <= set(client.run(os.getpid).values())


@pytest.mark.parametrize("source", ["memory map", "reader", "parquet", "zarr"])
def test_a_placed_file_is_pickled_as_its_place(client, source, tmp_path, rng):
    rows = rng.normal(size=(40_000, 32))
    assert rows.nbytes > 10**7
    placed = DaskEngine(client=client).place(SOURCES[source](rows, tmp_path))
    data = pickle.dumps(placed)
    assert len(data) < 10_000
    np.testing.assert_array_equal(pickle.loads(data)[5:9], rows[5:9])


def test_kept_rows_are_read_once(client, tmp_path):
    engine = DaskEngine(client=client, block_rows=CHUNK, persist=True)
    placed = engine.place(Signing(tmp_path))
    engine.reduce_blocks(total, placed)
    for path in tmp_path.iterdir():
        path.unlink()
    engine.reduce_blocks(total, placed)
    assert not list(tmp_path.iterdir())


@pytest.mark.timeout(60)
@pytest.mark.parametrize("source", ["array", "memory map"])
def test_a_killed_worker_changes_nothing(engine, rows, source, tmp_path):
    placed = engine.place(SOURCES[source](rows, tmp_path))
    marker = tmp_path / "died"
    sums, _ = engine.reduce_blocks(die_once, placed, params=(str(marker),))
    assert marker.exists()
    wanted, _ = engine.reduce_blocks(die_once, placed, params=(str(marker),))
    np.testing.assert_array_equal(sums, wanted)
    np.testing.assert_allclose(sums, rows.sum(axis=0), rtol=1e-10)


@pytest.mark.timeout(60)
def test_a_worker_killed_while_rows_are_mapped_leaves_no_gap(engine, rows, tmp_path):
    rows[:, 0] = np.abs(rows[:, 0])
    rows[512, 0] = -1
    written = []

    class Recorder:
        def __setitem__(self, key, block):
            written.append((key.start, block))

    engine.map_blocks(
        die_once_mapping, engine.place(rows), params=(str(tmp_path / "died"),), out=Recorder()
    )
    assert (tmp_path / "died").exists()
    assert [start for start, _ in written] == list(range(0, N_ROWS, CHUNK))
    np.testing.assert_array_equal(np.concatenate([block for _, block in written]), rows * 2)


@pytest.mark.timeout(150)
def test_a_task_that_kills_every_worker_is_given_up(client, engine, rows, tmp_path, monkeypatch):
    def allow(n_failures, dask_scheduler):
        dask_scheduler.allowed_failures = n_failures

    monkeypatch.setattr(sending_module, "_ATTEMPTS", 2)
    client.run_on_scheduler(allow, 0)
    # Which one is noticed first, the task or what it needs, is up to the cluster.
    told = r"workers died in the same task .* more memory|lost the data of a pass 2 times: .* logs"
    try:
        with pytest.raises(UptoError, match=told):
            engine.reduce_blocks(always_die, _saved(rows, tmp_path))
    finally:
        client.run_on_scheduler(allow, 3)
    client.wait_for_workers(2, timeout=60)


def test_an_error_in_a_statistic_reaches_the_caller(engine, rows):
    for method in (engine.reduce_blocks, engine.map_blocks):
        with pytest.raises(ZeroDivisionError, match="this block is bad"):
            method(fail, rows)
    assert engine.reduce_blocks(total, rows)[1] == N_ROWS


def unfinished(dask_scheduler):
    return sum(task.state not in ("memory", "released") for task in dask_scheduler.tasks.values())


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_nothing_runs_on_after_an_interruption(client, engine, rows, error):
    class Interrupted:
        def __setitem__(self, key, block):
            raise error

    with pytest.raises(error):
        engine.map_blocks(doubled, rows, params=(2.0,), out=Interrupted())
    end = time.monotonic() + 10
    while client.run_on_scheduler(unfinished):
        assert time.monotonic() < end, "tasks were left behind"
        time.sleep(0.05)


def test_a_cluster_without_workers_is_given_up(rows, monkeypatch):
    monkeypatch.setattr(sending_module, "PATIENCE", 0.3)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as empty,
    ):
        engine = DaskEngine(client=empty, block_rows=CHUNK)
        with pytest.raises(UptoError, match=r"has had no worker for 0.3 s: start some"):
            engine.reduce_blocks(total, rows)
    with pytest.raises(UptoError, match=r"client is closed, .*: create another"):
        engine.reduce_blocks(total, rows)


def dawdle(xp, x):
    time.sleep(0.5)
    return (x[:1],)


def test_a_scheduler_that_goes_away_during_a_pass_is_reported(rows):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as deserted,
    ):
        engine = DaskEngine(client=deserted, block_rows=CHUNK)
        closing = threading.Timer(0.3, cluster.close)
        closing.start()
        with pytest.raises(UptoError, match=r"client is closed, .*: create another"):
            engine.reduce_blocks(dawdle, rows)
        closing.join()


def test_a_file_the_workers_cannot_see_is_reported(engine, rows, tmp_path):
    placed = DaskEngine(client=engine.client, block_rows=CHUNK, persist=False).place(
        _saved(rows, tmp_path)
    )
    (tmp_path / "rows.npy").unlink()
    with pytest.raises(
        InputError, match=r"the worker tcp://.* cannot read .*rows\.npy .*every worker"
    ):
        engine.reduce_blocks(total, placed)


def test_small_arrays_are_computed_where_they_are(rows):
    """No client is needed, nor found."""
    engine = DaskEngine()
    assert engine.place(rows) is rows
    np.testing.assert_array_equal(
        engine.reduce_blocks(total, rows)[0], ThreadsEngine().reduce_blocks(total, rows)[0]
    )
    np.testing.assert_array_equal(engine.map_blocks(doubled, rows, params=(2,)), rows * 2)


def test_without_a_client_the_error_says_how_to_make_one(rows, monkeypatch):
    def none(*args, **kwargs):
        message = "No global client found and no address provided"
        raise ValueError(message)

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(
        InputError, match=r"found no scheduler: give its address .*--workers.*Client\."
    ):
        DaskEngine(block_rows=10).reduce_blocks(total, rows)


def test_the_client_made_last_is_used_by_default(client, rows):
    assert distributed.get_client() is client
    assert DaskEngine(block_rows=CHUNK).reduce_blocks(total, rows)[1] == N_ROWS
    assert choose_engine("dask") == DaskEngine()
    assert choose_engine("dask").name == "dask"


def test_rows_of_different_lengths_or_none_are_refused(engine, rows):
    with pytest.raises(InputError, match=r"a pass have \[999, 1000\] rows: pass equally"):
        engine.reduce_blocks(total, rows, rows[1:])
    for method in (engine.reduce_blocks, engine.map_blocks):
        with pytest.raises(InputError, match="no rows to pass over"):
            method(total, np.empty((0, 2)))
    with pytest.raises(InputError, match="block_rows is 0"):
        DaskEngine(block_rows=0)


def test_without_dask_the_error_names_the_extra(monkeypatch):
    original = builtins.__import__

    def load(name, *args, **kwargs):
        if name.partition(".")[0] == "distributed":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", load)
    with pytest.raises(InputError, match=r"dask engine needs the package distributed.*upto\[dask"):
        choose_engine("dask")


@pytest.mark.parametrize(
    ("shape", "n_chunks"),
    [
        ((1000, 8), 1),
        ((222_000, 384), 28),
        ((10**8, 384), 3052),
        ((10**9, 1), 60),
        ((10**6, 10**6), 62_500),
    ],
)
def test_chunks_depend_on_the_shape_only(shape, n_chunks):
    bounds = DaskEngine().bounds(shape)
    assert bounds[0] == 0
    assert bounds[-1] == shape[0]
    assert len(bounds) - 1 == n_chunks
    assert (bounds[1] & (bounds[1] - 1)) == 0 or n_chunks == 1


def test_rows_are_kept_while_they_take_half_of_the_memory(monkeypatch):
    monkeypatch.setattr(sending_module, "_kept", weakref.WeakKeyDictionary())

    class Info:
        limits = (100, 300)

        def scheduler_info(self, n_workers):
            assert n_workers == -1
            return {"workers": {i: {"memory_limit": m} for i, m in enumerate(self.limits)}}

    class Held:
        pass

    held = Held()
    assert has_room(Info(), 200)
    assert not has_room(Info(), 201)
    keeping(held, 150)
    assert not has_room(Info(), 51)
    assert has_room(Info(), 50)
    del held
    assert has_room(Info(), 200)
    Info.limits = (100, 0)
    assert has_room(Info(), 10**12)


VIEWS = {
    "whole": np.s_[:],
    "some rows": np.s_[3:-4],
    "every third row": np.s_[::3],
    "some columns": np.s_[:, 1:3],
    "backwards": np.s_[::-1],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("offset", [0, 24])
def test_a_view_of_a_memory_map_is_found_in_its_file(view, order, offset, rows, tmp_path):
    path = tmp_path / "raw"
    path.write_bytes(b"x" * offset + rows.tobytes(order))
    mapped = np.memmap(path, np.float64, "r", offset, rows.shape, order)
    for array in (mapped[view], np.asarray(mapped)[view]):
        found = portable(array)
        assert isinstance(found, MappedArray)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(found))[2:50], rows[view][2:50])


def test_changes_to_a_shared_map_reach_the_workers_and_those_to_a_private_one_are_sent(
    rows, tmp_path
):
    shared = np.load(_path(rows, tmp_path), mmap_mode="r+")
    shared[0] = 7
    assert portable(shared)[:1].tolist() == [[7.0] * WIDTH]
    assert portable(np.load(tmp_path / "rows.npy", mmap_mode="c")) is None


def test_what_holds_its_data_or_cannot_be_pickled_is_not_opened_by_workers(rows):
    class Holding:
        def __init__(self):
            self.rows = np.zeros((10**6, 1))
            self.shape, self.dtype = self.rows.shape, self.rows.dtype

    class Stubborn:
        shape, dtype = (10**6, 1), np.dtype("float64")

        def __reduce__(self):
            message = "not me"
            raise TypeError(message)

    assert portable(rows) is None
    assert portable(Holding()) is None
    assert portable(Stubborn()) is None
    assert portable(SelectedRows(rows, np.arange(5))) is None


def test_a_reader_with_long_names_is_opened_by_workers():
    """A wide table has more names than a small reader has bytes."""

    class Wide:
        shape, dtype = (10**6, 10**5), np.dtype("float32")

        def __init__(self):
            self.names = ["x" * 30 + str(number) for number in range(10**5)]

    wide = Wide()
    assert portable(wide) is wide
    Wide.shape = (100, 10**5)
    assert portable(wide) is None


def test_ica_sends_rows_of_this_process_once(client, rng, monkeypatch):
    rows, sent = rng.laplace(size=(N_ROWS, WIDTH)), []
    original = ClusterRows._sent

    def counted(self, spans):
        if len(self.shape) == 2:
            sent.append(sum(stop - start for start, stop in spans))
        return original(self, spans)

    monkeypatch.setattr(ClusterRows, "_sent", counted)
    found = find_components(DaskEngine(client=client, block_rows=300), rows)
    assert found.converged
    assert sent == [N_ROWS]


def test_a_file_that_shrank_is_reported(rows, tmp_path):
    found = portable(_saved(rows, tmp_path))
    os.truncate(tmp_path / "rows.npy", 500)
    with pytest.raises(InputError, match=r"rows\.npy shrank to 500 bytes"):
        found[:]
