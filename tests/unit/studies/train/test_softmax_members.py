"""Softmax models side by side: losses, independence of members, resuming."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.train import Network, checkpoints
from upto_studies.train.labelled_rows import LabelledRows
from upto_studies.train.patch_pairs import PatchPairs, cut_patches, draw_places, held_out_patches
from upto_studies.train.softmax_members import Steps, train_members
from upto_studies.train.softmax_model import SoftmaxModel

torch = pytest.importorskip("torch")

CLASSES = SoftmaxModel(f=Network(widths=(3, 8, 2)), g=4)
PATCHES = SoftmaxModel(f=Network(widths=(48, 10, 5)), g=Network(widths=(48, 10, 5)))
STEPS = Steps(n_steps=12, learning_rate=0.01, looks=(0, 5, 12))


@pytest.fixture
def labelled(rng):
    rows = rng.normal(size=(64, 3))
    return rows, (rows[:, 0] > 0) * 2 + (rows[:, 1] > 0)


@pytest.fixture
def images(rng):
    return rng.integers(256, size=(40, 8, 8, 3), dtype=np.uint8)


def train_classes(labelled, seeds, **given):
    source = LabelledRows(*labelled, seeds=seeds, batch_rows=16, device="cpu")
    given = {"steps": STEPS, "progress": False} | given
    return train_members(CLASSES, source, (labelled[0][:20], None), seeds=seeds, **given)


def train_patches(images, seeds, **given):
    source = PatchPairs(images, n_pixels=4, seeds=seeds, batch_rows=16, device="cpu")
    shown = held_out_patches(images[:10], 4, seed=0)
    given = {"steps": STEPS, "progress": False} | given
    return train_members(PATCHES, source, shown, seeds=seeds, **given)


def apply_by_hand(parameters, side, member, rows):
    n_layers = sum(name.startswith(f"{side}.") and "weight" in name for name in parameters)
    for layer in range(n_layers):
        weight = parameters[f"{side}.{layer}.weight"][member].numpy().astype(np.float64)
        rows = rows @ weight + parameters[f"{side}.{layer}.bias"][member].numpy()
        rows = np.maximum(rows, 0) if layer < n_layers - 1 else rows
    return rows


def cross_entropy_by_hand(scores, probabilities):
    log_sum = np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -(probabilities * (scores - log_sum)).sum(axis=1).mean()


@pytest.mark.parametrize("are_drawn", [True, False], ids=["labels", "probabilities"])
def test_the_loss_of_classes_is_the_cross_entropy(rng, are_drawn):
    parameters = CLASSES.initial([3, 4])
    rows = rng.normal(size=(2, 6, 3)).astype(np.float32)
    labels = rng.integers(4, size=(2, 6))
    shares = np.eye(4)[labels] if are_drawn else rng.dirichlet(np.ones(4), size=(2, 6))
    answers = torch.as_tensor(labels if are_drawn else shares.astype(np.float32))
    found = CLASSES.losses(parameters, torch.as_tensor(rows), answers)
    for member in range(2):
        f = apply_by_hand(parameters, "f", member, rows[member])
        scores = f @ parameters["g.table"][member].numpy().T
        assert float(found[member]) == pytest.approx(
            cross_entropy_by_hand(scores, shares[member]), rel=1e-5
        )


def test_the_wrong_answers_of_a_patch_are_the_others_of_its_batch(rng):
    parameters = PATCHES.initial([3, 4])
    tops, bottoms = rng.normal(size=(2, 2, 6, 48)).astype(np.float32)
    found = PATCHES.losses(parameters, torch.as_tensor(tops), torch.as_tensor(bottoms))
    for member in range(2):
        f = apply_by_hand(parameters, "f", member, tops[member])
        g = apply_by_hand(parameters, "g", member, bottoms[member])
        wanted = cross_entropy_by_hand(f @ g.T, np.eye(6))
        assert float(found[member]) == pytest.approx(wanted, rel=1e-5)


def test_f_and_g_do_not_start_as_the_same_function():
    parameters = PATCHES.initial([3])
    assert not torch.allclose(parameters["f.0.weight"], parameters["g.0.weight"])


def test_two_networks_start_from_about_equal_probabilities(rng):
    rows = torch.as_tensor(rng.normal(size=(2, 1, 50, 48)).astype(np.float32))
    assert float(PATCHES.losses(PATCHES.initial([3]), *rows)) == pytest.approx(np.log(50), rel=0.02)


def test_a_shift_of_g_that_no_probability_shows_is_not_learned(images):
    trained = train_patches(images, [3])
    parameters = PATCHES.initial([3])
    assert not PATCHES.is_learned("g.1.bias")
    assert all(PATCHES.is_learned(name) for name in parameters if name != "g.1.bias")
    assert all(CLASSES.is_learned(name) for name in CLASSES.initial([3]))
    assert np.isfinite(trained.g).all()


@pytest.mark.parametrize("train", [train_classes, train_patches])
def test_a_member_is_what_it_would_be_alone(train, labelled, images):
    data = labelled if train is train_classes else images
    together = train(data, [5, 6, 7])
    alone = train(data, [6])
    assert np.allclose(together.f[:, 1], alone.f[:, 0], atol=1e-5)
    assert np.allclose(together.g[:, 1], alone.g[:, 0], atol=1e-5)
    assert np.allclose(together.losses[:, 1], alone.losses[:, 0], atol=1e-5)
    assert not np.allclose(together.f[-1, 0], together.f[-1, 1], atol=1e-2)


def test_looks_are_of_their_step(labelled):
    long = train_classes(labelled, [5])
    untrained = apply_by_hand(CLASSES.initial([5]), "f", 0, labelled[0][:20])
    assert np.allclose(long.f[0, 0], untrained, atol=1e-5)
    assert long.looks == (0, 5, 12)
    assert not np.allclose(long.f[1], long.f[2], atol=1e-3)
    assert long.g.shape == (3, 1, 4, 2)


def test_training_learns_the_labels(labelled):
    steps = Steps(n_steps=300, learning_rate=0.02, looks=(300,))
    trained = train_classes(labelled, [0, 1], steps=steps)
    scores = trained.f[-1] @ trained.g[-1].transpose(0, 2, 1)
    assert (scores.argmax(axis=2) == labelled[1][:20]).mean() > 0.9
    assert (trained.losses[-1] < 0.3 * trained.losses[0]).all()


class Interrupted(Exception):
    pass


class Stop:
    """Progress that interrupts after some steps."""

    def __init__(self, after):
        self.after = after

    def task(self, label, total):
        return self

    def __enter__(self):
        return self.advance

    def __exit__(self, *error):
        return None

    def advance(self, steps):
        self.after -= steps
        if self.after < 0:
            raise Interrupted


@pytest.mark.parametrize("train", [train_classes, train_patches])
def test_a_resumed_training_gives_the_same(train, labelled, images, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    data = labelled if train is train_classes else images
    steps = Steps(n_steps=120, learning_rate=0.01, looks=(0, 30, 50, 120))
    whole = train(data, [5, 6], steps=steps)
    kept = tmp_path / "state.safetensors"
    with pytest.raises(Interrupted):
        train(data, [5, 6], steps=steps, checkpoint=kept, progress=Stop(after=70))
    assert kept.exists()
    again = train(data, [5, 6], steps=steps, checkpoint=kept, resume=True)
    for name in ("f", "g", "losses"):
        assert np.allclose(getattr(again, name), getattr(whole, name), atol=1e-5)
    size = kept.stat().st_size
    repeated = train(data, [5, 6], steps=steps, checkpoint=kept, resume=True, progress=Stop(120))
    assert np.array_equal(repeated.f, again.f)
    assert kept.stat().st_size == size
    other = replace(steps, learning_rate=0.02)
    with pytest.raises(InputError, match="belongs to another training"):
        train(data, [5, 6], steps=other, checkpoint=kept, resume=True)


def test_wide_layers_learn_more_slowly():
    wide = SoftmaxModel(f=Network(widths=(2, 1024, 2)), g=4)
    rows, labels = np.ones((8, 2)), np.arange(8) % 4
    source = LabelledRows(rows, labels, seeds=[0], batch_rows=8, device="cpu")
    before = wide.initial([0])
    moved = train_members(
        wide,
        source,
        (rows, None),
        seeds=[0],
        steps=Steps(n_steps=1, learning_rate=0.1, looks=(1,)),
        progress=False,
    )
    step_of_g = np.abs(moved.g[0, 0] - before["g.table"][0].numpy())
    # The first step of Adam is the learning rate in every coordinate.
    assert np.allclose(step_of_g, 0.1, rtol=1e-2)
    hidden = np.maximum(rows[:1] @ before["f.0.weight"][0].numpy(), 0)
    slowly = 0.1 * 256 / 1024 * hidden.sum() + 0.1
    turned = moved.f[0, 0, 0] - apply_by_hand(before, "f", 0, rows[:1])[0]
    assert np.abs(turned).max() < 2.5 * slowly


def test_a_member_that_diverges_is_named(labelled):
    rows = labelled[0].copy()
    rows[:] = 1e38
    with pytest.raises(InputError, match="1 of 1 members diverged, the first with seed 9"):
        train_classes((rows, labelled[1]), [9])


@pytest.mark.parametrize("looks", [(), (3, 2, 12), (0, 5), (-1, 12), (4, 4, 12)])
def test_looks_must_ascend_to_the_end(looks):
    with pytest.raises(InputError, match="do not ascend to 12"):
        Steps(n_steps=12, learning_rate=0.1, looks=looks)


def test_patches_are_cut_from_their_halves(images):
    shape = images.shape
    places = draw_places(shape, 3, 500, seed=0, purpose="a test")
    assert places[:, 0].min() == 0
    assert places[:, 0].max() == 1
    assert set(places[:, 2]) == {4, 5}
    assert places[:, [1, 3]].min() == 0
    assert places[:, [1, 3]].max() == 5
    picked = np.array([[7, 0], [3, 39]])
    some = places[:4].reshape(2, 2, 4)
    tops, bottoms = cut_patches(*map(torch.as_tensor, (images, picked, some)), 3)
    for member in range(2):
        for k in range(2):
            i, j, p, q = some[member, k]
            image = (images[picked[member, k]].astype(float) - 127.5) / 64
            assert np.allclose(tops[member, k], image[i : i + 3, j : j + 3].ravel())
            assert np.allclose(bottoms[member, k], image[p : p + 3, q : q + 3].ravel())


def test_members_see_only_their_images(images):
    subsets = [np.arange(16, 32), np.arange(16)]
    numbered = np.broadcast_to(np.arange(40, dtype=np.uint8)[:, None, None, None], images.shape)
    source = PatchPairs(
        numbered.copy(), n_pixels=4, seeds=[0, 1], batch_rows=8, device="cpu", subsets=subsets
    )
    seen = [set(), set()]
    for step in range(2):
        tops, bottoms = source.batch(step)
        assert torch.equal(tops, bottoms)
        for member in range(2):
            seen[member] |= set(np.rint(tops[member, :, 0].numpy() * 64 + 127.5).astype(int))
    assert seen == [set(range(16, 32)), set(range(16))]


def test_bad_shapes_are_refused(images, labelled):
    with pytest.raises(InputError, match="do not fit the halves"):
        held_out_patches(images, 5, seed=0)
    with pytest.raises(InputError, match="64 rows do not fill a batch of 65"):
        LabelledRows(*labelled, seeds=[0], batch_rows=65, device="cpu")
    with pytest.raises(InputError, match="f has 2 outputs and g 3"):
        SoftmaxModel(f=Network(widths=(3, 2)), g=Network(widths=(3, 3)))
