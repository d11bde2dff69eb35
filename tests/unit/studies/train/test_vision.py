"""Networks of images: losses against NumPy, seeds side by side, resuming."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError

torch = pytest.importorskip("torch")

from upto_studies.train.vision import VisionRun, VisionTraining, train_vision  # noqa: E402
from upto_studies.train.vision.augmented import shifted  # noqa: E402
from upto_studies.train.vision.masked_autoencoders import (  # noqa: E402
    MaskedAutoencoders,
    cut,
    normalised,
)

RESNET = VisionTraining(
    kind="resnet18", epochs=2, batch_images=8, width=2, shift=1, learning_rate=0.05
)
MAE = VisionTraining(
    kind="mae",
    epochs=2,
    batch_images=8,
    width=16,
    depth=1,
    decoder_depth=1,
    n_heads=2,
    shift=1,
    learning_rate=1e-3,
)


@pytest.fixture(scope="module")
def images():
    rng = np.random.default_rng(0)
    labels = np.arange(24, dtype=np.uint8) % 3
    shown = rng.integers(100, size=(24, 8, 8, 3)) + 50 * labels[:, None, None, None]
    return shown.astype(np.uint8), labels


def test_images_are_shifted_and_mirrored_whole():
    image = torch.arange(1, 17).view(1, 1, 4, 4, 1).expand(1, 200, 4, 4, 1)
    found = shifted(image, [torch.Generator().manual_seed(0)], shift=1)[0, ..., 0].numpy()
    padded = np.pad(np.arange(1, 17).reshape(4, 4), 1, mode="reflect")
    allowed = {
        part.tobytes()
        for down in range(3)
        for right in range(3)
        for part in (
            padded[down : down + 4, right : right + 4],
            np.ascontiguousarray(padded[down : down + 4, right : right + 4][:, ::-1]),
        )
    }
    assert {each.tobytes() for each in found} == allowed


def test_patches_and_their_normal_form_agree_with_numpy():
    rows = np.random.default_rng(0).normal(size=(2, 8, 8, 3))
    patches = cut(torch.tensor(rows), 4).numpy()
    assert np.array_equal(patches[1, 1], rows[1, :4, 4:].reshape(-1))
    made = normalised(torch.tensor(patches)).numpy()
    mean, std = patches.mean(axis=2, keepdims=True), patches.std(axis=2, ddof=1, keepdims=True)
    assert made == pytest.approx((patches - mean) / std, abs=1e-4)


def test_the_loss_is_that_of_hidden_patches_alone(images):
    network = MaskedAutoencoders(
        [0], side=8, patch=4, masked=0.5, width=16, depth=1, decoder_depth=1, n_heads=2
    )
    shown = torch.tensor(images[0][None], dtype=torch.float32) / 255
    order = network._shuffled(cut(shown, 4), [torch.Generator().manual_seed(1)])
    with torch.no_grad():
        found = network.losses(shown, None, [torch.Generator().manual_seed(1)])
        guess = network.guess_errors(shown, [torch.Generator().manual_seed(1)])
        made = network._decoded(network._encoded(cut(shown, 4), order[..., :2]), order)[0].numpy()
    wanted = normalised(cut(shown, 4))[0].numpy()
    hidden = [
        ((made[n, patch] - wanted[n, patch]) ** 2).mean()
        for n in range(24)
        for patch in order[0, n, 2:].tolist()
    ]
    mean = [
        ((wanted[n, patch] - wanted[n, order[0, n, :2]].mean(axis=0)) ** 2).mean()
        for n in range(24)
        for patch in order[0, n, 2:].tolist()
    ]
    assert found.item() == pytest.approx(np.mean(hidden), rel=1e-5)
    assert guess.item() == pytest.approx(np.mean(mean), rel=1e-5)


def test_an_encoder_does_not_see_hidden_patches(images):
    network = MaskedAutoencoders(
        [0], side=8, patch=4, masked=0.5, width=16, depth=1, decoder_depth=1, n_heads=2
    )
    patches = cut(torch.tensor(images[0][None], dtype=torch.float32) / 255, 4)
    seen = torch.tensor([0, 3]).expand(1, 24, 2)
    changed = patches.clone()
    changed[:, :, 1:3] = 7.0
    with torch.no_grad():
        assert torch.allclose(network._encoded(patches, seen), network._encoded(changed, seen))


@pytest.mark.parametrize("training", [RESNET, MAE], ids=lambda each: each.kind)
def test_members_do_not_depend_on_their_neighbours(images, training):
    both = train_vision(*images, seeds=[3, 4], training=training, progress=False)
    alone = train_vision(*images, seeds=[4], training=training, progress=False)
    assert both.losses[:, 1] == pytest.approx(alone.losses[:, 0], rel=1e-3)
    found, wanted = both.features(images[0])[1], alone.features(images[0])[0]
    assert found == pytest.approx(wanted, abs=2e-3)
    assert np.abs(both.features(images[0])[0] - wanted).max() > 0.05


@pytest.mark.parametrize("training", [RESNET, MAE], ids=lambda each: each.kind)
def test_an_interrupted_training_ends_as_an_uninterrupted_one(images, training, tmp_path):
    path = tmp_path / "kept"
    whole = train_vision(*images, seeds=[0, 1], training=training, progress=False)
    part = VisionRun(*images, seeds=[0, 1], training=training)
    part.train_epoch()
    from upto_studies.train.checkpoints import TrainingCheckpoint

    TrainingCheckpoint(path, part.words()).write(part.state(), part.epoch)
    resumed = train_vision(
        *images, seeds=[0, 1], training=training, checkpoint=path, resume=True, progress=False
    )
    assert resumed.losses == pytest.approx(whole.losses, rel=1e-4)
    assert resumed.features(images[0]) == pytest.approx(whole.features(images[0]), abs=1e-3)
    with pytest.raises(InputError, match="another training"):
        train_vision(
            *images, seeds=[0, 2], training=training, checkpoint=path, resume=True, progress=False
        )


def test_a_classifier_learns(images):
    training = VisionTraining(kind="resnet18", epochs=12, batch_images=8, width=4, shift=0)
    run = train_vision(*images, seeds=[0], training=training, progress=False)
    assert run.accuracies(*images)[0] > 0.9
    assert run.losses[-1, 0] < run.losses[0, 0]


def test_rates_rise_and_fall():
    rates = [RESNET.rate_at(step, 100) for step in range(100)]
    assert rates[9] == pytest.approx(0.05)
    assert rates[0] == pytest.approx(0.005)
    assert rates[54] == pytest.approx(0.05 * 0.5 * (1 + np.cos(np.pi * 45 / 90 - np.pi / 90)))
    assert rates[-1] < 1e-4


def test_bad_settings_are_refused(images):
    for changes, says in (
        ({"kind": "mae", "width": 10, "n_heads": 4}, "multiple of 8"),
        ({"kind": "resnet18", "batch_images": 0}, "at least 1"),
        ({"kind": "resnet18", "learning_rate": 0.0}, "must be positive"),
        ({"kind": "mae", "masked": 1.0}, "shares below 1"),
    ):
        with pytest.raises(InputError, match=says):
            VisionTraining(**{"epochs": 1, "n_heads": 4, "width": 16} | changes)
    with pytest.raises(InputError, match="do not fill a step"):
        VisionRun(images[0][:4], images[1][:4], seeds=[0], training=RESNET)
    with pytest.raises(InputError, match="give one per image"):
        VisionRun(images[0], images[1][:4], seeds=[0], training=RESNET)
    with pytest.raises(InputError, match="cannot be cut"):
        MaskedAutoencoders(
            [0], side=9, patch=4, masked=0.5, width=8, depth=1, decoder_depth=1, n_heads=1
        )
