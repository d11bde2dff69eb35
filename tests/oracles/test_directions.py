"""Agreement that few directions carry is said to be so; outliers are found among few rows."""

import numpy as np
import pytest

import upto

FAST = {"ica": False, "refits": 0}


def codes(result):
    return {finding.code for finding in result.findings}


def test_every_direction_counts_alike(rng):
    """Half of the directions are shared exactly, and the other half not at all."""
    shared = rng.normal(size=(4000, 5))
    first = np.hstack([10 * shared, rng.normal(size=(4000, 5))])
    second = np.hstack([10 * shared, rng.normal(size=(4000, 5))])
    result = upto.compare(first, second, **FAST, up_to="affine")
    assert result.r2_per_direction == pytest.approx(0.5, abs=0.01)


def test_agreement_in_one_wide_direction_is_a_finding(rng):
    first, second = rng.normal(size=(2, 1000, 32))
    first[:, 0] = second[:, 0] = 30 * rng.normal(size=1000)
    result = upto.compare(first, second, **FAST)
    assert result.agreement == "partial"
    assert "UP019" in codes(result)
    assert "per direction on average" in result.verdict


def test_agreement_in_every_direction_is_not_a_finding(rng):
    first = rng.normal(size=(1000, 8)) * np.geomspace(1, 100, 8)
    result = upto.compare(first, first + 0.01 * rng.normal(size=first.shape), **FAST)
    assert "UP019" not in codes(result)
    assert result.r2_per_direction > 0.99


@pytest.mark.parametrize("n_samples", [60, 500, 1500, 3000])
def test_one_outlier_is_found_among_any_number_of_rows(rng, n_samples):
    rows = rng.normal(size=(n_samples, 4))
    assert "UP011" not in codes(upto.inspect(rows, ica=False))
    rows[7] = 1000
    assert "UP011" in codes(upto.inspect(rows, ica=False))
