"""What every test shares: a seeded generator, one thread each, a fixed hypothesis profile."""

import os
import signal
from importlib.util import find_spec

os.environ.setdefault("MPLBACKEND", "Agg")
# There is a worker for each core: threads of torch that wait for each other would take turns on it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from upto.core import MissingExtraError

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("local", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure():
    """Listen to signals, which a suite in the background or under nohup ignores."""
    usual = {
        "SIGINT": signal.default_int_handler,
        "SIGTERM": signal.SIG_DFL,
        "SIGHUP": signal.SIG_DFL,
    }
    for name, handler in usual.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """Two test processes share two cores."""
    with threadpool_limits(1, "blas"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(20261115)


def _skip_without_torch():
    """Skip a test that turns out to need torch, where there is none.

    Some Pythons have no build of it for the CPU, and engines are parameters of many tests.
    """
    try:
        return (yield)
    except (ModuleNotFoundError, MissingExtraError) as error:
        needs_torch = getattr(error, "name", None) == "torch" or "package torch," in str(error)
        if not needs_torch or find_spec("torch"):
            raise
    pytest.skip("torch is not installed")


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_skip_without_torch)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_skip_without_torch)
