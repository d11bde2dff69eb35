"""Memory of `compare` on two memory-mapped files larger than it may use."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

import upto
from benchmarks.measure import peak_memory, publish

SIZES = {"quick": (200_000, 128), "full": (4_000_000, 256)}


def write_pair(folder, n_samples, width):
    """Write two related float32 runs block by block."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(width, width)))[0].astype(np.float32)
    shape = (n_samples, width)
    files = [
        np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=np.float32, shape=shape)
        for name in ("first", "second")
    ]
    for start in range(0, n_samples, 50_000):
        block = rng.standard_normal((min(50_000, n_samples - start), width), dtype=np.float32)
        files[0][start : start + len(block)] = block
        noise = rng.standard_normal(block.shape, dtype=np.float32)
        files[1][start : start + len(block)] = block @ rotation + 0.1 * noise
    for file in files:
        file.flush()
    return [str(folder / f"{name}.npy") for name in ("first", "second")]


def run(size):
    n_samples, width = SIZES[size]
    with tempfile.TemporaryDirectory() as folder:
        paths = write_pair(Path(folder), n_samples, width)
        record = {}
        started = time.perf_counter()
        with peak_memory(record):
            result = upto.compare(*paths, ica=False, refits=1)
        seconds = time.perf_counter() - started
    file_bytes = n_samples * width * 4
    publish(
        "memory",
        "compare two memory-mapped npy files",
        [
            {
                "files": f"2 × {n_samples}×{width} float32, {file_bytes / 1e9:.2f} GB each",
                "extra MB": record["extra_bytes"] / 1e6,
                "extra / data": record["extra_bytes"] / (2 * file_bytes),
                "seconds": seconds,
                "verdict": str(result.up_to),
            }
        ],
        seed=0,
    )
