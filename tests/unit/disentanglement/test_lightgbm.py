"""DCI by LightGBM itself; what a stand-in can show is among the other tests of DCI."""

from __future__ import annotations

import numpy as np
import pytest

from upto.disentanglement.dci import dci_scores

lightgbm = pytest.importorskip("lightgbm")

N_SAMPLES = 400


def planted(noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in (2, 3, 4)])
    codes = np.column_stack([factors, rng.normal(size=N_SAMPLES)])
    return codes + noise * rng.normal(size=codes.shape), factors


def held_out():
    return np.arange(N_SAMPLES) >= 300


def test_importances_are_the_gain_of_lightgbm_on_the_rows_to_fit_on():
    codes, factors = planted(noise=0.5)
    found = dci_scores(codes, factors, variant="lightgbm", held_out=held_out(), seed=3)
    settings = {"deterministic": True, "force_row_wise": True, "random_state": 3, "verbose": -1}
    for place, labels in enumerate(factors.T):
        model = lightgbm.LGBMClassifier(importance_type="gain", n_jobs=1, **settings)
        model.fit(codes[:300], labels[:300])
        gain = model.feature_importances_ / model.feature_importances_.sum()
        assert found.importance[:, place] == pytest.approx(gain, abs=1e-9)
        right = np.mean(model.predict(codes[300:]) == labels[300:])
        assert found.informativeness.per_factor[place] == pytest.approx(right, abs=1e-9)


def test_factors_themselves_score_near_one():
    found = dci_scores(*planted(), variant="lightgbm")
    assert found.disentanglement.value > 0.95
    assert found.completeness.value > 0.95
    assert found.informativeness.value > 0.98
    assert found.predictor == f"gradient-boosted trees of LightGBM {lightgbm.__version__}, by gain"


def test_factors_on_a_line_are_predicted_too():
    codes, _ = planted()
    found = dci_scores(codes, codes[:, :3], continuous=True, variant="lightgbm")
    assert found.disentanglement.value > 0.9
    assert found.informativeness.value > 0.9


def test_a_second_fit_gives_the_same_bits():
    codes, factors = planted(noise=1.0)
    first = dci_scores(codes, factors, variant="lightgbm").importance
    second = dci_scores(codes, factors, variant="lightgbm").importance
    assert first.tobytes() == second.tobytes()
