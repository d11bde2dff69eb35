"""Hierarchies and tables that declare what is not there, or what cannot be, are refused at once."""

from __future__ import annotations

import json
import os
import socket
import time

import numpy as np
import pytest

from upto.core import InputError
from upto.files import read_columns, read_labels, read_run, read_runs
from upto.files.shaped import shaped_array

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TRILLION = 10**12


@pytest.fixture(autouse=True)
def _at_once():
    started = time.perf_counter()
    yield
    assert time.perf_counter() - started < 10


def edit_json(path, **changes):
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, **changes}))


@pytest.mark.parametrize("chunks", [None, (4096, 4)])
def test_an_hdf5_dataset_that_was_never_filled_is_refused(tmp_path, chunks):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("emb", (TRILLION, 4), "f4", chunks=chunks)
    with pytest.raises(
        InputError, match=r"run\.h5::emb declares 16000000000000 bytes of values but stores 0: "
    ):
        read_run(tmp_path / "run.h5")


def test_an_hdf5_vector_that_was_never_filled_is_refused(tmp_path, values):
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("label", (TRILLION,), "i8", chunks=(1000,))
        file["label"][:5] = 1
    for read in (read_labels, read_columns):
        with pytest.raises(InputError, match=r"::label declares 8000000000000 bytes"):
            read(tmp_path / "run.h5")


def test_zeros_that_compress_well_are_read(tmp_path):
    zeros = np.zeros((40_000, 512), dtype=np.float32)
    zeros[:, 0] = np.arange(40_000)
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file.create_dataset("emb", data=zeros, compression="gzip", chunks=(1000, 512))
    zarr.create_array(tmp_path / "run.zarr", data=zeros, chunks=(1000, 512))
    for name in ("run.h5", "run.zarr"):
        np.testing.assert_array_equal(read_run(tmp_path / name).rows[39_000:], zeros[39_000:])


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_zarr_array_that_was_never_filled_is_refused(tmp_path, zarr_format):
    zarr.create_array(
        tmp_path / "run.zarr",
        shape=(TRILLION, 4),
        dtype="f4",
        chunks=(4096, 4),
        zarr_format=zarr_format,
    )
    with pytest.raises(InputError, match=r"declares 16000000000000 bytes of values but stores \d+"):
        read_run(tmp_path / "run.zarr")


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("sizes", [[0, 4], [10**9, 4], [-1, 4], [37], ["a", 4], [1.5, 4], None])
def test_impossible_chunks_of_zarr_are_refused(tmp_path, values, zarr_format, sizes):
    path = tmp_path / "run.zarr"
    zarr.create_array(path, data=values, chunks=(8, 5), zarr_format=zarr_format)
    if zarr_format == 2:
        edit_json(path / ".zarray", chunks=sizes)
    else:
        grid = {"name": "regular", "configuration": {"chunk_shape": sizes}}
        edit_json(path / "zarr.json", chunk_grid=grid)
    with pytest.raises(InputError, match=r"run\.zarr"):
        read_run(path).rows[:]


def test_external_data_and_links_of_hdf5_are_not_followed(tmp_path, values):
    values.tofile(tmp_path / "raw")
    with h5py.File(tmp_path / "raw.h5", "w") as file:
        external = [(tmp_path / "raw", 0, values.nbytes)]
        file.create_dataset("emb", values.shape, "f4", external=external)
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["emb"] = values
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout(values.shape, "f4")
        layout[:] = h5py.VirtualSource(tmp_path / "plain.h5", "emb", values.shape)
        file.create_virtual_dataset("emb", layout)
    with h5py.File(tmp_path / "link.h5ad", "w") as file:
        file["X"] = h5py.ExternalLink(str(tmp_path / "plain.h5"), "emb")
    for name in ("raw.h5", "virtual.h5", "link.h5ad"):
        with pytest.raises(InputError, match=r"other files.*h5repack|other files.*copy"):
            read_run(tmp_path / name)


