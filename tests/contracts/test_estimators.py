"""The estimators keep the whole contract of scikit-learn."""

from __future__ import annotations

import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from sklearn_checks import each_check

from upto import ICA, Aligner, KernelAligner, NetworkAligner, RidgeAligner, Whitener
from upto.core import Group, InputError
from upto.engines import ThreadsEngine
from upto.testing import random_element

ROUNDING = 1e-8
SINGLE = 1e-4

# The checks give targets of one column, which the identity refuses for wider rows.
CHECKED = [group for group in Group if group is not Group.IDENTITY]
FIRST = [Group.RIGID, Group.MONOTONE_PERMUTATION]
ESTIMATORS = [
    *(Aligner(group) for group in FIRST),
    RidgeAligner(),
    KernelAligner(n_centres=20),
    *([NetworkAligner(n_hidden=8, n_epochs=20)] if find_spec("torch") else []),
    ICA(random_state=0),
    ICA(whiten=True, algorithm="deflation", fun="cube", tol=1e-4, max_iter=200, random_state=0),
    # The checks ask for one component, which Cholesky whitening cannot give.
    Whitener(),
]
OTHERS = [
    *(Aligner(group) for group in CHECKED if group not in FIRST),
    RidgeAligner(shrinkage=0.1, rank="auto", length="target"),
    KernelAligner(n_centres=5, bandwidth=2.0, shrinkage=0.1, length=1.0),
    ICA(n_components=1, random_state=0),
    ICA(whiten="active", solver="picard", contrast="exp", random_state=0),
    Whitener(method="zca", shrinkage="ledoit-wolf"),
]


# The checks' own blobs have near-Gaussian directions, and every warning is an error here.
@pytest.mark.filterwarnings("ignore:ICA stopped after|FastICA did not converge")
@each_check(ESTIMATORS)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    asked = repr(estimator)
    check(estimator)
    assert repr(estimator) == asked


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ICA stopped after|FastICA did not converge")
@each_check(OTHERS)
def test_nor_does_it_of_other_parameters(estimator, check):
    asked = repr(estimator)
    check(estimator)
    assert repr(estimator) == asked


# The refinement is one step behind the same fit, and takes its time on each of the checks.
@pytest.mark.slow
@each_check([Aligner(group, norm="supremum") for group in CHECKED if group.is_affine])
def test_the_refinement_keeps_the_contract_for_every_group(estimator, check):
    asked = repr(estimator)
    check(estimator)
    assert repr(estimator) == asked


class Forgetful(Aligner):
    """An estimator that changes the rows it was given, which the checks must notice."""

    def fit(self, X, y):
        X += 1.0
        return super().fit(X, y)


def test_the_checks_can_fail():
    found = check_estimator(Forgetful(), on_fail=None, on_skip=None)
    assert "failed" in {each["status"] for each in found}


@pytest.fixture
def runs(rng):
    """Two runs that are one representation up to a rigid motion."""
    source = rng.laplace(size=(120, 4)) @ rng.normal(size=(4, 4))
    linear, translation = random_element("rigid", 4, rng)
    return source, source @ linear + translation


@pytest.mark.parametrize("group", [group for group in Group if group.is_affine])
def test_a_fit_on_some_rows_aligns_the_others(group, rng):
    source = rng.laplace(size=(120, 4))
    linear, translation = random_element(group, 4, rng)
    target = source @ linear + translation
    for norm in ("least-squares", "supremum"):
        aligner = Aligner(group, norm=norm).fit(source[:80], target[:80])
        np.testing.assert_allclose(aligner.transform(source[80:]), target[80:], atol=ROUNDING)
        np.testing.assert_allclose(aligner.inverse_transform(target), source, atol=ROUNDING)
        np.testing.assert_allclose(aligner.linear_, linear, atol=ROUNDING)
        np.testing.assert_allclose(aligner.worst_error_, 0, atol=ROUNDING)


def test_the_worst_error_is_that_of_the_fitted_rows_and_smaller_in_its_own_norm(runs, rng):
    source, target = runs
    target = target + rng.laplace(size=target.shape)
    worst = {}
    for norm in ("least-squares", "supremum"):
        aligner = Aligner("rigid", norm=norm).fit(source, target)
        errors = np.linalg.norm(target - aligner.transform(source), axis=1)
        np.testing.assert_allclose(aligner.worst_error_, errors.max())
        worst[norm] = aligner.worst_error_
    assert worst["supremum"] < worst["least-squares"]


def test_estimators_work_in_a_pipeline(runs):
    source, target = runs
    pipeline = make_pipeline(StandardScaler(), Aligner("affine"))
    np.testing.assert_allclose(
        pipeline.fit(source, target).transform(source), target, atol=ROUNDING
    )
    both = make_pipeline(ICA(random_state=0), Aligner("affine")).fit(source, target)
    np.testing.assert_allclose(both.transform(source), target, atol=ROUNDING)


