"""The torch engine, on the CPU: placing, streaming, precision, errors."""

from __future__ import annotations

import builtins
import threading

import numpy as np
import pytest

import upto
from upto.core import InputError, Rows
from upto.engines import ThreadsEngine, TorchEngine, choose_engine, host_array
from upto.engines.device_rows import DeviceRows

torch = pytest.importorskip("torch")

N_ROWS = 1000
engines = pytest.mark.parametrize(
    "engine",
    [
        TorchEngine(device="cpu", block_rows=7),
        TorchEngine(device="cpu", block_rows=64, resident=True),
        TorchEngine(device="cpu"),
    ],
    ids=["streamed", "resident", "one block"],
)


@pytest.fixture
def rows():
    return np.arange(N_ROWS * 2.0).reshape(N_ROWS, 2)


class Reader:
    """Rows in a file, as far as an engine can tell."""

    def __init__(self, rows):
        self._rows, self.shape, self.dtype = rows, rows.shape, rows.dtype
        self.largest = 0

    def __getitem__(self, key):
        block = self._rows[key]
        self.largest = max(self.largest, len(block))
        return block


def total(xp, x):
    return xp.sum(x, axis=0), xp.asarray(x.shape[0])


def first_column(xp, x):
    return (x[:, 0],)


def join(first, second):
    assert all(isinstance(part, np.ndarray) for part in (*first, *second))
    return (np.concatenate([first[0], second[0]]),)


def every_fourth(xp, x):
    return (x[xp.astype(x[:, 0], xp.int64) % 4 == 0],)


def scaled(xp, x, factor, shift):
    return x * factor + shift, x


@engines
@pytest.mark.parametrize("wrap", [np.asarray, Reader])
def test_statistics_of_blocks_are_added(engine, rows, wrap):
    sums, count = engine.reduce_blocks(total, engine.place(wrap(rows)))
    np.testing.assert_allclose(sums, rows.sum(axis=0), rtol=1e-12)
    assert count == N_ROWS
    assert all(isinstance(array, np.ndarray) for array in (sums, count))


@engines
def test_partial_results_are_combined_on_the_host_in_row_order(engine, rows):
    (order,) = engine.reduce_blocks(first_column, engine.place(rows), combine=join)
    np.testing.assert_array_equal(order, rows[:, 0])


@engines
def test_transformed_blocks_are_joined_in_row_order(engine, rows):
    found = engine.map_blocks(scaled, rows, params=(np.array([2.0, 3.0]), np.float64(1)))
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, rows * [2, 3] + 1)


@engines
def test_a_function_may_select_rows(engine, rows):
    found = engine.map_blocks(every_fourth, engine.place(rows))
    np.testing.assert_array_equal(found, rows[rows[:, 0] % 4 == 0])


@engines
def test_blocks_are_written_where_the_caller_says(engine, rows):
    out = np.zeros(rows.shape, dtype=np.float32)
    assert engine.map_blocks(scaled, rows, params=(2, 0), out=out) is out
    np.testing.assert_array_equal(out, rows * 2)


@engines
def test_statistics_get_tensors_of_the_asked_type_and_vectors_as_they_are(engine, rows):
    seen = set()

    def look(xp, x, flags, positions):
        seen.add((x.dtype, flags.dtype, positions.dtype, x.device.type))
        return (xp.sum(x[flags]),)

    flags, positions = np.arange(N_ROWS) % 2 == 0, np.arange(N_ROWS, dtype=">i8")
    (found,) = engine.reduce_blocks(look, rows.astype(np.int16), flags, positions, dtype="float32")
    assert seen == {(torch.float32, torch.bool, torch.int64, "cpu")}
    assert found == rows[::2].sum()


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", ">f8", "longdouble", "int8", "uint16", "uint64", "bool"]
)
@pytest.mark.parametrize("resident", [True, False])
def test_every_type_keeps_its_values(dtype, resident, rng):
    values = rng.integers(0, 2 if dtype == "bool" else 100, size=(50, 3)).astype(dtype)
    engine = TorchEngine(device="cpu", block_rows=8, resident=resident)
    placed = engine.place(values)
    assert placed.shape == values.shape
    assert np.dtype(placed.dtype).newbyteorder("=") == values.dtype.newbyteorder("=")
    np.testing.assert_array_equal(placed[3:9], values[3:9])
    (sums,) = engine.reduce_blocks(lambda xp, x: (xp.sum(x, axis=0),), placed)
    np.testing.assert_array_equal(sums, values.astype(np.float64).sum(axis=0))


