"""Files that are out of the ordinary and whole are read."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.files import read_labels, read_run
from upto.files.text_values import text_array

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_other_files_beside_chunks_of_blosc_are_left_alone(tmp_path, values, zarr_format):
    from numcodecs import Blosc

    compressor = Blosc() if zarr_format == 2 else zarr.codecs.BloscCodec()
    path = tmp_path / "run.zarr"
    zarr.create_array(
        path, data=values, chunks=(8, 5), compressors=compressor, zarr_format=zarr_format
    )
    for name in (".DS_Store", "README.md", "7.7", "1"):
        (path / name).write_bytes(b"words")
    np.testing.assert_array_equal(read_run(path).rows[:], values)


def test_chunks_of_two_compressors_are_read(tmp_path, rng):
    values = rng.integers(0, 2**32, size=(40, 5), dtype=np.uint32)
    compressors = [zarr.codecs.GzipCodec(), zarr.codecs.BloscCodec()]
    zarr.create_array(tmp_path / "run.zarr", data=values, chunks=(8, 5), compressors=compressors)
    np.testing.assert_array_equal(read_run(tmp_path / "run.zarr").rows[:], values)


def test_chunks_behind_a_link_are_read(tmp_path, monkeypatch, values):
    monkeypatch.setattr("upto.files.stored.FREE_BYTES", 100)
    monkeypatch.setattr("upto.files.stored._FREE_ROWS", 100)
    path = tmp_path / "run.zarr"
    zarr.create_array(path, data=values, chunks=(8, 5), compressors=zarr.codecs.BloscCodec())
    (path / "c").rename(tmp_path / "elsewhere")
    (path / "c").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "77").symlink_to(tmp_path / "elsewhere")
    np.testing.assert_array_equal(read_run(path).rows[:], values)
    chunk = tmp_path / "elsewhere" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"chunk 0 has \d+ bytes but declares"):
        read_run(path)


@pytest.mark.parametrize("step", [pytest.param(5000, marks=pytest.mark.slow), 10**9])
@pytest.mark.slow
def test_zeros_that_compress_far_are_read(tmp_path, step):
    sparse = np.zeros((130_000, 100))
    sparse[::step] = 1
    zarr.create_array(
        tmp_path / "run.zarr",
        data=sparse,
        chunks=(65_000, 100),
        compressors=zarr.codecs.ZstdCodec(),
    )
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("emb", sparse.shape, "f8", chunks=(65_000, 100), compression="gzip")
        file["emb"][:10] = sparse[:10]
    lists = pa.FixedSizeListArray.from_arrays(pa.array(sparse.ravel()), 100)
    pq.write_table(pa.table({"emb": lists}), tmp_path / "run.parquet", compression="zstd")
    for name in ("run.zarr", "run.h5", "run.parquet"):
        rows = read_run(tmp_path / name).rows
        np.testing.assert_array_equal(rows[:10], sparse[:10])


def test_few_written_chunks_of_a_large_array_are_refused(tmp_path):
    path = tmp_path / "run.zarr"
    array = zarr.create_array(path, shape=(10**12, 4), chunks=(4096, 4), dtype="f4")
    array[:5000] = 1
    with pytest.raises(InputError, match=r"bytes of values but stores 131072: the others were nev"):
        read_run(path)
    with h5py.File(tmp_path / "run.h5", "w", libver="latest") as file:
        file.create_dataset("emb", (10**9, 4), "f4", chunks=(4096, 4), maxshape=(None, 4))
        file["emb"][:5000] = 1
    with pytest.raises(InputError, match=r"bytes of values but stores 131072: the others were nev"):
        read_run(tmp_path / "run.h5")


@pytest.mark.parametrize("chunks", [(4,), (20,), None])
def test_text_that_was_written_in_part_has_its_fill_value(tmp_path, rng, chunks):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["emb"] = rng.normal(size=(22, 3))
        options = {"dtype": h5py.string_dtype(), "fillvalue": "unknown", "chunks": chunks}
        label = file.create_dataset("label", (22,), **options)
        if chunks is not None:
            label[:5] = [*"abcde"]
            label[21] = "z"
    expected = [*"abcde", *["unknown"] * 16, "z"] if chunks is not None else ["unknown"] * 22
    assert read_run(tmp_path / "run.h5").columns["label"].tolist() == expected


@pytest.mark.parametrize(
    "options",
    [
        {"shuffle": True},
        {"shuffle": True, "compression": "lzf"},
    ],
)
def test_text_behind_filters_is_read(tmp_path, options):
    texts = [f"label {number}" for number in range(100)]
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("label", data=texts, chunks=(30,), **options)
    assert read_labels(tmp_path / "run.h5")[1].tolist() == texts


def test_text_that_was_compressed_twice_is_read(tmp_path):
    texts = [f"label {number}" for number in range(100)]
    with h5py.File(tmp_path / "run.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((100,))
        plist.set_deflate(4)
        plist.set_shuffle()
        plist.set_deflate(4)
        space = h5py.h5s.create_simple((100,))
        kind = h5py.h5t.py_create(h5py.string_dtype(), logical=True)
        h5py.h5d.create(file.id, b"label", kind, space, plist)
        file["label"][:] = texts
    assert read_labels(tmp_path / "run.h5")[1].tolist() == texts


def test_text_behind_an_unknown_filter_is_left_to_the_library(tmp_path, monkeypatch):
    texts = [f"label {number}" for number in range(100)]
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("label", data=texts, chunks=(30,), compression="lzf")
    # As h5py says of filters for which it has no name.
    monkeypatch.setattr(h5py.Dataset, "compression", None)
    assert read_labels(tmp_path / "run.h5")[1].tolist() == texts


@pytest.mark.parametrize(("short", "length"), [("", 140), ("a", 140)])
def test_one_longer_label_among_many_is_read(short, length):
    cells = [short] * 500_000
    cells[7] = "b" * length
    values = text_array("run.parquet::label", cells)
    assert values.shape == (500_000,)
    assert values[[6, 7]].tolist() == [short, "b" * length]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_hdf5_behind_a_block_of_the_users_is_read_and_checked(tmp_path, values, libver):
    path = tmp_path / "run.h5ad"
    with h5py.File(path, "w", userblock_size=1024, libver=libver) as file:
        file["X"] = values
        file["obs/names"] = [f"cell {number}" for number in range(37)]
        file["obs"].attrs["_index"] = "names"
        start = file["obs/names"].id.get_offset()
    content = bytearray(path.read_bytes())
    content[:5] = b"words"
    path.write_bytes(content)
    run = read_run(path)
    np.testing.assert_array_equal(run.rows[:], values)
    assert run.ids[3] == "cell 3"
    content[start + 16 : start + 20] = (2_769_289_217).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"names is damaged.*text of up to 2769289217"):
        read_run(path)
