"""Scores by drawing against disentanglement_lib's own programs, given the same draws."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from upto.disentanglement.interventions import beta_vae_score, factor_vae_score

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "drawing.json").read_text(encoding="utf-8")
)
GRID = (6, 5, 4)


def grid_of(seed):
    rng = np.random.default_rng(seed)
    factors = np.indices(GRID).reshape(3, -1).T
    mix = np.eye(3, 4) + 0.45 * rng.normal(size=(3, 4))
    return (factors / np.array(GRID)) @ mix + 0.25 * rng.normal(size=(len(factors), 4)), factors


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"seed {case['seed']}")
@pytest.mark.parametrize(
    ("name", "score"), [("beta-vae", beta_vae_score), ("factor-vae", factor_vae_score)]
)
def test_scores_by_drawing_are_those_of_disentanglement_lib(name, score, case):
    sizes = {key: GOLDEN[key] for key in ("batch", "fitted", "scored")}
    found = score(*grid_of(case["seed"]), seed=case["seed"], **sizes)
    assert found.value == pytest.approx(case[name], abs=1e-9)
