"""Whitening against scikit-learn and against what whitening means."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage, oas
from sklearn.decomposition import PCA

from upto import ThreadsEngine, TorchEngine
from upto.core import InputError
from upto.ica import Whitener

ROUNDING = 1e-10
METHODS = ("pca", "zca", "cholesky")
SEEDS = range(3)
N_ROWS, WIDTH = 700, 5

ENGINES = {
    "threads": lambda: ThreadsEngine(block_rows=90),
    "torch": lambda: pytest.importorskip("torch") and TorchEngine(device="cpu", block_rows=90),
}

each_seed = pytest.mark.parametrize("seed", SEEDS)
each_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]()


def correlated(seed, n_rows=N_ROWS, width=WIDTH):
    rng = np.random.default_rng(seed)
    return rng.laplace(size=(n_rows, width)) @ rng.normal(size=(width, width)) + 10


def covariance(rows):
    """Return the covariance over n, not n - 1: white rows have mean square one exactly."""
    return np.cov(rows.T, bias=True).reshape(rows.shape[1], -1)


@each_seed
def test_principal_whitening_is_that_of_scikit_learn_up_to_sign(seed, engine):
    rows = correlated(seed)
    ours = Whitener(engine=engine).fit(rows)
    peer = PCA(whiten=True, svd_solver="full").fit(rows)
    # Scikit-learn divides by n - 1 where we divide by n.
    wanted = peer.transform(rows) * np.sqrt(N_ROWS / (N_ROWS - 1))
    found = ours.transform(rows)
    signs = np.sign((found * wanted).sum(axis=0))
    np.testing.assert_allclose(found * signs, wanted, atol=ROUNDING)
    np.testing.assert_allclose(
        ours.explained_variance_, peer.explained_variance_ * (N_ROWS - 1) / N_ROWS, rtol=ROUNDING
    )
    assert ours.rank_ == WIDTH


@each_seed
@each_method
def test_white_rows_have_the_identity_for_covariance_and_lead_back_exactly(method, seed, engine):
    rows = correlated(seed)
    whitener = Whitener(method=method, engine=engine).fit(rows)
    white = whitener.transform(rows)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=ROUNDING)
    np.testing.assert_allclose(covariance(white), np.eye(WIDTH), atol=ROUNDING)
    np.testing.assert_allclose(whitener.inverse_transform(white), rows, atol=ROUNDING)
    product = whitener.whitening_ @ whitener.unwhitening_
    np.testing.assert_allclose(product, np.eye(WIDTH), atol=ROUNDING)


@each_seed
def test_zca_is_symmetric_and_closest_to_the_centred_rows(seed):
    rows = correlated(seed)
    whitener = Whitener(method="zca").fit(rows)
    np.testing.assert_allclose(whitener.whitening_, whitener.whitening_.T, atol=ROUNDING)
    assert np.linalg.eigvalsh(whitener.whitening_)[0] > 0
    centred = rows - rows.mean(axis=0)
    own = np.square(centred - whitener.transform(rows)).sum()
    for method in ("pca", "cholesky"):
        other = Whitener(method=method).fit_transform(rows)
        assert np.square(centred - other).sum() > own * (1 + 1e-6)


@each_seed
def test_cholesky_is_lower_triangular_both_ways(seed):
    rows = correlated(seed)
    whitener = Whitener(method="cholesky").fit(rows)
    for matrix in (whitener.whitening_, whitener.unwhitening_):
        np.testing.assert_array_equal(np.triu(matrix, 1), 0)
        assert np.diag(matrix).min() > 0
    product = whitener.unwhitening_ @ whitener.unwhitening_.T
    np.testing.assert_allclose(product, covariance(rows), rtol=ROUNDING)


DEFICIENT = {
    "a dead column": lambda x: np.insert(x, 1, 3.0, axis=1),
    "a duplicated column": lambda x: x[:, [0, 1, 2, 3, 4, 2]],
    "a wider space": lambda x: x @ np.random.default_rng(5).normal(size=(WIDTH, 9)),
    "coordinates 1e8 apart": lambda x: np.column_stack([x * [1e-8, 1, 1e8, 1, 1], x[:, :1]]),
}


@each_seed
@pytest.mark.parametrize("method", ["pca", "zca"])
@pytest.mark.parametrize("change", DEFICIENT.values(), ids=DEFICIENT)
def test_what_the_rows_do_not_span_is_left_out(change, method, seed):
    rows = change(correlated(seed))
    whitener = Whitener(method=method).fit(rows)
    assert whitener.rank_ == WIDTH
    white = whitener.transform(rows)
    scale = np.abs(rows).max()
    np.testing.assert_allclose(whitener.inverse_transform(white), rows, atol=1e-9 * scale)
    values = np.linalg.eigvalsh(covariance(white))
    np.testing.assert_allclose(values[-WIDTH:], 1, atol=1e-7)
    np.testing.assert_allclose(values[:-WIDTH], 0, atol=1e-7)


@pytest.mark.parametrize("scale", [1e-150, 1e-9, 1e9, 1e150])
@each_method
def test_white_rows_do_not_depend_on_the_scale(method, scale):
    rows = correlated(0)
    wanted = Whitener(method=method).fit_transform(rows - rows.mean(axis=0))
    np.testing.assert_allclose(
        Whitener(method=method).fit_transform(scale * rows), wanted, atol=1e-9
    )


def test_a_rank_tolerance_leaves_narrow_directions_out(rng):
    rows = rng.normal(size=(500, 3)) @ np.diag([1.0, 1.0, 1e-3]) + 0.0
    mixed = rows @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert Whitener().fit(mixed).rank_ == 3
    assert Whitener(rank_tolerance=1e-4).fit(mixed).rank_ == 2


@pytest.mark.parametrize("method", ["pca", "zca"])
@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_number_of_components_keeps_the_widest_directions(method, count):
    rows = correlated(1)
    whitener = Whitener(count, method=method).fit(rows)
    peer = PCA(count, svd_solver="full").fit(rows)
    np.testing.assert_allclose(
        whitener.inverse_transform(whitener.transform(rows)),
        peer.inverse_transform(peer.transform(rows)),
        atol=1e-9,
    )
    assert len(whitener.explained_variance_) == count


def test_a_share_keeps_the_fewest_directions_that_reach_it():
    rows = correlated(2)
    values = np.linalg.eigvalsh(covariance(rows))[::-1]
    shares = np.cumsum(values) / values.sum()
    for count, share in enumerate(shares[:-1], 1):
        assert len(Whitener(float(share) - 1e-9).fit(rows).whitening_) == count
        assert len(Whitener(float(share) + 1e-9).fit(rows).whitening_) == count + 1


@each_method
def test_a_subset_of_the_rows_can_be_whitened_by_mask_or_by_position(method, rng):
    rows = correlated(0)
    positions = rng.choice(N_ROWS, 200, replace=False)
    mask = np.isin(np.arange(N_ROWS), positions)
    wanted = Whitener(method=method).fit(rows[mask])
    for subset in (mask, mask.tolist(), positions, positions.tolist(), positions - N_ROWS):
        found = Whitener(method=method).fit(rows, subset=subset)
        np.testing.assert_allclose(found.transform(rows), wanted.transform(rows), atol=1e-9)
    np.testing.assert_allclose(covariance(found.transform(rows[mask])), np.eye(WIDTH), atol=1e-9)
    assert np.abs(covariance(found.transform(rows)) - np.eye(WIDTH)).max() > 0.01


def shrunk(rows, amount):
    """Pull a covariance towards the multiple of the identity with the same trace."""
    found = covariance(rows)
    return (1 - amount) * found + amount * np.trace(found) / len(found) * np.eye(len(found))


AMOUNTS = {
    "ledoit-wolf": lambda rows: ledoit_wolf_shrinkage(rows),
    "oas": lambda rows: oas(rows)[1],
    0.25: lambda rows: 0.25,
    1.0: lambda rows: 1.0,
}


@each_seed
@pytest.mark.parametrize("n_rows", [4, 40, 700])
@pytest.mark.parametrize("shrinkage", ["ledoit-wolf", "oas", 0.25, 1.0])
def test_shrinkage_is_that_of_scikit_learn(shrinkage, n_rows, seed, engine):
    rows = correlated(seed, n_rows) - 10
    amount = AMOUNTS[shrinkage](rows)
    whitener = Whitener(method="cholesky", shrinkage=shrinkage, engine=engine).fit(rows)
    product = whitener.unwhitening_ @ whitener.unwhitening_.T
    np.testing.assert_allclose(product, shrunk(rows, amount), rtol=ROUNDING, atol=ROUNDING)


def test_no_shrinkage_is_none_at_all():
    rows = correlated(0)
    nothing = Whitener(shrinkage=0.0).fit(rows).whitening_
    np.testing.assert_array_equal(nothing, Whitener().fit(rows).whitening_)


def test_shrinkage_far_from_the_origin_is_the_same():
    rows = correlated(0, 60)
    for shrinkage in ("ledoit-wolf", "oas"):
        near = Whitener(shrinkage=shrinkage, method="zca").fit(rows)
        far = Whitener(shrinkage=shrinkage, method="zca").fit(rows + 1e6)
        np.testing.assert_allclose(far.whitening_, near.whitening_, rtol=1e-6, atol=1e-8)


REFUSED = {
    "method": (Whitener(method="qr"), {}, "no method 'qr': choose one of pca, zca, cholesky"),
    "shrinkage": (Whitener(shrinkage="lw"), {}, "no shrinkage 'lw': give ledoit-wolf, oas or"),
    "amount": (Whitener(shrinkage=1.5), {}, "shrinkage is 1.5: it must be between 0 and 1"),
    "components": (Whitener(0), {}, "n_components is 0: give a number of directions"),
    "half a component": (Whitener(2.5), {}, "n_components is 2.5: give a number of directions"),
    "engine": (Whitener(engine="spark"), {}, "there is no engine 'spark'"),
    "kept": (Whitener(2, method="cholesky"), {}, "2 of 5 directions are kept: use pca or zca"),
    "mask": (Whitener(), {"subset": [True, False]}, r"mask of rows has shape (2,), but X has 700"),
    "position": (
        Whitener(),
        {"subset": [0, 900]},
        "cannot be selected: index 900 is out of",
    ),
    "words": (Whitener(), {"subset": ["a", "b"]}, "the rows to fit on cannot be selected"),
    "halves": (Whitener(), {"subset": [0.5, 1.5]}, "the rows to fit on cannot be selected"),
    "one row": (Whitener(), {"subset": [3]}, "1 of the rows are selected: at least two are needed"),
    "no row": (Whitener(), {"subset": np.zeros(700, bool)}, "0 of the rows are selected"),
    "pairs": (Whitener(), {"subset": [[0, 1], [2, 3]]}, "rows to fit on have shape (2, 2): give"),
}


@pytest.mark.parametrize(("whitener", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_refused_in_words(whitener, options, message):
    with pytest.raises(InputError) as caught:
        whitener.fit(correlated(0), **options)
    assert message in str(caught.value)


def test_what_has_no_whitening_is_refused_in_words():
    rows = correlated(0)
    with pytest.raises(InputError, match="all rows are equal"):
        Whitener().fit(np.ones((9, 3)))
    with pytest.raises(InputError, match="needs full rank, but 5 of 6 directions"):
        Whitener(method="cholesky").fit(rows[:, [0, 1, 2, 3, 4, 0]])
    shrunk = Whitener(method="cholesky", shrinkage=0.1).fit(rows[:, [0, 1, 2, 3, 4, 0]])
    assert shrunk.rank_ == 6
    with pytest.raises(ValueError, match="NaN"):
        Whitener().fit(np.where(rows > 12, np.nan, rows))
    with pytest.raises(ValueError, match="X has 4 features, but Whitener is expecting 5"):
        Whitener().fit(rows).transform(rows[:, :4])
