"""P5: ICA on a local Dask cluster, compared with the threads engine on as many cores."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from pathlib import Path

import numpy as np

import upto
from benchmarks.data import PlantedRows
from benchmarks.measure import interleaved, pass_rate, publish
from benchmarks.peers import differs
from upto.engines import DaskEngine, ThreadsEngine
from upto.ica.components import pose, starting_rotation, whitening_for
from upto.ica.contrasts import LogCosh

SIZES = {"quick": (100_000, 32), "full": (222_000, 384)}
WORKERS = (1, 2)
TOLERANCE = 1e-6
PASSES = 9


def fit(engine, rows, callback=None):
    ica = upto.ICA(tolerance=TOLERANCE, engine=engine, callback=callback, random_state=0)
    return ica.fit_rows(rows).components_


def one_pass(engine, rows, dtype):
    """Return a function that passes once over rows placed on an engine."""
    placed = engine.place(rows)
    whitening = whitening_for(engine, placed, None)
    problem = pose(engine, placed, whitening, LogCosh())
    rotation = starting_rotation(whitening, None, 0)
    return lambda: problem.evaluate([rotation], dtype)


class Killer:
    """Callback that kills one worker in the middle of a pass."""

    def __init__(self, client, seconds):
        self.client, self.seconds = client, seconds
        self.victim = None

    @property
    def succeeded(self):
        """Whether a worker was killed and is gone."""
        return self.victim is not None and self.victim not in self.client.run(os.getpid).values()

    def __call__(self, step):
        """Observe a step of a search; after the first, kill a worker half a pass later."""
        if step.iteration == 1 and self.victim is None:
            self.victim = min(self.client.run(os.getpid).values())
            threading.Timer(self.seconds / 2, os.kill, (self.victim, signal.SIGKILL)).start()


def measure_workers(n_workers, rows, size, rate):
    """Return the rows of the table for a number of workers."""
    from distributed import Client, LocalCluster

    n_samples, width = rows.shape
    threads = ThreadsEngine(n_threads=n_workers)
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        dask = DaskEngine(client=client)
        table = []
        for dtype in ("float32", "float64"):
            seconds = interleaved(
                {
                    "threads": one_pass(threads, rows, dtype),
                    "dask": one_pass(dask, rows, dtype),
                },
                repeats=PASSES,
            )
            floor = 4.0 * n_samples * width**2 / (rate[dtype] * n_workers / os.cpu_count())
            table.append(
                {
                    "workers": n_workers,
                    "size": size,
                    "pass in": dtype,
                    "threads: seconds a pass": seconds["threads"],
                    "dask: seconds a pass": seconds["dask"],
                    "dask / threads": seconds["dask"] / seconds["threads"],
                    "dask over floor": seconds["dask"] / floor,
                }
            )
        expected = fit(threads, rows)
        found = fit(dask, rows)
        killer = Killer(client, table[0]["dask: seconds a pass"])
        survived = fit(dask, rows, callback=killer)
        table[0]["differs from threads by"] = differs(found, expected)
        table[0]["changed by a killed worker"] = float(np.abs(survived - found).max())
        table[0]["killed"] = "yes" if killer.succeeded else "no"
    return table


def run(size):
    try:
        import distributed  # noqa: F401
    except ImportError:
        print("p05: distributed is not installed, so there is nothing to measure")
        return
    n_samples, width = SIZES[size]
    source = PlantedRows("Laplace", n_samples, width)
    rate = {dtype: pass_rate(width, dtype) for dtype in ("float32", "float64")}
    table = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, source[:])
        # A file: the workers read it themselves.
        rows = np.load(path, mmap_mode="r")
        for n_workers in WORKERS:
            table += measure_workers(n_workers, rows, f"{n_samples}×{width}", rate)
            publish(
                "p05",
                f"ICA on a Dask cluster of this machine, one thread a worker, to a gradient of "
                f"{TOLERANCE:g}",
                table,
                seed=0,
            )
