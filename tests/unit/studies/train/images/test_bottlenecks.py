"""Bottlenecks: closed forms, gradients, noise, and what the training relies on."""

from __future__ import annotations

import math

import pytest

from upto.core import InputError
from upto_studies.train.images.models import DEFAULTS, ImageModel

torch = pytest.importorskip("torch")

from upto_studies.train.images.base import Bottleneck  # noqa: E402
from upto_studies.train.images.bottlenecks import make_bottleneck  # noqa: E402
from upto_studies.train.images.discriminator import (  # noqa: E402
    Discriminator,
    discrimination_loss,
    estimated_correlation,
    permuted_codes,
)
from upto_studies.train.images.divergences import (  # noqa: E402
    Normals,
    decomposed_kl,
    kl_divergence,
    normals_of,
    sampled,
)
from upto_studies.train.images.gaussians import FactorVae, Gaussian  # noqa: E402
from upto_studies.train.images.quantisers import LatentQuantised, Quantised, VectorQuantised  # noqa: E402

N_LATENTS, N_VALUES, N_IMAGES, BATCH = 3, 48, 1000, 16
GAUSSIAN = ("beta-vae", "annealed-vae", "beta-tcvae", "factor-vae")
DETERMINISTIC = ("ae", "bio-ae", "vq-vae", "qlae")

each_kind = pytest.mark.parametrize("kind", DEFAULTS)


def noise(seed=0):
    return torch.Generator().manual_seed(seed)


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=noise(seed), dtype=torch.float64)


def made(kind, **given):
    torch.manual_seed(0)
    model = ImageModel(kind=kind, n_latents=N_LATENTS, **given)
    return make_bottleneck(model, n_values=N_VALUES, n_images=N_IMAGES).double()


def hidden_of(bottleneck, seed=0):
    return drawn(BATCH, bottleneck.n_hidden, seed=seed).requires_grad_()


def passed(bottleneck, hidden, *, share=1.0, seed=0):
    return bottleneck(hidden, share=torch.tensor(share), generator=noise(seed))


def small_factor_vae(strength=6.4):
    torch.manual_seed(0)
    discriminator = Discriminator(N_LATENTS, width=8, n_layers=2)
    return FactorVae(
        n_latents=N_LATENTS, n_values=N_VALUES, strength=strength, discriminator=discriminator
    ).double()


# What the training relies on.


@each_kind
def test_shapes_are_those_that_were_promised(kind):
    bottleneck = made(kind)
    hidden = hidden_of(bottleneck)
    inputs, penalty, terms = passed(bottleneck, hidden)
    assert inputs.shape == (BATCH, bottleneck.n_inputs)
    assert penalty.shape == ()
    assert all(term.shape == () and not term.requires_grad for term in terms.values())
    latents = bottleneck.latents(hidden)
    assert latents.shape == (BATCH, N_LATENTS)
    assert bottleneck.inputs(latents).shape == inputs.shape
    assert bottleneck.is_discrete == (kind in {"vq-vae", "qlae"}) == (latents.dtype == torch.int64)


@each_kind
def test_the_same_generator_gives_the_same_noise_and_another_does_not(kind):
    bottleneck = made(kind)
    hidden = hidden_of(bottleneck)
    torch.manual_seed(1)
    first = passed(bottleneck, hidden)
    torch.manual_seed(2)
    again, other = passed(bottleneck, hidden), passed(bottleneck, hidden, seed=1)
    assert torch.equal(first.inputs, again.inputs)
    assert torch.equal(first.penalty, again.penalty)
    assert torch.equal(first.inputs, other.inputs) == (kind in DETERMINISTIC)


@pytest.mark.parametrize("kind", DETERMINISTIC)
def test_without_noise_latents_decode_to_what_training_decodes_to_the_last_bit(kind):
    bottleneck = made(kind).float()
    hidden = hidden_of(bottleneck).detach().float()
    expected = passed(bottleneck, hidden).inputs
    assert torch.equal(bottleneck.inputs(bottleneck.latents(hidden)), expected)


