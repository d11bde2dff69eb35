"""Narrow directions: kept as far as the precision of the rows tells them from rounding."""

from __future__ import annotations

import numpy as np
import pytest
from mixtures import mismatch, planted
from sklearn.decomposition import FastICA

import upto
from upto import ICA, ThreadsEngine, TorchEngine, Whitener
from upto.engines import row_moments
from upto.ica.components import whitening_for

KINDS = ("laplace", "uniform") * 3
WIDTH, N_ROWS = len(KINDS), 4000
RECOVERED = 0.02

ENGINES = {
    "threads": lambda: ThreadsEngine(block_rows=900),
    "torch": lambda: pytest.importorskip("torch") and TorchEngine(device="cpu", block_rows=900),
}


def ill_conditioned(condition, seed=0, n_rows=N_ROWS):
    """Return sources and their mixture by a matrix of this condition, its axes at random."""
    rng = np.random.default_rng(seed)
    sources = planted(rng, n_rows, KINDS)
    left, right = (np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0] for _ in range(2))
    spread = np.geomspace(1.0, 1.0 / condition, WIDTH)
    return sources, sources @ (left * spread) @ right


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("condition", [1e4, 3e5, 1e6, 1e8, 1e10, 1e12])
def test_all_sources_are_recovered_from_ill_conditioned_mixtures(condition, seed):
    sources, rows = ill_conditioned(condition, seed)
    ica = ICA(random_state=seed).fit(rows)
    assert ica.components_.shape == (WIDTH, WIDTH)
    found = ica.transform(rows)
    assert mismatch(found, sources) < RECOVERED
    # Products with one matrix round by the condition, whatever it was found by.
    rounding = 1e-9 + 1e-15 * condition
    np.testing.assert_allclose(np.cov(found.T, bias=True), np.eye(WIDTH), atol=1e-5 + rounding)
    np.testing.assert_allclose(ica.components_ @ ica.mixing_, np.eye(WIDTH), atol=rounding)
    np.testing.assert_allclose(ica.inverse_transform(found), rows, atol=rounding)


def test_they_are_those_of_scikit_learn():
    _, rows = ill_conditioned(1e6)
    peer = FastICA(whiten="unit-variance", whiten_solver="svd", tol=1e-12, max_iter=1000)
    ours = ICA(tolerance=1e-9, random_state=0).fit_transform(rows)
    assert mismatch(ours, peer.set_params(random_state=0).fit_transform(rows)) < 1e-6


@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_white_coordinates_are_those_of_a_singular_value_decomposition(engine):
    _, rows = ill_conditioned(1e8)
    rows = rows * np.geomspace(1e-4, 1e4, WIDTH) + 2.0
    whitener = Whitener(engine=engine()).fit(rows)
    assert whitener.rank_ == WIDTH
    white = whitener.transform(rows)
    centred = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    left = np.linalg.svd(centred, full_matrices=False)[0] * np.sqrt(N_ROWS)
    # The same space, so one rotation leads from these to those.
    product = white.T @ left / N_ROWS
    np.testing.assert_allclose(product @ product.T, np.eye(WIDTH), atol=1e-5)


COLUMNS = {
    "as they are": np.ones(WIDTH),
    "twelve decades apart": np.geomspace(1e-6, 1e6, WIDTH),
    "all large": np.full(WIDTH, 1e100),
}


@pytest.mark.parametrize("scales", COLUMNS.values(), ids=COLUMNS)
def test_scales_of_columns_do_not_matter(scales):
    sources, rows = ill_conditioned(1e6)
    found = ICA(random_state=0).fit_transform(rows * scales)
    assert found.shape == sources.shape
    assert mismatch(found, sources) < RECOVERED


@pytest.mark.parametrize("change", ["doubled", "wider", "a sum"])
@pytest.mark.parametrize("condition", [1.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mean", [0.0, 100.0])
def test_rounding_is_no_direction(condition, change, dtype, mean):
    if dtype is np.float32 and condition > 1:
        condition = 1e3
    _, rows = ill_conditioned(condition)
    rng = np.random.default_rng(5)
    rows = rows + mean * rows.std(axis=0)
    if change == "wider":
        rows = rows @ rng.normal(size=(WIDTH, 3 * WIDTH))
    else:
        more = rows[:, :2] if change == "doubled" else rows.sum(axis=1, keepdims=True)
        rows = np.hstack([rows, more])
    rows = rows.astype(dtype)
    assert Whitener().fit(rows).rank_ == WIDTH
    # What was rounded to single precision is no more precise as doubles.
    assert Whitener().fit(rows.astype(np.float64)).rank_ == WIDTH


def test_some_rows_only_have_the_directions_of_these():
    _, rows = ill_conditioned(1e6)
    keep = np.arange(N_ROWS) % 3 > 0
    engine = ThreadsEngine(n_threads=1)
    part = row_moments(engine, rows[keep])
    found = whitening_for(engine, rows, part, keep=keep)
    white = (rows[keep] - found.mean) @ found.matrix.T
    np.testing.assert_allclose(white.T @ white / keep.sum(), np.eye(WIDTH), atol=1e-5)


def test_a_tolerance_that_is_given_is_kept():
    _, rows = ill_conditioned(1e6)
    for tolerance, rank in ((1e-13, 6), (1e-11, 5), (1e-4, 2), (1e-9, 4)):
        assert Whitener(rank_tolerance=tolerance).fit(rows).rank_ == rank
        found = ICA(rank_tolerance=tolerance, random_state=0).fit(rows)
        assert len(found.components_) == rank


def test_components_that_cannot_be_had_are_named():
    _, rows = ill_conditioned(1e6)
    with pytest.warns(UserWarning, match=r"n_components is too large: it will be set to 5"):
        found = ICA(6, rank_tolerance=1e-11, random_state=0).fit(rows)
    assert len(found.components_) == 5


def test_what_was_dropped_is_a_finding():
    _, rows = ill_conditioned(1e6)
    assert "UP008" not in {each.code for each in upto.unmix(rows).findings}
    found = upto.unmix(rows, rank_tolerance=1e-11)
    (finding,) = [each for each in found.findings if each.code == "UP008"]
    assert "1 of 6 directions of run" in finding.message
    assert "rank tolerance" in finding.message
    rounded = upto.unmix(ill_conditioned(1e8)[1].astype(np.float32))
    (finding,) = [each for each in rounded.findings if each.code == "UP008"]
    assert "single precision" in finding.message
    assert len(rounded.components) == rounded.rank < WIDTH


def test_rows_of_exactly_fewer_dimensions_are_no_such_finding():
    _, rows = ill_conditioned(10.0)
    found = upto.unmix(np.hstack([rows, rows[:, :1]]))
    codes = {each.code for each in found.findings}
    assert "UP002" in codes
    assert "UP008" not in codes
