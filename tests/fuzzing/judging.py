"""What may become of a mutant: it is refused in one line, or read as its own library reads it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import time
import traceback
import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import numpy as np

from fuzzing.seeds import LEVELS, mutant, whole_files
from upto.core import InputError

LONGEST = 400
MOST_BYTES = 2**30
MOST_SECONDS = 10.0
_BLOCK = 48


@dataclasses.dataclass
class Verdict:
    """The outcome of one mutant: refused, right, read, or what is wrong."""

    format: str
    number: int
    outcome: str
    says: str = ""
    seconds: float = 0.0
    peak: int = 0

    @property
    def is_fine(self) -> bool:
        return self.outcome in ("refused", "right", "read")


def judge(name: str, number: int, *, command: bool = False) -> Verdict:
    """Make a mutant, read all of it, and say what became of it."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        for path, content in mutant(name, number).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        before = _forget_peak()
        started = time.perf_counter()
        outcome, says = (_run_command if command else _read)(name, folder)
        seconds, peak = time.perf_counter() - started, _peak() - before
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if outcome in ("refused", "right", "read"):
        if seconds > MOST_SECONDS:
            outcome = "slow"
        elif peak > MOST_BYTES:
            outcome = "large"
    return Verdict(name, number, outcome, says, seconds, peak)


def _read(name: str, folder: Path) -> tuple[str, str]:
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = READERS[name](folder)
        remarks = [str(each.message) for each in caught if _is_ours(each)]
        if remarks:
            return "warned", remarks[0]
    except InputError as error:
        text = f"upto: {error}".replace(str(folder), "")
        if "\n" in text or len(text) > LONGEST:
            return "long", text[:2000]
        return "refused", text
    except MemoryError as error:
        return "large", f"MemoryError: {error}"
    except Exception:  # noqa: BLE001 - that is what is looked for
        return "traceback", traceback.format_exc()
    return _compare(name, folder, found) if name in ORACLES else ("read", "")


def _is_ours(warning) -> bool:
    return not issubclass(warning.category, ResourceWarning)


