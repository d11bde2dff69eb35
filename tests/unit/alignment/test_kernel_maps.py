"""Kernel maps equal those of scikit-learn, bend where ridge cannot, and are affine elsewhere."""

import tracemalloc

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from upto.alignment import AffineMap, KernelAligner, KernelMap, RidgeAligner, kernel_ridge
from upto.core import InputError
from upto.engines import ThreadsEngine


def warped(rng, n_samples, width=5, other=4, noise=0.05):
    x = rng.normal(size=(n_samples, width))
    y = np.tanh(x @ rng.normal(size=(width, other)))
    return x, y + noise * rng.normal(size=y.shape)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_fixed_parameters_give_the_map_of_scikit_learn(rng, offset):
    x, y = warped(rng, 600)
    x = x + offset
    found = KernelAligner(n_centres=60, bandwidth=2.5, shrinkage=1e-2).fit(x, y)
    assert (found.shrinkage_, found.bandwidth_) == (1e-2, 2.5)
    centred = x - x.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=1).mean())
    centres = found.map_.centres - x.mean(axis=0)
    nystroem = Nystroem(gamma=1 / (2 * 2.5**2), n_components=len(centres)).fit(centres)
    features = np.hstack([centred / spread, nystroem.transform(centred)])
    alpha = 1e-2 * ((features - features.mean(axis=0)) ** 2).sum() / features.shape[1]
    wanted = Ridge(alpha=alpha).fit(features, y).predict(features)
    np.testing.assert_allclose(found.transform(x), wanted, atol=1e-7)


def test_centres_are_distinct_rows_chosen_by_their_values(rng):
    x, y = warped(rng, 100)
    x, y = np.repeat(x, 3, axis=0), np.repeat(y, 3, axis=0)
    fixed = {"n_centres": 40, "bandwidth": 2.0, "shrinkage": 0.1}
    found = KernelAligner(**fixed).fit(x, y).map_.centres
    assert len(np.unique(found.round(9), axis=0)) == 40
    assert (np.abs(found[:, None] - x).max(axis=2).min(axis=1) < 1e-12).all()
    order = rng.permutation(len(x))
    again = KernelAligner(**fixed).fit(x[order], y[order]).map_.centres
    np.testing.assert_allclose(again, found, atol=1e-12)
    other = KernelAligner(**fixed, random_state=1).fit(x, y).map_.centres
    assert np.abs(other - found).max() > 0.1


def test_a_warp_is_mapped_better_than_by_ridge(rng):
    x, y = warped(rng, 2500)
    found = KernelAligner(n_centres=200).fit(x[:1500], y[:1500])
    affine = RidgeAligner().fit(x[:1500], y[:1500])
    left = [1 - each.score(x[1500:], y[1500:]) for each in (found, affine)]
    assert left[0] < left[1] / 2
    assert isinstance(found.map_, KernelMap)
    assert found.linear_ is None


@pytest.mark.parametrize("noise", [0.0, 0.5, 3.0])
def test_a_linear_map_is_no_worse_than_by_ridge(rng, noise):
    x = rng.normal(size=(1200, 6))
    y = x @ rng.normal(size=(6, 4)) + noise * rng.normal(size=(1200, 4))
    found = KernelAligner(n_centres=100).fit(x[:600], y[:600])
    affine = RidgeAligner().fit(x[:600], y[:600])
    assert found.score(x[600:], y[600:]) > affine.score(x[600:], y[600:]) - 0.002
    if noise == 0:
        assert isinstance(found.map_, AffineMap)
        assert found.bandwidth_ is None


def test_far_from_the_centres_it_is_affine(rng):
    x, y = warped(rng, 500)
    fitted = KernelAligner(n_centres=50, bandwidth=1.0, shrinkage=1e-3).fit(x, y)
    away = 1e3 * rng.normal(size=(3, 5))
    first, middle, last = (fitted.transform(each) for each in (away, 1.5 * away, 2 * away))
    np.testing.assert_allclose(middle, (first + last) / 2, rtol=1e-9)
    near = [fitted.transform(each) for each in (x[:3], 1.5 * x[:3], 2 * x[:3])]
    assert np.abs(near[1] - (near[0] + near[2]) / 2).max() > 1e-3


def test_bandwidths_are_compared_on_some_rows_and_the_shrinkage_chosen_on_all(rng, monkeypatch):
    x, y = warped(rng, 900)
    whole = KernelAligner(n_centres=50).fit(x, y)
    monkeypatch.setattr(kernel_ridge, "TRIAL_ROWS", 300)
    seen = []
    choose = kernel_ridge.choose
    monkeypatch.setattr(
        kernel_ridge,
        "choose",
        lambda folds, *rest, **more: (
            seen.append(folds.whole().weight) or choose(folds, *rest, **more)
        ),
    )
    found = KernelAligner(n_centres=50).fit(x, y)
    assert seen == [300, 300, 300, 900]
    assert found.score(x, y) == pytest.approx(whole.score(x, y), abs=0.02)


@pytest.mark.parametrize("n_samples", [1, 2, 5])
def test_few_or_equal_rows_are_fitted(rng, n_samples):
    x, y = warped(rng, n_samples)
    found = KernelAligner().fit(x, y).transform(x)
    np.testing.assert_array_equal(np.isfinite(found), True)
    same = KernelAligner().fit(np.ones((4, 2)), np.arange(4.0))
    np.testing.assert_allclose(same.transform(np.ones((1, 2))), 1.5)


def test_features_of_all_rows_are_never_in_memory(rng):
    x, y = warped(rng, 20_000, width=4, other=2)
    fitted = KernelAligner(
        n_centres=300, bandwidth=2.0, shrinkage=0.1, engine=ThreadsEngine(n_threads=1)
    )
    fitted.fit(x[:1000], y[:1000])
    tracemalloc.start()
    fitted.fit(x, y).transform(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.8 * 8 * 300 * len(x)


REFUSED = {
    "centres": ({"n_centres": 0}, "n_centres is 0, but it must be a whole number of at least 1"),
    "bandwidth": ({"bandwidth": 0}, "bandwidth is 0: give 'auto' or a positive number"),
    "word": ({"bandwidth": "wide"}, "bandwidth is 'wide': give 'auto' or a positive number"),
    "shrinkage": ({"shrinkage": "some"}, "shrinkage is 'some': give 'auto' or a number"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_in_words(rng, changes, message):
    with pytest.raises(InputError, match=message):
        KernelAligner(**changes).fit(*warped(rng, 30))


def test_there_is_no_inverse(rng):
    x, y = warped(rng, 300)
    found = KernelAligner(n_centres=50, shrinkage=1e-3).fit(x, y)
    with pytest.raises(InputError, match="kernel map is not affine and has no inverse: fit one in"):
        found.inverse_transform(y)
