"""`compare` on data whose answer is known: the planted group, and errors in closed form."""

import numpy as np
import pytest
import scipy.spatial.distance
import scipy.special

import upto
from upto.core import Group
from upto.testing import random_element

pytestmark = pytest.mark.slow

FAST = {"ica": False, "refits": 0}
EXACT = 1e-9
AFFINE = [group for group in Group if group.is_affine]
"""Error over the diameter below which a map counts as exact."""
ROUNDING = 1e-12
STANDARD_ERRORS = 4.5
"""Sampling errors a measured error may be away from its closed form."""

ONE_DIMENSION = {
    Group.IDENTITY: Group.IDENTITY,
    Group.SIGNED_PERMUTATION: Group.SIGNED_PERMUTATION,
    Group.SIGNED_SIMILARITY: Group.SIGNED_SIMILARITY,
    Group.SCALED_PERMUTATION: Group.SIGNED_SIMILARITY,
    Group.RIGID: Group.SIGNED_PERMUTATION,
    Group.SIMILARITY: Group.SIGNED_SIMILARITY,
    Group.AFFINE: Group.SIGNED_SIMILARITY,
}
"""On a line every group equals one of three."""


ROTATIONS = (Group.RIGID, Group.SIMILARITY, Group.AFFINE)


def planted(group, n_samples, n_features, rng, *, noise=0.0, n_out=None, rank=None):
    """Draw a run and its image under an element of a group, with noise of a given deviation."""
    x = rng.laplace(size=(n_samples, rank or n_features))
    if rank is not None:
        x = x @ rng.normal(size=(rank, n_features))
    linear, translation = random_element(group, n_features, rng, n_out=n_out)
    while group in ROTATIONS and n_features > 1 and _near_an_axis(linear):
        # A rotation by a degree is a signed permutation within the tolerance, and rightly so.
        linear, translation = random_element(group, n_features, rng, n_out=n_out)
    y = x @ linear + translation
    return x, y + noise * y.std() * rng.normal(size=y.shape)


def _near_an_axis(linear):
    return np.all(np.abs(linear).max(axis=1) > 0.95 * np.linalg.norm(linear, axis=1))


def true_diameter(rows):
    return scipy.spatial.distance.pdist(rows).max()


@pytest.mark.parametrize("group", AFFINE)
@pytest.mark.parametrize(
    ("n_samples", "n_features"),
    [
        (12, 2),
        (30, 3),
        (200, 8),
        (600, 32),
        pytest.param(20_000, 4, marks=pytest.mark.slow),
    ],
)
def test_the_planted_group_is_the_verdict_and_its_error_is_zero(group, n_samples, n_features, rng):
    result = upto.compare(*planted(group, n_samples, n_features, rng), **FAST)
    assert result.up_to is group
    assert result.agreement == ("identical" if group is Group.IDENTITY else "same")
    found = result.fit(group)
    for errors in (found.in_sample, found.held_out):
        np.testing.assert_allclose([errors.rms, errors.worst], 0, atol=EXACT)
        np.testing.assert_allclose(errors.r2, 1, atol=EXACT)
    np.testing.assert_allclose(found.supremum.high, 0, atol=EXACT)


@pytest.mark.parametrize("group", AFFINE)
@pytest.mark.parametrize("n_samples", [10, 100, pytest.param(100_000, marks=pytest.mark.slow)])
def test_on_a_line_the_verdict_is_the_strictest_group_that_equals_the_planted_one(
    group, n_samples, rng
):
    result = upto.compare(*planted(group, n_samples, 1, rng), **FAST)
    assert result.up_to is ONE_DIMENSION[group]
    np.testing.assert_allclose(result.fit(group).held_out.worst, 0, atol=EXACT)


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("group", AFFINE)
def test_noise_does_not_change_the_verdict(group, noise, rng):
    result = upto.compare(*planted(group, 400, 6, rng, noise=noise), **FAST)
    assert result.up_to is group
    assert result.fit(group).p_value <= 0.05