@each_kind
def test_rounding_of_the_networks_does_not_reach_the_arithmetic(kind):
    bottleneck = made(kind).float()
    rounded = hidden_of(bottleneck).detach().to(torch.bfloat16)
    expected = passed(bottleneck, rounded.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = passed(bottleneck, rounded)
        latents = bottleneck.latents(rounded)
    assert torch.equal(found.penalty, expected.penalty)
    assert torch.equal(found.inputs, expected.inputs)
    assert found.penalty.dtype == found.inputs.dtype == torch.float32
    assert torch.equal(latents, bottleneck.latents(rounded.float()))


@each_kind
def test_each_parameter_belongs_to_the_latents_or_the_discriminator(kind):
    bottleneck = made(kind)
    own, telling = bottleneck.own_parameters(), bottleneck.discriminator_parameters()
    listed = {id(each) for each in own + telling}
    assert len(listed) == len(own) + len(telling)
    assert listed == {id(each) for each in bottleneck.parameters()}
    assert bool(own) == (kind in {"vq-vae", "qlae"})
    assert bool(telling) == (kind == "factor-vae")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@each_kind
def test_a_gpu_replays_a_recorded_step(kind):
    bottleneck = made(kind).float().cuda()
    hidden = hidden_of(bottleneck).detach().float().cuda().requires_grad_()
    share, generator = torch.tensor(0.25).cuda(), torch.Generator("cuda").manual_seed(0)

    def step():
        bottled = bottleneck(hidden, share=share, generator=generator)
        (bottled.inputs.square().mean() + bottled.penalty).backward()
        return bottled.penalty.detach()

    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    hidden.grad = None
    for parameter in bottleneck.parameters():
        parameter.grad = None
    with torch.cuda.graph(graph):
        penalty = step()
    generator.manual_seed(5)
    graph.replay()
    found, gradient = penalty.clone(), hidden.grad.clone()
    hidden.grad = None
    generator.manual_seed(5)
    expected = step()
    assert torch.allclose(found, expected, rtol=1e-5)
    assert torch.allclose(gradient, hidden.grad, rtol=1e-4, atol=1e-6)


def test_a_bottleneck_needs_images():
    with pytest.raises(InputError, match="0 images of 48 values"):
        make_bottleneck(ImageModel(kind="ae", n_latents=2), n_values=48, n_images=0)


# Normal distributions.


def test_the_divergence_is_that_of_torch_summed_over_latents():
    hidden = drawn(BATCH, 2 * N_LATENTS)
    means, raw = hidden[:, :N_LATENTS], hidden[:, N_LATENTS:]
    scales = torch.log1p(torch.exp(raw))
    expected = torch.distributions.kl_divergence(
        torch.distributions.Normal(means, scales), torch.distributions.Normal(0.0, 1.0)
    )
    found = kl_divergence(normals_of(hidden))
    assert torch.allclose(found, expected.sum(dim=1).mean(), rtol=1e-12)
    bottled = passed(made("beta-vae", strength=3.0), hidden)
    assert torch.allclose(bottled.penalty, 3.0 / N_VALUES * found, rtol=1e-12)


def test_a_scale_that_vanishes_still_has_a_logarithm_and_a_gradient():
    hidden = torch.tensor([[0.0, -300.0]], requires_grad=True)
    kl = kl_divergence(normals_of(hidden))
    kl.backward()
    assert float(kl.detach()) == pytest.approx(300 - 0.5)
    assert hidden.grad.tolist() == [[0.0, -1.0]]


def test_samples_have_the_means_and_the_scales():
    normals = Normals(torch.tensor([[1.0, -2.0]]), torch.tensor([[0.5, 3.0]]), None)
    many = Normals(*(part.expand(40_000, -1) for part in normals[:2]), None)
    samples = sampled(many, noise())
    assert torch.allclose(samples.mean(dim=0), normals.means[0], atol=0.05)
    assert torch.allclose(samples.std(dim=0), normals.scales[0], rtol=0.02)


@pytest.mark.parametrize("kind", GAUSSIAN)
def test_means_are_scored(kind):
    bottleneck = made(kind)
    hidden = hidden_of(bottleneck)
    assert torch.equal(bottleneck.latents(hidden), hidden[:, :N_LATENTS])


@pytest.mark.parametrize(("share", "capacity"), [(0.0, 0.0), (0.2, 10.0), (0.5, 25.0), (1.0, 25.0)])
def test_the_capacity_grows_linearly_and_then_stays(share, capacity):
    bottleneck = made("annealed-vae")
    hidden = hidden_of(bottleneck)
    bottled = passed(bottleneck, hidden, share=share)
    kl = float(kl_divergence(normals_of(hidden.detach())))
    assert float(bottled.terms["capacity"]) == pytest.approx(capacity)
    expected = 1000 / N_VALUES * abs(kl - capacity)
    assert float(bottled.penalty.detach()) == pytest.approx(expected, rel=1e-6)


def test_below_its_capacity_the_annealed_divergence_is_pushed_up():
    bottleneck = made("annealed-vae")
    hidden = hidden_of(bottleneck)
    plain = torch.autograd.grad(kl_divergence(normals_of(hidden)), hidden)[0]
    for share, sign in ((0.0, 1.0), (1.0, -1.0)):
        found = torch.autograd.grad(passed(bottleneck, hidden, share=share).penalty, hidden)[0]
        assert torch.allclose(found, sign * 1000 / N_VALUES * plain, rtol=1e-12)


# Total correlation, by weighted sampling and by a discriminator.


def latents_of(seed=0):
    normals = normals_of(drawn(BATCH, 2 * N_LATENTS, seed=seed))
    return sampled(normals, noise(seed + 1)), normals


def log_probability(samples, means=0.0, scales=1.0):
    return torch.distributions.Normal(means, scales).log_prob(samples)


def test_the_three_terms_add_up_to_the_divergence_of_the_samples():
    samples, normals = latents_of()
    expected = log_probability(samples, normals.means, normals.scales) - log_probability(samples)
    terms = decomposed_kl(samples, normals, N_IMAGES)
    assert torch.allclose(sum(terms), expected.sum(dim=1).mean(), rtol=1e-12)


def test_weighted_sampling_exceeds_the_mean_over_the_batch_by_a_known_constant():
    samples, normals = latents_of()
    each = log_probability(samples[:, None], normals.means[None], normals.scales[None])
    joint = each.sum(dim=2).exp().mean(dim=1).log()
    product = each.exp().mean(dim=1).log().sum(dim=1)
    found = decomposed_kl(samples, normals, N_IMAGES).total_correlation
    constant = (N_LATENTS - 1) * math.log(N_IMAGES)
    assert float(found - (joint - product).mean()) == pytest.approx(constant, rel=1e-12)


def test_with_weight_one_beta_tcvae_costs_the_divergence_and_else_the_correlation_more():
    hidden = hidden_of(made("beta-tcvae"))
    one, four = (passed(made("beta-tcvae", strength=value), hidden) for value in (1.0, 4.0))
    assert float(one.penalty.detach()) == pytest.approx(sum(one.terms.values()).item() / N_VALUES)
    extra = float((four.penalty - one.penalty).detach()) * N_VALUES
    assert extra == pytest.approx(3 * float(one.terms["total_correlation"]), rel=1e-12)


def test_permuted_codes_keep_each_latent_and_break_their_pairing():
    codes = drawn(400, 1).repeat(1, 3)
    permuted = permuted_codes(codes, noise())
    assert torch.equal(permuted.sort(dim=0).values, codes.sort(dim=0).values)
    assert torch.corrcoef(permuted.T).triu(1).abs().max() < 0.2


def test_the_loss_of_the_discriminator_is_the_cross_entropy_of_both_kinds():
    logits, permuted = drawn(8, 2), drawn(8, 2, seed=1)
    entropy = torch.nn.functional.cross_entropy
    zeros = torch.zeros(8, dtype=torch.int64)
    expected = (entropy(logits, zeros) + entropy(permuted, zeros + 1)) / 2
    assert torch.allclose(discrimination_loss(logits, permuted), expected, rtol=1e-12)


def test_one_backward_pass_gives_factor_vae_the_gradients_of_two():
    bottleneck = small_factor_vae()
    hidden = hidden_of(bottleneck)
    bottled = passed(bottleneck, hidden)
    # The decoder's part, so that gradients of all that is trained together are compared.
    (bottled.inputs.square().mean() + bottled.penalty).backward()

    alone = hidden.detach().clone().requires_grad_()
    generator = noise()
    normals = normals_of(alone)
    samples = sampled(normals, generator)
    correlation = estimated_correlation(bottleneck.discriminator(samples))
    price = (kl_divergence(normals) + 6.4 * correlation) / N_VALUES
    (of_hidden,) = torch.autograd.grad(samples.square().mean() + price, alone, retain_graph=True)
    half = BATCH // 2
    told = discrimination_loss(
        bottleneck.discriminator(samples[:half].detach()),
        bottleneck.discriminator(permuted_codes(samples[half:].detach(), generator)),
    )
    parameters = bottleneck.discriminator_parameters()
    of_parameters = torch.autograd.grad(told, parameters)

    assert torch.allclose(hidden.grad, of_hidden, rtol=1e-11, atol=1e-14)
    assert all(
        torch.allclose(parameter.grad, expected, rtol=1e-11, atol=1e-14)
        for parameter, expected in zip(parameters, of_parameters, strict=True)
    )
    assert all(expected.abs().max() > 0 for expected in of_parameters)


def test_true_densities_give_the_total_correlation_and_the_least_loss():
    mixing = torch.tensor([[1.0, 0.8], [0.0, 0.6]], dtype=torch.float64)
    unmixing = torch.linalg.inv(mixing)
    codes = drawn(40_000, 2) @ mixing

    def logits(rows):
        joint = log_probability(rows @ unmixing).sum(dim=1) - math.log(0.6)
        return torch.stack([joint, log_probability(rows).sum(dim=1)], dim=1)

    told, permuted = logits(codes), logits(permuted_codes(codes, noise(1)))
    assert float(estimated_correlation(told)) == pytest.approx(-math.log(0.6), abs=0.02)
    least = discrimination_loss(told, permuted)
    for change in (0.8, 1.2, -1.0):
        assert discrimination_loss(change * told, change * permuted) > least


# Positive and small, and quantised.


def test_bio_ae_costs_the_mean_negative_part_and_the_mean_square():
    hidden = torch.tensor([[-1.0, 2.0, 0.0], [3.0, -0.5, 1.0]], dtype=torch.float64)
    bottled = passed(made("bio-ae", strength=0.1), hidden)
    assert {name: float(term) for name, term in bottled.terms.items()} == pytest.approx(
        {"negative": 1.5 / 6, "activity": 15.25 / 6}
    )
    assert float(bottled.penalty) == pytest.approx(1.5 / 6 + 0.1 * 15.25 / 6)


def test_a_plain_autoencoder_costs_nothing():
    hidden = hidden_of(made("ae"))
    bottled = passed(made("ae"), hidden)
    assert float(bottled.penalty) == 0
    assert bottled.inputs is hidden


def test_qlae_takes_the_nearest_of_ten_values_from_minus_to_plus_a_half():
    hidden = torch.tensor([[-9.0, 0.06, 0.43]], dtype=torch.float64)
    bottleneck = made("qlae")
    assert bottleneck.latents(hidden).tolist() == [[0, 5, 8]]
    expected = torch.tensor([[-0.5, 0.5 / 9, 3.5 / 9]], dtype=torch.float64)
    assert torch.allclose(passed(bottleneck, hidden).inputs, expected, rtol=1e-6)


def test_vq_vae_takes_the_nearest_of_all_embeddings_for_each_latent():
    bottleneck = made("vq-vae", n_codes=30)
    hidden = hidden_of(bottleneck)
    distances = torch.cdist(hidden.detach().reshape(-1, 64), bottleneck.embeddings.detach())
    expected = distances.argmin(dim=1).reshape(BATCH, N_LATENTS)
    assert torch.equal(bottleneck.latents(hidden), expected)
    looked_up = bottleneck.embeddings[expected].reshape(BATCH, -1)
    assert torch.equal(passed(bottleneck, hidden).inputs, looked_up)


def test_embeddings_begin_uniform_with_the_variance_of_one_over_their_size():
    embeddings = made("vq-vae").embeddings.detach()
    assert embeddings.shape == (512, 64)
    limit = math.sqrt(3 / 64)
    assert embeddings.abs().max() <= limit
    assert float(embeddings.var()) == pytest.approx(1 / 64, rel=0.03)


@pytest.mark.parametrize("kind", ["vq-vae", "qlae"])
def test_the_decoders_gradient_passes_straight_through_and_does_not_move_the_codebook(kind):
    bottleneck = made(kind)
    hidden = hidden_of(bottleneck)
    (parameter,) = bottleneck.own_parameters()
    direction = drawn(BATCH, bottleneck.n_inputs, seed=3)
    inputs = passed(bottleneck, hidden).inputs
    found = torch.autograd.grad((inputs * direction).sum(), [hidden, parameter], allow_unused=True)
    assert torch.equal(found[0], direction)
    assert found[1] is None


@pytest.mark.parametrize(
    "bottleneck",
    [
        LatentQuantised(n_latents=N_LATENTS, n_codes=5, strength=0.01).double(),
        VectorQuantised(n_latents=N_LATENTS, n_codes=5, code_size=2, commitment=0.25).double(),
    ],
    ids=["qlae", "vq-vae"],
)
def test_the_gradient_of_the_codebook_is_that_of_finite_differences_and_moves_every_used_code(
    bottleneck,
):
    hidden = hidden_of(bottleneck).detach()
    (parameter,) = bottleneck.own_parameters()
    weight = bottleneck.quantisation
    gradient = torch.autograd.grad(passed(bottleneck, hidden).penalty, parameter)[0]
    expected = torch.zeros_like(parameter)
    values, step = parameter.detach().clone(), 1e-6
    for place in range(values.numel()):
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter.copy_(values)
                parameter.view(-1)[place] += sign * step
            ends.append(weight * passed(bottleneck, hidden).terms["quantisation"])
        expected.view(-1)[place] = (ends[0] - ends[1]) / (2 * step)
    with torch.no_grad():
        parameter.copy_(values)
    assert torch.allclose(gradient, expected, atol=1e-9)
    used = bottleneck.latents(hidden)
    for latent in range(N_LATENTS):
        for code in used[:, latent].unique():
            moved = gradient[latent, code] if gradient.shape[0] == N_LATENTS else gradient[code]
            assert moved.abs().max() > 0


def test_commitment_draws_the_encoder_to_the_codebook_and_nothing_else_does():
    bottleneck = made("qlae", strength=0.01)
    hidden = hidden_of(bottleneck)
    bottled = passed(bottleneck, hidden)
    found = torch.autograd.grad(bottled.penalty, hidden)[0]
    expected = 0.01 * 2 * (hidden - bottled.inputs).detach() / hidden.numel()
    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize(
    ("codes", "says"),
    [
        (torch.tensor([[0.0, 1.0, 2.0]]), "codes are indices"),
        (
            torch.tensor([[0, 4, 10]]),
            "range from 0 to 10, but a latent has 10: choose from 0",
        ),
        (torch.tensor([[-1, 4, 9]]), "codes range from -1 to 9"),
    ],
)
def test_codes_that_do_not_exist_are_refused(codes, says):
    with pytest.raises(InputError, match=says):
        made("qlae").inputs(codes)


@pytest.mark.parametrize("kind", [Bottleneck, Gaussian, Quantised])
def test_what_is_common_to_several_models_is_none_itself(kind):
    with pytest.raises(TypeError, match="abstract"):
        kind()
