"""Train word-embedding models on a text and its halves, and keep what is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream, read_tensors, write_tensors
from upto.core.array_types import Float
from upto_studies.train.texts.novels import Tokens, draw_texts, read_novels, split_tokens
from upto_studies.train.texts.word_model import Loss, WordTrainer, WordTraining, gap_positions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto_studies.outcome import Work
    from upto_studies.word_embeddings import Settings

Part = Literal["whole", "first half", "second half"]
_PARTS: dict[Part, int | None] = {"whole": None, "first half": 0, "second half": 1}
_JUDGED_GAPS = 50_000
"""Held-out gaps that the loss is measured on."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordRun:
    """Members of one loss and size after training.

    Parameters
    ----------
    training
        Shape and training settings.
    targets
        Members × words × size: embeddings of words as gaps, the most frequent word first.
    predictions
        Members × gaps × size: what the words around held-out gaps predict.
    losses
        Steps × members.
    held_out
        Mean loss of each member on held-out gaps.
    """

    training: WordTraining
    targets: NDArray[np.float32]
    predictions: NDArray[np.float32]
    losses: Float
    held_out: Float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainedWords:
    """All models and the words they embed.

    Parameters
    ----------
    runs
        One for each loss and size.
    words
        Compared words, the most frequent first.
    parts
        Text that each member learned from.
    n_training, n_held_out
        Numbers of tokens.
    """

    runs: dict[tuple[Loss, int], WordRun]
    words: tuple[str, ...]
    parts: tuple[Part, ...]
    n_training: int
    n_held_out: int


def planned_parts(n_pairs: int) -> tuple[Part, ...]:
    """Return the text of each member: pairs of the whole text, of one half, and across halves."""
    counts: dict[Part, int] = {
        "whole": 2 * n_pairs,
        "first half": 2 * n_pairs,
        "second half": n_pairs,
    }
    return tuple(part for part, count in counts.items() for _ in range(count))


def trained_words(settings: Settings, work: Work) -> TrainedWords:
    """Train all models, or read what an interrupted run left."""
    texts = (
        read_novels(work.data)
        if settings.data == "novels"
        else draw_texts(settings.n_sentences, seed=work.seed)
    )
    tokens = split_tokens(texts, settings.vocabulary)
    counts = np.bincount(tokens.training, minlength=len(tokens.vocabulary))
    frequent = np.argsort(-counts, kind="stable")[: settings.n_words]
    if counts[frequent].min() == 0 or settings.shown[1] >= len(frequent):
        message = (
            f"{int((counts > 0).sum())} words occur, of which {settings.n_words} are compared and "
            f"numbers {settings.shown[0]} to {settings.shown[1]} shown: choose fewer."
        )
        raise InputError(message)
    parts = planned_parts(settings.n_pairs)
    spelt = tokens.vocabulary.texts()
    runs = {
        (training.loss, training.size): _trained(training, tokens, frequent, parts, settings, work)
        for training in _planned(settings)
    }
    return TrainedWords(
        runs=runs,
        words=tuple(spelt[token] for token in frequent),
        parts=parts,
        n_training=len(tokens.training),
        n_held_out=len(tokens.held_out),
    )


def _planned(settings: Settings) -> Iterator[WordTraining]:
    for loss in settings.losses:
        for size in settings.sizes:
            yield WordTraining(
                size=size,
                reach=settings.reach,
                n_noise=settings.n_noise,
                loss=loss,
                steps=settings.steps,
                batch_gaps=settings.batch_gaps,
                learning_rate=settings.learning_rate,
            )


def _trained(
    training: WordTraining,
    tokens: Tokens,
    frequent: NDArray[np.int64],
    parts: tuple[Part, ...],
    settings: Settings,
    work: Work,
) -> WordRun:
    path = work.folder / f"words-{training.loss}-{training.size}.safetensors"
    if not (work.resume and path.exists()):
        under_way = path.with_suffix(".training")
        # Every loss and size has members of its own, so that nothing they share looks like a law.
        stream = random_stream(work.seed, "words", training.loss, str(training.size))
        of_part = {
            part: gap_positions(len(tokens.training), number, settings.reach, settings.passage)
            for part, number in _PARTS.items()
        }
        trainer = WordTrainer(
            tokens.training,
            len(tokens.vocabulary),
            [of_part[part] for part in parts],
            seeds=stream.integers(2**31, size=len(parts)).tolist(),
            training=training,
            device=work.device,
            checkpoint=under_way,
            resume=work.resume,
        )
        trainer.train(work.progress)
        reach = settings.reach
        gaps = np.linspace(reach, len(tokens.held_out) - reach - 1, settings.n_gaps).astype(int)
        n_judged = min(_JUDGED_GAPS, len(tokens.held_out) - 2 * reach)
        noise = random_stream(work.seed, "held-out noise").choice(
            tokens.training, size=(n_judged, settings.n_noise)
        )
        arrays: dict[str, NDArray[Any]] = {
            "targets": trainer.table("targets")[:, frequent],
            "predictions": trainer.predictions(tokens.held_out, gaps),
            "losses": trainer.losses,
            "held out": trainer.held_out_loss(tokens.held_out, noise),
        }
        write_tensors(path, arrays, {"training": repr(training)})
        under_way.unlink(missing_ok=True)
    kept, words = read_tensors(path)
    if words.get("training") != repr(training):
        message = f"{path} contains models of another run: pass --restart."
        raise InputError(message)
    return WordRun(
        training=training,
        targets=kept["targets"],
        predictions=kept["predictions"],
        losses=kept["losses"],
        held_out=kept["held out"],
    )
