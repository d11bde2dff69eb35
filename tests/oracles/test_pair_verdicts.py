"""Verdicts that once depended on who came first, missed what is narrow, or claimed too much."""

import numpy as np
import pytest

import upto

QUICK = {"ica": False, "refits": 0}


def turned(rows, rng):
    return rows @ np.linalg.qr(rng.normal(size=(rows.shape[1], rows.shape[1])))[0]


def codes(result):
    return {finding.code for finding in result.findings}


def said(result):
    """What a verdict says, whoever comes first."""
    p_values = [round(fit.p_value, 9) for fit in result.fits]
    return result.agreement, result.up_to, result.exact, p_values


def both_ways(x, y, **options):
    there, back = upto.compare(x, y, **QUICK, **options), upto.compare(y, x, **QUICK, **options)
    assert said(there) == said(back)
    return there


@pytest.mark.parametrize("seed", range(2))
def test_a_narrow_part_is_a_part_whoever_comes_first(seed):
    rng = np.random.default_rng(seed)
    part = rng.laplace(size=(300, 2))
    whole = np.c_[0.1 * part, rng.normal(size=(300, 4))]
    assert both_ways(whole, part).agreement == "image"


@pytest.mark.parametrize(
    "seed", [1, 5, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 2, 3, 4, 6, 7, 8, 9))]
)
def test_the_word_does_not_depend_on_who_comes_first(seed):
    rng = np.random.default_rng((90, seed))
    n_shared, n_first, n_second = rng.integers([1, 0, 0], [4, 5, 5])
    shared = rng.laplace(size=(150, n_shared)) * rng.choice([1.0, 0.3], size=n_shared)
    own = rng.normal(size=(150, n_first)), rng.normal(size=(150, n_second))
    first, second = (turned(np.c_[shared, each], rng) for each in own)
    there, back = upto.compare(first, second, **QUICK), upto.compare(second, first, **QUICK)
    assert said(there) == said(back)


@pytest.mark.parametrize("narrow", [0.05, 0.02])
def test_narrow_directions_that_runs_share_are_found(narrow):
    rng = np.random.default_rng(100)
    x = rng.normal(size=(500, 6)) * [1, 1, 1, narrow, narrow, narrow]
    result = both_ways(x, np.c_[rng.normal(size=(500, 3)), x[:, 3:]])
    assert (result.agreement, result.up_to) == ("weak", None)
    assert (result.shared.n_shared, result.shared.rest) == (3, "unrelated")
    assert "agree on 3 of 6 directions, and the other 3 are unrelated" in result.verdict
    assert "UP034" in codes(result)


@pytest.mark.parametrize("kind", ["alone", "groups"])
def test_rows_without_a_pairing_left_are_not_judged(kind):
    rng = np.random.default_rng(0)
    x = rng.laplace(size=(500, 4))
    within = np.arange(500) if kind == "alone" else np.arange(500) % 20
    groups = None if kind == "alone" else within
    result = upto.compare(x, turned(x, rng), within=within, groups=groups, **QUICK)
    assert result.agreement == "undecided"
    assert "share their class with another row to be re-paired" in result.verdict


def test_too_few_groups_are_named_as_what_is_few():
    rng = np.random.default_rng(0)
    x = rng.laplace(size=(500, 4))
    result = upto.compare(x, turned(x, rng), groups=np.arange(500) % 6, **QUICK)
    assert "500 rows contain 6 independent samples, too few" in result.verdict


def test_walks_that_share_coordinates_are_not_said_to_do_worse_than_the_mean():
    rng = np.random.default_rng(0)
    walk = rng.normal(size=(400, 4)).cumsum(axis=0)
    other = np.c_[walk[:, :2], rng.normal(size=(400, 2)).cumsum(axis=0)]
    result = upto.compare(walk, other, **QUICK)
    assert "the runs agree on" in result.verdict
    assert "worse than predicting the mean" not in result.verdict


def test_directions_beyond_the_fitted_rows_are_not_called_unrelated():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 100))
    result = upto.compare(x, turned(x, rng), **QUICK)
    assert result.shared.rest == "not judged"
    assert "cannot be tested with so few fitted rows" in result.verdict


def noisy(rng, n_samples, n_features, n_noisy, narrow):
    """Directions of which 45 % is noise, and which are narrow."""
    x = rng.normal(size=(n_samples, n_features))
    y = x.copy()
    fresh = rng.normal(size=(n_samples, n_noisy))
    y[:, -n_noisy:] = np.sqrt(0.55) * x[:, -n_noisy:] + np.sqrt(0.45) * fresh
    scale = np.ones(n_features)
    scale[-n_noisy:] = narrow
    return x * scale, y * scale


@pytest.mark.parametrize(
    ("n_samples", "n_features", "n_noisy", "narrow"),
    [
        pytest.param(3000, 20, 4, 0.03, marks=pytest.mark.slow),
        (800, 8, 4, 0.05),
        pytest.param(2000, 20, 19, 0.03, marks=pytest.mark.slow),
        (600, 2, 1, 0.05),
    ],
)
def test_noisy_directions_are_neither_the_same_nor_close(n_samples, n_features, n_noisy, narrow):
    rng = np.random.default_rng(0)
    x, y = noisy(rng, n_samples, n_features, n_noisy, narrow)
    result = both_ways(x, turned(y, rng))
    assert result.agreement == "partial"
    assert result.shared.n_closely <= n_features - n_noisy
    assert "UP034" in codes(result)
    assert "only partly" in result.verdict or "weakly" in result.verdict


def test_one_noisy_direction_of_twenty_is_close_and_said():
    rng = np.random.default_rng(0)
    x, y = noisy(rng, 1500, 20, 1, 0.03)
    result = upto.compare(x, y, **QUICK)
    assert result.agreement == "close"
    assert "1 of them only partly" in result.verdict
    assert "UP034" in codes(result)


def test_a_part_with_a_noisy_coordinate_is_no_part():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1000, 8))
    y = np.c_[x[:, :4], 0.05 * (x[:, 4] + 0.9 * rng.normal(size=1000))]
    assert both_ways(x, y).agreement == "partial"


def test_a_narrow_coordinate_that_turns_back_is_not_monotone():
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, size=(1500, 2)).astype(float)
    folded = np.c_[counts[:, 0], (counts[:, 1] - 1) ** 2]
    result = upto.compare(counts * [1, 0.003], folded * [1, 0.003], **QUICK)
    assert result.agreement == "partial"


def test_monotone_functions_of_every_coordinate_are_still_the_same():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 6))
    result = both_ways(x, np.arcsinh(2 * x)[:, rng.permutation(6)])
    assert (result.agreement, str(result.up_to)) == ("same", "monotone-permutation")


def test_a_matrix_counts_as_agreeing_only_what_is_the_same_or_close():
    rng = np.random.default_rng(0)
    x = rng.laplace(size=(300, 4))
    mixed = x.copy()
    mixed[:, 2:] = rng.laplace(size=(300, 2))
    result = upto.compare(x, turned(x, rng), mixed, x[:, :2], **QUICK)
    words = result.verdict
    assert words.startswith("2 of 12 ordered pairs of 4 runs are the same or nearly the same: 2")
    assert "with one run an image of the other" in words
    # Half of the variance is shared: which word that is depends on the rows held out.
    assert "weakly related" in words or "partly the same" in words
    agreed = [word for row in result.pairs.agreement for word in row]
    assert sum(word in ("same", "close") for word in agreed) == 2
