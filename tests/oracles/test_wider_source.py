"""A source wider than its target: coordinates are dropped, and the planted group is still found."""

import numpy as np
import pytest

import upto
from upto.alignment import fit_map, row_errors, smallest_worst_error
from upto.core import Group
from upto.engines import ThreadsEngine, cross_moments

pytestmark = pytest.mark.slow

FAST = {"ica": False, "refits": 0}
EXTRA_SCALES = [0.3, 1.0, 3.0, 10.0]


def planted(rng, scale, *, rotate, n_rows=600):
    """Return a source with three more coordinates than the target it holds."""
    target = rng.laplace(size=(n_rows, 6))
    source = np.hstack([target, scale * rng.laplace(size=(n_rows, 3))])
    turn = np.linalg.qr(rng.normal(size=(9, 9)))[0] if rotate else np.eye(9)[rng.permutation(9)]
    return source @ turn, target + 1e-3 * rng.laplace(size=target.shape)


@pytest.mark.parametrize("scale", EXTRA_SCALES)
def test_a_turned_and_dropped_source_agrees_up_to_a_rigid_motion(rng, scale):
    result = upto.compare(*planted(rng, scale, rotate=True), **FAST)
    assert result.up_to is Group.RIGID
    assert result.rigid.held_out.r2 > 0.999
    assert result.similarity.held_out.r2 > 0.999


@pytest.mark.parametrize("scale", EXTRA_SCALES)
def test_a_permuted_and_dropped_source_agrees_up_to_a_signed_permutation(rng, scale):
    result = upto.compare(*planted(rng, scale, rotate=False), **FAST)
    assert result.up_to is Group.SIGNED_PERMUTATION
    assert result.signed_permutation.held_out.r2 > 0.999


@pytest.mark.parametrize("scale", EXTRA_SCALES)
def test_no_bound_is_above_what_the_planted_map_reaches(rng, scale):
    result = upto.compare(*planted(rng, scale, rotate=True), **FAST)
    for group in (Group.RIGID, Group.SIMILARITY, Group.AFFINE):
        bracket = result.fit(group).supremum
        assert (bracket.low or 0.0) <= bracket.high < 0.01


def test_the_signed_permutation_has_the_least_squared_error(rng):
    from itertools import permutations, product

    source, target = rng.normal(size=(40, 4)) * [1, 3, 0.5, 2], rng.normal(size=(40, 2))
    engine = ThreadsEngine()
    found = fit_map(Group.SIGNED_PERMUTATION, cross_moments(engine, source, target))
    x, y = source - source.mean(axis=0), target - target.mean(axis=0)
    best = min(
        np.sum((y - x[:, list(order)] * signs) ** 2)
        for order in permutations(range(4), 2)
        for signs in product([-1.0, 1.0], repeat=2)
    )
    own = row_errors(engine, source, target, [found])
    np.testing.assert_allclose(np.sum(own**2), best)


def test_a_bound_from_a_start_fitted_elsewhere_is_not_claimed():
    """Bad rows are over-represented among the rows that are refined."""
    rng = np.random.default_rng(0)
    source = rng.laplace(size=(20_000, 2))
    shifted = rng.random(20_000) < 0.3
    target = source + 0.05 * rng.uniform(-1, 1, size=source.shape)
    target[shifted] += [6.0, 0]
    result = upto.compare(source, target, **FAST)
    middle = np.linalg.norm(target - source - [3.0, 0], axis=1).max()
    assert result.rigid.supremum.low <= middle / result.second.diameter.value


def test_the_bound_of_a_refinement_needs_an_exact_fit(rng):
    source, target = planted(rng, 3.0, rotate=True)
    engine = ThreadsEngine()
    for group in (Group.RIGID, Group.SIMILARITY, Group.SIGNED_PERMUTATION):
        start = fit_map(group, cross_moments(engine, source, target))
        assert smallest_worst_error(group, source, target, start).bound == 0.0
