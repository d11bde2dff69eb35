"""A quick version of ``checks/calibration.py``: false alarms and coverage, with few trials."""

import pytest
import scipy.stats
from checks import calibration, rates

from upto.core import Group

pytestmark = pytest.mark.slow

TRIALS = 70
UNLIKELY = 1e-3
"""A count that a calibrated method falls below this rarely fails the test."""
SKEWED_COVERAGE = 0.90
"""Of a nominal 95 %, what fifteen strongly skewed errors give; `checks/calibration.json`."""
SEED = 7


def fewest(rate, trials):
    return int(scipy.stats.binom.ppf(UNLIKELY, trials, rate))


@pytest.mark.parametrize(
    ("kind", "n_samples", "n_features", "trials"),
    [
        ("Gaussian", 30, 4, TRIALS),
        ("repeated rows", 100, 2, 40),
        pytest.param("Gaussian", 10, 2, 40, marks=pytest.mark.slow),
        pytest.param("Gaussian", 20, 30, 40, marks=pytest.mark.slow),
        pytest.param("heavy tails", 30, 4, 40, marks=pytest.mark.slow),
        pytest.param("shared marginals", 30, 4, 40, marks=pytest.mark.slow),
        pytest.param("different widths", 30, 4, 40, marks=pytest.mark.slow),
    ],
)
def test_independent_runs_are_called_chance(kind, n_samples, n_features, trials):
    hits = sum(
        calibration.called_chance(kind, n_samples, n_features, (SEED, trial))
        for trial in range(trials)
    )
    assert hits >= fewest(0.95, trials)


@pytest.mark.parametrize(
    ("noise", "rate"),
    [("Gaussian", 0.95), pytest.param("skewed", SKEWED_COVERAGE, marks=pytest.mark.slow)],
)
def test_intervals_cover_the_error_on_fresh_rows(noise, rate):
    found = [calibration.covers(noise, 50, 4, (SEED, trial)) for trial in range(TRIALS)]
    groups = (Group.IDENTITY, Group.RIGID, Group.AFFINE)
    hits = [sum(each[group] for each in found) for group in groups]
    assert min(hits) >= fewest(rate, TRIALS), groups
    assert sum(hits) < len(groups) * TRIALS, "intervals that always cover are too wide"


def test_a_rate_knows_its_exact_interval():
    rate = rates.Rate(
        check="level", case="", n_samples=1, n_features=1, hits=0, trials=100, nominal=0.95
    )
    # With no hits the upper end p solves (1 - p)^100 = (1 - confidence) / 2.
    expected = 1 - ((1 - rates.CONFIDENCE) / 2) ** (1 / 100)
    assert rate.interval[0] == 0
    assert rate.interval[1] == pytest.approx(expected)
    assert rate.kept is False
