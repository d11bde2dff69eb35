"""A cluster on this machine: a scheduler in this process, and worker processes beside it."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from upto.core import UptoError
from upto.core.errors import reason
from upto.signals import clean_up

_START, _END = 60.0, 5.0
"""Seconds that workers have to start and to end."""


class WorkerProcesses:
    """A scheduler and worker processes, which end with this process at the latest.

    dask's own command line starts the workers: those that `multiprocessing` starts would run the
    user's script a second time, and Ctrl-C would reach them too.

    Parameters
    ----------
    package
        The module `distributed`.
    n_workers
        Number of processes, which share the processors and the memory of this machine.
    """

    def __init__(self, package: Any, n_workers: int) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="upto-workers-"))
        self._scheduler: Any = None
        self._processes: subprocess.Popen[bytes] | None = None
        self.client: Any = None
        try:
            self._start(package, n_workers)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the workers and the scheduler, and remove their folder."""
        clean_up(self._close)

    def _start(self, package: Any, n_workers: int) -> None:
        self._scheduler = package.LocalCluster(
            n_workers=0,
            processes=True,
            host="127.0.0.1",
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False, "local_directory": str(self._folder)},
            silence_logs=logging.CRITICAL,
        )
        self._processes = self._popen(self._scheduler.scheduler_address, n_workers)
        self.client = package.Client(self._scheduler, set_as_default=False)
        end = time.monotonic() + _START
        while len(self.client.nthreads()) < n_workers:
            if time.monotonic() > end or self._processes.poll() is not None:
                message = (
                    f"{n_workers} workers did not start on this machine within {_START:g} s"
                    f"{self._last_words()}: give fewer --workers."
                )
                raise UptoError(message)
            time.sleep(0.05)

    def _popen(self, address: str, n_workers: int) -> subprocess.Popen[bytes]:
        options = {
            "--nworkers": n_workers,
            "--nthreads": max(1, (os.cpu_count() or 1) // n_workers),
            "--local-directory": self._folder,
            "--death-timeout": int(_START),
        }
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [*command, *(str(text) for option in options.items() for text in option)],
                # They find what this process finds, and do not get the Ctrl-C meant for it.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _last_words(self) -> str:
        text = self._log.read_text(encoding="utf-8", errors="replace").strip()
        lines = [line for line in text.splitlines() if " - INFO - " not in line]
        return f" ({reason(lines[-1])})" if lines else ""

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _close(self) -> None:
        for part in (self.client, self._scheduler):
            if part is not None:
                with suppress(OSError):
                    part.close(timeout=_END)
        if self._processes is not None:
            _kill(self._processes)
        shutil.rmtree(self._folder, ignore_errors=True)


def _kill(processes: subprocess.Popen[bytes]) -> None:
    """Kill workers, which have nothing to save, and those who restart them."""
    with suppress(OSError):
        if sys.platform == "win32":
            processes.kill()
        else:
            os.killpg(processes.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        processes.wait(_END)
