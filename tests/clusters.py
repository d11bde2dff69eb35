"""A real scheduler and two worker processes for the tests that need them."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest


@pytest.fixture(scope="session")
def client():
    """The client of a cluster of two processes with one thread each; workers come back."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    with (
        # On a busy machine a worker may take longer to come back than dask waits for it.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class ClusterProcesses:
    """A scheduler and two workers, each a process that dask's command line starts."""

    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("dask_scheduler", "--port", "0", "--no-dashboard")
        self.workers = [self.add_worker() for _ in range(2)]

    def add_worker(self):
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        return self._start("dask_worker", *options, "--local-directory", str(self.file.parent))

    def _start(self, module, *options):
        return subprocess.Popen(
            [
                *(sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1"),
                *("--scheduler-file", str(self.file), *options),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