def test_placed_rows_are_rows_whose_slices_are_host_arrays(rows):
    placed = TorchEngine(device="cpu", resident=True, block_rows=64).place(rows)
    assert isinstance(placed, Rows)
    for key in (slice(3, 9), slice(None), slice(-5, None), slice(9, 3), slice(8, 2, -3)):
        assert isinstance(placed[key], np.ndarray)
        np.testing.assert_array_equal(placed[key], rows[key])
    np.testing.assert_array_equal(placed.gather(np.array([1, 5, 700])), rows[[1, 5, 700]])
    np.testing.assert_array_equal(np.asarray(placed, dtype=np.float32), rows)
    placed[:][:] = 0
    np.testing.assert_array_equal(placed[:], rows)


def test_rows_are_uploaded_once_and_in_blocks(rows):
    reader = Reader(rows)
    engine = TorchEngine(device="cpu", resident=True, block_rows=64)
    placed = engine.place(reader)
    assert isinstance(placed, DeviceRows)
    assert reader.largest == 64
    reader._rows = None
    assert engine.reduce_blocks(total, placed)[1] == N_ROWS
    assert engine.place(placed) is placed


def test_on_the_cpu_rows_stay_where_they_are_unless_asked(rows):
    reader = Reader(rows)
    assert TorchEngine(device="cpu").place(reader) is reader
    TorchEngine(device="cpu", block_rows=10).reduce_blocks(total, reader)
    assert reader.largest == 10


