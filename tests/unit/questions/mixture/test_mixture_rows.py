"""What rows of the same samples, identical priors and few draws say."""

import numpy as np
import pytest

import upto
from upto.theory import PiecewiseNetwork

MEANS = np.array([[0.0, 0.0], [16.0, 4.0], [-4.0, 20.0]])
VARIANCES = np.array([[1.0, 1.0], [1.0, 4.0], [2.0, 0.5]])
PRIOR = (np.full(3, 1 / 3), MEANS, VARIANCES)


@pytest.fixture
def rows(rng):
    """Return rows that do not follow the prior, which is tested in a moment."""
    return MEANS[rng.integers(3, size=200)] + rng.uniform(-1, 1, size=(200, 2))


def codes(found):
    return {finding.code: finding.message for finding in found.findings}


def test_unrelated_rows_are_in_the_verdict_although_priors_match(rows, rng):
    other = (PRIOR[0], MEANS + 0.1, VARIANCES)
    found = upto.mixture(PRIOR, other, rows=[rows, rng.permutation(rows)], draws=0)
    assert "adjusted Rand index of" in found.verdict
    assert f"an error of {found.codes.error.value:.2f} (chance" in found.verdict
    assert "in 1 of 1 pairs of runs" in codes(found)["UP100"]
    assert "although 100% of the components recur" in codes(found)["UP100"]
    same = upto.mixture(PRIOR, other, rows=[rows, rows + 1.0], draws=0)
    assert "UP100" not in codes(same)
    assert "adjusted Rand index of 1.00 (chance 0)" in same.verdict


def test_identical_priors_show_nothing():
    found = upto.mixture(PRIOR, PRIOR, draws=0)
    assert found.stability.identical
    assert "are identical, so that matching them shows nothing" in found.verdict
    assert "recur in another run" not in found.verdict
    moved = upto.mixture(PRIOR, (PRIOR[0], MEANS * 1.01, VARIANCES), draws=0)
    assert not moved.stability.identical
    assert "recur in another run" in moved.verdict


@pytest.mark.parametrize(("draws", "says"), [(0, True), (3, True), (19, False)])
def test_few_draws_give_no_limit_and_say_so(draws, says):
    found = upto.mixture(PRIOR, (PRIOR[0], MEANS + 0.1, VARIANCES), draws=draws)
    caption = found.tables()[1].caption
    assert ("A limit of chance needs 19 draws" in caption) is says
    assert (found.stability.overlap.limit is None) is says


def test_rows_too_few_to_reject_another_law_leave_the_prior_open(rng):
    """As many rows of one Laplace cloud pass for two Gaussians most of the time."""
    means = np.array([[0.0, 0.0], [8.0, 8.0]])
    rows = means[np.arange(120) % 2] + rng.normal(size=(120, 2))
    found = upto.mixture(([0.5, 0.5], means, np.ones((2, 2))), rows=rows)
    checks = {name: found.runs[0].assumption(name) for name in ("P1", "P1 partly", "distinct")}
    assert [each.holds for each in checks.values()] == [None, None, None]
    assert "fewer than 300 rows often hide another law" in checks["P1"].evidence
    assert {each.remedy for each in checks.values()} == {"300 rows or more"}
    # Neither test rejects anything.
    assert not codes(found).keys() & {"UP087", "UP095"}
    assert found.runs[0].possible_up_to is None


@pytest.mark.parametrize(
    ("fitted", "says"),
    [(True, "e.g. one of more components"), (False, "sampled from the posterior")],
)
def test_more_rows_would_not_settle_a_prior_that_rows_reject(rows, fitted, says):
    found = upto.mixture(PRIOR, rows=rows, fitted=fitted)
    check = found.runs[0].assumption("P1")
    assert "UP087" in codes(found)
    assert check.holds is None
    assert says in check.remedy
    assert "more rows" not in check.remedy


def test_a_prior_that_rows_do_not_reject_is_not_called_proved(rng):
    rows = rng.normal(size=(150, 1))
    found = upto.mixture(([1.0], [[0.0]], [[1.0]]), rows=rows)
    assert found.runs[0].assumption("P1").holds
    assert "up to an affine map, if the rows have the law of the prior (not" in found.verdict
    decoder = PiecewiseNetwork(weights=[[[1.0], [2.0]]])
    found = upto.mixture(([1.0], [[0.0]], [[1.0]]), rows=rows, decoder=decoder)
    assert "if the noise has a known law and the rows have the law of the prior" in found.verdict
    unseen = upto.mixture(([1.0], [[0.0]], [[1.0]]), decoder=decoder)
    assert "the law of the prior" not in unseen.verdict
