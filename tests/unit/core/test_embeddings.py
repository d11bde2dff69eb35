"""What may be a run, what is refused and in which words, and rows in another order."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upto.core import Embeddings, InputError, Rows, SelectedRows


class FileLike:
    """Rows that know slices only, as files do, and count what they read."""

    def __init__(self, values):
        self.values = values
        self.read = 0

    @property
    def shape(self):
        return self.values.shape

    @property
    def dtype(self):
        return self.values.dtype

    def __getitem__(self, key):
        assert isinstance(key, slice)
        block = self.values[key]
        self.read += len(block)
        return block


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint16", "int64", "bool", ">f4"]
)
def test_real_numbers_of_any_type_are_embeddings(dtype):
    run = Embeddings(rows=np.ones((3, 2), dtype=dtype), name="run")
    assert (run.n_samples, run.n_features, len(run)) == (3, 2, 3)


@pytest.mark.parametrize("shape", [(), (3,), (3, 2, 1), (2, 3, 4, 5)])
def test_rows_that_are_not_a_matrix_are_refused(shape):
    message = (
        rf"^mae has {len(shape)} dimensions?, its shape is {re.escape(str(shape))}, but embeddings "
        r"have two \(one row per sample\): (flatten or pool the others first|pass a matrix)\.$"
    )
    with pytest.raises(InputError, match=message):
        Embeddings(rows=np.zeros(shape), name="mae")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_rows_are_refused(shape):
    with pytest.raises(InputError, match=rf"^mae is empty: its shape is \({shape[0]}, {shape[1]}"):
        Embeddings(rows=np.zeros(shape), name="mae")


@pytest.mark.parametrize("dtype", ["complex128", "object", "U3", "S3", "M8[s]", "m8[s]"])
def test_rows_that_are_not_real_numbers_are_refused(dtype):
    rows = np.zeros((2, 2), dtype=dtype)
    message = r"^mae contains .* values, not real numbers: (choose|take|convert) the"
    with pytest.raises(InputError, match=message) as caught:
        Embeddings(rows=rows, name="mae")
    assert str(rows.dtype) in str(caught.value)


@pytest.mark.parametrize(
    ("extra", "name"), [({"ids": np.arange(4)}, "ids"), ({"columns": {"digit": [1, 2]}}, "digit")]
)
def test_a_column_of_another_length_is_refused(extra, name):
    length = 4 if name == "ids" else 2
    message = rf"^'{name}' has {length} values but mae has 3 rows: pass one value per row\.$"
    with pytest.raises(InputError, match=message):
        Embeddings(rows=np.zeros((3, 2)), name="mae", **extra)


def test_a_run_says_what_it_holds():
    run = Embeddings(
        rows=np.zeros((3, 2)), name="mae", ids=np.arange(3), columns={"digit": np.arange(3)}
    )
    assert repr(run) == "Embeddings(mae: 3 × 2, ids, columns digit)"
    assert repr(Embeddings(rows=np.zeros((3, 2)))) == "Embeddings(run: 3 × 2)"


def test_arrays_and_readers_are_rows_and_other_things_are_not():
    assert isinstance(np.zeros((2, 2)), Rows)
    assert isinstance(FileLike(np.zeros((2, 2))), Rows)
    assert not isinstance([[1.0, 2.0]], Rows)


orders = st.lists(st.integers(0, 499), max_size=60)


@given(order=orders, start=st.integers(0, 60), length=st.integers(0, 60))
def test_selected_rows_are_the_rows_of_the_index(order, start, length):
    values = np.arange(1000.0).reshape(500, 2)
    index = np.asarray(order, dtype=np.intp)
    wanted = values[index][start : start + length]
    for source in (values, FileLike(values)):
        rows = SelectedRows(source, index)
        assert rows.shape == (len(order), 2)
        assert rows.dtype == values.dtype
        block = rows[start : start + length]
        assert block.shape == wanted.shape
        np.testing.assert_array_equal(block, wanted)


def test_selected_rows_of_a_file_read_neighbours_together_and_skip_gaps():
    source = FileLike(np.arange(20_000.0).reshape(10_000, 2))
    rows = SelectedRows(source, np.array([9_000, 3, 1, 9_001, 1]))
    np.testing.assert_array_equal(rows[:], source.values[[9_000, 3, 1, 9_001, 1]])
    assert source.read == 5


def test_selected_rows_are_rows_and_can_be_sent_to_another_process():
    rows = SelectedRows(np.arange(6.0).reshape(3, 2), np.array([2, 0]))
    assert isinstance(rows, Rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(rows))[:], [[4, 5], [0, 1]])