@pytest.mark.parametrize("combine", [None, lambda a, b: (a[0] + b[0],)])
def test_a_statistic_that_returns_its_block_or_a_parameter_changes_neither(rows, combine):
    before, ones = rows.copy(), np.ones(2)
    engine = TorchEngine(device="cpu", block_rows=N_ROWS // 2)
    (found,) = engine.reduce_blocks(lambda xp, x: (x,), rows, combine=combine)
    np.testing.assert_array_equal(found, rows[: N_ROWS // 2] + rows[N_ROWS // 2 :])
    (count,) = engine.reduce_blocks(
        lambda xp, x, param: (param,), rows, params=(ones,), combine=combine
    )
    np.testing.assert_array_equal(count, [2, 2])
    np.testing.assert_array_equal(ones, 1)
    np.testing.assert_array_equal(rows, before)


def test_sums_of_single_precision_blocks_go_on_in_double_precision():
    # Single precision cannot count beyond 2²⁴ by ones.
    rows = np.ones((100, 1), dtype=np.float32)
    rows[0] = 2**24
    engine = TorchEngine(device="cpu", block_rows=1)
    (found,) = engine.reduce_blocks(lambda xp, x: (xp.sum(x, axis=0),), rows, dtype="float32")
    assert found.dtype == np.float64
    assert found[0] == 2**24 + 99


def test_a_statistic_on_the_host_is_added_in_double_precision_too(rows):
    engine = TorchEngine(device="cpu", block_rows=100)
    ones = np.ones(3, dtype=np.float32)
    found, count = engine.reduce_blocks(lambda xp, x: (ones, 1), rows)
    np.testing.assert_array_equal(found, [10, 10, 10])
    assert found.dtype == np.float64
    assert count == 10
    np.testing.assert_array_equal(ones, 1)


def products(xp, x):
    inside.append(torch.backends.cuda.matmul.fp32_precision)
    return (xp.matmul(x.T, x),)


inside: list[str] = []


@pytest.mark.parametrize(("allow", "setting"), [(False, "ieee"), (True, "tf32")])
def test_float32_products_are_exact_unless_allowed_otherwise(rows, allow, setting):
    inside.clear()
    torch.set_float32_matmul_precision("medium")
    before = torch.backends.mkldnn.matmul.fp32_precision
    try:
        engine = TorchEngine(device="cpu", allow_tf32=allow)
        engine.reduce_blocks(products, rows, dtype="float32")
        assert inside == [setting]
        assert torch.get_float32_matmul_precision() == "medium"
        assert torch.backends.mkldnn.matmul.fp32_precision == before
    finally:
        torch.set_float32_matmul_precision("highest")


def exhausted(xp, x):
    raise torch.cuda.OutOfMemoryError


@pytest.mark.parametrize("method", ["reduce_blocks", "map_blocks"])
def test_a_device_without_room_says_how_to_use_less_of_it(rows, method):
    engine = TorchEngine(device="cpu", block_rows=200)
    with pytest.raises(InputError, match=r"blocks of 200 × 2 float64 values, 0 MiB.*block_rows"):
        getattr(engine, method)(exhausted, rows)


@pytest.mark.parametrize("resident", [True, None])
def test_rows_that_do_not_fit_are_streamed_or_refused_if_they_had_to(rows, resident, monkeypatch):
    def full(*args):
        raise torch.cuda.OutOfMemoryError

    monkeypatch.setattr("upto.engines.device.upload", full)
    monkeypatch.setattr(TorchEngine, "_keeps", lambda *_: True)
    engine = TorchEngine(device="cpu", resident=resident)
    if resident is None:
        assert engine.place(rows) is rows
    else:
        with pytest.raises(InputError, match=r"rows of 1000 × 2 float64 .* resident=False"):
            engine.place(rows)


@engines
def test_an_error_in_a_statistic_reaches_the_caller_and_nothing_is_left(engine, rows):
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        engine.reduce_blocks(lambda xp, x: 1 // 0, engine.place(rows))
    assert threading.active_count() == before
    assert engine.reduce_blocks(total, rows)[1] == N_ROWS


def test_rows_of_different_lengths_or_none_are_refused(rows):
    engine = TorchEngine(device="cpu")
    with pytest.raises(InputError, match=r"a pass have \[999, 1000\] rows: pass equally"):
        engine.reduce_blocks(total, rows, rows[1:])
    for method in (engine.reduce_blocks, engine.map_blocks):
        with pytest.raises(InputError, match="no rows to pass over"):
            method(total, np.empty((0, 2)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu"}, "there is no device 'gpu': choose 'cpu', 'cuda'"),
        ({"device": "meta"}, "runs on 'cpu' and 'cuda', not on 'meta'"),
        ({"device": "cuda:99"}, r"torch finds \d+ CUDA devices here, and 'cuda:99' is not one"),
        ({"block_rows": 0}, "block_rows is 0: pass at least 1"),
    ],
)
def test_an_engine_that_cannot_be_is_refused_when_it_is_made(options, message):
    with pytest.raises(InputError, match=message):
        TorchEngine(**options)


def test_without_torch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setattr(builtins, "__import__", _without("torch"))
    with pytest.raises(InputError, match=r"torch engine needs the package torch.*upto\[torch\]"):
        choose_engine("torch")


def _without(package):
    original = builtins.__import__

    def load(name, *args, **kwargs):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return original(name, *args, **kwargs)

    return load


def test_the_engine_is_chosen_by_name():
    assert choose_engine("torch") == TorchEngine()
    assert choose_engine("torch").name == "torch"


def test_an_array_of_any_library_comes_to_the_host():
    for array in (torch.ones(2), np.ones(2), [1.0, 1.0]):
        assert isinstance(host_array(array), np.ndarray)
        np.testing.assert_array_equal(host_array(array), 1)


def test_a_comparison_is_the_same_as_on_threads(rng):
    first = rng.laplace(size=(400, 4))
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    second = first @ rotation + 0.05 * rng.normal(size=first.shape)
    wanted = upto.compare(first, second, engine=ThreadsEngine())
    for engine in ("torch", TorchEngine(device="cpu", resident=True, block_rows=100)):
        found = upto.compare(first, second, engine=engine)
        assert found.up_to == wanted.up_to
        assert found.provenance.engine == "torch"
        for mine, theirs in zip(found.fits, wanted.fits, strict=True):
            np.testing.assert_allclose(
                [mine.in_sample.rms, mine.held_out.mean.value, mine.held_out.worst],
                [theirs.in_sample.rms, theirs.held_out.mean.value, theirs.held_out.worst],
                rtol=1e-9,
            )
