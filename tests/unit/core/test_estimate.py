"""A number with its interval, as text and as a number."""

from __future__ import annotations

import dataclasses

import pytest

from upto.core import Estimate


def test_an_estimate_without_an_interval_reads_as_a_number():
    assert str(Estimate(value=0.123456)) == "0.1235"


def test_an_estimate_with_an_interval_shows_it_in_brackets():
    estimate = Estimate(value=0.0312, low=0.0288, high=0.0345)
    assert str(estimate) == "0.0312 [0.0288, 0.0345]"
    assert f"{estimate:.2f}" == "0.03 [0.03, 0.03]"
    assert f"{estimate:.1e}" == "3.1e-02 [2.9e-02, 3.5e-02]"


@pytest.mark.parametrize("ends", [{"low": 0.1}, {"high": 0.3}])
def test_half_an_interval_is_not_shown(ends):
    assert f"{Estimate(value=0.2, **ends):.1f}" == "0.2"


def test_an_estimate_is_a_number_where_one_is_asked_for():
    assert float(Estimate(value=2.5, low=2, high=3)) == 2.5


def test_an_estimate_is_frozen_and_compares_by_value():
    estimate = Estimate(value=1.0)
    assert estimate == Estimate(value=1.0, level=0.95)
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.value = 2.0
