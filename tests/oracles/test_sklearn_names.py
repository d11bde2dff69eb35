"""Scikit-learn's names of parameters mean what they mean there."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from mixtures import amari, mixed
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from upto import ICA, Whitener, load_transform, save_transform
from upto.core import InputError

KINDS = ("laplace", "laplace", "uniform", "uniform", "two values")
WIDTH = len(KINDS)
SAME = 1e-8
SEEDS = range(3)


@pytest.fixture(params=SEEDS)
def rows(request):
    return mixed(np.random.default_rng(request.param), 1500, KINDS)[1] + 2


def orthogonal(seed=0, width=WIDTH):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))[0]


def both(rows, **parameters):
    """Fit both with the same parameters; that neither converges in time is no matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ICA(**parameters).fit(rows), FastICA(**parameters).fit(rows)


@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
def test_a_search_from_one_start_takes_the_same_steps(rows, algorithm, steps, whiten):
    ours, theirs = both(
        rows, algorithm=algorithm, whiten=whiten, w_init=orthogonal(), max_iter=steps, tol=0.0
    )
    assert amari(ours.components_, theirs.components_) < SAME
    found, wanted = ours.transform(rows), theirs.transform(rows)
    np.testing.assert_allclose(np.sort(found.var(axis=0)), np.sort(wanted.var(axis=0)), rtol=1e-8)


@pytest.mark.parametrize("n_components", [2, 4])
def test_a_start_is_of_the_widest_directions(rows, n_components):
    first = orthogonal(1, n_components)
    ours, theirs = both(rows, n_components=n_components, w_init=first, max_iter=1, tol=0.0)
    assert amari(ours.components_, theirs.components_) < SAME


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
def test_a_tolerance_ends_the_search_at_the_same_step(rows, algorithm, tol):
    ours, theirs = both(rows, algorithm=algorithm, w_init=orthogonal(), tol=tol)
    assert ours.converged_
    assert ours.n_iter_ == theirs.n_iter_
    assert amari(ours.components_, theirs.components_) < SAME


def cubed(x):
    return x**3, (3 * x**2).mean(axis=-1)


def steep(x, slope):
    score = np.tanh(slope * x)
    return score, (slope * (1 - score**2)).mean(axis=-1)


FUNCTIONS = {
    "logcosh": {"fun": "logcosh"},
    "logcosh 1.5": {"fun": "logcosh", "fun_args": {"alpha": 1.5}},
    "exp": {"fun": "exp"},
    "cube": {"fun": "cube"},
    "a function": {"fun": cubed},
    "a function with arguments": {"fun": steep, "fun_args": {"slope": 1.3}},
}


