"""GPTs compute what they should, and each trains as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from upto.core import InputError
from upto_studies.train.texts.gpt import Gpt
from upto_studies.train.texts.gpt_training import GptTrainer, GptTraining, text_windows

GPT = Gpt(n_tokens=11, width=8, depth=2, n_heads=2, context=6)
WINDOWS = text_windows(np.random.default_rng(0).integers(11, size=400), 6)


def trainer(seeds=(3, 5), windows=WINDOWS, checkpoint=None, resume=False, **changes):
    values = {"steps": 12, "batch_texts": 8, "learning_rate": 1e-2, "dropout": 0.2}
    return GptTrainer(
        GPT,
        windows,
        seeds=seeds,
        training=GptTraining(**(values | changes)),
        checkpoint=checkpoint,
        resume=resume,
    )


def normal(rows, gain):
    centred = rows - rows.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain


def plain_likelihood(parameters, texts):
    """Compute one member by loops over texts, heads and positions."""
    p = {name: values.detach().numpy().astype(np.float64) for name, values in parameters.items()}
    total = []
    for text in texts:
        given, goal = text[:-1], text[1:]
        x = p["tokens"][given] + p["positions"][: len(given)]
        for layer in range(GPT.depth):
            y = normal(x, p["attention.norm"][layer]) @ p["attention.in"][layer]
            made = np.zeros_like(x)
            for head in range(GPT.n_heads):
                own = slice(4 * head, 4 * head + 4)
                query, key, value = (part[:, own] for part in np.split(y, 3, axis=1))
                for place in range(len(given)):
                    score = key[: place + 1] @ query[place] / 2.0
                    weight = np.exp(score - score.max())
                    made[place, own] = weight @ value[: place + 1] / weight.sum()
            x = x + made @ p["attention.out"][layer]
            y = torch.from_numpy(normal(x, p["perceptron.norm"][layer]) @ p["perceptron.in"][layer])
            x = x + torch.nn.functional.gelu(y).numpy() @ p["perceptron.out"][layer]
        logits = normal(x, p["norm"]) @ p["tokens"].T
        logits -= logits.max(1, keepdims=True)
        chosen = logits[np.arange(len(goal)), goal] - np.log(np.exp(logits).sum(1))
        total.append(-chosen.mean())
    return np.mean(total)


def test_likelihoods_are_those_of_a_plain_transformer():
    found = trainer()
    found.train_to(6)
    expected = [
        plain_likelihood({name: each[k] for name, each in found.parameters.items()}, WINDOWS[:5])
        for k in (0, 1)
    ]
    np.testing.assert_allclose(found.likelihood(WINDOWS[:5]), expected, rtol=1e-5)


def test_members_side_by_side_are_those_trained_alone():
    both, alone = trainer(), trainer(seeds=(5,))
    both.train()
    alone.train()
    np.testing.assert_allclose(both.losses[:, 1], alone.losses[:, 0], rtol=1e-4)
    assert not np.allclose(both.losses[:, 0], both.losses[:, 1], rtol=1e-2)


def test_a_resumed_training_is_the_uninterrupted_one(tmp_path, monkeypatch):
    monkeypatch.setattr("upto_studies.train.checkpoints.INTERVAL", 0.0)
    path = tmp_path / "gpt.training"
    first, whole = trainer(checkpoint=path), trainer()
    first.train_to(7)
    whole.train()
    again = trainer(checkpoint=path, resume=True)
    assert again.done == 7
    again.train()
    np.testing.assert_allclose(again.losses, whole.losses, rtol=1e-4)
    np.testing.assert_allclose(again.likelihood(WINDOWS), whole.likelihood(WINDOWS), rtol=1e-4)
    with pytest.raises(InputError, match="belongs to another training"):
        trainer(checkpoint=path, resume=True, learning_rate=2e-2)


def test_training_learns_what_the_text_repeats():
    windows = text_windows(np.tile([1, 4, 2, 8, 5, 7], 80), 6)
    found = trainer(windows=windows, steps=150, dropout=0.0)
    before = found.likelihood(windows)
    found.train()
    assert (before > 2.0).all()
    assert (found.likelihood(windows) < 0.2).all()


def test_states_are_those_the_head_reads_and_see_no_later_token():
    found = trainer()
    states = found.states(WINDOWS[:3], [2, -1, 0], [1, 5])
    assert states.shape == (3, 2, 6, 8)
    np.testing.assert_array_equal(states[0], states[1])
    changed = WINDOWS[:3].copy()
    changed[:, 3:] = 0
    after = found.states(changed, [2, -1, 0], [1, 5])
    np.testing.assert_allclose(after[:, :, ::2], states[:, :, ::2], atol=1e-6)
    assert not np.allclose(after[0, :, 1::2], states[0, :, 1::2], atol=1e-3)


def test_untrained_states_stay_those_of_the_start():
    found = trainer()
    before = found.states(WINDOWS[:3], [2, 0], [5])
    found.train_to(5)
    after = found.untrained_states(WINDOWS[:3], [2, 0], [5])
    np.testing.assert_allclose(after, before, atol=1e-6)
    assert not np.allclose(found.states(WINDOWS[:3], [2, 0], [5]), before, atol=1e-4)


def test_the_gradient_of_every_member_is_clipped_on_its_own():
    found = trainer()
    (found.batch_losses(0) * torch.tensor([1.0, 100.0])).sum().backward()
    found._clip(1e-3)
    squares = sum(each.grad.flatten(1).square().sum(1) for each in found.parameters.values())
    np.testing.assert_allclose(squares.sqrt().numpy(), 1e-3, rtol=1e-4)


def test_the_rate_rises_and_falls_to_zero():
    training = GptTraining(steps=100, learning_rate=1.0)
    rates = [training.rate(step) for step in range(100)]
    assert np.argmax(rates) == 9
    assert rates[9] == 1.0
    assert rates[-1] < 0.001
    assert (np.diff(rates[10:]) < 0).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Gpt(n_tokens=5, width=6, depth=1, n_heads=4, context=3), "4 heads cannot share"),
        (lambda: Gpt(n_tokens=5, width=6, depth=0, n_heads=2, context=3), "positive numbers"),
        (lambda: text_windows(np.zeros(5, dtype=np.int64), 6), "5 tokens do not fill a context"),
        (lambda: trainer(windows=WINDOWS[:4]), "4 texts do not fill a step of 8"),
        (lambda: trainer(windows=WINDOWS + 1), "not among the 11"),
        (lambda: GptTraining(steps=0), "0 steps"),
        (lambda: GptTraining(steps=1, dropout=1.0), "dropout is 1"),
        (lambda: GptTraining(steps=1, learning_rate=-1.0), "learning rate is -1"),
    ],
)
def test_impossible_settings_are_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_a_member_that_diverges_is_named():
    found = trainer(learning_rate=1e30, steps=25)
    with pytest.raises(InputError, match=r"GPTs of width 8 diverged .* seed 3"):
        found.train()
