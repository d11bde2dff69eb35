"""What a linear map of the codes may not change."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from upto.disentanglement.mutual_information import entropy
from upto.disentanglement.predictive import explicitness

N_SAMPLES = 600


@pytest.fixture
def drawn(rng):
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in (5, 4, 2)])
    codes = factors @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(N_SAMPLES, 6))
    return codes, factors


@pytest.mark.parametrize("least", [1.0, 1e-3])
def test_adjusted_explicitness_does_not_change_with_an_invertible_map(least, drawn, rng):
    codes, factors = drawn
    first, second = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    mapped = codes @ (first * np.geomspace(1.0, least, 6)) @ second
    expected = explicitness(codes, factors, adjusted=True).per_factor
    found = explicitness(mapped, factors, adjusted=True).per_factor
    # A search ends where the largest entry of the gradient is small, in whatever coordinates.
    assert found == pytest.approx(expected, abs=1e-3)


def test_the_search_behind_adjusted_explicitness_converges(drawn):
    codes, factors = drawn
    labels = factors[:, 0]
    found = explicitness(codes, factors[:, :1], adjusted=True).value
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=10_000).fit(codes, labels)
    share = 1.0 - log_loss(labels, model.predict_proba(codes)) / entropy(labels)
    # A level of chance is taken off: of (classes - 1) × codes weights over twice the rows, and five
    # deviations.
    gain = 4 * 6 / (2 * N_SAMPLES)
    level = (gain + 5 * np.sqrt(gain / N_SAMPLES)) / entropy(labels)
    assert found == pytest.approx((share - level) / (1 - level), abs=0.01)


def test_a_code_that_others_determine_changes_nothing(drawn, rng):
    codes, factors = drawn
    doubled = np.hstack([codes, codes @ rng.normal(size=(6, 2))])
    expected = explicitness(codes, factors[:, :2], adjusted=True).per_factor
    found = explicitness(doubled, factors[:, :2], adjusted=True).per_factor
    assert found == pytest.approx(expected, abs=1e-6)
