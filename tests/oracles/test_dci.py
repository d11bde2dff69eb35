"""Scores that fit predictors, against the numbers of their authors' own programs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from upto.disentanglement.dci import dci_scores, importance_completeness, importance_disentanglement
from upto.disentanglement.gaussian_tc import gaussian_total_correlation, wasserstein_correlation
from upto.disentanglement.interventions import beta_vae_score, factor_vae_score
from upto.disentanglement.predictive import explicitness
from upto.disentanglement.probes import downstream_probe, ridgeway_explicitness
from upto.disentanglement.sap import sap_score
from upto.disentanglement.stability import irs_score

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "dci.json").read_text("utf-8"))["values"]
AGREE = 1e-9


@pytest.fixture(scope="module")
def oracles():
    source = ROOT / "checks" / "oracles_dci.py"
    spec = importlib.util.spec_from_file_location("oracles_dci", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def discrete(oracles):
    return oracles.data_of(0, continuous=False)


@pytest.fixture
def numbers(oracles):
    return oracles.data_of(2, continuous=True)


def recorded(name, within=AGREE):
    return pytest.approx(np.asarray(GOLDEN[name]), abs=within)


@pytest.mark.slow
def test_boosted_trees_of_dci_are_those_of_disentanglement_lib(discrete, oracles):
    found = dci_scores(*discrete, held_out=oracles.held_out(), seed=0)
    assert found.importance == recorded("dci importance")
    expected = GOLDEN["dci"]
    assert found.disentanglement.value == pytest.approx(expected["disentanglement"], abs=AGREE)
    assert found.completeness.value == pytest.approx(expected["completeness"], abs=AGREE)
    assert found.informativeness.value == pytest.approx(expected["informativeness_test"], abs=AGREE)
    assert found.fitted.value == pytest.approx(expected["informativeness_train"], abs=AGREE)


def test_importances_are_summed_up_as_in_disentanglement_lib(oracles):
    given = oracles.importance_of(1)
    found = importance_disentanglement(given)
    assert found.value == recorded("disentanglement of importance")
    assert found.per_code == recorded("disentanglement of codes")
    assert importance_completeness(given).value == recorded("completeness of importance")


@pytest.mark.parametrize("model", ["lasso", pytest.param("random_forest", marks=pytest.mark.slow)])
def test_dci_is_that_of_ubisoft(model, numbers):
    variant = f"ubisoft/{model.replace('_', '-')}"
    found = dci_scores(*numbers, continuous=True, variant=variant, seed=0)
    three = (found.disentanglement, found.completeness, found.informativeness)
    assert [each.value for each in three] == recorded(f"ubisoft dci, {model}")


def test_sap_of_labels_is_that_of_disentanglement_lib(discrete, oracles):
    found = sap_score(*discrete, held_out=oracles.held_out())
    assert found.matrix == recorded("sap matrix")
    assert found.score.value == recorded("sap, discrete")


def test_sap_of_numbers_is_that_of_both(numbers):
    found = sap_score(*numbers, continuous=True)
    assert found.score.value == recorded("sap, continuous")
    assert found.score.value == recorded("ubisoft sap")


def test_the_fixture_without_random_numbers_scores_as_recorded():
    f0, f1, f2 = np.indices((4, 5, 6)).reshape(3, -1)
    codes = np.column_stack([f0, f1 + f2 / 2, f2**2 / 5, np.sin(f0 + f1), 0 * f0])
    found = sap_score(codes, np.column_stack([f0, f1, f2]), continuous=True)
    assert found.score.value == pytest.approx(0.6950718876106192, abs=AGREE)
    codes = codes[:, :4]
    assert gaussian_total_correlation(codes).value == pytest.approx(0.3162962412123209, abs=AGREE)
    assert wasserstein_correlation(codes).value == pytest.approx(0.521622944821857, abs=AGREE)
    given = [[0.7, 0.1, 0.05], [0.2, 0.6, 0.1], [0.05, 0.2, 0.8], [0.05, 0.1, 0.05]]
    found = importance_disentanglement(given)
    assert found.value == pytest.approx(0.3431846151766062, abs=AGREE)
    assert importance_completeness(given).value == pytest.approx(0.358390276838368, abs=AGREE)


def test_explicitness_is_that_of_infomec(discrete, numbers):
    codes, factors = discrete
    assert explicitness(codes, factors).value == recorded("infomec explicitness")
    levels = np.round(2 * codes).astype(int)
    found = explicitness(levels, factors, discrete_codes=True)
    # A hundred steps among dependent columns end where rounding leads them.
    assert found.value == recorded("infomec explicitness, discrete codes", within=1e-5)
    found = explicitness(*numbers, continuous=True)
    assert found.value == recorded("infomec explicitness, continuous")


def test_ridgeway_explicitness_is_that_of_both(discrete, numbers, oracles):
    found = ridgeway_explicitness(*discrete, held_out=oracles.held_out())
    assert found.per_factor == recorded("ridgeway explicitness")
    found = ridgeway_explicitness(*discrete, variant="ubisoft")
    assert found.value == recorded("ubisoft explicitness")
    found = ridgeway_explicitness(*numbers, continuous=True, variant="ubisoft")
    assert found.value == recorded("ubisoft explicitness, continuous")


@pytest.mark.slow
@pytest.mark.parametrize("predictor", ["linear", "boosted-trees"])
def test_downstream_accuracies_are_those_of_disentanglement_lib(predictor, discrete, oracles):
    found = downstream_probe(*discrete, predictor=predictor, held_out=oracles.held_out(), seed=0)
    assert found.per_factor == recorded(f"downstream {predictor}")


@pytest.mark.parametrize("quantile", [0.99, 1.0])
def test_irs_is_that_of_disentanglement_lib(quantile, discrete):
    found = irs_score(*discrete, quantile=quantile)
    assert found.score.value == recorded(f"irs {quantile:g}")
    assert found.matrix == recorded(f"irs matrix {quantile:g}")


def test_irs_of_the_largest_deviation_is_that_of_ubisoft(discrete):
    assert irs_score(*discrete, quantile=1.0).score.value == recorded("ubisoft irs")


def test_dependence_of_codes_is_that_of_disentanglement_lib(discrete):
    codes = discrete[0]
    assert gaussian_total_correlation(codes).value == recorded("total correlation")
    assert wasserstein_correlation(codes).value == recorded("wasserstein correlation")
    found = wasserstein_correlation(codes, normalised=True)
    assert found.value == recorded("wasserstein correlation, normalised")


@pytest.mark.parametrize(
    ("name", "score"), [("beta-vae", beta_vae_score), ("factor-vae", factor_vae_score)]
)
def test_scores_by_drawing_are_those_of_disentanglement_lib_but_for_chance(name, score, oracles):
    codes, factors = oracles.grid_of(3)
    found = score(codes, factors, batch=16, fitted=2000, scored=4000)
    # Two shares of four thousand draws each, and classifiers of two thousand.
    assert found.value == recorded(name, within=0.04)
