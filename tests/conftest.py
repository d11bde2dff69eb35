"""What every test shares: a seeded generator, quiet BLAS, a fixed hypothesis profile."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("local", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """Two test processes share two cores."""
    with threadpool_limits(1, "blas"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)
