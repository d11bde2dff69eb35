"""P4: ICA of files larger than the memory it may use."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import upto
from benchmarks.data import BLOCK, PlantedRows
from benchmarks.measure import (
    all_cores,
    available_memory,
    measured,
    memory_rate,
    pass_rate,
    publish,
)
from benchmarks.peers import differs
from benchmarks.watching import WatchedEngine
from upto.engines import ThreadsEngine

SIZES = {"quick": (780_000, 64), "full": (19_600_000, 128)}
TOLERANCE = 1e-6
ZARR_ROWS = BLOCK // 2
"""Rows of a chunk; blocks are written side by side, so none may end inside of one."""
READ_BYTES = 2**23


def write_npy(source, path):
    out = np.lib.format.open_memmap(path, mode="w+", dtype=source.dtype, shape=source.shape)
    source.write(out)
    out.flush()


def write_zarr(source, path):
    """Write uncompressed chunks, because planted numbers are incompressible."""
    import zarr

    chunks = (min(ZARR_ROWS, source.shape[0]), source.shape[1])
    array = zarr.create_array(
        path, shape=source.shape, dtype=source.dtype, chunks=chunks, compressors=None
    )
    source.write(array)


WRITERS = {"npy": write_npy, "zarr": write_zarr}


def fit_file(path):
    """Find the components of a file in a separate process, and measure its cost."""
    with all_cores():
        engine = WatchedEngine(ThreadsEngine())
        ica = upto.ICA(tolerance=TOLERANCE, engine=engine, random_state=0)
        rows = upto.read_run(path).rows
        _, seconds, extra_bytes = measured(lambda: ica.fit_rows(rows))
    return ica.components_, engine.log, seconds, extra_bytes, _status("VmHWM")


def _status(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def read_all(path):
    """Read every file below a path; return bytes per second, and the source."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    buffer = bytearray(READ_BYTES)
    n_bytes, from_storage, started = 0, _storage_bytes(), time.perf_counter()
    for file in files:
        with file.open("rb", buffering=0) as stream:
            while count := stream.readinto(buffer):
                n_bytes += count
    seconds = time.perf_counter() - started
    share = (_storage_bytes() - from_storage) / n_bytes
    where = "page cache" if share < 0.1 else "disk" if share > 0.9 else "disk and page cache"
    return n_bytes / seconds, where


def _storage_bytes():
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("read_bytes:"):
            return int(line.split()[1])
    return 0


def fit_in_memory(source):
    """Find the components of as many rows as fit the memory twice; return also how many."""
    n_rows = int(min(source.shape[0], 0.4 * available_memory() / (4 * source.shape[1])))
    rows = source.write(np.empty((n_rows, source.shape[1]), dtype=source.dtype))
    engine = WatchedEngine(ThreadsEngine())
    ica = upto.ICA(tolerance=TOLERANCE, engine=engine, random_state=0).fit_rows(rows)
    return ica.components_, n_rows, engine.log


def pass_seconds(log, n_rows):
    """Return the median seconds of a pass of the search over all rows, and its type."""
    found = [each for each in log if each.what == "contrast_sums" and each.n_rows == n_rows]
    dtype = found[0].dtype
    return float(np.median([each.seconds for each in found if each.dtype == dtype])), dtype


def measure_file(kind, source, folder, in_memory):
    path = Path(folder) / f"rows.{kind}"
    n_samples, width = source.shape
    n_bytes = 4 * n_samples * width
    print(f"writing {n_bytes / 1e9:.1f} GB of {kind}", flush=True)
    WRITERS[kind](source, path)
    before, where_before = read_all(path)
    # A process of its own, so that its peak is its own.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        components, log, seconds, extra_bytes, peak = pool.submit(fit_file, path).result()
    after, where = read_all(path)
    reading = float(np.mean([before, after]))
    a_pass, dtype = pass_seconds(log, n_samples)
    expected, n_compared, memory_log = in_memory
    memory_pass, _ = pass_seconds(memory_log, n_compared)
    floor = max(n_bytes / reading, 4.0 * n_samples * width**2 / pass_rate(width))
    compared = components if n_compared == n_samples else _leading(path, n_compared)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return {
        "file": f"{kind}, {n_samples}×{width} float32, {n_bytes / 1e9:.2f} GB",
        "seconds": seconds,
        "passes": round(sum(p.n_rows for p in log if p.what != "place") / n_samples, 1),
        "memory taken MB": extra_bytes / 1e6,
        "resident with file pages MB": peak / 1e6,
        "differs from memory by": differs(compared, expected),
        "rows compared": n_compared,
        "a pass GB/s": n_bytes / a_pass / 1e9,
        "the same in memory GB/s": 4e-9 * n_compared * width / memory_pass,
        "reading alone GB/s": reading / 1e9,
        "read from": where if where == where_before else f"{where_before}, then {where}",
        "share of reading": n_bytes / a_pass / reading,
        "pass in": dtype,
        "pass over floor": a_pass / floor,
    }


def _leading(path, n_rows):
    """Find the components of the first rows of a file."""
    rows = upto.read_run(path).rows
    engine = ThreadsEngine()
    ica = upto.ICA(tolerance=TOLERANCE, engine=engine, random_state=0)
    return ica.fit_rows(_Leading(rows, n_rows)).components_


class _Leading:
    """The first rows of a reader."""

    def __init__(self, rows, n_rows):
        self._rows = rows
        self.shape, self.dtype = (n_rows, rows.shape[1]), rows.dtype

    def __getitem__(self, key):
        wanted = range(self.shape[0])[key]
        return self._rows[wanted.start : wanted.stop]


def run(size):
    n_samples, width = SIZES[size]
    n_bytes = 4 * n_samples * width
    kinds = ["npy"]
    try:
        import zarr  # noqa: F401
    except ImportError:
        print("p04: zarr is not installed: npy only")
    else:
        kinds.append("zarr")
    source = PlantedRows("Laplace", n_samples, width)
    rows = []
    with tempfile.TemporaryDirectory() as folder, all_cores():
        free = shutil.disk_usage(folder).free
        if free < 1.2 * n_bytes:
            print(
                f"p04: {free / 1e9:.0f} GB of disk are free in {folder} and a file of "
                f"{n_bytes / 1e9:.0f} GB is written: set TMPDIR to a larger disk"
            )
            return
        in_memory = fit_in_memory(source)
        for kind in kinds:
            rows.append(measure_file(kind, source, folder, in_memory))
            publish(
                "p04",
                f"ICA from disk to a gradient of {TOLERANCE:g}; rows are read again in every pass",
                rows,
                seed=0,
                cores=os.cpu_count(),
                memory_rate=memory_rate(),
            )