def test_categories_that_are_not_there_are_refused(tmp_path, values):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(values)
    adata.obs["cell"] = np.array(["a", "b"] * 18 + ["a"])
    adata.strings_to_categoricals()
    adata.write_h5ad(tmp_path / "run.h5ad")
    assert read_labels(tmp_path / "run.h5ad", "cell")[1][1] == "b"
    with h5py.File(tmp_path / "run.h5ad", "r+") as file:
        file["obs/cell/codes"][5] = 7
    for read in (read_run, lambda path: read_labels(path, "cell"), read_columns):
        with pytest.raises(InputError, match=r"row 5 has category 7 of 2.*copy or save"):
            read(tmp_path / "run.h5ad")


def test_masks_and_codes_of_another_length_are_refused(tmp_path, values):
    with h5py.File(tmp_path / "run.h5ad", "w") as file:
        file["X"] = values
        file["obs/cell/values"] = np.arange(37)
        file["obs/cell/mask"] = np.zeros(5, dtype=bool)
    with pytest.raises(InputError, match=r"run\.h5ad is damaged"):
        read_run(tmp_path / "run.h5ad")


def test_a_parquet_table_of_a_trillion_rows_is_refused(tmp_path):
    table = pa.table({"feature_0": np.zeros(2000), "feature_1": np.arange(2000.0)})
    pq.write_table(table, tmp_path / "run.parquet", compression="none")
    content = (tmp_path / "run.parquet").read_bytes()
    # Rows are counted in the footer of the file and of its one group, as zigzag varints of 2000.
    old, new = b"\xa0\x1f", b"\xa0\x9f\x80\x80\x80\x80\x80\x40"
    body, footer = content[:-8], content[-8:]
    start = len(body) - int.from_bytes(footer[:4], "little")
    changed = body[start:].replace(b"\x16" + old, b"\x16" + new)
    grown = len(changed).to_bytes(4, "little") + b"PAR1"
    (tmp_path / "run.parquet").write_bytes(body[:start] + changed + grown)
    with pytest.raises(InputError, match=r"run\.parquet"):
        read_run(tmp_path / "run.parquet").rows[:]


@pytest.mark.parametrize("lists", [False, True])
def test_damaged_parquet_is_one_line_each_time(tmp_path, values, rng, lists):
    columns = (
        {"emb": list(values)} if lists else {f"feature_{i}": c for i, c in enumerate(values.T)}
    )
    pq.write_table(pa.table(columns), tmp_path / "run.parquet", compression="none")
    content = (tmp_path / "run.parquet").read_bytes()
    said = []
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.integers(4, len(content) - 8)] ^= 1 << rng.integers(8)
        (tmp_path / "run.parquet").write_bytes(damaged)
        try:
            read_run(tmp_path / "run.parquet").rows[:]
        except InputError as error:
            said.append(str(error))
    assert len(said) > 5
    assert all("\n" not in each and len(each) < 400 for each in said)


def test_text_of_parquet_that_is_no_utf8_is_refused(tmp_path):
    label = pa.array([b"run-\xe9", b"b"]).view(pa.string())
    table = pa.table({"feature_0": [1.0, 2.0], "label": label})
    pq.write_table(table, tmp_path / "run.parquet")
    for read in (read_run, read_labels, read_columns):
        with pytest.raises(InputError, match=r"run\.parquet is damaged.*utf-8"):
            read(tmp_path / "run.parquet")


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.table([pa.array([1.0]), pa.array([2.0])], names=["feature_0", "feature_0"])
    pq.write_table(table, tmp_path / "run.parquet")
    with pytest.raises(InputError, match=r"has two columns named 'feature_0'"):
        read_run(tmp_path / "run.parquet")


