"""What the estimator says of rows that cannot settle its map."""

import warnings

import numpy as np
import pytest

from upto.align import Aligner


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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Aligner(up_to).fit(*runs(n_samples, 10))