@pytest.mark.parametrize(
    "group",
    [
        Group.RIGID,
        pytest.param(Group.SIGNED_PERMUTATION, marks=pytest.mark.slow),
        pytest.param(Group.AFFINE, marks=pytest.mark.slow),
    ],
)
def test_wide_runs_give_the_planted_group(group, rng):
    x, y = planted(group, 1000, 256, rng, noise=0.01)
    assert upto.compare(x, y, **FAST).up_to is group


@pytest.mark.parametrize("group", [group for group in AFFINE if group is not Group.IDENTITY])
def test_a_wider_target_gives_the_planted_group(group, rng):
    result = upto.compare(*planted(group, 300, 4, rng, n_out=7), **FAST)
    assert result.up_to is group
    assert "UP018" in [finding.code for finding in result.findings]
    with pytest.raises(KeyError, match="no row 'identity'"):
        _ = result.identity


@pytest.mark.parametrize("group", [Group.SIGNED_PERMUTATION, Group.RIGID, Group.AFFINE])
def test_a_rank_deficient_source_gives_the_planted_group(group, rng):
    result = upto.compare(*planted(group, 300, 8, rng, rank=3), **FAST)
    assert result.up_to is group
    assert result.first.rank == 3
    np.testing.assert_allclose(result.fit(group).held_out.worst, 0, atol=EXACT)


@pytest.mark.parametrize("group", AFFINE)
@pytest.mark.parametrize(
    ("n_samples", "n_features"),
    [
        (120, 4),
        pytest.param(2000, 1, marks=pytest.mark.slow),
        pytest.param(2000, 16, marks=pytest.mark.slow),
    ],
)
def test_gaussian_noise_gives_the_errors_of_the_closed_form(group, n_samples, n_features, rng):
    d, sigma = n_features, 0.05
    x = rng.normal(size=(n_samples, d))
    linear, translation = random_element(group, d, rng)
    y = x @ linear + translation + sigma * rng.normal(size=(n_samples, d))
    result = upto.compare(x, y, **FAST)
    extent = true_diameter(y)
    np.testing.assert_allclose(result.second.diameter.value, extent, rtol=ROUNDING)

    rms = sigma * np.sqrt(d) / extent
    mean = sigma * np.sqrt(2) * np.exp(_log_gamma_ratio(d)) / extent
    deviation = np.sqrt(rms**2 - mean**2)
    # Each fitted parameter takes one of n·d degrees of freedom, and costs as much held out.
    share = group.free_parameters(d) / d
    n_fitted = n_samples - result.n_held_out
    for errors, n_rows, factor in (
        (result.fit(group).in_sample, n_samples, np.sqrt(1 - share / n_samples)),
        (result.fit(group).held_out, result.n_held_out, np.sqrt(1 + share / n_fitted)),
    ):
        np.testing.assert_allclose(
            errors.rms,
            factor * rms,
            atol=STANDARD_ERRORS * rms / np.sqrt(2 * n_rows * d),
            err_msg=f"root mean square over {n_rows} rows",
        )
        np.testing.assert_allclose(
            errors.mean.value,
            factor * mean,
            atol=STANDARD_ERRORS * deviation / np.sqrt(n_rows),
            err_msg=f"mean over {n_rows} rows",
        )


def _log_gamma_ratio(n_features):
    return scipy.special.gammaln((n_features + 1) / 2) - scipy.special.gammaln(n_features / 2)


@pytest.mark.parametrize("n_features", [1, 3, 64])
def test_a_displacement_of_constant_length_is_every_error_of_the_identity(n_features, rng):
    x = rng.normal(size=(500, n_features))
    step = rng.normal(size=x.shape)
    y = x + 0.25 * step / np.linalg.norm(step, axis=1, keepdims=True)
    result = upto.compare(x, y, **FAST)
    expected = 0.25 / true_diameter(y)
    for errors in (result.identity.in_sample, result.identity.held_out):
        values = [errors.mean.value, errors.rms, errors.q99, errors.worst]
        np.testing.assert_allclose(values, expected, rtol=ROUNDING)
    np.testing.assert_allclose(result.identity.supremum.high, expected, rtol=ROUNDING)


