from __future__ import annotations

import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from upto.core import InputError
from upto.files import read_run
from upto.files.rows import StoredRows


def test_a_tensor_is_mapped_and_vectors_are_columns(tmp_path, values):
    tensors = {"emb": values, "ids": np.arange(37), "seed": np.full(37, 3)}
    save_file(tensors, tmp_path / "run.safetensors", metadata={"made": "here"})
    run = read_run(tmp_path / "run.safetensors")
    assert isinstance(run.rows, StoredRows)
    np.testing.assert_array_equal(run.rows[3:9], values[3:9])
    np.testing.assert_array_equal(run.ids, np.arange(37))
    np.testing.assert_array_equal(run.columns["seed"], tensors["seed"])


def test_the_library_is_not_needed(tmp_path, values, monkeypatch):
    save_file({"emb": values}, tmp_path / "run.safetensors")
    monkeypatch.setitem(sys.modules, "safetensors", None)
    np.testing.assert_array_equal(read_run(tmp_path / "run.safetensors").rows[:], values)


def test_bfloat16_is_read_as_single_precision_without_loss(tmp_path, raw_safetensors):
    expected = np.array([[1.0, -2.5], [0.15625, 3e38], [np.inf, 0.0]], dtype=np.float32)
    halves = (expected.view(np.uint32) >> 16).astype("<u2")
    raw_safetensors(tmp_path / "run.safetensors", "BF16", (3, 2), halves.tobytes())
    rows = read_run(tmp_path / "run.safetensors").rows
    assert rows.dtype == np.float32
    exact = (halves.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(rows[:], exact)
    np.testing.assert_allclose(rows[:], expected, rtol=2**-7)


@pytest.mark.parametrize("length", [640, 896, 1152, 1408])
def test_the_length_of_a_header_is_not_taken_for_a_pickle(tmp_path, values, length):
    path = tmp_path / "run.safetensors"
    save_file({"emb": values}, path, metadata={"note": ""})
    short = int.from_bytes(path.read_bytes()[:8], "little")
    save_file({"emb": values}, path, metadata={"note": "n" * (length - short)})
    assert path.read_bytes()[:2] == length.to_bytes(2, "little")
    np.testing.assert_array_equal(read_run(path).rows[:], values)


def test_other_types_ask_for_a_conversion(tmp_path, raw_safetensors):
    raw_safetensors(tmp_path / "run.safetensors", "F8_E4M3", (2, 2), bytes(4))
    with pytest.raises(InputError, match=r"::emb holds F8_E4M3 values: convert it to float16, bfl"):
        read_run(tmp_path / "run.safetensors")


def test_a_choice_of_tensors_lists_them(tmp_path, values):
    save_file({"b": values, "a": values}, tmp_path / "run.safetensors")
    with pytest.raises(InputError, match=r"2 arrays .* a \(37 × 5 <f4\), b \(37 × 5 <f4\)"):
        read_run(tmp_path / "run.safetensors")


@pytest.mark.parametrize("kept", [4, 30, -8])
def test_a_truncated_file_is_reported(tmp_path, values, kept):
    save_file({"emb": values}, tmp_path / "run.safetensors")
    path = tmp_path / "run.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"run\.safetensors is damaged or truncated \("):
        read_run(path)
