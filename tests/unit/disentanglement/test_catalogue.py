from __future__ import annotations

import math

import numpy as np
import pytest

from upto.core import InputError
from upto.disentanglement import class_matching as classes
from upto.disentanglement import (
    code_gaps,
    dci,
    gaps,
    gaussian_tc,
    info_scores,
    interventions,
    modularity,
    predictive,
    probes,
    sap,
    stability,
)
from upto.disentanglement.calibrate import evaluate_scores
from upto.disentanglement.catalogue import DEFAULT_SCORES, SCORES, find_scores

RAREST = ("dci/", "downstream", "beta-vae", "factor-vae")
EVERY = [each.name for each in find_scores("all")]
CHEAP = [name for name in EVERY if not any(part in name for part in RAREST)]
N_SAMPLES = 90
KINDS = {"continuous": (False, True, False)}
BARE = {"refits": 0, "half_samples": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    factors = np.empty((N_SAMPLES, 3), dtype=object)
    factors[:, 0] = rng.integers(3, size=N_SAMPLES)
    factors[:, 1] = rng.uniform(size=N_SAMPLES)
    factors[:, 2] = rng.choice(["left", "right"], size=N_SAMPLES)
    shown = np.column_stack([factors[:, 0], factors[:, 1], factors[:, 2] == "left"]).astype(float)
    codes = np.hstack([shown, rng.normal(size=(N_SAMPLES, 1))])
    codes += 0.2 * rng.normal(size=codes.shape)
    factors[::9, 0] = None
    factors[::7, 1] = np.nan
    return codes, factors


def numbers(found):
    parts = [found.chance, found.limit, found.calibrated, found.p_value]
    if found.value is not None:
        parts += [found.value.value, found.value.low, found.value.high]
    return [*parts, *found.score.per_factor, *found.score.per_code]


def test_every_score_takes_mixed_factors_of_which_some_are_missing(data):
    found = evaluate_scores(*data, scores=CHEAP, refits=1, half_samples=0, **KINDS)
    assert [each.name for each in found] == CHEAP
    for each in found:
        assert all(part is None or math.isfinite(part) for part in numbers(each)), each
        assert each.value is not None or each.says, each


@pytest.mark.slow
def test_costly_scores_take_mixed_factors_of_which_some_are_missing(data):
    costly = [name for name in EVERY if name not in CHEAP]
    found = evaluate_scores(*data, scores=costly, **KINDS, **BARE)
    for each in found:
        assert all(part is None or math.isfinite(part) for part in numbers(each)), each
        assert each.value is not None or each.says, each


def own_functions(codes, factors, name, variant):
    """The score by its own function."""
    match name:
        case "infomec/modularity" | "infomec/compactness" | "infomec/explicitness":
            found = info_scores.infomec(codes, factors, variant=variant, **KINDS)
            return getattr(found, name.partition("/")[2])
        case "mig" | "rmig":
            return getattr(gaps, name)(codes, factors, variant=variant, **KINDS)
        case "mig-sup" | "dcimig":
            score = getattr(code_gaps, name.replace("-", "_"))
            return score(codes, factors, variant=variant, **KINDS)
        case "jemmig":
            return gaps.jemmig(codes, factors, **KINDS)
        case "ridgeway/modularity":
            return modularity.ridgeway_modularity(codes, factors, variant=variant, **KINDS)
        case "ridgeway/explicitness":
            return probes.ridgeway_explicitness(codes, factors, variant=variant, **KINDS)
        case "sap":
            return sap.sap_score(codes, factors, variant=variant, **KINDS).score
        case "linear-probe":
            return probes.linear_probe(codes, factors, **KINDS)
        case "downstream":
            return probes.downstream_probe(codes, factors, predictor=variant, **KINDS)
        case "beta-vae" | "factor-vae":
            score = getattr(interventions, f"{name.replace('-', '_')}_score")
            own, _, guess = variant.partition("/")
            return score(codes, factors, variant=own, from_chance=bool(guess), **KINDS)
        case "irs":
            return stability.irs_score(codes, factors, variant=variant, **KINDS).score
        case "lms":
            return classes.latent_matching_score(codes, factors, similarity=variant, **KINDS)
        case "msas":
            return classes.most_similar_averaging_score(codes, factors, similarity=variant, **KINDS)
        case "msgs":
            return classes.most_similar_gap_score(codes, factors, similarity=variant, **KINDS)
        case "gaussian-tc":
            return gaussian_tc.gaussian_total_correlation(codes)
        case "wasserstein-correlation":
            return gaussian_tc.wasserstein_correlation(codes, normalised=variant == "normalised")
    found = dci.dci_scores(codes, factors, variant=variant, **KINDS)
    return getattr(found, name.partition("/")[2])


@pytest.mark.parametrize(
    "name",
    [
        name if name in CHEAP else pytest.param(name, marks=pytest.mark.slow)
        for name in EVERY
        if not name.startswith("dci/")
    ],
)
def test_a_score_by_name_is_that_of_its_own_function(data, name):
    (found,) = evaluate_scores(*data, scores=name, **KINDS, **BARE)
    own, _, variant = name.partition("@")
    assert found.score == own_functions(*data, own, variant)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["disentanglement_lib", "ubisoft/lasso"])
def test_dci_by_name_is_that_of_its_own_function(data, variant):
    for found in evaluate_scores(*data, scores=f"dci@{variant}", **KINDS, **BARE):
        own = found.name.partition("@")[0]
        assert found.score == own_functions(*data, own, variant)


def test_explicitness_by_name_is_the_probe_of_the_same_name(data):
    for variant, adjusted in (("latent_quantization", False), ("adjusted", True)):
        name = f"infomec/explicitness@{variant}"
        (found,) = evaluate_scores(*data, scores=name, **KINDS, **BARE)
        own = predictive.explicitness(*data, adjusted=adjusted, **KINDS)
        assert found.score.per_factor == own.per_factor


def test_families_and_variants_are_found_by_name():
    def names(asked):
        return [each.name for each in find_scores(asked)]

    parts = ("modularity", "compactness", "explicitness")
    assert names("infomec@tripod") == [f"infomec/{part}@tripod" for part in parts]
    assert names(["mig", "mig", "mig@adjusted"]) == ["mig@disentanglement_lib", "mig@adjusted"]
    assert names("drvi@spn") == ["lms@spn", "msas@spn", "msgs@spn"]
    assert names("ridgeway") == [
        "ridgeway/modularity@disentanglement_lib",
        "ridgeway/explicitness@disentanglement_lib",
    ]
    assert names(DEFAULT_SCORES) == list(DEFAULT_SCORES)
    assert not any(SCORES[name.partition("@")[0]].costly for name in DEFAULT_SCORES)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("mic", "there is no score 'mic': choose one of infomec/modularity"),
        ("mig@tripod", "no variant 'tripod' of mig: choose one of disentanglement_lib, ubisoft"),
        ("ridgeway@adjusted", "no variant 'adjusted' of ridgeway/explicitness"),
        ((), "no scores to compute"),
    ],
)
def test_names_that_nothing_has_are_refused(asked, message):
    with pytest.raises(InputError, match=message):
        find_scores(asked)


def test_declarations_are_whole():
    for name, kind in SCORES.items():
        assert kind.name == name
        assert kind.says.endswith(".")
        assert kind.low < kind.high
        assert len(set(kind.variants)) == len(kind.variants) > 0
        assert set(kind.variants) <= set(kind.estimators or kind.variants)