@pytest.mark.parametrize("kind", ["noise", "warp", "unrelated"])
@pytest.mark.parametrize(("n_samples", "n_features"), [(40, 2), (300, 5), (6000, 3)])
def test_the_defect_bounds_the_supremum_and_the_supremum_the_worst_error(
    kind, n_samples, n_features, rng
):
    x = rng.normal(size=(n_samples, n_features))
    y = {
        "noise": x + 0.1 * rng.normal(size=x.shape),
        "warp": x + 0.3 * np.sin(x),
        "unrelated": rng.normal(size=x.shape),
    }[kind]
    result = upto.compare(x, y, **FAST)
    for fit in (fit for fit in result.fits if fit.up_to.is_affine):
        assert fit.supremum.high <= fit.in_sample.worst + ROUNDING
        if fit.up_to.is_isometric:
            assert result.defect.lower_bound <= fit.supremum.high + ROUNDING
    for group in AFFINE:
        for smaller in AFFINE:
            if group.contains(smaller):
                assert result.fit(group).supremum.high <= result.fit(smaller).supremum.high
                assert result.fit(group).supremum.low <= result.fit(smaller).supremum.low
                inner, outer = result.fit(smaller).in_sample, result.fit(group).in_sample
                assert outer.rms <= inner.rms + ROUNDING


def test_the_defect_is_the_largest_change_of_a_distance(rng):
    x = rng.normal(size=(200, 4))
    y = x + 0.3 * np.sin(x)
    change = scipy.spatial.distance.pdist(y) - scipy.spatial.distance.pdist(x)
    result = upto.compare(x, y, **FAST)
    expected = np.abs(change).max() / true_diameter(y)
    np.testing.assert_allclose(result.defect.value, expected, rtol=EXACT)
    np.testing.assert_allclose(result.defect.lower_bound, expected / 2, rtol=EXACT)


def test_independent_runs_are_called_chance(rng):
    result = upto.compare(rng.normal(size=(300, 5)), rng.normal(size=(300, 5)), **FAST)
    assert (result.up_to, result.agreement) == (None, "chance")
    assert "UP009" in [finding.code for finding in result.findings]


def test_noise_repeated_many_times_is_still_called_chance(rng):
    runs = [np.repeat(rng.normal(size=(40, 4)), 25, axis=0) for _ in range(2)]
    agreements = [upto.compare(*runs, seed=seed, **FAST).agreement for seed in range(8)]
    assert agreements.count("chance") >= 6


def test_three_runs_are_identical_only_if_every_row_is_equal(rng):
    x = rng.normal(size=(60, 3))
    for row in range(12):
        y = x.copy()
        y[row] += 1.0
        result = upto.compare(x, x.copy(), y, **FAST)
        assert result.pairs.agreement[0][1] == "identical"
        assert result.pairs.agreement[0][2] != "identical"


@pytest.mark.slow
@pytest.mark.parametrize("group", [Group.SIGNED_SIMILARITY, Group.RIGID, Group.AFFINE])
def test_a_million_rows_give_the_planted_group(group, rng):
    result = upto.compare(*planted(group, 1_000_000, 8, rng, noise=0.1), **FAST)
    assert result.up_to is group


@pytest.mark.slow
@pytest.mark.parametrize("group", [Group.SIGNED_PERMUTATION, Group.RIGID])
def test_two_thousand_dimensions_give_the_planted_group(group, rng):
    result = upto.compare(*planted(group, 6000, 2048, rng, noise=0.01), **FAST)
    assert result.up_to is group
