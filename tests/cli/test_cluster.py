"""`--cluster`, `--workers` and `DASK_SCHEDULER_ADDRESS`, with processes that really run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from clusters import ClusterProcesses

import upto

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

COMPARE = "compare a.npy b.npy --no-ica --refits 1 --permutations 19 --format json"
UNMIX = "unmix a.npy -o ica.npy --held-out 0 --format json"


def start(folder, command, address=None):
    """Start the command in a process of its own, which has no client."""
    environment = {key: each for key, each in os.environ.items() if not key.startswith("DASK_")}
    environment["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "20s"
    if address is not None:
        environment["DASK_SCHEDULER_ADDRESS"] = address
    return subprocess.Popen(
        [sys.executable, "-m", "upto", *command.split(), "--no-progress"],
        cwd=folder,
        env=environment | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(running, code=0):
    """Return what the command wrote to stdout and stderr."""
    out, err = running.communicate(timeout=150)
    assert running.returncode == code, err
    return out, err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs of some chunks each: every worker has something to do."""
    folder, rng = tmp_path_factory.mktemp("shared"), np.random.default_rng(0)
    sources = rng.laplace(size=(40_000, 16))
    for name in "ab":
        noise = 0.01 * rng.normal(size=sources.shape)
        np.save(folder / f"{name}.npy", sources @ rng.normal(size=(16, 16)) + noise)
    return folder


@pytest.fixture(scope="module")
def compared(folder):
    return upto.compare(folder / "a.npy", folder / "b.npy", ica=False, refits=1, permutations=19)


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    cluster = ClusterProcesses(tmp_path_factory.mktemp("cluster"))
    try:
        yield cluster
    finally:
        cluster.close()


def check_compared(text, compared):
    found = upto.CompareResult.from_json(text)
    assert found.up_to == compared.up_to
    for here, there in zip(found.fits, compared.fits, strict=True):
        assert here.error.value == pytest.approx(there.error.value, rel=1e-4)
        assert here.error.low == pytest.approx(there.error.low, rel=1e-4)
    return found


def watch(cluster, running):
    """Return, while the cluster has the tasks of a pass, the process that holds most data."""

    def is_at_it(dask_scheduler):
        return any(key.startswith("reduce_chunk") for key in dask_scheduler.tasks)

    with distributed.Client(scheduler_file=str(cluster.file), set_as_default=False) as client:
        while not client.run_on_scheduler(is_at_it):
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
        held = client.has_what()
        fullest = max(held, key=lambda worker: len(held[worker]))
        return client.run(os.getpid, workers=[fullest])[fullest]


def unfinished(cluster):
    def tasks(dask_scheduler):
        return len(dask_scheduler.tasks)

    with distributed.Client(scheduler_file=str(cluster.file), set_as_default=False) as client:
        end = time.monotonic() + 10
        while (left := client.run_on_scheduler(tasks)) and time.monotonic() < end:
            time.sleep(0.05)
        return left


def test_a_cluster_answers_as_threads_do_even_if_a_worker_is_killed(processes, folder, compared):
    with distributed.Client(scheduler_file=str(processes.file), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    running = start(folder, f"{COMPARE} --cluster {processes.file}")
    pid = watch(processes, running)
    (killed,) = (each for each in processes.workers if each.pid == pid)
    killed.kill()
    killed.wait()
    processes.workers.remove(killed)
    out, err = finish(running)
    said = err.splitlines()[0]
    assert said.startswith("using dask at tcp://127.0.0.1:")
    assert ": 2 workers, 2 threads, " in said
    found = check_compared(out, compared)
    assert found.provenance.engine == said.removeprefix("using ")

    running = start(folder, UNMIX, json.loads(processes.file.read_text())["address"])
    out, err = finish(running)
    assert ": 1 worker, 1 thread, " in err
    wanted = upto.unmix(folder / "a.npy", output=folder / "threads.npy", held_out=0)
    assert upto.UnmixResult.from_json(out).rank == wanted.rank
    components, expected = np.load(folder / "ica.npy"), np.load(folder / "threads.npy")
    np.testing.assert_allclose(components, expected, atol=1e-3)
    processes.workers.append(processes.add_worker())


def test_ctrl_c_leaves_nothing_on_the_cluster_or_the_disk(processes, folder):
    before = {path.name for path in folder.iterdir()}
    running = start(folder, f"{COMPARE} -o result.json --cluster {processes.file}")
    watch(processes, running)
    running.send_signal(signal.SIGINT)
    _, err = finish(running, 130)
    assert err.splitlines()[-1] == "upto: interrupted; nothing was left half written."
    assert len(err.splitlines()) == 2
    assert unfinished(processes) == 0
    assert {path.name for path in folder.iterdir()} == before


def test_workers_of_this_machine_end_with_the_command(folder, compared):
    before = {path.name for path in folder.iterdir()}
    running = start(folder, f"{COMPARE} --workers 2")
    out, err = finish(running)
    found = check_compared(out, compared)
    assert "2 workers" in found.provenance.engine
    address = found.provenance.engine.split()[2].rstrip(":")
    with pytest.raises(OSError, match=r"Timed out|refused"):
        distributed.Client(address, timeout=1)
    assert {path.name for path in folder.iterdir()} == before
    assert not [line for line in err.splitlines() if "distributed" in line]


SCRIPTS = Path(__file__).parents[2] / "docs" / "clusters"


def test_the_script_for_slurm_runs(folder, tmp_path):
    """With a stand-in for srun, and the folder and environment of this test."""
    text = (SCRIPTS / "slurm.sh").read_text()
    for old, new in (
        ("source /shared/venv/bin/activate", ""),
        ("/shared/runs", str(folder)),
        ("compare seed0.npy seed1.npy", "inspect a.npy --no-ica --no-progress"),
        ("--report report.html", f"-o {tmp_path / 'result.json'}"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "srun").write_text('#!/bin/sh\n"$@" & exec "$@"\n')
    (tmp_path / "srun").chmod(0o755)
    paths = [str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]]
    found = subprocess.run(
        ["bash", "-e", "-c", text + "\nkill $(jobs -p) && wait"],
        env=os.environ
        | {"PATH": os.pathsep.join(paths), "SLURM_NNODES": "2"}
        | {"SLURM_CPUS_PER_TASK": "1", "SLURM_JOB_ID": "7"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert (tmp_path / "result.json").exists(), found.stderr
    assert ": 2 workers, 2 threads, " in found.stderr
