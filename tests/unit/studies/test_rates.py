"""Powers are recovered exactly, and intervals cover them."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.rates import power_rate


@pytest.mark.parametrize("power", [-2.0, -0.5, 0.0, 1.5])
def test_an_exact_power_is_found(power):
    sizes = np.array([3.0, 10.0, 50.0, 51.0])
    assert power_rate(sizes, 7 * sizes**power).value == pytest.approx(power, abs=1e-12)


def test_intervals_cover_the_power_as_often_as_they_say(rng):
    sizes = np.array([10.0, 100.0, 1000.0])
    covered = 0
    for _ in range(200):
        rate = power_rate(sizes, rng.exponential(size=(40, 3)) * sizes**-0.5)
        covered += rate.low <= -0.5 <= rate.high
    assert 180 <= covered <= 199


def test_the_interval_is_that_of_the_mean_at_two_sizes(rng):
    # With values of one at the first of the sizes 1 and e, the slope is the log of the mean.
    values = np.column_stack([np.ones(500), 1 + 0.01 * rng.normal(size=500)])
    rate = power_rate([1, np.e], values)
    mean, spread = values[:, 1].mean(), values[:, 1].std(ddof=1) / np.sqrt(500)
    assert rate.value == pytest.approx(np.log(mean))
    assert rate.high - rate.value == pytest.approx(1.9647 * spread / mean, rel=1e-3)


def test_few_repeats_have_no_interval():
    assert power_rate([1, 2], np.ones((9, 2))).low is None


@pytest.mark.parametrize(
    ("sizes", "values", "words"),
    [
        ([1, 1], [1.0, 2.0], "two or more different sizes"),
        ([1, 2], [1.0, 2.0, 3.0], r"values of shape \(1, 3\)"),
        ([1, 2], [1.0, 0.0], "1 sizes or values are not positive"),
        ([-1, 2], [1.0, np.nan], "2 sizes or values are not positive"),
    ],
)
def test_what_has_no_power_is_refused_in_words(sizes, values, words):
    with pytest.raises(InputError, match=words):
        power_rate(sizes, values)