@pytest.mark.parametrize(
    "estimator",
    [
        Aligner("affine", norm="supremum"),
        RidgeAligner(rank="auto"),
        KernelAligner(n_centres=30, length=1.0),
        ICA(2, random_state=3),
        Whitener(2),
    ],
)
def test_clones_and_pickles_are_the_same_estimator(estimator, runs):
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    fitted = copy.fit(*runs)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.transform(runs[0]), fitted.transform(runs[0]))
    np.testing.assert_array_equal(
        clone(fitted).fit(*runs).transform(runs[0]), fitted.transform(runs[0])
    )


def test_ica_names_its_components_and_returns_frames(runs):
    source, _ = runs
    ica = ICA(3, random_state=0).set_output(transform="pandas").fit(source)
    assert list(ica.get_feature_names_out()) == ["ica0", "ica1", "ica2"]
    frame = ica.transform(source)
    assert list(frame.columns) == ["ica0", "ica1", "ica2"]
    np.testing.assert_array_equal(frame, ica.set_output(transform="default").transform(source))


def test_an_aligner_names_its_coordinates_and_returns_frames(runs):
    source, target = runs
    aligner = Aligner().set_output(transform="pandas").fit(source, target[:, :3])
    names = ["aligner0", "aligner1", "aligner2"]
    assert list(aligner.get_feature_names_out()) == names
    frame = aligner.transform(source)
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame, aligner.set_output(transform="default").transform(source))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ica_keeps_the_type_and_gives_the_rows_back(dtype, runs):
    rows = runs[0].astype(dtype)
    ica = ICA(random_state=0).fit(rows)
    sources = ica.transform(rows)
    assert sources.dtype == dtype
    back = ica.inverse_transform(sources)
    assert back.dtype == dtype
    np.testing.assert_allclose(back, rows, atol=SINGLE if dtype is np.float32 else ROUNDING)
    np.testing.assert_allclose(np.cov(sources.T, bias=True), np.eye(4), atol=SINGLE)


@pytest.mark.parametrize("engine", [None, "threads", ThreadsEngine(block_rows=7, n_threads=2)])
def test_any_engine_gives_the_same_estimator(engine, runs):
    wanted = ICA(random_state=0).fit(runs[0]).components_
    np.testing.assert_allclose(
        ICA(random_state=0, engine=engine).fit(runs[0]).components_, wanted, atol=ROUNDING
    )
    aligner = Aligner(engine=engine).fit(*runs)
    np.testing.assert_allclose(aligner.transform(runs[0]), runs[1], atol=ROUNDING)


def test_ica_tells_when_it_does_not_settle(runs):
    with pytest.warns(ConvergenceWarning, match="ICA stopped after 2 steps with a gradient of"):
        ica = ICA(max_iterations=2, tolerance=1e-12, random_state=0).fit(runs[0])
    assert not ica.converged_
    assert ica.n_iter_ == 2


REFUSALS = {
    "group": (lambda x, y: Aligner("conformal").fit(x, y), "no group 'conformal': choose one of"),
    "norm": (lambda x, y: Aligner(norm="l1").fit(x, y), "norm is 'l1': choose 'least-squares'"),
    "width": (lambda x, y: Aligner("identity").fit(x, y[:, :2]), "equal width, not 4 and 2 coord"),
    "rank": (
        lambda x, y: Aligner("rigid").fit(x, y[:, :2]).inverse_transform(y[:, :2]),
        "rank 2 on 4 source coordinates and no inverse: fit it in the other",
    ),
    "back": (
        lambda x, y: Aligner("rigid").fit(x, y).inverse_transform(y[:, :2]),
        "X has 2 coordinates but the target has 4",
    ),
    "directions": (
        lambda x, y: Whitener(5).fit(x),
        "5 directions were requested, but rows of 4 coordinates have at most 4",
    ),
    "no components": (lambda x, y: ICA(0).fit(x), "n_components is 0: give at least 1"),
    "equal rows": (lambda x, y: ICA().fit(np.ones((9, 2))), "all rows are equal"),
    "engine": (lambda x, y: Aligner(engine="spark").fit(x, y), "there is no engine 'spark'"),
}


@pytest.mark.parametrize(("call", "message"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_done_is_refused_in_words(call, message, runs):
    with pytest.raises(InputError) as caught:
        call(*runs)
    assert message in str(caught.value)


@pytest.mark.parametrize("method", ["transform", "inverse_transform"])
@pytest.mark.parametrize(
    "estimator",
    [Aligner(), RidgeAligner(), KernelAligner(), NetworkAligner(), ICA(), Whitener()],
    ids=lambda e: type(e).__name__,
)
def test_what_was_not_fitted_says_so(estimator, method, runs):
    with pytest.raises(NotFittedError):
        getattr(estimator, method)(runs[0])
