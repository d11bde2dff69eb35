"""ICA against scikit-learn and against planted sources."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from sklearn.decomposition import FastICA

from upto.core import InputError
from upto.engines import ThreadsEngine, cross_moments
from upto.unmix import Unmixing, fast_ica, nongaussianity, whitening_root
from upto.unmix.fastica import GAUSSIAN_LOGCOSH

ROUNDING = 1e-9
# Both stop near the same fixed point; this is the squared angle they may differ by.
SAME_SOURCES = 1e-6
# Sources of a finite sample are recovered up to sampling noise.
RECOVERED = 0.02
GAUSSIAN_BELOW = 3.0
NON_GAUSSIAN_ABOVE = 6.0

ENGINE = ThreadsEngine(n_threads=1)
N_ROWS, N_SOURCES = 3000, 4


def planted(rng, n_rows=N_ROWS):
    """Draw independent sources of unit variance, two with heavy and two with light tails."""
    heavy = rng.laplace(size=(n_rows, 2)) / np.sqrt(2)
    light = rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n_rows, 2))
    return np.column_stack([heavy, light])


def mixed(rng, n_rows=N_ROWS, width=N_SOURCES):
    sources = planted(rng, n_rows)
    return sources, sources @ rng.normal(size=(N_SOURCES, width))


def unmixed(rows, **options) -> Unmixing:
    moments = cross_moments(ENGINE, rows, rows[:, :1]).source
    options = {"tolerance": 1e-10} | options
    return fast_ica(ENGINE, rows, moments.mean, moments.scatter / moments.weight, **options)


def sources_of(unmixing, rows):
    return (rows - unmixing.mean) @ unmixing.components.T


def mismatch(first, second) -> float:
    """Return one minus the smallest |correlation| under the best one-to-one matching."""
    width = first.shape[1]
    correlation = np.abs(np.corrcoef(first.T, second.T)[:width, width:])
    matched = scipy.optimize.linear_sum_assignment(correlation, maximize=True)
    return float(1 - correlation[matched].min())


def contrast(sources) -> float:
    """Return the summed squared distance of the log cosh contrast from a Gaussian's."""
    values = np.log(np.cosh(sources)).mean(axis=0) - GAUSSIAN_LOGCOSH
    return float(np.square(values).sum())


def assert_consistent(unmixing, rows, rank):
    """Check everything that holds whatever the components are."""
    assert unmixing.components.shape == (rank, rows.shape[1])
    assert unmixing.mixing.shape == (rows.shape[1], rank)
    sources = sources_of(unmixing, rows)
    assert np.isfinite(sources).all()
    np.testing.assert_allclose(sources.T @ sources / len(rows), np.eye(rank), atol=1e-5)
    np.testing.assert_allclose(unmixing.rotation @ unmixing.rotation.T, np.eye(rank), atol=1e-7)
    np.testing.assert_allclose(unmixing.components @ unmixing.mixing, np.eye(rank), atol=1e-5)
    projector = unmixing.mixing @ unmixing.components
    np.testing.assert_allclose(projector, projector.T, atol=1e-5)
    np.testing.assert_allclose(projector @ projector, projector, atol=1e-5)
    back = sources @ unmixing.mixing.T + unmixing.mean
    np.testing.assert_allclose(back, rows, atol=1e-5 * np.abs(rows).max())


