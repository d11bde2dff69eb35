"""Components do not depend on how the rows are written, ordered, cut or sent."""

from __future__ import annotations

import pickle

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixtures import planted, some_gaussian, sources_of

from upto import ICA, ThreadsEngine, TorchEngine
from upto.ica import find_components

pytestmark = pytest.mark.slow

SAME_SOURCES = 1e-5
SAME_ON_ENGINES = 1e-6
KINDS = ("laplace", "uniform", "skewed", "two values")
N_ROWS, WIDTH = 1200, 4
SOURCES = planted(np.random.default_rng(2), N_ROWS, KINDS)
ENGINE = ThreadsEngine(n_threads=1)

seeds = st.integers(0, 2**32 - 1)
solvers = st.sampled_from(["auto", "fastica", "picard"])


def fitted(rows, **options):
    return find_components(options.pop("engine", ENGINE), rows, **{"tolerance": 1e-9} | options)


def invertible(rng, decades, n_rows=WIDTH, n_columns=WIDTH):
    """Return a map whose singular values span some powers of ten, of a random size."""
    left, _ = np.linalg.qr(rng.normal(size=(n_rows, n_rows)))
    right, _ = np.linalg.qr(rng.normal(size=(n_columns, n_rows)))
    values = np.logspace(0, -decades, n_rows) * 10.0 ** rng.uniform(-6, 6)
    return (left * values) @ right.T


WANTED = sources_of(fitted(SOURCES), SOURCES)
TURNING = planted(np.random.default_rng(1), 1500, some_gaussian(8, 10))
WANTED_BESIDE = sources_of(fitted(TURNING), TURNING)


@given(seed=seeds, decades=st.floats(0, 4), shift=st.floats(0, 100), solver=solvers)
def test_an_invertible_map_of_the_rows_changes_no_source(seed, decades, shift, solver):
    """Not even by a signed permutation, since order and signs follow from the sources."""
    rng = np.random.default_rng(seed)
    rows = SOURCES @ invertible(rng, decades)
    rows = rows + shift * rows.std() * rng.normal(size=WIDTH)
    found = fitted(rows, seed=seed % 97, solver=solver)
    assert found.converged
    np.testing.assert_allclose(sources_of(found, rows), WANTED, atol=SAME_SOURCES)


@given(seed=seeds, decades=st.floats(0, 4), extra=st.integers(1, 5))
def test_a_map_into_a_wider_space_changes_no_source(seed, decades, extra):
    rng = np.random.default_rng(seed)
    rows = SOURCES @ invertible(rng, decades, n_columns=WIDTH + extra)
    found = fitted(rows)
    assert len(found.components) == WIDTH
    np.testing.assert_allclose(sources_of(found, rows), WANTED, atol=SAME_SOURCES)


@given(seed=seeds, decades=st.floats(0, 4))
def test_a_map_changes_neither_clear_components_nor_the_span_of_those_that_turn(seed, decades):
    rows = TURNING @ invertible(np.random.default_rng(seed), decades, 10, 10)
    found = fitted(rows, seed=seed % 97)
    np.testing.assert_array_equal(found.frozen, [False] * 2 + [True] * 8)
    sources = sources_of(found, rows)
    np.testing.assert_allclose(sources[:, :2], WANTED_BESIDE[:, :2], atol=1e-4)
    within = WANTED_BESIDE[:, 2:].T @ sources[:, 2:] / len(rows)
    np.testing.assert_allclose(within @ within.T, np.eye(8), atol=1e-6)


@given(seed=seeds, solver=solvers)
def test_the_order_of_the_rows_changes_nothing(seed, solver):
    order = np.random.default_rng(seed).permutation(N_ROWS)
    found = fitted(SOURCES[order], solver=solver)
    np.testing.assert_allclose(sources_of(found, SOURCES), WANTED, atol=SAME_SOURCES)


@given(seed=seeds)
def test_another_seed_gives_the_same_file(seed):
    ica = ICA(random_state=seed, tolerance=1e-9).fit(SOURCES)
    np.testing.assert_allclose(ica.transform(SOURCES), WANTED, atol=SAME_SOURCES)


def test_the_same_seed_gives_the_same_bits():
    first, second = (fitted(SOURCES, seed=3).components for _ in range(2))
    np.testing.assert_array_equal(first, second)


class PicklingEngine(ThreadsEngine):
    """Send everything through pickle, as a cluster does."""

    __slots__ = ()

    def reduce_blocks(self, statistic, *rows, params=(), combine=None, dtype="float64"):
        statistic, params, combine = pickle.loads(pickle.dumps((statistic, params, combine)))
        return pickle.loads(
            pickle.dumps(
                ThreadsEngine.reduce_blocks(
                    self, statistic, *rows, params=params, combine=combine, dtype=dtype
                )
            )
        )


ENGINES = {
    "tiny blocks": lambda: ThreadsEngine(block_rows=7),
    "odd blocks": lambda: ThreadsEngine(block_rows=33, n_threads=1),
    "odd blocks on threads": lambda: ThreadsEngine(block_rows=33, n_threads=4),
    "one block": lambda: ThreadsEngine(block_rows=10**6),
    "array-api-strict": lambda: ThreadsEngine(namespace=array_api_strict, block_rows=100),
    "pickling": lambda: PicklingEngine(block_rows=50),
    "torch": lambda: pytest.importorskip("torch") and TorchEngine(device="cpu", block_rows=64),
}


@pytest.mark.parametrize("whiten", ["unit-variance", "rotation"])
@pytest.mark.parametrize("contrast", ["logcosh", "exp", "cube"])
@pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)
def test_every_engine_finds_the_same_components(make, contrast, whiten):
    rng = np.random.default_rng(8)
    rows = SOURCES @ np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    options = {"contrast": contrast, "whiten": whiten, "random_state": 0, "tolerance": 1e-8}
    wanted = ICA(engine=ENGINE, **options).fit(rows)
    found = ICA(engine=make(), **options).fit(rows)
    for name in ("components_", "mixing_", "mean_", "whitening_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(wanted, name), atol=SAME_ON_ENGINES, err_msg=name
        )


@pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)
def test_every_engine_finds_the_same_components_of_many_restarts(make):
    rows = SOURCES[:400]
    wanted = ICA(engine=ENGINE, restarts=4, random_state=0).fit(rows)
    found = ICA(engine=make(), restarts=4, random_state=0).fit(rows)
    np.testing.assert_allclose(found.components_, wanted.components_, atol=SAME_SOURCES)
    np.testing.assert_allclose(found.stability_, wanted.stability_, atol=1e-4)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_number_of_threads_changes_no_bit(n_threads):
    wanted = fitted(SOURCES, engine=ThreadsEngine(n_threads=1, block_rows=100))
    found = fitted(SOURCES, engine=ThreadsEngine(n_threads=n_threads, block_rows=100))
    np.testing.assert_array_equal(found.components, wanted.components)
