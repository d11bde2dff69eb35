"""What the estimator says of rows that cannot settle its map."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score

from upto.alignment import Aligner


def runs(n_samples, n_features):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_samples, n_features))
    return x, x @ rng.normal(size=(n_features, n_features))


@pytest.mark.parametrize(
    ("up_to", "n_samples"), [("affine", 250), ("affine", 512), ("rigid", 250), ("similarity", 256)]
)
def test_too_few_rows_are_warned_of(up_to, n_samples):
    with pytest.warns(UserWarning, match=f"{n_samples} rows of 256 coordinates are too few"):
        Aligner(up_to).fit(*runs(n_samples, 256))


@pytest.mark.parametrize(
    ("up_to", "n_samples"),
    [("affine", 21), ("rigid", 11), ("similarity", 11), ("signed-permutation", 4)],
)
def test_rows_enough_are_not(up_to, n_samples):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Aligner(up_to).fit(*runs(n_samples, 10))
    assert not seen


def test_a_search_finds_the_group(rng):
    x = rng.normal(size=(120, 3)) * [1, 2, 3]
    y = x @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + 0.1 * rng.normal(size=x.shape)
    groups = ["identity", "signed-permutation", "rigid"]
    search = GridSearchCV(Aligner(), {"up_to": groups}, cv=3).fit(x, y)
    assert search.best_params_ == {"up_to": "rigid"}
    assert search.best_score_ > 0.99
    assert (cross_val_score(Aligner("rigid"), x, y, cv=3) > 0.99).all()


def test_the_score_is_the_share_of_the_variance_of_all_coordinates(rng):
    x = rng.normal(size=(100, 2)) * [1, 10]
    y = x + rng.normal(size=x.shape)
    aligner = Aligner("identity").fit(x, y)
    left, total = ((y - x) ** 2).sum(), ((y - y.mean(axis=0)) ** 2).sum()
    assert aligner.score(x, y) == pytest.approx(1 - left / total)
    weights = rng.uniform(size=100)
    weighted = r2_score(y, x, sample_weight=weights, multioutput="variance_weighted")
    assert aligner.score(x, y, weights) == pytest.approx(weighted)


def test_one_column_has_a_score(rng):
    x = rng.normal(size=(100, 1))
    assert Aligner("affine").fit(x, 2 * x[:, 0]).score(x, 2 * x[:, 0]) == pytest.approx(1.0)
