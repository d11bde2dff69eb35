"""Large row groups are decoded in part, and a few times only."""

from __future__ import annotations

import errno
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upto.core import InputError, SelectedRows
from upto.engines import ThreadsEngine
from upto.files import columnar, read_run, row_groups
from upto.files.row_groups import LargeGroup

VALUES = np.arange(300.0).reshape(100, 3)


class Decoder:
    """Blocks of seven rows, and how often each was decoded."""

    def __init__(self, values=VALUES, fails_at=()):
        self.values, self.fails_at = values, set(fails_at)
        self.decoded = []

    def __call__(self):
        for start in range(0, len(self.values), 7):
            self.decoded.append(start)
            if start in self.fails_at:
                self.fails_at.remove(start)
                raise KeyboardInterrupt
            yield self.values[start : start + 7]


def group_of(decoder):
    return LargeGroup(Path("run.parquet"), decoder.values.shape, decoder.values.dtype, decoder)


@pytest.fixture
def few_kept(monkeypatch):
    """Keep two blocks of seven rows only."""
    monkeypatch.setattr(row_groups, "_KEPT_BYTES", 1)


def test_a_pass_in_order_decodes_each_row_once_and_writes_nothing(few_kept):
    decoder = Decoder()
    group = group_of(decoder)
    for start in range(0, 100, 9):
        np.testing.assert_array_equal(group.read(start, start + 1), VALUES[start : start + 1])
        np.testing.assert_array_equal(group.read(start, min(start + 9, 100)), VALUES[start:][:9])
    assert decoder.decoded == sorted(set(decoder.decoded))
    assert not group.is_stored


def test_rows_asked_for_again_are_decoded_once_more_and_then_never(few_kept):
    decoder = Decoder()
    group = group_of(decoder)
    for order in (range(100), range(99, -1, -1), (50, 3, 99, 0)):
        for row in order:
            np.testing.assert_array_equal(group.read(row, row + 1), VALUES[row : row + 1])
    assert group.is_stored
    assert max(decoder.decoded.count(start) for start in decoder.decoded) == 2


@given(spans=st.lists(st.tuples(st.integers(0, 99), st.integers(1, 100)), max_size=8))
def test_any_rows_in_any_order_are_right(spans):
    group = group_of(Decoder())
    kept, row_groups._KEPT_BYTES = row_groups._KEPT_BYTES, 1
    try:
        for start, length in spans:
            stop = min(start + length, 100)
            np.testing.assert_array_equal(group.read(start, stop), VALUES[start:stop])
    finally:
        row_groups._KEPT_BYTES = kept


def test_threads_share_what_is_decoded(few_kept, rng):
    values = rng.normal(size=(2000, 4))
    decoder = Decoder(values)
    group = group_of(decoder)
    starts = rng.permutation(1990).tolist()
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda start: group.read(start, start + 10), starts)]
    for start, rows in zip(starts, found, strict=True):
        np.testing.assert_array_equal(rows, values[start : start + 10])
    assert max(decoder.decoded.count(start) for start in (0, 700, 1400)) <= 2


@pytest.mark.parametrize("stored", [False, True])
def test_an_interrupt_in_the_middle_spoils_nothing(few_kept, stored):
    decoder = Decoder()
    group = group_of(decoder)
    if stored:
        group.read(0, 60)
        group.read(0, 1)
    decoder.fails_at = {70}
    with pytest.raises(KeyboardInterrupt):
        group.read(40, 100)
    np.testing.assert_array_equal(group.read(40, 100), VALUES[40:])
    np.testing.assert_array_equal(group.read(0, 100), VALUES)


def test_a_full_disk_is_reported_with_what_to_do(few_kept, monkeypatch):
    class Full:
        def seek(self, *_):
            pass

        def readinto(self, *_):
            pass

        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self):
            pass

    group = group_of(Decoder())
    group.read(0, 100)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(
        InputError, match=r"row group of 2400 bytes, which does not fit in .*No space.*TMPDIR to a"
    ):
        group.read(0, 1)


@pytest.fixture
def all_large(monkeypatch, few_kept):
    monkeypatch.setattr(columnar, "_LARGE_BYTES", 0)
    monkeypatch.setattr(columnar, "_BATCH_BYTES", 7 * 5 * 4)


@pytest.mark.parametrize("kind", ["columns", "lists", "fixed lists", "large lists"])
@pytest.mark.parametrize("group_rows", [11, 37])
def test_large_groups_of_a_file_give_its_rows(tmp_path, values, all_large, kind, group_rows):
    n_rows, width = values.shape
    flat = pa.array(values.ravel())
    offsets = np.arange(n_rows + 1) * width
    columns = {
        "columns": {f"feature_{i}": column for i, column in enumerate(values.T)},
        "lists": {"emb": list(values)},
        "fixed lists": {"emb": pa.FixedSizeListArray.from_arrays(flat, width)},
        "large lists": {"emb": pa.LargeListArray.from_arrays(pa.array(offsets), flat)},
    }[kind]
    pq.write_table(pa.table(columns), tmp_path / "run.parquet", row_group_size=group_rows)
    rows = read_run(tmp_path / "run.parquet").rows
    for part in (slice(3, 9), slice(8, 30), slice(0, 2), slice(None), slice(36, None)):
        np.testing.assert_array_equal(rows[part], values[part])
    order = np.random.default_rng(0).permutation(n_rows)
    np.testing.assert_array_equal(SelectedRows(rows, order)[:], values[order])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows))[5:25], values[5:25])


def test_a_pass_of_an_engine_decodes_a_large_group_at_most_twice(tmp_path, rng, all_large):
    values = rng.normal(size=(3000, 5)).astype(np.float32)
    columns = {f"feature_{i}": column for i, column in enumerate(values.T)}
    pq.write_table(pa.table(columns), tmp_path / "run.parquet")
    rows = read_run(tmp_path / "run.parquet").rows
    started = []
    real = rows._decoded_in_part
    rows._decoded_in_part = lambda group: (started.append(group), real(group))[1]
    engine = ThreadsEngine(n_threads=2, block_rows=13)
    for _ in range(3):
        (total,) = engine.reduce_blocks(_total, rows)
        np.testing.assert_allclose(total, values.sum(axis=0, dtype=np.float64), rtol=1e-9)
    assert len(started) <= 2


def _total(xp, x):
    return (xp.sum(x, axis=0),)


def test_missing_values_of_a_large_group_are_refused_where_they_are(tmp_path, all_large):
    column = [*map(float, range(50)), None, *map(float, range(9))]
    pq.write_table(pa.table({"x": column}), tmp_path / "run.parquet")
    rows = read_run(tmp_path / "run.parquet").rows
    np.testing.assert_array_equal(rows[:34].ravel(), np.arange(34.0))
    for _ in range(2):
        with pytest.raises(InputError, match=r"1 missing values in the feature column 'x' from ro"):
            rows[40:60]
    np.testing.assert_array_equal(rows[:34].ravel(), np.arange(34.0))


def test_damage_inside_a_large_group_is_reported(tmp_path, all_large):
    path = tmp_path / "run.parquet"
    values = np.random.default_rng(0).normal(size=5000)
    options = {"data_page_size": 512, "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pa.table({"x": values}), path, **options)
    data = bytearray(path.read_bytes())
    data[20_000:20_040] = bytes([255] * 40)
    path.write_bytes(data)
    rows = read_run(path).rows
    np.testing.assert_array_equal(rows[:50].ravel(), values[:50])
    with pytest.raises(InputError, match=r"run\.parquet is damaged or truncated \("):
        rows[:]
