"""Ridge and reduced-rank maps equal their oracles, and choose penalty and rank from moments."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.linear_model import Ridge

from upto.alignment import Aligner, RidgeAligner, fit_ridge, ridge_path
from upto.alignment.fold_moments import fold_moments, fold_rows
from upto.core import InputError
from upto.engines import ThreadsEngine
from upto.engines.row_keys import row_keys

ROUNDING = 1e-8


def alpha_of(shrinkage, x):
    return shrinkage * ((x - x.mean(axis=0)) ** 2).sum() / x.shape[1]


def noisy(rng, n_samples, width=12, other=7, noise=1.0):
    x = rng.normal(size=(n_samples, width)) @ rng.normal(size=(width, width))
    y = x @ rng.normal(size=(width, other)) + noise * rng.normal(size=(n_samples, other))
    return x, y


@pytest.mark.parametrize("shrinkage", [1e-6, 0.3, 10.0])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("n_samples", [200, 8])
def test_a_penalty_gives_the_map_of_scikit_learn(rng, shrinkage, offset, n_samples):
    x, y = noisy(rng, n_samples)
    wanted = Ridge(alpha=alpha_of(shrinkage, x)).fit(x, y).predict(x)
    moved = x + offset * x.std(axis=0)
    found = RidgeAligner(shrinkage=shrinkage).fit(moved, y + 5)
    np.testing.assert_allclose(found.transform(moved), wanted + 5, atol=1e-9 * max(1, offset))
    assert found.shrinkage_ == shrinkage


def brute_force(x, y, alpha, rank):
    """Return the best map of a rank: the ridge regression of augmented rows, cut by an SVD."""
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    rows = np.vstack([x, np.sqrt(alpha) * np.eye(x.shape[1])])
    wanted = np.vstack([y, np.zeros((x.shape[1], y.shape[1]))])
    full = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    left, values, right = scipy.linalg.svd(rows @ full, full_matrices=False)
    fitted = (left[:, :rank] * values[:rank]) @ right[:rank]
    return np.linalg.lstsq(rows, fitted, rcond=None)[0]


@pytest.mark.parametrize("rank", [1, 3, 7])
@pytest.mark.parametrize("shrinkage", [0.0, 0.2])
def test_a_rank_gives_the_best_map_of_that_rank(rng, rank, shrinkage):
    x, y = noisy(rng, 150)
    found = RidgeAligner(shrinkage=shrinkage, rank=rank).fit(x, y)
    wanted = brute_force(x, y, alpha_of(shrinkage, x), rank)
    np.testing.assert_allclose(found.linear_, wanted, atol=ROUNDING)
    assert np.linalg.matrix_rank(found.linear_) == found.rank_ == rank


def held_out_error(x, y, shrinkage, rank=None):
    """Return the squared error over the same folds, from rows."""
    folds = fold_rows(row_keys(ThreadsEngine(), x, 0), 5)
    total = 0.0
    for fold in range(5):
        kept, alpha = folds != fold, alpha_of(shrinkage, x)
        if rank is None:
            predicted = Ridge(alpha=alpha).fit(x[kept], y[kept]).predict(x[~kept])
        else:
            linear = brute_force(x[kept], y[kept], alpha, rank)
            predicted = (x[~kept] - x[kept].mean(axis=0)) @ linear + y[kept].mean(axis=0)
        total += ((y[~kept] - predicted) ** 2).sum()
    return total


@pytest.mark.parametrize("n_samples", [40, 300])
def test_the_chosen_penalty_is_the_best_over_the_folds(rng, n_samples):
    x, y = noisy(rng, n_samples, noise=20.0)
    found = RidgeAligner().fit(x, y)
    errors = {each: held_out_error(x, y, each) for each in ridge_path.GRID if each > 0}
    assert found.shrinkage_ == min(errors, key=errors.get)
    assert 0 < found.shrinkage_ < ridge_path.GRID[-1]


def test_the_chosen_rank_is_the_best_over_the_folds(rng):
    x = rng.normal(size=(120, 6))
    y = x[:, :2] @ rng.normal(size=(2, 4)) + 2 * rng.normal(size=(120, 4))
    found = RidgeAligner(rank="auto").fit(x, y)
    errors = {
        (each, rank): held_out_error(x, y, each, rank)
        for each in ridge_path.COARSE
        if each > 0
        for rank in (1, 2, 3, 4)
    }
    assert (found.shrinkage_, found.rank_) == min(errors, key=errors.get)
    assert found.rank_ < 4


def test_the_rank_of_an_exact_map_is_found(rng):
    x = rng.normal(size=(200, 9))
    y = x @ rng.normal(size=(9, 3)) @ rng.normal(size=(3, 8))
    found = RidgeAligner(rank="auto").fit(x, y)
    assert found.rank_ == 3
    np.testing.assert_allclose(found.transform(x), y, atol=ROUNDING)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_without_noise_it_is_least_squares(rng, offset):
    x, y = noisy(rng, 400, noise=0.0)
    x = x + offset * x.std(axis=0)
    found = RidgeAligner().fit(x, y)
    assert found.shrinkage_ == 0.0
    np.testing.assert_allclose(found.linear_, Aligner("affine").fit(x, y).linear_, atol=ROUNDING)
    np.testing.assert_allclose(found.transform(x), y, atol=ROUNDING)


def test_fewer_rows_than_coordinates_are_shrunk(rng):
    x, y = noisy(rng, 530, width=60, noise=30.0)
    found = RidgeAligner().fit(x[:30], y[:30])
    with pytest.warns(UserWarning, match="too few"):
        plain = Aligner("affine").fit(x[:30], y[:30])
    assert found.shrinkage_ >= 0.1
    assert found.score(x[30:], y[30:]) > plain.score(x[30:], y[30:]) + 0.05


def test_dead_and_repeated_columns_change_nothing(rng):
    x, y = noisy(rng, 100)
    dead = np.hstack([x, np.full((100, 2), 1e6), x[:, :1]])
    for shrinkage in (0.0, "auto"):
        found = RidgeAligner(shrinkage=shrinkage).fit(dead, y)
        np.testing.assert_array_equal(np.isfinite(found.linear_), True)
        np.testing.assert_allclose(found.linear_[12:14], 0, atol=ROUNDING)
    plain = RidgeAligner(shrinkage=0.0).fit(x, y)
    found = RidgeAligner(shrinkage=0.0).fit(dead, y)
    np.testing.assert_allclose(found.transform(dead), plain.transform(x), atol=ROUNDING)


def test_nothing_to_predict_gives_the_mean(rng):
    x, y = rng.normal(size=(300, 10)), rng.normal(size=(300, 4))
    found = RidgeAligner().fit(x[:100], y[:100])
    assert found.score(x[100:], y[100:]) > -0.03


@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_few_rows_are_fitted(rng, n_samples):
    x, y = rng.normal(size=(n_samples, 3)), rng.normal(size=(n_samples, 2))
    found = RidgeAligner(rank="auto").fit(x, y)
    np.testing.assert_array_equal(np.isfinite(found.transform(x)), True)
    same = RidgeAligner().fit(np.ones((4, 3)), np.arange(4.0))
    np.testing.assert_allclose(same.transform(np.ones((1, 3))), 1.5)


def test_copies_of_a_row_are_in_one_fold(rng):
    rows = np.repeat(rng.normal(size=(50, 3)), 4, axis=0)
    folds = fold_rows(row_keys(ThreadsEngine(), rows, 0), 5).reshape(50, 4)
    assert (folds == folds[:, :1]).all()
    assert list(np.bincount(folds[:, 0])) == [10] * 5


def test_copies_do_not_pass_for_evidence(rng):
    x, y = rng.normal(size=(40, 20)), rng.normal(size=(40, 3))
    once = RidgeAligner().fit(x, y)
    often = RidgeAligner().fit(np.tile(x, (10, 1)), np.tile(y, (10, 1)))
    # A penalty of all rows is ten times one of each.
    assert once.shrinkage_ == often.shrinkage_ >= 1.0


def test_the_order_of_rows_does_not_matter(rng):
    x, y = noisy(rng, 700)
    order = rng.permutation(len(x))
    found, other = RidgeAligner().fit(x, y), RidgeAligner().fit(x[order], y[order])
    assert found.shrinkage_ == other.shrinkage_
    np.testing.assert_allclose(found.linear_, other.linear_, atol=1e-10)


def test_moments_of_folds_are_those_of_their_rows(rng):
    x, y = noisy(rng, 90)
    folds = (np.arange(90) % 3).astype(np.int8)
    found = fold_moments(ThreadsEngine(block_rows=7), x + 1e4, y, folds)
    rest, own = next(found.pairs())
    mean = (x + 1e4)[folds != 0].mean(axis=0)
    np.testing.assert_allclose(rest.source_mean, mean)
    centred, other = x[folds == 0] + 1e4 - mean, y[folds == 0] - y[folds != 0].mean(axis=0)
    np.testing.assert_allclose(own.scatter, centred.T @ centred, rtol=1e-7)
    np.testing.assert_allclose(own.cross, centred.T @ other, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(own.target_scatter, (other**2).sum())


def test_the_error_is_that_of_new_rows(rng):
    x, y = noisy(rng, 4000, noise=4.0)
    found = fit_ridge(ThreadsEngine(), x[:2000], y[:2000])
    fresh = ((y[2000:] - found.map.predict(x[2000:])) ** 2).sum()
    fresh /= ((y[2000:] - y[2000:].mean(axis=0)) ** 2).sum()
    assert found.error == pytest.approx(fresh, rel=0.1)


REFUSED = {
    "word": ({"shrinkage": "some"}, "shrinkage is 'some': give 'auto' or a number of at least 0"),
    "below": ({"shrinkage": -1}, "shrinkage is -1, but it must be a finite number of at least 0"),
    "rank word": ({"rank": "low"}, "rank is 'low': give None, 'auto' or a whole number"),
    "no rank": ({"rank": 0}, "rank is 0, but it must be a whole number of at least 1"),
    "too much": ({"rank": 8}, "rank is 8, but a map between these rows has at most rank 7"),
    "length": ({"length": "unit"}, "length is 'unit': give None, 'target' or a positive number"),
    "negative": ({"length": -1.0}, "length is -1.0: give None, 'target' or a positive number"),
}


@pytest.mark.parametrize(("changes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_in_words(rng, changes, message):
    with pytest.raises(InputError, match=message):
        RidgeAligner(**changes).fit(*noisy(rng, 30))


def test_a_map_of_less_rank_has_no_inverse(rng):
    x = rng.normal(size=(50, 3))
    found = RidgeAligner(rank=2).fit(x, x)
    with pytest.raises(InputError, match="rank 2 on 3 source coordinates and no inverse"):
        found.inverse_transform(x)
    back = RidgeAligner().fit(x, 2 * x + 1).inverse_transform(2 * x + 1)
    np.testing.assert_allclose(back, x, atol=ROUNDING)
