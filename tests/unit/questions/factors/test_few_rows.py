"""Latents against factors on few rows: what nobody can know is not said."""

import numpy as np
import pytest

import upto

QUICK = {"scores": ["infomec/modularity", "mig@adjusted"], "forms": "raw"}


@pytest.mark.parametrize(("n_rows", "correlation"), [(20, 1.0), (30, 0.9), (150, 0.55)])
def test_rows_that_are_too_few_do_not_say_that_no_latent_tells(n_rows, correlation):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(n_rows, 2))
    noise = np.sqrt(1 - correlation**2) * rng.normal(size=(n_rows, 2))
    found = upto.factors(correlation * factors + noise, factors, half_samples=10, **QUICK)
    messages = {finding.code: finding.message for finding in found.findings}
    assert "UP066" not in messages
    assert "too few" in messages["UP090"]


def test_many_rows_of_noise_still_say_that_no_latent_tells():
    rng = np.random.default_rng(0)
    noise, factors = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    found = upto.factors(noise, factors, half_samples=0, **QUICK)
    assert {"UP060", "UP066"} <= {finding.code for finding in found.findings}
    assert "UP090" not in {finding.code for finding in found.findings}
