"""Autoencoders of images: the published architecture, and training that is one with itself."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from upto.core import InputError, read_tensors, write_tensors  # noqa: E402
from upto_studies.train.images import (  # noqa: E402
    ImageAutoencoder,
    ImageModel,
    ImageTrainer,
    ImageTraining,
    train_images,
)
from upto_studies.train.images.models import DEFAULTS  # noqa: E402
from upto_studies.train.images.networks import (  # noqa: E402
    ImageDecoder,
    ImageEncoder,
    Narrowing,
    Widening,
    bottom_pixels,
    normalised,
)
from upto_studies.train.images.steps import MemberSteps, image_order  # noqa: E402

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
    assert (decoder.constant == 0.1).all()


def test_logits_have_the_shape_of_images():
    images = torch.rand(2, 3, 48, 48)
    encoder, decoder = ImageEncoder(48, 3, 5, 2), ImageDecoder(48, 3, 5, 2)
    assert decoder(encoder(images)).shape == images.shape


def test_norms_are_torch_s_instance_norms():
    maps = torch.randn(2, 3, 5, 5, dtype=torch.float32) * 4 + 1
    # Where nearly nothing varies, the floor beneath the variance tells.
    for scale in (1.0, 1e-3):
        oracle = torch.nn.functional.instance_norm(scale * maps, eps=1e-6)
        assert torch.allclose(normalised(scale * maps), oracle, atol=1e-4)


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
    moments = steps.tensors()
    assert any(
        each.min() < -1e-4 and each.max() > 1e-4
        for name, each in gradients.items()
        if name.endswith("weight")
    )
    for name, values in member.named_parameters():
        gradient = gradients[name]
        oracle = before[name]
        if not name.endswith("bias"):
            gradient, oracle = gradient.clamp(-1e-4, 1e-4), oracle * (1 - 1e-2 * 0.5)
        oracle = oracle - 1e-2 * gradient / (gradient.abs() + 1e-8)
        sure = gradient.abs() > 1e-6  # Elsewhere the sign of a gradient is rounding.
        assert torch.allclose(values[sure], oracle[sure], atol=2e-4), name
        # The first step is the gradient's sign, so only Adam's mean tells how it was clipped.
        assert torch.allclose(moments[f"{name}.exp_avg"], 0.1 * gradient, atol=1e-7), name
    assert float(steps.losses[0]) == pytest.approx(float(loss.detach()), rel=1e-5)


def test_a_discriminator_and_a_codebook_are_trained_as_published():
    training = ImageTraining(steps=10, clip=1e-9, **SMALL)
    found = {}
    for kind, name in (("factor-vae", "discriminator.layers.1.weight"), ("qlae", "codebook")):
        member = ImageAutoencoder(
            model(kind, weight_decay=0.5), seed=1, n_pixels=32, n_channels=1, n_images=24, width=2
        )
        before = dict(member.named_parameters())[f"bottleneck.{name}"].detach().clone()
        steps = MemberSteps(member, torch.as_tensor(pictures()), training)
        steps.prepare_leg(0, 1)
        steps.take()
        state = steps.tensors()
        mean, square = (state[f"bottleneck.{name}.exp_avg{end}"] for end in ("", "_sq"))
        # Neither clipped nor decayed: a first step of Adam's is the rate times the sign.
        told = mean.abs() > 1e-6
        assert told.any()
        moved = (before - state[f"bottleneck.{name}"].detach())[told] / mean[told].sign()
        found[kind] = float(moved.median()), float((mean**2 / square)[told].median())
    # Of the gradient, 1 - β₁ is in the mean, and 1 - β₂ of its square in that of squares.
    assert found["factor-vae"] == pytest.approx((1e-4, 0.5**2 / 0.1), rel=0.02)
    assert found["qlae"] == pytest.approx((1e-3, 0.1**2 / 0.001), rel=0.02)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("ae", marks=pytest.mark.slow),
        "beta-tcvae",
        pytest.param("factor-vae", marks=pytest.mark.slow),
        pytest.param("vq-vae", marks=pytest.mark.slow),
    ],
)
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
    monkeypatch.setattr("upto_studies.train.images.steps.LEG_STEPS", 1)
    models, seeds = [model("ae"), model("beta-vae")], [4, 5]
    whole = train_images(models, pictures(), seeds=seeds, training=training)
    path = tmp_path / "kept"
    first = ImageTrainer(models, pictures(), seeds=seeds, training=training, checkpoint=path)
    first.train_to(2)
    monkeypatch.setattr(first._steps[1], "take", _interrupted)
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


def interrupt_after(monkeypatch, trainer, n_steps):
    """Let the last member of a training take some steps only."""
    take, taken = trainer._steps[-1].take, []

    def some() -> None:
        if len(taken) == n_steps:
            raise KeyboardInterrupt
        taken.append(None)
        take()

    monkeypatch.setattr(trainer._steps[-1], "take", some)


@pytest.mark.slow
@pytest.mark.parametrize("kind", DEFAULTS)
def test_every_kind_goes_on_from_a_checkpoint_to_the_last_bit(kind, tmp_path, monkeypatch):
    training, path = ImageTraining(steps=4, **SMALL), tmp_path / "kept"
    monkeypatch.setattr("upto_studies.train.images.steps.LEG_STEPS", 2)
    (whole,) = train_images([model(kind)], pictures(), seeds=[3], training=training)
    first = ImageTrainer([model(kind)], pictures(), seeds=[3], training=training, checkpoint=path)
    interrupt_after(monkeypatch, first, 3)
    with pytest.raises(KeyboardInterrupt):
        first.train_to(4)
    (again,) = train_images(
        [model(kind)], pictures(), seeds=[3], training=training, checkpoint=path, resume=True
    )
    found = dict(again.named_tensors())
    for name, values in whole.named_tensors():
        assert torch.equal(values, found[name]), name


def test_on_a_slow_cpu_little_is_lost_and_what_is_torn_is_not_gone_on_with(tmp_path, monkeypatch):
    training, path = ImageTraining(steps=9, **SMALL), tmp_path / "kept"
    monkeypatch.setattr("upto_studies.train.images.training.LEG_SECONDS", 0.0)
    trainer = ImageTrainer([model()], pictures(), seeds=[3], training=training, checkpoint=path)
    interrupt_after(monkeypatch, trainer, 3)
    with pytest.raises(KeyboardInterrupt):
        trainer.train_to(9)
    kept = ImageTrainer(
        [model()], pictures(), seeds=[3], training=training, checkpoint=path, resume=True
    )
    assert kept.done == 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept"]
    with pytest.raises(InputError, match="interrupted after step 3: create it again"):
        trainer.train_to(9)


@pytest.mark.slow
def test_a_checkpoint_of_another_device_is_not_gone_on_from(tmp_path):
    training, path = ImageTraining(steps=1, **SMALL), tmp_path / "kept"
    train_images([model()], pictures(), seeds=[0], training=training, checkpoint=path)
    arrays, words = read_tensors(path)
    # A GPU's noise has a state of sixteen bytes.
    write_tensors(path, arrays | {"0.noise": np.zeros(16, np.uint8)}, words)
    with pytest.raises(InputError, match="another kind of device than cpu"):
        train_images(
            [model()], pictures(), seeds=[0], training=training, checkpoint=path, resume=True
        )


def test_another_training_does_not_go_on_from_a_checkpoint(tmp_path):
    training, path = ImageTraining(steps=1, **SMALL), tmp_path / "kept"
    train_images([model()], pictures(), seeds=[0], training=training, checkpoint=path)
    with pytest.raises(InputError, match="belongs to another training"):
        train_images(
            [model()], pictures(), seeds=[1], training=training, checkpoint=path, resume=True
        )
    with pytest.raises(InputError, match=r"belongs to another training \(images"):
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
    arrays, words = read_tensors(tmp_path / "member")
    for other in (
        {},
        words | {"model": "{}"},
        words | {"model": "damaged"},
        words | {"numbers": words["numbers"].replace('"width":2', '"width":-2')},
    ):
        write_tensors(tmp_path / "other", arrays, other)
        with pytest.raises(InputError, match="does not contain an image autoencoder"):
            ImageAutoencoder.load(tmp_path / "other")
    other = words | {"numbers": words["numbers"].replace('"width":2', '"width":3')}
    write_tensors(tmp_path / "other", arrays, other)
    with pytest.raises(InputError, match="its arrays are not those of QLAE"):
        ImageAutoencoder.load(tmp_path / "other")
    (tmp_path / "member").write_bytes((tmp_path / "member").read_bytes()[:-10])
    with pytest.raises(InputError):
        ImageAutoencoder.load(tmp_path / "member")


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (np.zeros((9, 32, 32), np.uint8), "9 × 32 × 32, not count"),
        (np.zeros((9, 32, 48, 1), np.uint8), "9 × 32 × 48 × 1, not count"),
        (np.zeros((9, 32, 32, 1)), "have type float64: give bytes"),
        (np.zeros((7, 32, 32, 1), np.uint8), "7 images do not fill a step of 8"),
        (np.zeros((0, 32, 32, 1), np.uint8), "there are 0 images"),
        (pictures() // 128, "brightest byte of 24 images is 1, but white is 255"),
        (torch.as_tensor(pictures() // 255), "brightest byte of 24 images is 1"),
        (pictures()[:, :16, :16], "images of 16 pixels a side"),
        (np.full((9, 32, 32, 1), np.nan), "have type float64"),
        (b"picture", "the images are 1, not count"),
        ([pictures()[0], pictures()[0, :3]], "2 images have different shapes"),
    ],
)
def test_images_of_another_kind_are_refused(images, words):
    with pytest.raises(InputError, match=words):
        train_images([model()], images, seeds=[0], training=ImageTraining(steps=1, **SMALL))


@pytest.mark.parametrize("models", [model(), ["ae"], "ae", [model(), None]])
def test_models_of_another_kind_are_refused(models):
    with pytest.raises(InputError, match="a list of ImageModel"):
        train_images(models, pictures(), seeds=[0], training=ImageTraining(steps=1, **SMALL))


def untrained(kind: str = "ae") -> ImageAutoencoder:
    return ImageAutoencoder(model(kind), seed=1, n_pixels=32, n_channels=1, n_images=24, width=2)


@pytest.mark.parametrize("asked", ["latents", "psnr"])
@pytest.mark.parametrize(
    ("images", "words"),
    [
        (pictures() / 255, "have type float64: give bytes"),
        (pictures()[0], "32 × 32 × 1, not count"),
        (pictures()[:0], "there are 0 images"),
        (pictures(n_channels=3), "trained on 32 × 32 × 1"),
        (pictures()[:, :16, :16], "16 × 16 × 1, but this model was trained on"),
    ],
)
def test_images_a_member_was_not_made_for_are_refused(asked, images, words):
    with pytest.raises(InputError, match=words):
        getattr(untrained(), asked)(images)


@pytest.mark.parametrize(
    ("kind", "latents", "words"),
    [
        ("ae", np.zeros((2, 4)), "shape 2 × 4: give 1 or more rows of 3"),
        ("ae", np.zeros(3), "the latents have shape 3: give 1 or more rows of 3"),
        ("ae", np.zeros((0, 3)), "give 1 or more"),
        ("ae", [[0.0, np.nan, 1.0], [0.0, 0.0, 0.0]], "1 of 2 latents are not finite"),
        ("qlae", np.zeros((2, 3)), "pass integers"),
        ("qlae", np.full((2, 3), 10), "codes range from 10 to 10, but a latent has 10"),
    ],
)
def test_latents_that_cannot_be_drawn_are_refused(kind, latents, words):
    with pytest.raises(InputError, match=words):
        untrained(kind).decode(latents)


def test_arrays_that_cannot_be_written_to_or_run_backwards_are_read():
    shown = pictures()
    shown.flags.writeable = False
    (member,) = train_images([model()], shown, seeds=[0], training=ImageTraining(steps=1, **SMALL))
    assert np.allclose(member.latents(shown[::-1]), member.latents(shown)[::-1], atol=1e-6)
    latents = member.latents(shown)
    latents.flags.writeable = False
    assert member.decode(latents[::-1]).shape == shown.shape


def test_an_error_while_encoding_leaves_gradients_on(monkeypatch):
    member = untrained()

    def fail(_pixels):
        raise MemoryError

    monkeypatch.setattr(member.encoder, "forward", fail)
    for asked in (member.latents, member.psnr):
        with pytest.raises(MemoryError) as kept:  # The frames live as long as what was caught.
            asked(pictures())
        assert torch.is_grad_enabled()
        assert kept.value is not None


def rounds_convolutions() -> bool:
    cudnn = torch.backends.cudnn
    return cudnn.conv.fp32_precision == "tf32" if hasattr(cudnn, "conv") else cudnn.allow_tf32


def test_what_is_scored_is_computed_in_float32(monkeypatch):
    member, seen = untrained(), []
    forward = member.encoder.forward

    def look(pixels):
        seen.append(
            (
                rounds_convolutions(),
                torch.is_autocast_enabled("cpu"),
                torch.is_grad_enabled(),
            )
        )
        return forward(pixels)

    monkeypatch.setattr(member.encoder, "forward", look)
    before = rounds_convolutions()
    with torch.autocast("cpu", torch.bfloat16):
        latents = member.latents(pictures())
        member.psnr(pictures())
    assert seen == [(False, False, False)] * 2
    assert before
    assert rounds_convolutions()
    assert np.array_equal(latents, member.latents(pictures()))


def test_equal_members_are_refused():
    with pytest.raises(InputError, match="members are identical"):
        train_images([model()] * 2, pictures(), seeds=[1, 1], training=ImageTraining(steps=1))


def test_annealing_goes_on_from_leg_to_leg(monkeypatch):
    monkeypatch.setattr("upto_studies.train.images.steps.LEG_STEPS", 2)
    training = ImageTraining(steps=4, **SMALL)
    trainer = ImageTrainer([model("annealed-vae")], pictures(), seeds=[0], training=training)
    bottleneck, shares = trainer.members[0].bottleneck, []
    price = bottleneck.price

    def look(samples, normals, share, generator):
        shares.append(float(share))
        return price(samples, normals, share, generator)

    monkeypatch.setattr(bottleneck, "price", look)
    trainer.train_to(4)
    assert shares == [0.0, 0.25, 0.5, 0.75]


@pytest.mark.slow
def test_the_compiler_is_loaded_by_those_who_compile_only():
    program = (
        "import sys, upto_studies.train.images.autoencoders; print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


def test_psnr_is_that_of_what_is_drawn():
    member, shown = untrained(), pictures()
    missed = member.decode(member.latents(shown)) - shown / 255
    expected = -10 * np.log10((missed**2).mean(axis=(1, 2, 3)))
    assert np.allclose(member.psnr(shown), expected, atol=1e-4)


def test_a_member_that_diverges_is_named():
    training = ImageTraining(steps=4, learning_rate=1e30, **SMALL)
    trainer = ImageTrainer([model()], pictures(), seeds=[7], training=training)
    trainer._leg_steps = 4  # So that the first loss of the leg is still a number.
    with pytest.raises(InputError, match=r"autoencoder, 3 latents.*with seed 7: lower"):
        trainer.train_to(4)
    assert np.isfinite(trainer.losses[0]).all()


@pytest.mark.parametrize("values", [{"steps": 0}, {"steps": 1, "batch_images": 1}])
def test_no_steps_are_refused(values):
    with pytest.raises(InputError, match="at least"):
        ImageTraining(**values)


@pytest.mark.parametrize("rate", [0.0, float("nan"), float("inf")])
def test_a_learning_rate_that_is_none_is_refused(rate):
    with pytest.raises(InputError, match="must be positive"):
        ImageTraining(steps=1, learning_rate=rate)


@pytest.mark.parametrize("name", ["steps", "batch_images", "width"])
def test_halves_of_steps_are_refused(name):
    with pytest.raises(InputError, match=r"is 2.5: give an integer"):
        ImageTraining(**({"steps": 4} | {name: 2.5}))
    assert repr(ImageTraining(**({"steps": 4} | {name: np.int64(4)}))).count("np") == 0
