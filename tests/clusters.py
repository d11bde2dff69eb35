"""A real scheduler and two worker processes for the tests that need them."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(scope="session")
def client():
    """The client of a cluster of two processes with one thread each; workers come back."""
    distributed = pytest.importorskip("distributed")
    with (
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
