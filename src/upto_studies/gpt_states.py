"""Train GPTs of several sizes and seeds and keep their hidden states on held-out passages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream, read_tensors, write_tensors
from upto.core.array_types import Float
from upto_studies.train.texts.gpt import Gpt
from upto_studies.train.texts.gpt_training import GptTrainer, GptTraining, text_windows
from upto_studies.train.texts.ngrams import ORDER, Trigrams
from upto_studies.train.texts.novels import draw_texts, read_novels, split_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from upto_studies.layers_of_gpts import Settings
    from upto_studies.outcome import Work
    from upto_studies.train.texts.novels import Tokens

TEXTS_OF_PASSAGE = 4
"""Consecutive texts that are fitted or held out together, since neighbouring tokens depend."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SizeRun:
    """GPTs of one size after training.

    Parameters
    ----------
    gpt
        Shape of the members.
    states, untrained
        Layers × members × rows × width, after and before training; the last layer first.
    losses
        Steps × members, in nats per token.
    held_out
        Mean negative log-likelihood of a held-out token for each member.
    """

    gpt: Gpt
    states: NDArray[np.float32]
    untrained: NDArray[np.float32]
    losses: Float
    held_out: Float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainedSizes:
    """All sizes, the rows of their states, and a yardstick.

    Parameters
    ----------
    runs
        One for each size.
    passages
        Passage of each row.
    trigrams
        Mean negative log-likelihood of the same held-out tokens under trigrams.
    n_training, n_held_out
        Numbers of tokens.
    """

    runs: tuple[SizeRun, ...]
    passages: NDArray[np.int64]
    trigrams: float
    n_training: int
    n_held_out: int


def trained_sizes(settings: Settings, work: Work) -> TrainedSizes:
    """Train every size from every seed, or read what an interrupted run left."""
    texts = (
        read_novels(work.data)
        if settings.data == "novels"
        else draw_texts(settings.n_sentences, seed=work.seed)
    )
    tokens = split_tokens(texts, settings.vocabulary)
    training = text_windows(tokens.training, settings.context)
    held_out = text_windows(tokens.held_out, settings.context)
    compared = _spread(held_out, settings.n_texts)
    seeds = random_stream(work.seed, "gpts").integers(2**31, size=settings.n_seeds).tolist()
    runs = tuple(
        _trained_size(gpt, training, held_out, compared, seeds, settings, work)
        for gpt in planned_gpts(settings, len(tokens.vocabulary))
    )
    places = np.repeat(np.arange(len(compared)), settings.rows_of_text)
    return TrainedSizes(
        runs=runs,
        passages=places // TEXTS_OF_PASSAGE,
        trigrams=_trigram_likelihood(tokens, len(held_out) * settings.context),
        n_training=len(tokens.training),
        n_held_out=len(tokens.held_out),
    )


def planned_gpts(settings: Settings, n_tokens: int) -> Iterator[Gpt]:
    """Yield the shape of each size.

    Raises
    ------
    InputError
        If widths and depths differ in number, or a network lacks one of the compared layers.
    """
    if len(settings.widths) != len(settings.depths):
        message = (
            f"{len(settings.widths)} widths and {len(settings.depths)} depths: give one depth for "
            "each width."
        )
        raise InputError(message)
    if max(settings.layers) > min(settings.depths):
        message = (
            f"a GPT of {min(settings.depths)} layers has none {max(settings.layers)} before the "
            "last: choose earlier layers that all have."
        )
        raise InputError(message)
    for width, depth in zip(settings.widths, settings.depths, strict=True):
        yield Gpt(
            n_tokens=n_tokens,
            width=width,
            depth=depth,
            n_heads=max(1, width // settings.head_width),
            context=settings.context,
        )


def row_positions(context: int, count: int) -> list[int]:
    """Return evenly spaced positions of a text, the last one included."""
    return [context * (number + 1) // count - 1 for number in range(count)]


def _spread(windows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return at most `count` windows in whole passages, evenly from all of them."""
    n_passages = len(windows) // TEXTS_OF_PASSAGE
    wanted = min(n_passages, count // TEXTS_OF_PASSAGE)
    if wanted < 2:
        message = (
            f"{len(windows)} held-out texts, of which {count} are compared, make {wanted} passages "
            f"of {TEXTS_OF_PASSAGE}: give at least two."
        )
        raise InputError(message)
    first: NDArray[np.int64] = np.arange(wanted) * n_passages // wanted * TEXTS_OF_PASSAGE
    chosen: NDArray[np.int64] = windows[(first[:, None] + np.arange(TEXTS_OF_PASSAGE)).ravel()]
    return chosen


def _trained_size(
    gpt: Gpt,
    training: NDArray[np.int64],
    held_out: NDArray[np.int64],
    compared: NDArray[np.int64],
    seeds: Sequence[int],
    settings: Settings,
    work: Work,
) -> SizeRun:
    path = work.folder / f"gpt-{gpt.width}.safetensors"
    if not (work.resume and path.exists()):
        under_way = path.with_suffix(".training")
        trainer = GptTrainer(
            gpt,
            training,
            seeds=seeds,
            training=GptTraining(
                steps=settings.steps,
                batch_texts=settings.batch_texts,
                learning_rate=settings.learning_rate * math.sqrt(min(settings.widths) / gpt.width),
                weight_decay=settings.weight_decay,
                dropout=settings.dropout,
                bfloat16=settings.bfloat16,
            ),
            device=work.device,
            checkpoint=under_way,
            resume=work.resume,
        )
        layers = [gpt.depth - back for back in settings.layers]
        positions = row_positions(settings.context, settings.rows_of_text)
        untrained = trainer.untrained_states(compared, layers, positions)
        trainer.train(work.progress)
        arrays: dict[str, NDArray[Any]] = {
            "states": trainer.states(compared, layers, positions),
            "untrained": untrained,
            "losses": trainer.losses,
            "held out": trainer.likelihood(held_out),
        }
        write_tensors(path, arrays, {"gpt": repr(gpt)})
        under_way.unlink(missing_ok=True)
    return _read_size(path, gpt)


def _read_size(path: Path, gpt: Gpt) -> SizeRun:
    arrays, words = read_tensors(path)
    if words.get("gpt") != repr(gpt):
        message = f"{path} contains GPTs of another run: pass --restart."
        raise InputError(message)
    return SizeRun(
        gpt=gpt,
        states=arrays["states"],
        untrained=arrays["untrained"],
        losses=arrays["losses"],
        held_out=arrays["held out"],
    )


def _trigram_likelihood(tokens: Tokens, n_predicted: int) -> float:
    """Return the mean over the tokens that GPTs predict; the first has one token before it."""
    model = Trigrams(tokens.training, len(tokens.vocabulary))
    found = model.probabilities(tokens.held_out[: n_predicted + 1])
    return float(-np.log(found[: n_predicted + 2 - ORDER]).mean())
