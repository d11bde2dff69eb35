from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from upto.core import InputError
from upto.files import columnar, read_run


def save(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_features_ids_and_labels_of_a_screen(tmp_path, values):
    columns = {"well_id": [f"w{i}" for i in range(37)], "plate": [1] * 37}
    columns |= {f"feature_{i}": column for i, column in enumerate(values.T)}
    run = read_run(save(tmp_path / "screen.parquet", columns))
    np.testing.assert_array_equal(run.rows[:], values)
    assert run.ids[3] == "w3"
    assert list(run.columns) == ["plate"]


def test_without_a_prefix_numbers_are_features_but_metadata_is_not(tmp_path):
    columns = {"Metadata_Row": [1, 2], "x": [1.0, 2.0], "n": [3, 4], "name": ["a", "b"]}
    run = read_run(save(tmp_path / "run.parquet", columns))
    np.testing.assert_array_equal(run.rows[:], [[1, 3], [2, 4]])
    assert run.rows.dtype == np.float64
    assert list(run.columns) == ["Metadata_Row", "name"]
    assert run.ids is None


def test_a_list_column_is_the_embedding_and_numbers_are_labels(tmp_path):
    columns = {"score": [1, 2], "emb": [[1.0, 2.0], [3.0, 4.0]]}
    run = read_run(save(tmp_path / "run.parquet", columns))
    np.testing.assert_array_equal(run.rows[:], [[1, 2], [3, 4]])
    assert list(run.columns) == ["score"]


def test_two_list_columns_are_a_choice(tmp_path):
    path = save(tmp_path / "run.parquet", {"a": [[1.0]], "b": [[2.0]]})
    with pytest.raises(InputError, match=r"2 columns that could be the embedding: a, b.*::a"):
        read_run(path)
    np.testing.assert_array_equal(read_run(f"{path}::b").rows[:], [[2]])


def test_lists_among_columns_with_the_prefix_must_be_chosen(tmp_path):
    path = save(tmp_path / "run.parquet", {"feature_0": [1.0], "feature_all": [[2.0, 3.0]]})
    with pytest.raises(InputError, match=r"2 columns that begin with 'feature_', among them the l"):
        read_run(path)


def test_lists_of_different_length_are_refused_with_the_row(tmp_path):
    rows = [[1.0, 2.0]] * 3 + [[1.0]]
    path = save(tmp_path / "run.parquet", {"emb": rows}, row_group_size=2)
    run = read_run(path)
    np.testing.assert_array_equal(run.rows[:2], [[1, 2], [1, 2]])
    with pytest.raises(InputError, match=r"::emb has 1 values in row 3 but 2 in row 0"):
        run.rows[:]
    with pytest.raises(InputError, match=r"::emb has no values in row 0"):
        read_run(save(tmp_path / "none.parquet", {"emb": pa.array([None, [1.0]])}))


def test_missing_values_in_features_are_refused_with_the_column(tmp_path):
    path = save(tmp_path / "run.parquet", {"x": [1.0, 2.0, None], "y": [1, 2, 3]}, row_group_size=2)
    rows = read_run(path).rows
    assert len(rows[:2]) == 2
    with pytest.raises(InputError, match=r"1 missing values in the feature column 'x' from row 2"):
        rows[2:]


def test_a_block_decodes_only_the_row_groups_it_lies_in(tmp_path, values, monkeypatch):
    columns = {f"feature_{i}": column for i, column in enumerate(values.T)}
    columns["plate"] = list(range(37))
    rows = read_run(save(tmp_path / "run.parquet", columns, row_group_size=10)).rows
    decoded = []
    real = columnar.ParquetRows._decode
    monkeypatch.setattr(
        columnar.ParquetRows, "_decode", lambda self, g: (decoded.append(g), real(self, g))[1]
    )
    np.testing.assert_array_equal(rows[12:18], values[12:18])
    np.testing.assert_array_equal(rows[18:20], values[18:20])
    assert decoded == [1]
    np.testing.assert_array_equal(rows[8:11], values[8:11])
    assert decoded == [1, 0]


def test_the_cache_forgets_old_row_groups_when_it_is_full(tmp_path, values, monkeypatch):
    monkeypatch.setattr(columnar, "_CACHED_BYTES", 1)
    columns = {f"feature_{i}": column for i, column in enumerate(values.T)}
    rows = read_run(save(tmp_path / "run.parquet", columns, row_group_size=5)).rows
    np.testing.assert_array_equal(rows[:], values)
    assert list(rows._cache) == [6, 7]


def test_blocks_of_the_cache_cannot_be_changed(tmp_path):
    rows = read_run(save(tmp_path / "run.parquet", {"x": [1.0, 2.0]})).rows
    with pytest.raises(ValueError, match="read-only"):
        rows[:][0] = 5


def test_labels_of_every_kind_are_read(tmp_path):
    columns = {
        "x": [1.0, 2.0],
        "text": ["a", None],
        "coded": pa.array(["u", "v"]).dictionary_encode(),
        "flag": [True, False],
        "Metadata_n": [1, None],
        "day": [dt.date(2020, 1, 2), dt.date(2020, 1, 3)],
        "nested": [{"a": 1}, {"a": 2}],
        "words": [["a"], ["b"]],
    }
    run = read_run(save(tmp_path / "run.parquet", columns))
    assert list(run.columns) == ["text", "coded", "flag", "Metadata_n", "day"]
    np.testing.assert_array_equal(run.columns["text"], ["a", ""])
    np.testing.assert_array_equal(run.columns["coded"], ["u", "v"])
    np.testing.assert_array_equal(run.columns["flag"], [True, False])
    np.testing.assert_array_equal(run.columns["Metadata_n"], [1, np.nan])
    assert run.columns["day"][0] == "2020-01-02"


@pytest.mark.parametrize("cut", [slice(None, -40), slice(None, 60)])
def test_a_truncated_table_is_reported(tmp_path, cut):
    path = save(tmp_path / "run.parquet", {"x": np.arange(100.0)})
    path.write_bytes(path.read_bytes()[cut])
    with pytest.raises(InputError, match=r"run\.parquet is damaged or truncated \(.*copy or save"):
        read_run(path)


def test_damage_inside_a_row_group_is_reported_when_it_is_read(tmp_path):
    path = save(tmp_path / "run.parquet", {"x": np.random.default_rng(0).normal(size=500)})
    data = bytearray(path.read_bytes())
    data[4:40] = bytes([255] * 36)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"run\.parquet is damaged or truncated \("):
        read_run(path).rows[:]
