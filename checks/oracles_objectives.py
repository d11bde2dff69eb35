"""Compute golden values for training objectives with pythae's own losses.

``python checks/oracles_objectives.py``, where pythae 0.1.2 is installed, writes
``tests/golden/objectives.json``. The tensors follow from the seeds in the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pythae.models import BetaTCVAE, BetaTCVAEConfig, FactorVAE, FactorVAEConfig
from pythae.models.factor_vae.factor_vae_utils import FactorVAEDiscriminator
from pythae.models.vq_vae.vq_vae_config import VQVAEConfig
from pythae.models.vq_vae.vq_vae_utils import Quantizer

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "objectives.json"
N_IMAGES = 737
"""Images of a data set of which a batch is drawn."""
BATCH = 9
N_LATENTS = 4
WIDTH = 6
"""Of the hidden layers of the discriminator, of which pythae has five."""
N_CODES = 7
CODE_SIZE = 3


def latents_of(seed: int) -> tuple[Any, Any, Any]:
    """Return means, logarithms of variances and samples."""
    rng = np.random.default_rng(seed)
    shape = (BATCH, N_LATENTS)
    means, log_variances, noise = (rng.normal(size=shape) for _ in range(3))
    samples = means + np.exp(0.5 * log_variances) * noise
    return tuple(torch.tensor(each) for each in (means, log_variances, samples))


def pixels() -> Any:
    return torch.full((BATCH, 2), 0.5)


def total_correlation(seed: int) -> dict[str, Any]:
    """Return the three terms, each as the only one with a weight."""
    weights = {
        "mutual_information": (1.0, 0.0, 0.0),
        "total_correlation": (0.0, 1.0, 0.0),
        "dimension_wise_kl": (0.0, 0.0, 1.0),
    }
    terms = {}
    for name, (alpha, beta, gamma) in weights.items():
        settings = BetaTCVAEConfig(
            input_dim=(2,), latent_dim=N_LATENTS, alpha=alpha, beta=beta, gamma=gamma, use_mss=False
        )
        _, _, term = BetaTCVAE(settings).loss_function(
            pixels(), pixels(), *latents_of(seed), N_IMAGES
        )
        terms[name] = term.item()
    return {"seed": seed, **terms}


def discriminator(seed: int) -> Any:
    """Return the discriminator whose parameters are drawn one after the other."""
    rng = np.random.default_rng([seed, 1])
    network = FactorVAEDiscriminator(latent_dim=N_LATENTS, hidden_units=WIDTH)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.tensor(rng.normal(size=parameter.shape)))
    return network


def factors(seed: int) -> dict[str, Any]:
    """Return both losses, and the gradients that its two optimisers get."""
    settings = FactorVAEConfig(input_dim=(2,), latent_dim=N_LATENTS, gamma=6.4)
    model = FactorVAE(settings)
    model.discriminator = discriminator(seed)
    means, log_variances, samples = latents_of(seed)
    samples.requires_grad_()
    permuted = torch.tensor(np.random.default_rng([seed, 2]).normal(size=(BATCH, N_LATENTS)))
    _, both, told = model.loss_function(pixels(), pixels(), means, log_variances, samples, permuted)
    (of_samples,) = torch.autograd.grad(both, samples, retain_graph=True)
    of_parameters = torch.autograd.grad(told, list(model.discriminator.parameters()))
    return {
        "seed": seed,
        "gamma": 6.4,
        "autoencoder_loss": both.item(),
        "discriminator_loss": told.item(),
        "gradient_of_samples": of_samples.tolist(),
        "gradients_of_discriminator": [each.tolist() for each in of_parameters],
    }


def quantised(seed: int) -> dict[str, Any]:
    """Return the loss of a quantiser, the indices, and both gradients."""
    rng = np.random.default_rng(seed)
    settings = VQVAEConfig(
        input_dim=(2,),
        latent_dim=CODE_SIZE,
        num_embeddings=N_CODES,
        commitment_loss_factor=0.25,
        quantization_loss_factor=1.0,
        use_ema=False,
    )
    settings.embedding_dim = CODE_SIZE
    quantiser = Quantizer(settings)
    values = torch.tensor(rng.normal(size=(BATCH, 1, N_LATENTS, CODE_SIZE)), requires_grad=True)
    # It makes its choices in float32 whatever the embeddings are.
    quantiser.embeddings.weight.data = torch.tensor(rng.normal(size=(N_CODES, CODE_SIZE)))
    torch.Tensor.type, kept = lambda self, _: self.to(torch.float64), torch.Tensor.type
    found = quantiser(values)
    torch.Tensor.type = kept
    found.loss.backward()
    return {
        "seed": seed,
        "loss": found.loss.item(),
        "indices": found.quantized_indices.reshape(BATCH, N_LATENTS).tolist(),
        "gradient_of_values": values.grad.reshape(BATCH, -1).tolist(),
        "gradient_of_embeddings": quantiser.embeddings.weight.grad.tolist(),
    }


def main() -> None:
    # With this its constants are no longer rounded to float32.
    torch.set_default_dtype(torch.float64)
    golden = {
        "made_by": "checks/oracles_objectives.py",
        "peer": "pythae 0.1.2",
        "n_images": N_IMAGES,
        "batch": BATCH,
        "n_latents": N_LATENTS,
        "width": WIDTH,
        "n_codes": N_CODES,
        "code_size": CODE_SIZE,
        "total_correlation": [total_correlation(seed) for seed in range(3)],
        "factors": [factors(seed) for seed in range(3, 5)],
        "quantised": [quantised(seed) for seed in range(5, 7)],
    }
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    for each in golden["total_correlation"]:
        print(each)


if __name__ == "__main__":
    main()
