"""Autoencoders of images: the published architecture, and training that is one with itself."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from upto.core import InputError  # noqa: E402
from upto.train.images import (  # noqa: E402
    ImageAutoencoder,
    ImageModel,
    ImageTrainer,
    ImageTraining,
    train_images,
)
from upto.train.images.networks import (  # noqa: E402
    ImageDecoder,
    ImageEncoder,
    Narrowing,
    Widening,
    bottom_pixels,
    normalised,
)
from upto.train.images.steps import MemberSteps, image_order  # noqa: E402

SMALL = {"batch_images": 8, "width": 2}


def pictures(n_images: int = 24, n_channels: int = 1, seed: int = 0) -> np.ndarray:
    shape = (n_images, 32, 32, n_channels)
    return np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)


def model(kind: str = "ae", **values: float) -> ImageModel:
    return ImageModel(kind=kind, n_latents=3, **values)


def test_the_encoder_has_the_published_sizes():
    encoder = ImageEncoder(64, 3, 12, 32)
    n_convolutions = 3 * (3 * 32 * 9) // 3 + 32 * 32 * 9 + 32 * 32 * 16
    n_convolutions += 32 * 64 * 9 + 64 * 64 * 9 + 64 * 64 * 16
    n_convolutions += 64 * 128 * 9 + 128 * 128 * 9 + 128 * 128 * 16
    n_convolutions += 128 * 256 * 9 + 256 * 256 * 9 + 256 * 256 * 16
    n_norms = 2 * 3 * (32 + 64 + 128 + 256)
    n_dense = 4096 * 256 + 256 + 256 * 256 + 256 + 256 * 12 + 12
    assert sum(each.numel() for each in encoder.parameters()) == n_convolutions + n_norms + n_dense


def test_the_decoder_has_the_published_sizes():
    decoder = ImageDecoder(64, 3, 12, 32)
    widths = [256] * 4 + [128] * 3 + [64] * 3 + [32] * 3
    kernels = [9, 9, 16] * 4
    n_convolutions = sum(a * b * k for a, b, k in zip(widths, widths[1:], kernels, strict=False))
    n_styles = sum(257 * 2 * width for width in widths[1:])
    n_rest = 256 * 16 + 12 * 256 + 256 + 256 * 256 + 256 + 32 * 3 * 9
    assert sum(each.numel() for each in decoder.parameters()) == n_convolutions + n_styles + n_rest


def test_logits_have_the_shape_of_images():
    images = torch.rand(2, 3, 48, 48)
    encoder, decoder = ImageEncoder(48, 3, 5, 2), ImageDecoder(48, 3, 5, 2)
    assert decoder(encoder(images)).shape == images.shape


def test_norms_are_torch_s_instance_norms():
    maps = torch.randn(2, 3, 5, 5, dtype=torch.float32) * 4 + 1
    oracle = torch.nn.functional.instance_norm(maps, eps=1e-6)
    assert torch.allclose(normalised(maps), oracle, atol=1e-5)


def test_a_narrowing_block_is_a_convolution_a_norm_and_a_rectifier():
    block, maps = Narrowing(2, 3, 4, 2), torch.randn(2, 2, 8, 8)
    with torch.no_grad():
        block.weight.copy_(torch.tensor([1.0, 2.0, -1.0])[:, None, None])
        block.bias.copy_(torch.tensor([0.5, 0.0, 1.0])[:, None, None])
    oracle = torch.nn.functional.conv2d(maps, block.convolution.weight, stride=2, padding=1)
    oracle = torch.nn.functional.instance_norm(
        oracle, weight=block.weight.flatten(), bias=block.bias.flatten(), eps=1e-6
    )
    oracle = torch.nn.functional.leaky_relu(oracle, 0.2)
    assert torch.allclose(block(maps), oracle, atol=1e-5)


def test_a_widening_block_is_scaled_and_shifted_by_the_code():
    block, maps = Widening(2, 3, 4, 2), torch.randn(2, 2, 4, 4)
    features = torch.randn(2, 256)
    oracle = torch.nn.functional.conv_transpose2d(
        maps, block.convolution.weight, stride=2, padding=1
    )
    oracle = torch.nn.functional.leaky_relu(oracle, 0.2)
    oracle = torch.nn.functional.instance_norm(oracle, eps=1e-6)
    style = block.style(features).relu()
    oracle = oracle * style[:, :3, None, None] + style[:, 3:, None, None]
    assert torch.allclose(block(maps, features), oracle, atol=1e-5)


@pytest.mark.parametrize("n_pixels", [16, 40, 63])
def test_images_that_cannot_be_halved_are_refused(n_pixels):
    with pytest.raises(InputError, match="multiple of 16 from 32 up"):
        bottom_pixels(n_pixels)


def test_every_epoch_shows_every_image_once():
    order = image_order(3, 10, 0, 30)
    epochs = order.reshape(3, 10)
    assert (np.sort(epochs) == np.arange(10)).all()
    assert not (epochs[0] == epochs[1]).all()


def test_an_order_can_be_entered_anywhere():
    assert (image_order(3, 10, 7, 23) == image_order(3, 10, 0, 40)[7:23]).all()


def test_a_step_is_adam_s_with_decoupled_decay_on_clipped_weights():
    training = ImageTraining(steps=10, clip=1e-4, learning_rate=1e-2, **SMALL)
    member = ImageAutoencoder(
        model(weight_decay=0.5), seed=1, n_pixels=32, n_channels=1, n_images=24, width=2
    )
    before = {name: values.detach().clone() for name, values in member.named_parameters()}
    steps = MemberSteps(member, torch.as_tensor(pictures()), training)
    steps.prepare_leg(0, 1)
    pixels = torch.as_tensor(pictures())[steps.order[0]].permute(0, 3, 1, 2).float() / 255
    made = member.decoder(member.encoder(pixels))
    loss = torch.nn.functional.binary_cross_entropy_with_logits(made, pixels)
    gradients = dict(zip(before, torch.autograd.grad(loss, list(member.parameters())), strict=True))
    steps.take()
    for name, values in member.named_parameters():
        gradient = gradients[name]
        oracle = before[name]
        if not name.endswith("bias"):
            gradient, oracle = gradient.clamp(-1e-4, 1e-4), oracle * (1 - 1e-2 * 0.5)
        oracle = oracle - 1e-2 * gradient / (gradient.abs() + 1e-8)
        sure = gradient.abs() > 1e-6  # Elsewhere the sign of a gradient is rounding.
        assert torch.allclose(values[sure], oracle[sure], atol=2e-4), name
    assert float(steps.losses[0]) == pytest.approx(float(loss.detach()), rel=1e-5)


@pytest.mark.parametrize("kind", ["ae", "beta-tcvae", "factor-vae", "vq-vae"])
def test_a_member_is_what_it_is_alone(kind):
    training = ImageTraining(steps=3, **SMALL)
    together = train_images(
        [model("bio-ae"), model(kind)], pictures(), seeds=[0, 1], training=training
    )
    (alone,) = train_images([model(kind)], pictures(), seeds=[1], training=training)
    assert np.array_equal(together[1].latents(pictures()), alone.latents(pictures()))


@pytest.mark.slow
def test_training_reconstructs_better_than_the_mean_image():
    bars = np.zeros((32, 32, 32, 1), np.uint8)
    for place in range(32):
        bars[place, :, : place + 1] = 255
    training = ImageTraining(steps=60, learning_rate=5e-3, batch_images=16, width=4)
    (member,) = train_images([model()], bars, seeds=[0], training=training)
    mean = bars.mean(axis=0) / 255
    baseline = -10 * np.log10(((bars / 255 - mean) ** 2).mean())
    assert member.psnr(bars).mean() > baseline + 3


def test_a_training_that_is_interrupted_goes_on_as_if_nothing_had_happened(tmp_path, monkeypatch):
    training = ImageTraining(steps=3, **SMALL)
    monkeypatch.setattr("upto.train.images.steps.LEG_STEPS", 1)
    models, seeds = [model("ae"), model("factor-vae")], [4, 5]
    whole = train_images(models, pictures(), seeds=seeds, training=training)
    path = tmp_path / "kept"
    first = ImageTrainer(models, pictures(), seeds=seeds, training=training, checkpoint=path)
    first.train_to(2)
    monkeypatch.setattr(first.steps[1], "take", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        first.train_to(3)
    again = train_images(
        models, pictures(), seeds=seeds, training=training, checkpoint=path, resume=True
    )
    for one, other in zip(whole, again, strict=True):
        assert np.array_equal(one.latents(pictures()), other.latents(pictures()))
    assert (
        ImageTrainer(
            models, pictures(), seeds=seeds, training=training, checkpoint=path, resume=True
        ).done
        == 3
    )


def _interrupted() -> None:
    raise KeyboardInterrupt


def test_another_training_does_not_go_on_from_a_checkpoint(tmp_path):
    training, path = ImageTraining(steps=1, **SMALL), tmp_path / "kept"
    train_images([model()], pictures(), seeds=[0], training=training, checkpoint=path)
    with pytest.raises(InputError, match="keeps another training"):
        train_images(
            [model()], pictures(), seeds=[1], training=training, checkpoint=path, resume=True
        )
    with pytest.raises(InputError, match=r"keeps another training \(images"):
        train_images(
            [model()], pictures(seed=1), seeds=[0], training=training, checkpoint=path, resume=True
        )


def test_saved_and_read_a_member_draws_the_same(tmp_path):
    training = ImageTraining(steps=1, **SMALL)
    (member,) = train_images([model("qlae")], pictures(), seeds=[0], training=training)
    member.save(tmp_path / "member")
    again = ImageAutoencoder.load(tmp_path / "member")
    codes = member.latents(pictures())
    assert codes.dtype.kind == "i"
    assert np.array_equal(codes, again.latents(pictures()))
    assert np.array_equal(member.decode(codes), again.decode(codes))
    (tmp_path / "member").write_bytes((tmp_path / "member").read_bytes()[:-10])
    with pytest.raises(InputError):
        ImageAutoencoder.load(tmp_path / "member")


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.zeros((9, 32, 32), np.uint8), "9 × 32 × 32, not count"),
        (np.zeros((9, 32, 48, 1), np.uint8), "9 × 32 × 48 × 1, not count"),
        (np.zeros((9, 32, 32, 1)), "of type float64: give them as bytes"),
        (np.zeros((7, 32, 32, 1), np.uint8), "7 images do not fill a step of 8"),
    ],
)
def test_images_of_another_kind_are_refused(images, words):
    with pytest.raises(InputError, match=words):
        train_images([model()], images, seeds=[0], training=ImageTraining(steps=1, **SMALL))


def test_equal_members_are_refused():
    with pytest.raises(InputError, match="not all different"):
        train_images([model()] * 2, pictures(), seeds=[1, 1], training=ImageTraining(steps=1))


def test_a_member_that_diverges_is_named():
    training = ImageTraining(steps=4, learning_rate=1e30, **SMALL)
    with pytest.raises(InputError, match=r"autoencoder, 3 latents.*with seed 7: lower"):
        train_images([model()], pictures(), seeds=[7], training=training)


@pytest.mark.parametrize("values", [{"steps": 0}, {"steps": 1, "batch_images": 1}])
def test_no_steps_are_refused(values):
    with pytest.raises(InputError, match="at least"):
        ImageTraining(**values)


def test_a_learning_rate_of_zero_is_refused():
    with pytest.raises(InputError, match="must be positive"):
        ImageTraining(steps=1, learning_rate=0.0)
