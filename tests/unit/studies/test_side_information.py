"""Side information: the planted mixture, and the study."""

from __future__ import annotations

import numpy as np
import pytest

from upto_studies.planted_mixture import draw_planted
from upto_studies.run import run_study

pytest.importorskip("torch")


def planted(**given):
    return draw_planted(
        **{
            "n_latents": 2,
            "n_components": 3,
            "n_inputs": 5,
            "n_layers": 3,
            "separation": 3.0,
            "leak": 0.3,
            "noise": 0.1,
            "seed": 0,
        }
        | given
    )


def test_inputs_have_variance_one_and_the_moments_of_the_components():
    truth = planted()
    drawn = truth.draw(30_000, seed=1, purpose="a test")
    assert drawn.rows.var(axis=0).mean() == pytest.approx(1 + 0.1**2, rel=0.05)
    for label in range(3):
        own = drawn.latents[drawn.labels == label]
        assert own.mean(axis=0) == pytest.approx(truth.means[label], abs=0.05)
        assert own.std(axis=0) == pytest.approx(truth.deviations[label], rel=0.05)
    assert (drawn.rows - truth.decode(drawn.latents)).std() == pytest.approx(0.1, rel=0.02)


def test_the_decoder_is_injective_and_piecewise_affine(rng):
    truth = planted()
    first, second = rng.normal(size=(2, 500, 2)) * 3
    apart = np.linalg.norm(first - second, axis=1)
    moved = np.linalg.norm(truth.decode(first) - truth.decode(second), axis=1) * truth.scale
    assert (moved >= 0.3**2 * apart * (1 - 1e-9)).all()
    assert (moved <= apart * (1 + 1e-9)).all()
    step = 1e-6 * rng.normal(size=first.shape)
    bent = truth.decode(first + step) - 2 * truth.decode(first) + truth.decode(first - step)
    assert np.median(np.abs(bent)) < 1e-12


@pytest.mark.slow
def test_the_tiny_study_measures_all_it_names():
    result = run_study("side-information", size="tiny")
    by_name = {each.name: each.measured for each in result.quantities}
    assert None not in by_name.values()
    assert by_name["diverged"].value == 0
    models = [row["model"] for row in result.details[0].records()]
    assert models == ["VaDE", "GMVAE", "iVAE", "iVAE, shuffled labels", "VAE", "untrained"]