def test_the_contrast_of_a_gaussian_is_the_constant_we_use():
    density = lambda x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)  # noqa: E731
    wanted, _ = scipy.integrate.quad(lambda x: np.log(np.cosh(x)) * density(x), -20, 20)
    np.testing.assert_allclose(GAUSSIAN_LOGCOSH, wanted, rtol=ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_sources_are_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    _, rows = mixed(rng)
    oracle = FastICA(
        whiten="unit-variance", fun="logcosh", tol=1e-10, max_iter=1000, random_state=seed
    )
    wanted = oracle.fit_transform(rows)
    ours = unmixed(rows)
    assert ours.converged
    found = sources_of(ours, rows)
    assert mismatch(found, wanted) < SAME_SOURCES
    np.testing.assert_allclose(contrast(found), contrast(wanted), rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_planted_sources_are_recovered(seed):
    sources, rows = mixed(np.random.default_rng(seed))
    found = unmixed(rows, seed=seed)
    assert mismatch(sources_of(found, rows), sources) < RECOVERED
    assert_consistent(found, rows, N_SOURCES)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_another_start_gives_the_same_sources(seed, rng):
    _, rows = mixed(rng)
    first, second = unmixed(rows, seed=0), unmixed(rows, seed=seed)
    assert mismatch(sources_of(first, rows), sources_of(second, rows)) < SAME_SOURCES


def test_the_same_seed_gives_the_same_bits(rng):
    _, rows = mixed(rng)
    np.testing.assert_array_equal(unmixed(rows).components, unmixed(rows).components)


@pytest.mark.parametrize(
    "mixing",
    [
        lambda rng: rng.normal(size=(N_SOURCES, N_SOURCES)),
        lambda rng: np.diag([1e-2, 1.0, 1e2, -7.0]),
        lambda rng: np.linalg.qr(rng.normal(size=(7, N_SOURCES)))[0].T,
    ],
    ids=["invertible", "scaled coordinates", "into a wider space"],
)
def test_unmixing_does_not_depend_on_the_mixing(mixing, rng):
    _, rows = mixed(rng)
    wanted = sources_of(unmixed(rows), rows)
    other = rows @ mixing(rng) + 5
    found = unmixed(other)
    assert mismatch(sources_of(found, other), wanted) < SAME_SOURCES


TROUBLE = {
    "a dead coordinate": lambda x: np.insert(x, 1, 7.0, axis=1),
    "two dead coordinates": lambda x: np.column_stack([np.zeros(len(x)), x, np.ones(len(x))]),
    "a duplicated coordinate": lambda x: x[:, [0, 1, 2, 3, 0]],
    "a dead and a duplicated coordinate": lambda x: np.insert(x[:, [0, 1, 2, 3, 3]], 0, 0, axis=1),
    "scale 1e-9": lambda x: 1e-9 * x,
    "scale 1e9": lambda x: 1e9 * x,
    "mean 1e3 sigma": lambda x: x + 1e3 * x.std(),
    "single precision": lambda x: x.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "rows in another order": lambda x: x[::-1],
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE)
def test_trouble_does_not_change_the_sources(trouble, rng):
    sources, rows = mixed(rng)
    other = trouble(rows)
    found = unmixed(other)
    assert found.converged
    planted_rows = sources[::-1] if other.base is rows and other.strides[0] < 0 else sources
    assert mismatch(sources_of(found, other), planted_rows) < RECOVERED
    assert_consistent(found, other, N_SOURCES)


@pytest.mark.parametrize(("n_rows", "width"), [(2, 5), (5, 20), (20, 20), (21, 20)])
def test_few_rows_have_as_many_components_as_they_span(n_rows, width, rng):
    rows = rng.laplace(size=(n_rows, width)) + 1e3
    found = unmixed(rows, max_iterations=30)
    assert_consistent(found, rows, min(n_rows - 1, width))


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 0], [0, 1, 2, 3, 3, 3]])
def test_components_that_never_settle_stay_in_the_span_of_the_rows(columns, rng):
    """Near-Gaussian rows take every iteration there is, and each could amplify rounding."""
    rows = (rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)))[:, columns]
    assert_consistent(unmixed(rows, tolerance=0, max_iterations=200), rows, 4)


def test_one_coordinate_has_one_component(rng):
    rows = rng.laplace(size=(100, 1))
    assert_consistent(unmixed(rows), rows, 1)


def test_a_warm_start_keeps_the_components_in_place(rng):
    _, rows = mixed(rng)
    cold = unmixed(rows)
    warm = unmixed(rows, start=cold.rotation, seed=99)
    assert warm.n_iterations == 1
    np.testing.assert_allclose(np.abs(np.diag(warm.rotation @ cold.rotation.T)), 1, atol=1e-8)


