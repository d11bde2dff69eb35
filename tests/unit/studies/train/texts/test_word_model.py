"""Word-embedding models have the losses of their definitions, and train as if alone."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from upto.core import InputError
from upto_studies.train.texts.word_model import WordTrainer, WordTraining, gap_positions

N_TOKENS = 9
TEXT = np.random.default_rng(0).choice(N_TOKENS, size=900, p=np.arange(1, 10) / 45)


def training(**changes) -> WordTraining:
    values = {"size": 3, "n_noise": 4, "steps": 30, "batch_gaps": 16, "learning_rate": 0.05}
    return WordTraining(**(values | changes))


def trainer(seeds=(1, 2), gaps=None, checkpoint=None, resume=False, **changes) -> WordTrainer:
    every = gap_positions(len(TEXT), None, 2, 1000)
    return WordTrainer(
        TEXT,
        N_TOKENS,
        gaps or [every] * len(seeds),
        seeds=seeds,
        training=training(**changes),
        checkpoint=checkpoint,
        resume=resume,
    )


def plain_loss(found: WordTrainer, member: int, gap: int, noise: np.ndarray) -> float:
    """Score one gap by the formulas, word by word."""
    p = {name: each.detach().numpy()[member] for name, each in found.parameters.items()}
    around = [TEXT[gap + offset] for offset in (-2, -1, 1, 2)]
    predicted = sum(p["positions"][place] * p["contexts"][w] for place, w in enumerate(around))
    shares = np.bincount(TEXT, minlength=N_TOKENS) / len(TEXT)

    def score(word: int) -> float:
        plain = float(predicted @ p["targets"][word] + p["bias"][word, 0])
        is_nce = found.training.loss == "nce"
        return plain - (np.log(len(noise) * shares[word]) if is_nce else 0.0)

    wrong = [np.log1p(np.exp(score(word))) for word in noise]
    told = np.log1p(np.exp(-score(TEXT[gap])))
    return told + (np.sum(wrong) if found.training.loss == "nce" else np.mean(wrong))


@pytest.mark.parametrize("loss", ["release", "nce"])
def test_losses_are_those_of_the_formulas(loss):
    found = trainer(loss=loss)
    found.train_to(20)
    noise = np.random.default_rng(1).integers(N_TOKENS, size=(30, 4))
    expected = [
        np.mean([plain_loss(found, member, gap + 2, noise[gap]) for gap in range(30)])
        for member in (0, 1)
    ]
    np.testing.assert_allclose(found.held_out_loss(TEXT, noise), expected, rtol=1e-5)


@pytest.mark.parametrize("loss", ["release", "nce"])
def test_a_new_model_is_the_best_without_context(loss):
    stream = np.random.default_rng(2)
    noise = stream.choice(TEXT, size=(len(TEXT) - 4, 4))
    found = trainer(loss=loss, steps=1).held_out_loss(TEXT, noise)
    np.testing.assert_allclose(found, training(loss=loss).chance_loss(), rtol=0.03)


def test_members_side_by_side_are_those_trained_alone():
    both, alone = trainer(), trainer(seeds=(2,))
    both.train()
    alone.train()
    np.testing.assert_allclose(both.losses[:, 1], alone.losses[:, 0], rtol=1e-4)
    np.testing.assert_allclose(both.table("targets")[1], alone.table("targets")[0], atol=1e-4)
    assert not np.allclose(both.table("targets")[0], both.table("targets")[1], atol=1e-2)


def test_a_resumed_training_is_the_uninterrupted_one(tmp_path, monkeypatch):
    monkeypatch.setattr("upto_studies.train.checkpoints.INTERVAL", 0.0)
    path = tmp_path / "words.training"
    first, whole = trainer(checkpoint=path), trainer()
    first.train_to(11)
    whole.train()
    again = trainer(checkpoint=path, resume=True)
    assert again.done == 11
    again.train()
    np.testing.assert_allclose(again.losses, whole.losses, rtol=1e-4)


def test_training_finds_what_context_tells():
    text = np.tile([0, 1, 2, 3, 4, 5, 6, 7, 8], 100)
    gaps = gap_positions(len(text), None, 2, 1000)
    found = WordTrainer(text, N_TOKENS, [gaps], seeds=[0], training=training(steps=200, size=4))
    found.train()
    assert found.losses[-20:].mean() < 0.5 * training().chance_loss()


def test_predictions_are_sums_over_the_words_around_the_gap():
    found = trainer()
    found.train_to(5)
    p = {name: each.detach().numpy()[1] for name, each in found.parameters.items()}
    around = TEXT[[8, 9, 11, 12]]
    expected = (p["positions"] * p["contexts"][around]).sum(axis=0)
    np.testing.assert_allclose(found.predictions(TEXT, np.array([10]))[1, 0], expected, rtol=1e-5)


def test_halves_share_no_gap_and_no_word_around_one():
    first, second = (gap_positions(100, part, 2, 20) for part in (0, 1))
    around = [np.unique(part[:, None] + np.arange(-2, 3)) for part in (first, second)]
    assert not np.intersect1d(*around).size
    np.testing.assert_array_equal(np.union1d(*around), np.arange(100))


def test_members_of_less_text_see_it_more_often():
    half = gap_positions(len(TEXT), 0, 2, 100)
    found = trainer(gaps=[gap_positions(len(TEXT), None, 2, 1000), half])
    taken = found._orders[0].take(0, 400)[1].numpy()
    assert np.isin(taken, half).all()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: training(size=0), "positive numbers"),
        (lambda: training(learning_rate=0.0), "learning rate is 0"),
        (lambda: trainer(batch_gaps=500), "gaps do not give 500 gaps 4 noise words"),
    ],
)
def test_impossible_settings_are_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()
