from __future__ import annotations

import zipfile

import numpy as np
import pytest

from upto.core import InputError
from upto.files import read_run
from upto.files.rows import StoredRows


def test_a_stored_member_is_mapped_and_a_compressed_one_is_read(tmp_path, values):
    np.savez(tmp_path / "stored.npz", emb=values)
    np.savez_compressed(tmp_path / "packed.npz", emb=values)
    assert isinstance(read_run(tmp_path / "stored.npz").rows, StoredRows)
    assert isinstance(read_run(tmp_path / "packed.npz").rows, np.ndarray)


def test_only_the_chosen_member_is_decompressed(tmp_path, values, monkeypatch):
    np.savez_compressed(tmp_path / "two.npz", emb=values, other=values, ids=np.arange(37))
    read = []
    real = np.lib.format.read_array

    def watched(file, **options):
        read.append(file.name)
        return real(file, **options)

    monkeypatch.setattr("upto.files.npy.npy_format.read_array", watched)
    read_run(tmp_path / "two.npz", key="emb")
    assert read == ["emb.npy", "ids.npy"]


def test_vectors_of_an_archive_become_ids_and_columns(tmp_path, values):
    labels, ids = np.array(["a", "b"] * 18 + ["a"]), np.arange(37) + 100
    np.savez(tmp_path / "run.npz", emb=values, ids=ids, labels=labels, short=np.arange(3))
    run = read_run(tmp_path / "run.npz")
    np.testing.assert_array_equal(run.ids, ids)
    assert list(run.columns) == ["labels"]
    np.testing.assert_array_equal(run.columns["labels"], labels)


def test_ids_and_columns_can_be_named(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, ids=np.arange(37), a=np.arange(37), b=np.ones(37))
    run = read_run(tmp_path / "run.npz", ids="a", columns=["b"])
    np.testing.assert_array_equal(run.ids, np.arange(37))
    assert list(run.columns) == ["b"]
    assert list(read_run(tmp_path / "run.npz", columns=[]).columns) == []


def test_ids_of_another_length_are_not_taken_unless_asked_for(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, ids=np.arange(5))
    assert read_run(tmp_path / "run.npz").ids is None
    with pytest.raises(InputError, match=r"'ids' has 5 values but .*run\.npz::emb has 37 rows"):
        read_run(tmp_path / "run.npz", ids="ids")


def test_a_choice_of_arrays_lists_them_and_shows_how_to_choose(tmp_path, values):
    np.savez(tmp_path / "run.npz", first=values, second=values[:, :2], labels=np.arange(37))
    with pytest.raises(
        InputError,
        match=r"holds 2 arrays that could be the embedding: first \(37 × 5 float32\), "
        r"second \(37 × 2 float32\)\. Choose one, as in .*run\.npz::first",
    ):
        read_run(tmp_path / "run.npz")
    assert read_run(f"{tmp_path / 'run.npz'}::second").n_features == 2


def test_a_wrong_key_lists_the_keys(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values)
    with pytest.raises(InputError, match=r"has no array 'x': it holds emb \(37 × 5 float32\)"):
        read_run(tmp_path / "run.npz", key="x")


def test_a_wrong_column_lists_the_columns(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, plate=np.arange(37))
    with pytest.raises(InputError, match=r"has no column 'well': its columns are plate\."):
        read_run(tmp_path / "run.npz", columns=["well"])
    with pytest.raises(InputError, match=r"::emb is 37 × 5 float32, not one value per row"):
        read_run(tmp_path / "run.npz", ids="emb")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(500), r"has 1 dimension, its shape is \(500,\): embeddings have two"),
        (np.zeros((2, 3, 4)), r"has 3 dimensions, its shape is \(2, 3, 4\).*Flatten or pool"),
        (np.zeros((2, 2), complex), r"holds complex128 values, not real numbers: take the real"),
        (np.array([["a"]]), r"holds <U1 values, not real numbers: choose a numeric array"),
        (np.zeros((0, 3)), r"is empty: its shape is \(0, 3\)"),
        (np.zeros(3, dtype=[("x", "f4"), ("y", "f4")]), r"holds records of x, y: save the numbers"),
        (np.array([[None]]), r"holds Python objects \(a pickle\), which upto never loads: save it"),
    ],
)
def test_arrays_that_are_no_embeddings_are_refused(tmp_path, array, message):
    np.save(tmp_path / "run.npy", array)
    np.savez(tmp_path / "run.npz", emb=array)
    with pytest.raises(InputError, match=r"run\.npy " + message):
        read_run(tmp_path / "run.npy")
    with pytest.raises(InputError, match=r"run\.npz::emb " + message):
        read_run(tmp_path / "run.npz")
    with pytest.raises(InputError, match=r"run\.npz::emb " + message):
        read_run(tmp_path / "run.npz", key="emb")


