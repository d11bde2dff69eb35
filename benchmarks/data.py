"""Data of the ICA benchmarks: planted sources of several kinds, and real embeddings."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from upto.files import BUNDLED, bundled_path

BLOCK = 16_384
ROWS_A_DIMENSION = 10
"""Real embeddings with fewer rows have no components that two halves share."""

KINDS = ("Laplace", "mixed", "Gaussian subspace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Rows to unmix; `n_gaussian` is the number of Gaussian sources, None if unknown."""

    name: str
    rows: np.ndarray
    n_gaussian: int | None

    @property
    def size(self):
        """Rows × coordinates, as text."""
        return "×".join(map(str, self.rows.shape))


class PlantedRows:
    """Mixed independent sources, drawn on demand block by block.

    Every block has a seed of its own, so a slice is the same whatever was read before it. `kind` is
    one of `KINDS`: Laplace sources, Laplace and uniform ones in turn, or Laplace ones of which a
    sixth is Gaussian. The mixing has condition number 10.
    """

    def __init__(self, kind, n_samples, width, *, seed=0):
        if kind not in KINDS:
            message = f"there are no sources {kind!r}: choose one of {', '.join(KINDS)}."
            raise ValueError(message)
        self.kind, self.seed = kind, seed
        self.shape, self.dtype = (n_samples, width), np.dtype(np.float32)
        rng = np.random.default_rng(seed)
        left, right = (np.linalg.qr(rng.normal(size=(width, width)))[0] for _ in range(2))
        self.mixing = ((left * np.geomspace(1.0, 10.0, width)) @ right).astype(np.float32)

    @property
    def n_gaussian(self):
        """Number of Gaussian sources."""
        return self.shape[1] // 6 if self.kind == "Gaussian subspace" else 0

    def __getitem__(self, key):
        wanted = range(self.shape[0])[key]
        start, stop = wanted.start, wanted.stop
        if stop <= start:
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        first = start // BLOCK
        blocks = [self.block(number) for number in range(first, -(-stop // BLOCK))]
        rows = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
        return rows[start - first * BLOCK : stop - first * BLOCK]

    def block(self, number):
        """Draw one block."""
        n_rows = min(BLOCK, self.shape[0] - number * BLOCK)
        rng = np.random.default_rng([self.seed, number + 1])
        shape = (n_rows, self.shape[1])
        sources = rng.standard_exponential(shape, dtype=np.float32)
        signs = rng.integers(0, 2, size=shape, dtype=np.int8)
        sources *= np.float32(0.5**0.5) * (2 * signs - 1)
        if self.kind == "mixed":
            even = rng.random((n_rows, shape[1] // 2), dtype=np.float32)
            sources[:, 1::2] = (even - np.float32(0.5)) * np.float32(12**0.5)
        elif self.n_gaussian:
            gaussian = rng.standard_normal((n_rows, self.n_gaussian), dtype=np.float32)
            sources[:, -self.n_gaussian :] = gaussian
        return sources @ self.mixing

    def write(self, out):
        """Fill what takes ``out[start:stop] = block`` with the first rows, on all cores."""
        n_rows = out.shape[0]
        spans = [slice(start, min(start + BLOCK, n_rows)) for start in range(0, n_rows, BLOCK)]

        def fill(span):
            out[span] = self[span]

        with threadpool_limits(1, "blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
            for _ in pool.map(fill, spans):
                pass
        return out


def planted(kind, n_samples, width, *, seed=0):
    """Draw a data set into memory, in float32."""
    source = PlantedRows(kind, n_samples, width, seed=seed)
    rows = source.write(np.empty(source.shape, dtype=source.dtype))
    return Dataset(name=kind, rows=rows, n_gaussian=source.n_gaussian)


def real_embeddings(folder=None):
    """Return one run of each bundled file, and of each npz file of a folder, as float32.

    Those with fewer than `ROWS_A_DIMENSION` rows for each coordinate are left out.
    """
    paths = [bundled_path(name) for name in BUNDLED]
    paths += sorted(Path(folder).glob("*.npz")) if folder is not None else []
    found = []
    for path in paths:
        with np.load(path) as archive:
            for key in archive.files:
                array = archive[key]
                if array.ndim == 2 and array.dtype.kind == "f" and min(array.shape) > 1:
                    if len(array) >= ROWS_A_DIMENSION * array.shape[1]:
                        rows = array.astype(np.float32)
                        found.append(Dataset(name=f"{path.stem}/{key}", rows=rows, n_gaussian=None))
                    break
    return found


def wide_pair(n_samples, width, *, noise=0.05, seed=0):
    """Return float32 runs: independent Laplace coordinates, and a rotation of them with noise."""
    return tuple(wide_runs(n_samples, width, 2, noise=noise, seed=seed))


def wide_runs(n_samples, width, count, *, noise=0.05, seed=0):
    """Return independent Laplace coordinates and rotations of them with noise, on all cores."""
    rng = np.random.default_rng(seed)
    rotations = [
        np.linalg.qr(rng.normal(size=(width, width)))[0].astype(np.float32)
        for _ in range(count - 1)
    ]
    runs = [np.empty((n_samples, width), dtype=np.float32) for _ in range(count)]

    def fill(start):
        rows = slice(start, min(start + BLOCK, n_samples))
        own = np.random.default_rng([seed, start])
        shape = (rows.stop - start, width)
        sources = own.standard_exponential(shape, dtype=np.float32)
        sources *= 2 * own.integers(0, 2, size=shape, dtype=np.int8) - 1
        runs[0][rows] = sources
        for run, rotation in zip(runs[1:], rotations, strict=True):
            run[rows] = sources @ rotation
            run[rows] += np.float32(noise) * own.standard_normal(shape, dtype=np.float32)

    with threadpool_limits(1, "blas"), ThreadPoolExecutor(os.cpu_count()) as pool:
        for _ in pool.map(fill, range(0, n_samples, BLOCK)):
            pass
    return runs
