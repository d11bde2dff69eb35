"""Components, priors and posteriors of mixtures, against SciPy, scikit-learn, torch and NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from upto.core import InputError
from upto_studies.train.mixtures import MixtureModel
from upto_studies.train.mixtures.components import (
    VARIANCE_FLOOR,
    fit_components,
    log_densities,
    log_responsibilities,
)
from upto_studies.train.mixtures.hashed_noise import HashedNoise
from upto_studies.train.mixtures.latent_priors import floored, kl

torch = pytest.importorskip("torch")

MEMBERS, ROWS, COMPONENTS, WIDTH = 2, 7, 3, 4


def drawn(rng, *shape):
    return torch.tensor(rng.normal(size=shape), dtype=torch.float32)


def mixture_of(rng):
    return {
        "prior.logits": drawn(rng, MEMBERS, COMPONENTS),
        "prior.means": drawn(rng, MEMBERS, COMPONENTS, WIDTH),
        "prior.log_variances": drawn(rng, MEMBERS, COMPONENTS, WIDTH),
    }


def model_of(kind, n_components=COMPONENTS, **given):
    return MixtureModel(kind=kind, widths=(6, 5, WIDTH), n_components=n_components, **given)


def by_hand(codes, means, log_variances):
    """Return log densities, one number at a time."""
    return np.array(
        [
            [
                norm.logpdf(code, mean, np.exp(0.5 * wide)).sum()
                for mean, wide in zip(means, log_variances, strict=True)
            ]
            for code in codes
        ]
    )


def test_log_densities_are_those_of_scipy(rng):
    codes, parts = drawn(rng, MEMBERS, ROWS, WIDTH), mixture_of(rng)
    found = log_densities(codes, parts["prior.means"], parts["prior.log_variances"])
    known = [
        by_hand(*(each[k].numpy() for each in (codes, *list(parts.values())[1:])))
        for k in range(MEMBERS)
    ]
    assert np.allclose(found, np.stack(known), rtol=1e-5, atol=1e-4)


def test_narrow_components_far_from_zero_keep_their_digits():
    codes, means = torch.full((1, 1, 1), 1000.001), torch.full((1, 1, 1), 1000.0)
    found = log_densities(codes, means, torch.full((1, 1, 1), math.log(VARIANCE_FLOOR)))
    away = float(codes[0, 0, 0].double() - 1000.0)
    assert float(found) == pytest.approx(norm.logpdf(away, 0, 1e-3), rel=1e-4)


def test_the_weight_of_a_component_counts_once(rng):
    codes, parts = drawn(rng, 1, ROWS, WIDTH), {k: v[:1] for k, v in mixture_of(rng).items()}
    logits, means, wide = (each[0].numpy() for each in parts.values())
    logs = by_hand(codes[0].numpy(), means, wide) + logits
    found = log_responsibilities(codes, *parts.values())[0].numpy()
    assert np.allclose(found, logs - logsumexp(logs, axis=1, keepdims=True), atol=1e-4)
    far = log_responsibilities(1e4 * codes, *parts.values())
    assert torch.isfinite(far).all()
    assert torch.allclose(far.exp().sum(-1), torch.ones(1, ROWS))


def test_components_are_fitted_as_by_scikit_learn_and_never_too_narrow(rng):
    codes = np.stack([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) * (1, 1e-9)])
    codes[:, :30] += 8
    weights, means, variances = fit_components(codes, 2, [3, 4])
    known = GaussianMixture(2, covariance_type="diag", n_init=5, random_state=3).fit(codes[0])
    assert np.allclose(means[0], known.means_)
    assert np.allclose(weights.sum(axis=1), 1)
    assert variances.min() >= VARIANCE_FLOOR
    assert variances[1, :, 1].max() < 2 * VARIANCE_FLOOR
    beside = codes.copy()
    beside[1, 7] = np.nan
    of_one, of_other = zip(*fit_components(beside, 2, [3, 4]), strict=True)
    assert np.allclose(of_one[1], known.means_)
    assert all(np.isnan(each).all() for each in of_other)
    with pytest.raises(InputError, match="one seed per member"):
        fit_components(codes, 2, [3])
    with pytest.raises(InputError, match="70 components cannot be fitted to 60 rows"):
        fit_components(codes, 70, [3, 4])


def test_the_divergence_of_normals_is_that_of_torch(rng):
    own, other = [drawn(rng, 5, WIDTH) for _ in range(2)], [drawn(rng, 5, WIDTH) for _ in range(2)]
    normals = [torch.distributions.Normal(m, torch.exp(0.5 * v)) for m, v in (own, other)]
    known = torch.distributions.kl_divergence(*normals).sum(-1)
    assert torch.allclose(kl(*own, *other), known, rtol=1e-4)


def test_variances_have_a_floor_and_a_gradient():
    given = torch.tensor([-100.0, 0.0, 3.0], requires_grad=True)
    found = floored(given)
    assert found.exp().detach().numpy() == pytest.approx([1e-6, 1.0, math.exp(3)], rel=1e-4)
    (gradient,) = torch.autograd.grad(found.sum(), given)
    assert gradient[1:].numpy() == pytest.approx(1.0, abs=1e-4)


def test_the_divergence_of_vade_is_the_published_bound(rng):
    parts, noise = mixture_of(rng), drawn(rng, MEMBERS, ROWS, WIDTH)
    hidden = drawn(rng, MEMBERS, ROWS, 2 * WIDTH)
    found = model_of("vade").prior.posterior(parts, hidden, noise, None)
    for member in range(MEMBERS):
        logits, means, wide = (each[member].numpy().astype(float) for each in parts.values())
        log_weights = logits - logsumexp(logits)
        for row in range(ROWS):
            m, v = np.split(hidden[member, row].numpy().astype(float), 2)
            z = m + np.exp(0.5 * v) * noise[member, row].numpy()
            logs = log_weights + by_hand(z[None], means, wide)[0]
            gamma = np.exp(logs - logsumexp(logs))
            inner = (wide + np.exp(v - wide) + (m - means) ** 2 / np.exp(wide)).sum(axis=1)
            bound = -0.5 * gamma @ inner + gamma @ (log_weights - np.log(gamma))
            bound += 0.5 * (1 + v).sum()
            assert float(found.divergence[member, row]) == pytest.approx(-bound, abs=2e-3)
            assert found.samples[member, 0, row].numpy() == pytest.approx(z, abs=1e-4)


def test_the_divergence_of_gmvae_sums_over_components(rng):
    prior, parts = model_of("gmvae").prior, mixture_of(rng)
    hidden = drawn(rng, MEMBERS, ROWS, prior.n_hidden)
    noise = drawn(rng, MEMBERS, ROWS, WIDTH)
    found = prior.posterior(parts, hidden, noise, None)
    logs = hidden[:, :, :COMPONENTS].log_softmax(-1)
    log_weights = parts["prior.logits"].log_softmax(-1)
    total, codes = torch.zeros(MEMBERS, ROWS), torch.zeros(MEMBERS, ROWS, WIDTH)
    for k in range(COMPONENTS):
        first = COMPONENTS + 2 * k * WIDTH
        m, v = hidden[:, :, first : first + 2 * WIDTH].split(WIDTH, dim=2)
        means, wide = (parts[f"prior.{each}"][:, None, k] for each in ("means", "log_variances"))
        share = logs[:, :, k].exp()
        total += share * (kl(m, v, means, wide) + logs[:, :, k] - log_weights[:, None, k])
        codes += share[..., None] * m
        assert torch.allclose(found.samples[:, k], m + torch.exp(0.5 * v) * noise, atol=1e-4)
        assert torch.allclose(found.shares[:, k], share)
    assert torch.allclose(found.divergence, total, atol=1e-3)
    assert torch.allclose(prior.codes(hidden), codes, atol=1e-5)
    # Outputs that are log variances follow the means of their component.
    narrow = hidden.clone()
    narrow[:, :, prior.width_outputs] = -9.0
    assert torch.allclose(prior.codes(narrow), codes, atol=1e-5)


@pytest.mark.parametrize("centred", [False, True])
def test_ivae_has_the_normal_of_the_label(rng, centred):
    prior, parts = model_of("ivae", centred=centred).prior, mixture_of(rng)
    hidden, noise = drawn(rng, MEMBERS, ROWS, 2 * WIDTH), drawn(rng, MEMBERS, ROWS, WIDTH)
    labels = rng.integers(COMPONENTS, size=(MEMBERS, ROWS))
    found = prior.posterior(parts, hidden, noise, torch.eye(COMPONENTS)[labels])
    m, v = hidden.chunk(2, dim=2)
    each = np.arange(MEMBERS)[:, None]
    means = parts["prior.means"][each, labels] * (0.0 if centred else 1.0)
    known = kl(m, v, means, parts["prior.log_variances"][each, labels])
    assert torch.allclose(found.divergence, known, atol=1e-3)
    assert ("prior.means" in prior.initial([0, 1])) is not centred


def test_the_prior_of_ivae_is_fitted_to_the_codes_of_each_label(rng):
    codes, labels = rng.normal(size=(MEMBERS, 40, WIDTH)), rng.integers(COMPONENTS, size=40)
    found = model_of("ivae").prior.fitted(codes, labels, [0, 1], 1)
    for label in range(COMPONENTS):
        own = codes[:, labels == label]
        assert np.allclose(found["prior.means"][:, label], own.mean(1))
        assert np.allclose(found["prior.log_variances"][:, label], np.log(own.var(1)))


def test_a_standard_normal_has_nothing_to_learn(rng):
    prior = model_of("vae", n_components=1).prior
    hidden, noise = drawn(rng, 1, ROWS, 2 * WIDTH), drawn(rng, 1, ROWS, WIDTH)
    found = prior.posterior({}, hidden, noise, None)
    m, v = hidden.chunk(2, dim=2)
    known = 0.5 * (m**2 + v.exp() - 1 - v).sum(-1)
    assert torch.allclose(found.divergence, known, atol=1e-4)
    assert prior.initial([0]) == prior.fitted(np.zeros((1, 2, WIDTH)), None, [0], 1) == {}


def test_noise_is_normal_and_each_member_has_its_own():
    noise = HashedNoise([5, 6], 4000, 2, "cpu")
    first = noise.normal(0)
    assert first.shape == (2, 4000, 2)
    assert first.mean((1, 2)).abs().max() < 0.05
    assert first.std((1, 2)).numpy() == pytest.approx(1, abs=0.03)
    assert abs(np.corrcoef(first[0].T, first[1].T)[np.triu_indices(4, 1)]).max() < 0.06
    assert torch.equal(HashedNoise([6], 4000, 2, "cpu").normal(0)[0], first[1])
    assert not torch.equal(noise.normal(1), first)
    assert not torch.equal(HashedNoise([5, 6], 4000, 2, "cpu", "masks").normal(0), first)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kind": "vade", "n_components": 1}, "a VAE has 1, every other model 2 or more"),
        ({"kind": "vae", "n_components": 3}, "a VAE has 1, every other model 2 or more"),
        ({"kind": "vqvae"}, "there is no model 'vqvae'"),
        ({"kind": "vade", "likelihood": "poisson"}, "gaussian or bernoulli"),
        ({"kind": "vade", "deviation": 0.0}, "the first must be positive"),
    ],
)
def test_models_that_make_no_sense_are_refused(given, says):
    with pytest.raises(InputError, match=says):
        MixtureModel(**{"widths": (6, 5, 4), "n_components": 3} | given)
