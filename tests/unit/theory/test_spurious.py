"""The test of fitted components, and the fits it is made of."""

from dataclasses import replace

import numpy as np
import pytest
from checks.components import EQUAL, ONE, ask
from sklearn.mixture import GaussianMixture

from upto.core import InputError
from upto.theory import bootstrap_components
from upto.theory.components_test import SLIGHT
from upto.theory.expectation import fit_mixtures


def two(rng, n_rows=200, apart=6.0):
    rows = rng.normal(size=(n_rows, 2)) * [1.0, 2.0]
    rows[: n_rows // 2] = rng.normal(size=(n_rows // 2, 2)) + apart
    return rows


@pytest.mark.parametrize("diagonal", [True, False])
def test_fits_are_those_of_scikit_learn(rng, diagonal):
    rows = two(rng)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    stack = np.stack([rows, rows[::-1]])
    found = fit_mixtures(stack, 2, np.random.default_rng(0), diagonal=diagonal)
    kind = "diag" if diagonal else "full"
    expected = GaussianMixture(2, covariance_type=kind, tol=1e-9, random_state=0).fit(rows)
    np.testing.assert_allclose(found.log_likelihood, expected.score(rows) * len(rows), atol=0.02)
    order, other = np.argsort(found.means[0, :, 0]), np.argsort(expected.means_[:, 0])
    np.testing.assert_allclose(found.means[0][order], expected.means_[other], atol=1e-2)
    np.testing.assert_allclose(found.weights[0][order], expected.weights_[other], atol=1e-2)


def test_data_sets_of_a_stack_do_not_see_each_other(rng):
    """A start is all that a data set takes from its place in the stack."""
    rows = two(rng)[None]
    start = fit_mixtures(rows, 2, np.random.default_rng(0), diagonal=True)
    other = np.concatenate([rng.normal(size=rows.shape), rows])
    alone = fit_mixtures(rows, 2, np.random.default_rng(1), diagonal=True, start=start)
    beside = fit_mixtures(other, 2, np.random.default_rng(1), diagonal=True, start=start)
    np.testing.assert_allclose(beside.means[1], alone.means[0], rtol=1e-10)


def test_one_component_less_does_or_does_not(rng):
    spurious = bootstrap_components(rng.normal(size=(150, 2)), 2)
    assert not spurious.are_needed
    assert not spurious.ratios_differ
    assert "may be spurious" in spurious.says
    real = bootstrap_components(two(rng), 2)
    assert real.fewer == 0.01
    assert real.ratios_differ
    # The ratios of full covariances are not those of independent coordinates.
    assert not bootstrap_components(two(rng), 2, diagonal=False, n_draws=19).ratios_differ


def test_components_of_equal_ratios_are_needed_but_do_not_differ(rng):
    rows = np.vstack([rng.normal(size=(100, 2)), 2 * rng.normal(size=(100, 2)) + 9])
    found = bootstrap_components(rows, 2)
    assert found.are_needed
    assert found.ratios > 0.05


def test_one_component_and_one_coordinate_are_answered(rng):
    assert bootstrap_components(rng.normal(size=(50, 2)), 1).fewer == 1.0
    rows = np.concatenate([rng.normal(size=100), rng.normal(size=100) + 9])[:, None]
    assert bootstrap_components(rows, 2).ratios_differ


def test_the_same_seed_gives_the_same_answer(rng):
    rows = rng.normal(size=(40, 1))
    assert bootstrap_components(rows, 2, seed=3) == bootstrap_components(rows, 2, seed=3)


def test_many_rows_are_sampled(rng):
    rows = rng.normal(size=(5000, 1))
    found = bootstrap_components(rows, 2, n_draws=19)
    assert found.n_rows == 4000
    # Which ones does not depend on their order.
    assert bootstrap_components(rng.permutation(rows), 2, n_draws=19) == found


@pytest.mark.slow
def test_independence_needs_a_limit_of_the_correlations(rng):
    found = bootstrap_components(two(rng, 800), 2)
    assert found.correlation < found.correlation_limit < SLIGHT
    assert found.are_nearly_independent
    few = replace(found, correlation_limit=0.21)
    assert not few.are_nearly_independent
    assert not few.ratios_differ
    assert "0.21 at most by their 95 % limit, where 0.2 would suffice" in few.says_of_shapes


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones(5), "are not n×d finite numbers"),
        (np.full((50, 2), np.nan), "are not n×d finite numbers"),
        (np.ones((10, 2)), "10 rows are too few"),
        (np.column_stack([np.arange(50.0), np.ones(50)]), "coordinate 2 of the rows is constant"),
    ],
)
def test_rows_that_cannot_tell_are_refused(rows, message):
    with pytest.raises(InputError, match=message):
        bootstrap_components(rows, 2)


@pytest.mark.slow
def test_the_check_counts_what_it_says():
    for law in (ONE, EQUAL):
        assert sum(ask(law, 500, (5, 500, trial)).ratios_differ for trial in range(10)) <= 2
    apart = replace(EQUAL, variances=((1.0, 1.0), (1.0, 2.0)))
    assert sum(ask(apart, 500, (5, 500, trial)).ratios_differ for trial in range(5)) >= 1


@pytest.mark.slow
def test_one_gaussian_is_seldom_taken_for_two():
    rng = np.random.default_rng(11)
    found = [
        bootstrap_components(rng.normal(size=(300, 2)), 2, seed=trial).are_needed
        for trial in range(40)
    ]
    assert sum(found) <= 5


def test_one_component_can_be_refuted_too(rng):
    found = bootstrap_components(rng.uniform(size=(300, 1)), 1)
    assert not found.fits
    assert "follow 1 Gaussian component has p" in found.says