def _compare(name: str, folder: Path, found) -> tuple[str, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = ORACLES[name](folder)
    except MemoryError:
        return "read", ""
    except Exception as error:  # noqa: BLE001 - where the library refuses, there is no oracle
        return "alone", f"{type(error).__name__}: {error}"
    for array in expected:
        if np.shape(array) == found.shape and np.array_equal(
            np.asarray(array, dtype=found.dtype), found, equal_nan=found.dtype.kind == "f"
        ):
            return "right", ""
    return "wrong", f"{found.shape} rows are none of {[np.shape(each) for each in expected]}"


def _run_command(name: str, folder: Path) -> tuple[str, str]:
    """Run the command itself on the mutant."""
    from click.testing import CliRunner

    from upto.cli.main import main

    if name not in COMMANDS:
        return _read(name, folder)
    args = [arg.format(folder=folder) for arg in COMMANDS[name]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(main, args)
    if result.exit_code == 0:
        return "read", ""
    if result.exit_code in (2, 3):
        lines = result.stderr.replace(str(folder), "").strip().splitlines()
        if len(lines) == 1 and len(lines[0]) < LONGEST:
            return "refused", lines[0]
        return "long", result.stderr[:2000]
    return "traceback", "".join(traceback.format_exception(result.exception))


def _rows(run) -> np.ndarray:
    rows = run.rows
    blocks = [rows[start : start + _BLOCK] for start in range(0, rows.shape[0], _BLOCK)]
    return np.concatenate([np.asarray(block) for block in blocks])


def _used(run) -> None:
    """Do with ids and columns what every command does."""
    for values in (run.ids, *run.columns.values()):
        if values is not None:
            np.unique(values)
            [str(value) for value in values[:5].tolist()]
    run.name.encode()
    repr(run)


def _run_reader(file: str):
    from upto.files import read_columns, read_labels, read_run

    def read(folder: Path) -> np.ndarray:
        path = folder / file
        for other in (read_labels, read_columns):
            try:
                other(path)
            except InputError as error:
                text = str(error).replace(str(folder), "")
                if "\n" in text or len(text) > LONGEST:
                    raise RuntimeError(text) from None
        run = read_run(path)
        _used(run)
        return _rows(run)

    return read


def _label_reader(file: str):
    from upto.files import read_columns, read_labels

    def read(folder: Path) -> np.ndarray:
        if not file.endswith("txt"):
            read_columns(folder / file)
        return read_labels(folder / file)[1]

    return read


def _manifest_reader(folder: Path) -> None:
    from upto.files import read_manifest

    for run in read_manifest(folder / "runs.toml"):
        _used(run)
        _rows(run)


def _transform_reader(folder: Path) -> None:
    import upto

    for path in sorted(folder.glob("*.safetensors")):
        estimator = upto.load_transform(path)
        estimator.transform(np.ones((3, estimator.n_features_in_)))


def _checkpoint_reader(folder: Path) -> None:
    from upto_studies.train.checkpoints import TrainingCheckpoint

    kept = TrainingCheckpoint(folder / "run.checkpoint", {"words": "a training"}).read()
    kept.take("weights", (120, None), np.float32)
    kept.take("moment", (120, None), bool)


def _result_reader(folder: Path) -> None:
    from upto.cli.report import read_results, render_read

    # One of several was changed, and pages take their time.
    first = min(folder.glob("*.json"), key=lambda path: (not _is_changed(path), path.name))
    render_read({first: read_results([first])[0]})


def _is_changed(path: Path) -> bool:
    return whole_files("result_others").get(path.name) != path.read_bytes()


def _images_reader(name: str, **changes):
    def read(folder: Path) -> None:
        from upto.datasets import read_image_set
        from upto.datasets.known import KNOWN_SETS

        known = KNOWN_SETS[name]
        if "levels" in changes:
            changes["factor_names"] = known.factor_names[: len(changes["levels"])]
        small = dataclasses.replace(known, **changes)
        with patch.dict(KNOWN_SETS, {name: small}):
            images = read_image_set(name, folder, check="none")
        images.read()
        assert len(images.factors) == len(images)

    return read


def _norb_reader(folder: Path) -> None:
    from upto.datasets.binary import read_norb_matrix

    read_norb_matrix(folder / "norb.mat")


_SMALL = {"levels": LEVELS, "n_images": 6}
READERS = {
    "npy": _run_reader("run.npy"),
    "npy_labels": _label_reader("run.npy"),
    "npz": _run_reader("run.npz"),
    "npz_packed": _run_reader("run.npz"),
    "csv": _run_reader("run.csv"),
    "tsv": _run_reader("run.tsv"),
    "txt": _label_reader("run.txt"),
    "parquet": _run_reader("run.parquet"),
    "parquet_lists": _run_reader("run.parquet"),
    "parts": _run_reader("run.parquet"),
    "faiss": _run_reader("run.faiss"),
    "hdf5": _run_reader("run.h5"),
    "h5ad": _run_reader("run.h5ad::X_emb"),
    "zarr2": _run_reader("run.zarr"),
    "zarr3": _run_reader("run.zarr"),
    "safetensors": _run_reader("run.safetensors"),
    "manifest": _manifest_reader,
    "recorded": _manifest_reader,
    "transform": _transform_reader,
    "aligner": _transform_reader,
    "checkpoint": _checkpoint_reader,
    "result_comparison": _result_reader,
    "result_matrix": _result_reader,
    "result_others": _result_reader,
    "images_idx": _images_reader("mnist"),
    "images_tar": _images_reader("cifar10"),
    "images_hdf5": _images_reader("shapes3d", pixels=(4, 4, 3), **_SMALL),
    "images_npz": _images_reader("mpi3d-toy", pixels=(4, 4, 3), **_SMALL),
    "images_mat": _images_reader(
        "cars3d", pixels=(4, 4, 3), levels=((0.0, 1.0), (0.0, 1.0, 2.0), (0.0, 1.0)), n_images=12
    ),
    "images_png": _images_reader("falcor3d", pixels=(4, 4, 3), **_SMALL),
    "images_json": _images_reader("fashion-mnist"),
    "images_norb": _norb_reader,
}
COMMANDS = {
    name: ["inspect", f"{{folder}}/{file}", "--format", "json"]
    for name, file in (
        ("npy", "run.npy"),
        ("npz", "run.npz"),
        ("npz_packed", "run.npz"),
        ("csv", "run.csv"),
        ("parquet", "run.parquet"),
        ("parquet_lists", "run.parquet"),
        ("hdf5", "run.h5"),
        ("h5ad", "run.h5ad::X_emb"),
        ("zarr3", "run.zarr"),
        ("safetensors", "run.safetensors"),
    )
} | {
    name: ["report", "{folder}/result.json", "-o", "{folder}/page.html"]
    for name in ("result_comparison", "result_matrix")
}


def _npz_oracle(folder: Path) -> list[np.ndarray]:
    path = folder / "run.npz"
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            archive.read(name)
    with np.load(path, allow_pickle=False) as stored:
        return [stored[name] for name in stored.files]


def _parquet_oracle(folder: Path) -> list[np.ndarray]:
    import pyarrow.parquet as pq

    table = pq.read_table(folder / "run.parquet")
    lists = [name for name in table.column_names if "list" in str(table.schema.field(name).type)]
    if lists:
        return [np.array(table.column(name).to_pylist()) for name in lists]
    chosen = [name for name in table.column_names if name.startswith("feature_")]
    if not chosen:
        return [np.column_stack([table.column(name).to_numpy() for name in table.column_names])]
    return [np.column_stack([table.column(name).to_numpy() for name in chosen])]


def _hdf5_oracle(folder: Path) -> list[np.ndarray]:
    import h5py

    found = []
    with h5py.File(next(folder.glob("run.h5*")), "r") as file:
        file.visititems(
            lambda _, item: (
                found.append(item[()])
                if hasattr(item, "shape") and item.ndim == 2 and item.dtype.kind in "fiub"
                else None
            )
        )
    return found


def _zarr_oracle(folder: Path) -> list[np.ndarray]:
    import zarr

    root = zarr.open(folder / "run.zarr", mode="r")
    if hasattr(root, "shape"):
        return [root[...]]
    return [item[...] for _, item in root.members(max_depth=None) if hasattr(item, "shape")]


def _safetensors_oracle(folder: Path) -> list[np.ndarray]:
    from safetensors.numpy import load_file

    return [*load_file(folder / "run.safetensors").values()]


def _faiss_oracle(folder: Path) -> list[np.ndarray]:
    import faiss

    index = faiss.read_index(str(folder / "run.faiss"))
    inner = faiss.downcast_index(getattr(index, "index", index))
    return [inner.reconstruct_n(0, inner.ntotal)]


ORACLES = {
    "npy": lambda folder: [np.load(folder / "run.npy", allow_pickle=False)],
    "npy_labels": lambda folder: [np.load(folder / "run.npy", allow_pickle=False)],
    "npz": _npz_oracle,
    "npz_packed": _npz_oracle,
    "parquet": _parquet_oracle,
    "parquet_lists": _parquet_oracle,
    "parts": _parquet_oracle,
    **({"faiss": _faiss_oracle} if find_spec("faiss") else {}),
    "hdf5": _hdf5_oracle,
    "h5ad": _hdf5_oracle,
    "zarr2": _zarr_oracle,
    "zarr3": _zarr_oracle,
    "safetensors": _safetensors_oracle,
}


def _forget_peak() -> int:
    """Begin to look for the most memory anew; return what the process has already."""
    if os.path.exists("/proc/self/clear_refs"):  # noqa: PTH110
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """Return the most memory since it was forgotten, where Linux tells."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024
