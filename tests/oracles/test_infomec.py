"""Scores made of information against the code of those they are known from.

Their values are in ``tests/golden``, written by ``checks/oracles_information.py``; its rows are
drawn again here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from upto.disentanglement.code_gaps import dcimig, mig_sup
from upto.disentanglement.gaps import jemmig, mig
from upto.disentanglement.info_scores import infomec
from upto.disentanglement.modularity import ridgeway_modularity

pytestmark = pytest.mark.slow

AGREEMENT = 1e-9
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "infomec.json").read_text(encoding="utf-8")
)
UBISOFT = {
    "mig": mig,
    "mig_sup": mig_sup,
    "dcimig": dcimig,
    "modularity": ridgeway_modularity,
}

each_case = pytest.mark.parametrize(
    "case", GOLDEN["cases"], ids=lambda case: f"seed {case['seed']}"
)
each_source = pytest.mark.parametrize(
    "source", ["latent_quantization", "latent_quantization_training", "tripod"]
)


def drawn(seed):
    n_samples = GOLDEN["n_samples"]
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=n_samples) for count in GOLDEN["classes"]])
    centred = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    codes = np.column_stack(
        [
            centred[:, 0] + 0.4 * rng.normal(size=n_samples),
            centred[:, 1] + 0.5 * centred[:, 2] + 0.5 * rng.normal(size=n_samples),
            centred[:, 2] + 0.6 * rng.normal(size=n_samples),
            0.04 * (centred[:, 1] + 0.5 * rng.standard_t(3, size=n_samples)),
            0.02 * (centred[:, 0] + rng.normal(size=n_samples)),
        ]
    )
    noisy = factors + rng.integers(3, size=factors.shape)
    rare = (factors[:, 0] == 1) & (factors[:, 1] == 2)
    discrete = np.column_stack([noisy, rare, np.zeros(n_samples, dtype=np.int64)])
    return factors, codes, discrete


@each_case
@each_source
def test_infomec_is_that_of_its_authors(case, source):
    factors, codes, _ = drawn(case["seed"])
    found = infomec(codes, factors, variant=source)
    scores = [each.value for each in (found.modularity, found.explicitness, found.compactness)]
    assert scores == pytest.approx(case[source], abs=AGREEMENT)


@each_case
@each_source
def test_infomec_of_discrete_codes_is_that_of_its_authors(case, source):
    factors, _, discrete = drawn(case["seed"])
    found = infomec(discrete, factors, variant=source, discrete_codes=True)
    scores = [each.value for each in (found.modularity, found.explicitness, found.compactness)]
    assert scores == pytest.approx(case["discrete"][source], abs=AGREEMENT)


def test_the_rules_of_the_authors_keep_different_codes():
    factors, codes, discrete = drawn(0)
    kept = {
        source: (
            infomec(codes, factors, variant=source).active.sum(),
            infomec(discrete, factors, variant=source, discrete_codes=True).active.sum(),
        )
        for source in ("latent_quantization", "latent_quantization_training", "tripod")
    }
    assert kept == {
        "latent_quantization": (4, 4),
        "latent_quantization_training": (3, 4),
        "tripod": (3, 3),
    }


@each_case
def test_gaps_are_those_of_disentanglement_lib(case):
    factors, codes, _ = drawn(case["seed"])
    found = {
        "mig": mig(codes, factors, variant="disentanglement_lib").value,
        "modularity": ridgeway_modularity(codes, factors, variant="disentanglement_lib").value,
    }
    assert found == pytest.approx(case["disentanglement_lib"], abs=AGREEMENT)


@each_case
def test_gaps_are_those_of_ubisoft(case):
    factors, codes, _ = drawn(case["seed"])
    found = {}
    for name, score in UBISOFT.items():
        found[name] = score(codes, factors, variant="ubisoft").value
        numbers = score(codes, factors + 0.1 * codes[:, :3], variant="ubisoft", continuous=True)
        found[f"{name} of numbers"] = numbers.value
    found["jemmig"] = jemmig(codes, factors).value
    found["jemmig of numbers"] = jemmig(codes, factors + 0.1 * codes[:, :3], continuous=True).value
    assert found == pytest.approx(case["ubisoft"], abs=AGREEMENT)