def test_an_archive_without_a_matrix_says_what_it_holds(tmp_path):
    np.savez(tmp_path / "run.npz", a=np.zeros(3), b=np.zeros((2, 2, 2)))
    with pytest.raises(
        InputError,
        match=r"no two-dimensional numeric array: it holds a \(3 float64\), b \(2 × 2",
    ):
        read_run(tmp_path / "run.npz")


def test_objects_beside_the_embedding_are_never_loaded(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values, names=np.array([None] * 37))
    assert "names" not in read_run(tmp_path / "run.npz").columns
    with pytest.raises(InputError, match=r"::names holds Python objects \(a pickle\)"):
        read_run(tmp_path / "run.npz", columns=["names"])


def test_a_truncated_npy_gives_both_sizes(tmp_path, values):
    np.save(tmp_path / "run.npy", values)
    whole = (tmp_path / "run.npy").read_bytes()
    (tmp_path / "run.npy").write_bytes(whole[:-100])
    with pytest.raises(
        InputError,
        match=r"is truncated: its header announces 37 × 5 float32 values, 740 bytes, but 640",
    ):
        read_run(tmp_path / "run.npy")
    (tmp_path / "run.npy").write_bytes(whole[:9])
    with pytest.raises(InputError, match=r"run\.npy is damaged or truncated \(.*copy or save"):
        read_run(tmp_path / "run.npy")


@pytest.mark.parametrize("kept", [100, 400, -30])
def test_a_truncated_npz_is_reported(tmp_path, values, kept):
    np.savez(tmp_path / "run.npz", emb=values)
    (tmp_path / "run.npz").write_bytes((tmp_path / "run.npz").read_bytes()[:kept])
    with pytest.raises(InputError, match=r"run\.npz is damaged or truncated \(.*copy or save"):
        read_run(tmp_path / "run.npz")


def test_a_damaged_compressed_member_is_reported(tmp_path, values):
    np.savez_compressed(tmp_path / "run.npz", emb=np.tile(values, (100, 1)) ** 3)
    data = bytearray((tmp_path / "run.npz").read_bytes())
    data[-400:-350] = bytes(50)
    (tmp_path / "run.npz").write_bytes(data)
    with pytest.raises(InputError, match=r"run\.npz is damaged or truncated \(emb: "):
        read_run(tmp_path / "run.npz")


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_all_versions_of_the_header_are_read(tmp_path, values, version):
    with (tmp_path / "run.npy").open("wb") as file:
        np.lib.format.write_array(file, values, version=version)
    np.testing.assert_array_equal(read_run(tmp_path / "run.npy").rows[:], values)


def test_the_version_for_named_records_is_refused(tmp_path):
    with (tmp_path / "run.npy").open("wb") as file:
        np.lib.format.write_array(file, np.zeros(2, dtype=[("ε", "f4")]), version=(3, 0))
    with pytest.raises(InputError, match=r"format version 3\.0 is for records, not for plain num"):
        read_run(tmp_path / "run.npy")


def test_other_members_of_a_zip_archive_are_left_alone(tmp_path, values):
    np.savez(tmp_path / "run.npz", emb=values)
    with zipfile.ZipFile(tmp_path / "run.npz", "a") as archive:
        archive.writestr("notes.txt", "hello")
    np.testing.assert_array_equal(read_run(tmp_path / "run.npz").rows[:], values)


def test_a_bare_array_has_no_keys_ids_or_columns(tmp_path, values):
    np.save(tmp_path / "run.npy", values)
    with pytest.raises(InputError, match=r"one array without a name: drop `::emb`"):
        read_run(f"{tmp_path / 'run.npy'}::emb")
    with pytest.raises(InputError, match=r"holds one array and nothing else: store ids"):
        read_run(tmp_path / "run.npy", ids="ids")