def test_a_warm_start_on_part_of_the_rows_keeps_their_order_up_to_sign(rng):
    _, rows = mixed(rng)
    cold = unmixed(rows)
    warm = unmixed(rows[: N_ROWS // 2], start=cold.rotation)
    assert warm.n_iterations < cold.n_iterations
    correlation = np.abs(
        np.corrcoef(sources_of(warm, rows).T, sources_of(cold, rows).T)[:N_SOURCES, N_SOURCES:]
    )
    np.testing.assert_array_equal(correlation.argmax(axis=1), np.arange(N_SOURCES))


@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_fewer_components_span_the_widest_directions(n_components, rng):
    rows = planted(rng) * [10.0, 5.0, 2.0, 1.0]
    found = unmixed(rows, n_components=n_components)
    assert found.components.shape == (n_components, N_SOURCES)
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    wanted = axes[:n_components].T @ axes[:n_components]
    np.testing.assert_allclose(found.mixing @ found.components, wanted, atol=1e-8)


def test_the_limit_of_iterations_is_kept_and_told(rng):
    _, rows = mixed(rng)
    found = unmixed(rows, max_iterations=1)
    assert (found.n_iterations, found.converged) == (1, False)


def test_equal_rows_are_refused():
    with pytest.raises(InputError, match="all rows are equal: there are no components to find"):
        unmixed(np.full((10, 3), 2.0))


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_the_whitening_root_is_symmetric_and_inverts_the_covariance_on_its_range(rank, rng):
    factor = rng.normal(size=(5, rank))
    covariance = factor @ factor.T
    inverse, root, found = whitening_root(covariance)
    assert found == rank
    projector = factor @ np.linalg.pinv(factor)
    np.testing.assert_allclose(root @ root, covariance, atol=ROUNDING)
    np.testing.assert_allclose(inverse, inverse.T, atol=ROUNDING)
    np.testing.assert_allclose(inverse @ covariance @ inverse, projector, atol=1e-7)
    np.testing.assert_allclose(inverse @ root, projector, atol=1e-7)


def as_components(rows) -> Unmixing:
    """Take the coordinates themselves as components, each brought to unit variance."""
    scale = np.diag(1 / rows.std(axis=0))
    return Unmixing(
        mean=rows.mean(axis=0),
        components=scale,
        mixing=np.linalg.inv(scale),
        whitening=scale,
        rotation=np.eye(len(scale)),
        n_iterations=0,
        converged=True,
    )


def test_gaussian_components_score_as_standard_errors_do(rng):
    rows = rng.normal(size=(2000, 300)) * 3 + 100
    scores = nongaussianity(ENGINE, rows, as_components(rows))
    assert scores.shape == (300,)
    # The absolute value of a standard normal: its root mean square is one.
    np.testing.assert_allclose(np.sqrt(np.mean(scores**2)), 1.0, atol=0.15)
    assert np.mean(scores < GAUSSIAN_BELOW) > 0.98


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, size: rng.laplace(size=size),
        lambda rng, size: rng.uniform(size=size),
        lambda rng, size: rng.choice([-1.0, 1.0], size=size),
    ],
    ids=["Laplace", "uniform", "two values"],
)
def test_other_components_score_high(draw, rng):
    rows = draw(rng, (2000, 50))
    assert nongaussianity(ENGINE, rows, as_components(rows)).min() > NON_GAUSSIAN_ABOVE


def test_gaussian_components_are_told_from_the_others_on_held_out_rows(rng):
    sources = np.column_stack([planted(rng, 4000), rng.normal(size=(4000, 2))])
    rows = sources @ rng.normal(size=(6, 6))
    fitted = unmixed(rows[:2000], tolerance=1e-4)
    held_out = rows[2000:]
    scores = nongaussianity(ENGINE, held_out, fitted)
    found = sources_of(fitted, held_out)
    share = np.square(np.corrcoef(found.T, sources[2000:].T)[:6, 6:])
    gaussian = share[:, 4:].sum(axis=1) > 0.5
    assert gaussian.sum() == 2
    assert scores[gaussian].max() < GAUSSIAN_BELOW
    assert scores[~gaussian].min() > NON_GAUSSIAN_ABOVE