def test_one_long_label_does_not_fill_the_memory(tmp_path):
    lines = ["feature_0,label", *(f"{i},a" for i in range(20_000))]
    lines[100] = "0," + "b" * 100_000
    (tmp_path / "run.csv").write_text("\n".join(lines))
    table = pa.table({"feature_0": np.arange(20_000.0), "label": ["a"] * 19_999 + ["b" * 100_000]})
    pq.write_table(table, tmp_path / "run.parquet")
    with h5py.File(tmp_path / "run.h5", "w") as file:
        file["emb"] = np.ones((20_000, 2))
        file["label"] = ["a"] * 19_999 + ["b" * 100_000]
    for name in ("run.csv", "run.parquet", "run.h5"):
        with pytest.raises(InputError, match=r"label has 100000 characters in row \d+, too many"):
            read_run(tmp_path / name)


@pytest.mark.parametrize(
    "name", ["x.npy", "x.npz", "x.csv", "x.parquet", "x.h5", "x.safetensors", "x.toml", "x.txt"]
)
def test_pipes_sockets_and_devices_are_not_read(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / name
    os.mkfifo(path)
    with pytest.raises(InputError, match=rf"{name} is a pipe, not a file: save its contents"):
        read_runs([path])
    for read in (read_labels, read_columns):
        with pytest.raises(InputError, match=r"is a pipe"):
            read(path)
    assert shaped_array(path) is None
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"is a device, not a file"):
        read_runs([path])
    path.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        with pytest.raises(InputError, match=r"is a socket, not a file"):
            read_runs([path])


def test_a_pipe_in_a_zarr_folder_is_not_read(tmp_path, values):
    zarr.create_array(tmp_path / "run.zarr", data=values, chunks=(8, 5))
    (tmp_path / "run.zarr" / "c" / "0" / "0").unlink()
    os.mkfifo(tmp_path / "run.zarr" / "c" / "0" / "0")
    with pytest.raises(InputError, match=r"is a pipe, not a file"):
        read_run(tmp_path / "run.zarr").rows[:]


def test_paths_that_lead_nowhere_are_refused(tmp_path):
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    for name, why in (
        (tmp_path / "loop.npy", "Too many levels of symbolic links"),
        ("~nosuchuser/x.npy", "home folder of an unknown user"),
        (tmp_path / ("x" * 300 + ".npy"), "File name too long"),
        (tmp_path / ("x" * 300 + ".npy::a"), "File name too long"),
        (f"{tmp_path}/a\0b.npy", "null"),
    ):
        for read in (lambda each: read_runs([each]), read_labels, read_columns):
            with pytest.raises(InputError, match=why):
                read(name)


def test_a_name_that_is_no_utf8_becomes_a_printable_one(tmp_path, values):
    path = tmp_path / os.fsdecode(b"run-\xe9.npy")
    np.save(path, values)
    assert read_run(path).name == r"run-\udce9"


def test_names_and_keys_of_any_length_make_one_short_line(tmp_path, values):
    names = {f"{'a' * 9000}{i}\n\x1b[31m": values for i in range(3)}
    np.savez(tmp_path / "run.npz", **names)
    with h5py.File(tmp_path / "run.h5", "w") as file:
        for name in names:
            file["b" * 9000 + name] = values
    (tmp_path / "run.csv").write_text("c" * 9000 + ',"d\ne"\nx,y\nz,z\n')
    pq.write_table(pa.table({"f" * 9000: ["a"], "g\nh": ["b"]}), tmp_path / "run.parquet")
    for name in ("run.npz", "run.h5", "run.csv", "run.parquet"):
        for read in (read_run, read_labels, lambda path: read_columns(path, ids="none\nsuch")):
            for given in (tmp_path / name, f"{tmp_path / name}::{'k' * 9000}\n"):
                with pytest.raises(InputError) as caught:
                    read(given)
                assert "\n" not in str(caught.value)
                assert len(str(caught.value)) < 400