@pytest.mark.parametrize("asked", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
def test_a_function_finds_the_same_components(rows, asked, algorithm):
    # Past the first component, deflation is as exact as those before.
    ours, theirs = both(
        rows, algorithm=algorithm, w_init=orthogonal(), tol=1e-13, max_iter=1000, **asked
    )
    assert amari(ours.components_, theirs.components_) < 1e-6


@pytest.mark.parametrize("asked", list(FUNCTIONS.values())[-2:], ids=list(FUNCTIONS)[-2:])
@pytest.mark.parametrize("solver", ["auto", "fastica", "picard"])
def test_every_solver_takes_such_a_function(rows, asked, solver):
    _, theirs = both(rows, tol=1e-13, max_iter=1000, random_state=0, **asked)
    ours = ICA(solver=solver, tolerance=1e-9, random_state=0, **asked).fit(rows)
    assert amari(ours.components_, theirs.components_) < 1e-6


@pytest.mark.parametrize("whiten", [True, "arbitrary-variance"])
def test_an_arbitrary_variance_is_that_of_scikit_learn(rows, whiten):
    ours = ICA(whiten=whiten, random_state=0).fit(rows)
    sources = ours.transform(rows)
    np.testing.assert_allclose(np.square(sources).sum(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose(ours.inverse_transform(sources), rows, atol=1e-9)
    theirs = FastICA(whiten="arbitrary-variance", random_state=0).fit(rows)
    np.testing.assert_allclose(
        ours.whitening_.T @ ours.whitening_, theirs.whitening_.T @ theirs.whitening_, rtol=1e-8
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("whiten", ["unit-variance", "rotation", True, False])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_attributes_have_the_type_of_the_rows_and_are_saved_so(rows, dtype, whiten, tmp_path):
    rows = ((rows - rows.mean(axis=0)) / rows.std(axis=0)).astype(dtype)
    ica = ICA(whiten=whiten, random_state=0).fit(rows)
    for name in ("components_", "mixing_", "mean_", "whitening_"):
        assert getattr(ica, name).dtype == dtype, name
    sources = ica.transform(rows)
    assert sources.dtype == dtype
    np.testing.assert_allclose(ica.inverse_transform(sources), rows, atol=1e-4)
    save_transform(tmp_path / "ica.safetensors", ica)
    loaded = load_transform(tmp_path / "ica.safetensors")
    assert loaded.components_.dtype == dtype
    np.testing.assert_array_equal(loaded.transform(rows), sources)


def test_a_copy_is_a_word_of_theirs(rows):
    ica = ICA(random_state=0).fit(rows)
    given = rows.copy()
    sources = ica.transform(given, copy=False)
    np.testing.assert_array_equal(given, rows)
    np.testing.assert_allclose(ica.inverse_transform(sources, copy=False), rows, atol=1e-9)


WARNED = {
    "whiten=False": ({"n_components": 2, "whiten": False}, "Ignoring n_components with whiten=F"),
    "too many": ({"n_components": 9}, r"n_components is too large: it will be set to 5\."),
    "two steps": (
        {"max_iter": 2, "tol": 0.0},
        "FastICA did not converge. Consider increasing tolerance or the maximum number of iterat",
    ),
}


@pytest.mark.filterwarnings("ignore:ICA stopped|FastICA did not")
@pytest.mark.parametrize(("asked", "message"), WARNED.values(), ids=WARNED)
def test_both_warn_of_the_same(rows, asked, message):
    for estimator in (ICA, FastICA):
        with pytest.warns(UserWarning, match=message.replace(r"\.", "")) as caught:
            estimator(random_state=0, **asked).fit(rows)
        assert all(each.filename == __file__ for each in caught if estimator is ICA)


@pytest.mark.parametrize("solver", ["svd", "eigh"])
def test_rows_of_low_rank_warn_where_they_are_asked_for_by_eigh(solver):
    rows = mixed(np.random.default_rng(0), 500, KINDS, width=8)[1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ICA(whiten_solver=solver, random_state=0).fit(rows)
    assert found.components_.shape == (5, 8)
    said = [str(each.message) for each in caught]
    assert [each.startswith("There are some small singular") for each in said] == (
        [True] if solver == "eigh" else []
    )


def test_a_tolerance_of_zero_ends_with_what_can_be_had(rows):
    with pytest.warns(ConvergenceWarning, match="ICA stopped after"):
        ours = ICA(tolerance=0.0, random_state=0).fit(rows)
    assert amari(ours.components_, ICA(random_state=1).fit(rows).components_) < 1e-5


def broken(x):
    return x**3, (2 * x**2).mean(axis=-1)


REFUSED = {
    "two contrasts": ({"fun": "exp", "contrast": "cube"}, "fun='exp' and contrast='cube' are both"),
    "two tolerances": ({"tol": 1e-4, "tolerance": 1e-3}, "tol=0.0001 and tolerance=0.001 are both"),
    "two limits": ({"max_iter": 9, "max_iterations": 8}, "max_iter=9 and max_iterations=8 are bo"),
    "two alphas": ({"fun_args": {"alpha": 2}, "alpha": 1.5}, "alpha=1.5 and fun_args={'alpha': 2}"),
    "alpha": ({"fun_args": {"alpha": 0}}, "alpha must be in [1,2], but fun_args gives 0"),
    "arguments": ({"fun_args": 1.5}, "fun_args is 1.5: give a dictionary"),
    "no function": ({"fun": 3}, "fun is 3: give logcosh, exp, cube or a function"),
    "unknown function": ({"fun": "tanh"}, "there is no contrast 'tanh'"),
    "one value": ({"fun": np.tanh}, "fun=tanh must take sources and return g of each and the mean"),
    "wrong slope": (
        {"fun": broken},
        "broken returns g′(-0.60) = 0.72, but the slope of its g there is",
    ),
    "algorithm": ({"algorithm": "serial"}, "algorithm is 'serial': choose one of parallel, defl"),
    "whiten_solver": ({"whiten_solver": "qr"}, "whiten_solver is 'qr': choose one of svd, eigh"),
    "start": ({"w_init": np.eye(4)}, "w_init has invalid shape (4, 4) -- it should be (5, 5)"),
    "start of words": ({"w_init": [np.nan]}, "give a square matrix of finite numbers"),
    "starts": ({"w_init": np.eye(5), "restarts": 3}, "w_init is one search, and restarts=3"),
    "warm": ({"w_init": np.eye(5), "warm_start": True}, "w_init and warm_start both set the start"),
    "deflation": ({"algorithm": "deflation", "solver": "picard"}, "requires FastICA"),
    "deflations": ({"algorithm": "deflation", "restarts": 2}, "one search, and restarts=2"),
    "restarts": ({"restarts": 2.5}, "restarts is 2.5: it must be a whole number, at least 1"),
    "iterations": ({"max_iter": 2.5}, "max_iterations is 2.5: it must be a whole number"),
    "tolerance": ({"tol": -1.0}, "the tolerance is -1.0: it must not be negative"),
    "no tolerance": ({"tolerance": np.nan}, "the tolerance is nan: it must not be negative"),
    "whitening": ({"whiten": "white"}, "there is no whitening 'white'"),
}


@pytest.mark.parametrize(("asked", "message"), REFUSED.values(), ids=REFUSED)
def test_what_contradicts_itself_is_refused_in_one_sentence(asked, message):
    rows = mixed(np.random.default_rng(0), 200, KINDS)[1]
    with pytest.raises(InputError) as caught:
        ICA(**asked).fit(rows)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("estimator", [ICA(3, random_state=0), Whitener(3)])
def test_the_way_back_is_for_the_new_coordinates(rows, estimator):
    fitted = estimator.fit(rows)
    with pytest.raises(InputError, match=r"X has 5 coordinates, but \w+ outputs 3: give its"):
        fitted.inverse_transform(rows)


def test_a_whitener_has_no_more_directions_than_coordinates(rows):
    with pytest.raises(InputError, match="9 directions were requested, but rows of 5 coordinates"):
        Whitener(9).fit(rows)
    narrow = rows[:, [0, 1, 2, 0, 1]]
    with pytest.warns(UserWarning, match="4 directions were requested, but the rows span 3"):
        assert Whitener(4).fit(narrow).rank_ == 3
