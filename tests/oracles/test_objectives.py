"""Losses of models against pythae's own.

Its values are in ``tests/golden``, written by ``checks/oracles_objectives.py``; its tensors are
drawn again here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from upto_studies.train.images.discriminator import (  # noqa: E402
    Discriminator,
    discrimination_loss,
    estimated_correlation,
)
from upto_studies.train.images.divergences import Normals, decomposed_kl, kl_divergence  # noqa: E402
from upto_studies.train.images.quantisers import VectorQuantised  # noqa: E402

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "objectives.json").read_text(encoding="utf-8")
)
SHAPE = (GOLDEN["batch"], GOLDEN["n_latents"])
AGREEMENT = {"float64": 1e-12, "float32": 1e-5}

each_precision = pytest.mark.parametrize("precision", AGREEMENT)


def each_case(kind):
    return pytest.mark.parametrize("case", GOLDEN[kind], ids=lambda case: f"seed {case['seed']}")


def latents_of(seed, precision="float64"):
    rng = np.random.default_rng(seed)
    means, log_variances, noise = (rng.normal(size=SHAPE) for _ in range(3))
    samples = means + np.exp(0.5 * log_variances) * noise
    given = (means, np.exp(0.5 * log_variances), 0.5 * log_variances, samples)
    *normals, samples = (torch.tensor(each).to(getattr(torch, precision)) for each in given)
    return Normals(*normals), samples


@each_precision
@each_case("total_correlation")
def test_the_three_terms_of_beta_tcvae_are_pythaes(case, precision):
    normals, samples = latents_of(case["seed"], precision)
    terms = decomposed_kl(samples, normals, GOLDEN["n_images"])._asdict()
    expected = {name: case[name] for name in terms}
    found = {name: float(term) for name, term in terms.items()}
    assert found == pytest.approx(expected, rel=AGREEMENT[precision], abs=0)


@each_case("factors")
def test_both_losses_of_factor_vae_and_their_gradients_are_pythaes(case):
    seed = case["seed"]
    normals, samples = latents_of(seed)
    samples.requires_grad_()
    rng = np.random.default_rng([seed, 1])
    discriminator = Discriminator(SHAPE[1], width=GOLDEN["width"], n_layers=5).double()
    with torch.no_grad():
        for parameter in discriminator.parameters():
            parameter.copy_(torch.tensor(rng.normal(size=parameter.shape)))
    permuted = torch.tensor(np.random.default_rng([seed, 2]).normal(size=SHAPE))

    price = kl_divergence(normals) + case["gamma"] * estimated_correlation(
        discriminator(samples, is_fixed=True)
    )
    told = discrimination_loss(discriminator(samples.detach()), discriminator(permuted))
    (price + told).backward()

    assert float(price.detach()) == pytest.approx(case["autoencoder_loss"], rel=1e-12)
    assert float(told.detach()) == pytest.approx(case["discriminator_loss"], rel=1e-12)
    np.testing.assert_allclose(samples.grad, case["gradient_of_samples"], rtol=1e-10, atol=1e-14)
    expected = case["gradients_of_discriminator"]
    for parameter, gradient in zip(discriminator.parameters(), expected, strict=True):
        np.testing.assert_allclose(parameter.grad, gradient, rtol=1e-10, atol=1e-14)


@each_case("quantised")
def test_the_loss_the_indices_and_the_gradients_of_vq_vae_are_pythaes(case):
    rng = np.random.default_rng(case["seed"])
    n_codes, size = GOLDEN["n_codes"], GOLDEN["code_size"]
    values = torch.tensor(rng.normal(size=(SHAPE[0], SHAPE[1] * size)), requires_grad=True)
    bottleneck = VectorQuantised(
        n_latents=SHAPE[1], n_codes=n_codes, code_size=size, commitment=0.25
    ).double()
    with torch.no_grad():
        bottleneck.embeddings.copy_(torch.tensor(rng.normal(size=(n_codes, size))))

    penalty = bottleneck(values, share=torch.tensor(0.0), generator=None).penalty
    penalty.backward()

    assert bottleneck.latents(values).tolist() == case["indices"]
    assert float(penalty.detach()) == pytest.approx(case["loss"], rel=1e-12)
    np.testing.assert_allclose(values.grad, case["gradient_of_values"], rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(
        bottleneck.embeddings.grad, case["gradient_of_embeddings"], rtol=1e-10, atol=1e-15
    )
