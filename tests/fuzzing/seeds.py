"""The whole files that mutants are made of: one small one of each format."""

from __future__ import annotations

import itertools
import json
import shutil
import struct
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

N_ROWS, N_COLUMNS = 120, 4


def _rows():
    return np.random.default_rng(0).normal(size=(N_ROWS, N_COLUMNS)).astype(np.float32)


def _labels():
    return np.array(["alpha", "beta", "gamma"] * (N_ROWS // 3))


def npy(folder):
    np.save(folder / "run.npy", _rows())


def npy_labels(folder):
    np.save(folder / "run.npy", _labels())


def npz(folder):
    np.savez(folder / "run.npz", emb=_rows(), ids=np.arange(N_ROWS), label=_labels())


def npz_packed(folder):
    np.savez_compressed(folder / "run.npz", emb=_rows(), ids=np.arange(N_ROWS), label=_labels())


def csv(folder, delimiter=",", name="run.csv"):
    head = delimiter.join(["id", *(f"feature_{i}" for i in range(N_COLUMNS)), "label"])
    rows = [
        delimiter.join([f"s{number}", *map(str, row.tolist()), label])
        for number, (row, label) in enumerate(zip(_rows(), _labels(), strict=True))
    ]
    (folder / name).write_text("\n".join([head, *rows]) + "\n")


def tsv(folder):
    csv(folder, "\t", "run.tsv")


def txt(folder):
    (folder / "run.txt").write_text("\n".join(_labels()) + "\n")


def parquet(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {f"feature_{i}": column for i, column in enumerate(_rows().T)}
    table = pa.table({"id": np.arange(N_ROWS), **columns, "label": _labels()})
    pq.write_table(table, folder / "run.parquet", row_group_size=50)


def parquet_lists(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"label": _labels(), "emb": list(_rows())})
    pq.write_table(table, folder / "run.parquet", row_group_size=50, compression="none")


def parts(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "run.parquet").mkdir()
    table = pa.table({"id": np.arange(N_ROWS), "emb": list(_rows()), "label": _labels()})
    for number, start in enumerate(range(0, N_ROWS, 70)):
        part = table.slice(start, 70)
        pq.write_table(part, folder / "run.parquet" / f"part-{number}.parquet", row_group_size=30)


def faiss(folder):
    from upto.core import Embeddings
    from upto.files import open_writer

    like = Embeddings(rows=_rows(), ids=np.arange(N_ROWS))
    with open_writer(folder / "run.faiss", like, N_COLUMNS) as writer:
        writer[0:N_ROWS] = _rows()


def hdf5(folder):
    import h5py

    with h5py.File(folder / "run.h5", "w") as file:
        file.create_dataset("deep/emb", data=_rows(), chunks=(32, N_COLUMNS), compression="gzip")
        file["deep/emb"].attrs["note"] = "a note"
        file["ids"] = np.arange(N_ROWS)
        file["label"] = [str(label) for label in _labels()]


def h5ad(folder):
    import anndata

    adata = anndata.AnnData(_rows())
    adata.obs["cell"] = _labels()
    adata.obs["dose"] = np.arange(N_ROWS, dtype=float)
    adata.obsm["X_emb"] = _rows()[:, :2]
    adata.strings_to_categoricals()
    adata.write_h5ad(folder / "run.h5ad")


def _zarr(folder, zarr_format):
    import zarr

    group = zarr.open_group(folder / "run.zarr", mode="w", zarr_format=zarr_format)
    group.create_array("emb", data=_rows(), chunks=(50, N_COLUMNS))
    group.create_array("ids", data=np.arange(N_ROWS), chunks=(N_ROWS,))


def zarr2(folder):
    _zarr(folder, 2)


def zarr3(folder):
    _zarr(folder, 3)


def safetensors(folder):
    from safetensors.numpy import save_file

    arrays = {"emb": _rows(), "ids": np.arange(N_ROWS)}
    save_file(arrays, folder / "run.safetensors", metadata={"note": "words"})


def recorded(folder):
    from upto.activations.recorded import write_listing

    for layer in ("first", "second"):
        np.save(folder / f"{layer}.npy", _rows())
    files = {layer: f"{layer}.npy" for layer in ("first", "second")}
    write_listing(folder / "runs.toml", files, name="run", seed=3, left_out={})


def manifest(folder):
    npz(folder)
    entry = '[[run]]\npath = "run.npz::emb"\nname = "{0}"\nseed = {0}\nids = "ids"\n'
    entry += 'labels = ["label"]\nlayer = "deep"\n'
    (folder / "runs.toml").write_text("\n".join(entry.format(seed) for seed in range(2)))


def transform(folder):
    import upto

    upto.save_transform(folder / "ica.safetensors", upto.ICA(random_state=0).fit(_rows()))


def aligner(folder):
    import upto

    rows = _rows()
    for group in ("affine", "signed-permutation", "monotone-permutation"):
        fitted = upto.Aligner(group).fit(rows, rows[:, ::-1])
        upto.save_transform(folder / f"{group}.safetensors", fitted)
    curved = upto.KernelAligner(n_centres=5, shrinkage=0.1, length=1.0).fit(rows, rows**2)
    upto.save_transform(folder / "kernel.safetensors", curved)


def checkpoint(folder):
    from upto.core import write_tensors

    words = {"words": "a training", "epoch": "7"}
    write_tensors(folder / "run.checkpoint", {"weights": _rows(), "moment": _rows() > 0}, words)


def _result(folder, result):
    (folder / "result.json").write_text(result.to_json())


def result_comparison(folder):
    from browser import sample_results

    small = sample_results.scatter(n_rows=12, n_labels=3)
    from dataclasses import replace

    _result(folder, replace(sample_results.comparison(), scatter=small))


def result_matrix(folder):
    from browser import sample_results

    _result(folder, sample_results.matrix())


def result_others(folder):
    from browser import (
        consensus_results,
        sample_batches,
        sample_factors,
        sample_layers,
        sample_results,
        sample_similarities,
    )

    made = {
        "inspection": sample_results.inspection(),
        "unmixed": sample_results.unmixed(),
        "consensus": consensus_results.consensus(),
        "batches": sample_batches.batches(),
        "factors": sample_factors.factors(),
        "layers": sample_layers.layers(3, 2),
        "similarities": sample_similarities.similarities(),
    }
    for name, result in made.items():
        (folder / f"{name}.json").write_text(result.to_json())
    import upto_studies

    study = Path(upto_studies.__file__).parent / "misspecified-regression" / "result.json"
    shutil.copy(study, folder / "study.json")


def images_idx(folder):
    from image_files import write_idx_set

    write_idx_set(folder)


def images_tar(folder):
    import io
    import tarfile

    from image_files import cifar_batch, draw_pixels

    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for part in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
            content = cifar_batch(draw_pixels(2, 32, 32, 3), np.arange(2))
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{part}.bin")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


LEVELS = ((0.0, 1.0), (0.0, 0.5, 1.0))


def images_hdf5(folder):
    import h5py
    from image_files import draw_pixels

    with h5py.File(folder / "3dshapes.h5", "w") as file:
        file.create_dataset("images", data=draw_pixels(6, 4, 4, 3), chunks=(2, 4, 4, 3))
        file["labels"] = np.array(list(itertools.product(*LEVELS)))


def images_npz(folder):
    from image_files import draw_pixels

    np.savez(folder / "mpi3d_toy.npz", images=draw_pixels(6, 4, 4, 3))


def images_mat(folder):
    from image_files import draw_pixels, write_cars

    write_cars(folder / "cars", draw_pixels(2, 3, 2, 4, 4, 3), ["one", "two"])


def images_png(folder):
    from image_files import draw_pixels, write_numbered

    labels = np.array(list(itertools.product(*LEVELS)))
    write_numbered(folder, draw_pixels(6, 4, 4, 3), labels)


def images_json(folder):
    rows = np.zeros((2, 28 * 28), dtype=int).tolist()
    for number in range(10):
        (folder / f"{number}.json").write_text(json.dumps({"data": rows}))


def images_norb(folder):
    from image_files import norb_matrix

    content = norb_matrix(np.arange(24, dtype=np.uint8).reshape(2, 3, 4), 0x55)
    (folder / "norb.mat").write_bytes(content)


SEEDS = {
    make.__name__: make
    for make in (
        npy,
        npy_labels,
        npz,
        npz_packed,
        csv,
        tsv,
        txt,
        parquet,
        parquet_lists,
        parts,
        faiss,
        hdf5,
        h5ad,
        zarr2,
        zarr3,
        safetensors,
        manifest,
        recorded,
        transform,
        aligner,
        checkpoint,
        result_comparison,
        result_matrix,
        result_others,
        images_idx,
        images_tar,
        images_hdf5,
        images_npz,
        images_mat,
        images_png,
        images_json,
        images_norb,
    )
}
TEXTS = (".csv", ".tsv", ".txt", ".toml", ".json", ".zarray", ".zgroup", ".zattrs")


@cache
def whole_files(name: str) -> dict[str, bytes]:
    """Return the files of a format by their names, as they are before any mutation."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        SEEDS[name](folder)
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }


def mutant(name: str, number: int) -> dict[str, bytes]:
    """Return the files of one mutant: those of the format, one of them changed."""
    import zlib

    from fuzzing.mutations import mutate, redirect, reseal

    files = dict(whole_files(name))
    rng = np.random.default_rng([zlib.crc32(name.encode()), number])
    chosen = sorted(files)[rng.integers(len(files))]
    content, kind = files[chosen], rng.random()
    if chosen.endswith(".npz") and kind < 0.4:
        changed = (reseal if kind < 0.25 else redirect)(content, rng)
    elif chosen.endswith(".npy") and kind < 0.4:
        (length,) = struct.unpack("<H", content[8:10])
        changed = content[:10] + mutate(content[10 : 10 + length], rng, text=True)
        changed += content[10 + length :]
    else:
        changed = mutate(content, rng, text=chosen.endswith(TEXTS) or ".z" in chosen[-9:])
    files[chosen] = changed
    return files
