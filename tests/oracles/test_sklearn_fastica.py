"""Scikit-learn's own tests of FastICA, with `upto.ICA` in its place.

The module that comes with scikit-learn is loaded once more under another name; what its tests call
`FastICA` is `ICA`, and `fastica` a function of it.
"""

from __future__ import annotations

import importlib.util
import inspect

import numpy as np
import pytest

from upto import ICA

NAME = "sklearn.decomposition.tests.test_fastica"
# It tests a private function of scikit-learn's module, which we have no part in.
LEFT_OUT = "test_gs"


def fastica(
    X,
    n_components=None,
    *,
    whiten="unit-variance",
    return_X_mean=False,
    compute_sources=True,
    return_n_iter=False,
    **parameters,
):
    """Return what the function of scikit-learn returns, by `ICA`."""
    ica = ICA(n_components, whiten=whiten, **parameters)
    sources = ica.fit_transform(X) if compute_sources else ica.fit(X) and None
    unmixing = (ica.components_ @ np.linalg.pinv(ica.whitening_)).astype(ica.components_.dtype)
    found = [ica.whitening_ if whiten else None, unmixing, sources]
    if return_X_mean:
        found.append(ica.mean_ if whiten else None)
    if return_n_iter:
        found.append(ica.n_iter_)
    return tuple(found)


def borrowed():
    """Load the tests anew, so that those of scikit-learn stay what they are."""
    spec = importlib.util.find_spec(NAME)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.FastICA, module.fastica = ICA, fastica
    tests = {name: each for name, each in vars(module).items() if name.startswith("test_")}
    del tests[LEFT_OUT]
    return tests


TESTS = borrowed()
globals().update(TESTS)

# As in scikit-learn's suite, where that a search did not converge is no error.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(params=[np.float64, np.float32], ids=["double", "single"])
def global_dtype(request):
    return request.param


@pytest.fixture(
    params=[42, 0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))]
)
def global_random_seed(request):
    return request.param


def test_the_tests_are_those_of_scikit_learn_and_meet_ours():
    assert len(TESTS) >= 13
    for name, test in TESTS.items():
        assert test.__globals__["FastICA"] is ICA, name
        assert test.__globals__["fastica"] is fastica, name
        assert {"FastICA", "fastica"} & set(inspect.getclosurevars(test).globals), name