def test_text_that_says_it_is_longer_than_its_file_is_refused(tmp_path):
    for options in (
        {},
        {"chunks": (30,)},
        {"chunks": (30,), "compression": "gzip", "shuffle": True},
    ):
        with h5py.File(tmp_path / "run.h5", "w") as file:
            texts = [f"label {number}" for number in range(100)]
            label = file.create_dataset("label", data=texts, **options)
            start = label.id.get_offset()
        assert read_labels(tmp_path / "run.h5")[1].tolist() == texts
        if not options:
            content = bytearray((tmp_path / "run.h5").read_bytes())
            content[start + 16 : start + 20] = (2_769_289_217).to_bytes(4, "little")
            (tmp_path / "run.h5").write_bytes(content)
            with pytest.raises(InputError, match=r"::label is damaged.*text of up to 2769289217"):
                read_labels(tmp_path / "run.h5")
            content[start + 16 : start + 28] = b"\x03\0\0\0" + (40).to_bytes(8, "little")
            (tmp_path / "run.h5").write_bytes(content)
            with pytest.raises(InputError, match=r"there is no text at byte 40"):
                read_labels(tmp_path / "run.h5")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_chunk_of_blosc_that_was_cut_is_refused(tmp_path, values, zarr_format):
    """Without this, blosc hands out what lies behind the chunk in memory."""
    from numcodecs import Blosc

    compressor = Blosc() if zarr_format == 2 else zarr.codecs.BloscCodec()
    options = {"zarr_format": zarr_format, "compressors": compressor, "chunks": (8, 5)}
    zarr.create_array(tmp_path / "run.zarr", data=values, **options)
    np.testing.assert_array_equal(read_run(tmp_path / "run.zarr").rows[:], values)
    chunk = next(path for path in (tmp_path / "run.zarr").rglob("*") if path.name in ("0.0", "0"))
    if chunk.is_dir():
        chunk = chunk / "0"
        chunk = chunk if chunk.is_file() else chunk / "0"
    chunk.write_bytes(chunk.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"chunk 0.* has \d+ bytes but declares \d+ of 160"):
        read_run(tmp_path / "run.zarr")


def test_shards_and_text_compressed_by_blosc_are_read(tmp_path, values):
    from numcodecs import Blosc

    group = zarr.open_group(tmp_path / "run.zarr", mode="w")
    group.create_array(
        "emb", data=values, chunks=(8, 5), shards=(16, 5), compressors=zarr.codecs.BloscCodec()
    )
    np.testing.assert_array_equal(read_run(tmp_path / "run.zarr").rows[:], values)
    group = zarr.open_group(tmp_path / "old.zarr", mode="w", zarr_format=2)
    group.create_array("emb", data=values, chunks=(8, 5), compressors=Blosc())
    label = group.create_array("label", shape=37, dtype=str, chunks=37, compressors=Blosc())
    label[:] = np.array(["a long label"] * 37)
    assert read_run(tmp_path / "old.zarr").columns["label"][0] == "a long label"


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("suffix", ["h5", "h5ad"])
def test_an_attribute_that_says_it_is_longer_than_its_file_is_refused(
    tmp_path, values, libver, suffix
):
    path = tmp_path / f"run.{suffix}"
    with h5py.File(path, "w", libver=libver) as file:
        file.attrs["encoding-type"] = "anndata"
        file["X"] = values
        file["obs/names"] = [f"cell {number}" for number in range(37)]
        file["obs"].attrs["note"] = "words " * 20
        file["obs"].attrs["_index"] = "names"
    assert read_run(path).ids[3] == "cell 3"
    content = bytearray(path.read_bytes())
    name = b"_index" if suffix == "h5ad" else b"encoding-type"
    text = (5 if suffix == "h5ad" else 7).to_bytes(4, "little")
    start = content.index(text, content.rindex(name) + len(name))
    content[start : start + 4] = (2_700_000_000).to_bytes(4, "little")
    path.write_bytes(content)
    # The latest version has a checksum of its own there.
    why = "text of 2700000000 bytes in a file of" if libver == "earliest" else "is damaged"
    with pytest.raises(InputError, match=why):
        read_run(path)
