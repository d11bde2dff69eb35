"""`--engine dask` finds the scheduler that dask's own configuration names."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from clusters import client as client

pytestmark = pytest.mark.slow
pytest.importorskip("distributed")


def unmix(folder, address=None):
    """Run the command in a process of its own, which has no client."""
    environment = {key: each for key, each in os.environ.items() if not key.startswith("DASK_")}
    if address is not None:
        environment["DASK_SCHEDULER_ADDRESS"] = address
        environment["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = "2s"
    command = "unmix run.npy -o out.npy --engine dask --held-out 0 --no-progress --format json"
    return subprocess.run(
        [sys.executable, "-m", "upto", *command.split()],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture
def folder(tmp_path, rng):
    np.save(tmp_path / "run.npy", rng.laplace(size=(3000, 3)) @ rng.normal(size=(3, 3)))
    return tmp_path


def test_an_address_in_the_environment_is_connected_to(client, folder):
    found = unmix(folder, client.scheduler.address)
    assert found.returncode == 0, found.stderr
    assert '"engine":"dask"' in found.stdout.replace(" ", "")
    assert np.load(folder / "out.npy").shape == (3000, 3)


def test_without_one_the_sentence_says_how_to_give_it(folder):
    found = unmix(folder)
    assert found.returncode == 3
    assert "found no client" in found.stderr
    assert "DASK_SCHEDULER_ADDRESS" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://"])
def test_an_address_at_which_nothing_answers_is_one_sentence(folder, address):
    found = unmix(folder, address)
    assert found.returncode == 3
    assert f"no dask scheduler answers at {address}" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
