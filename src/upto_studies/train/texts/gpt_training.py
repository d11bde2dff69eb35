"""Train GPTs of one shape from several seeds side by side, on a device that keeps the text."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, random_stream
from upto.engines.device_rows import host_array, load_torch
from upto_studies.train.checkpoints import fingerprint
from upto_studies.train.orders import Orders
from upto_studies.train.texts.member_steps import MemberSteps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto_studies.train.texts.gpt import Gpt, Parameters

_TEXTS_AT_ONCE = 256
"""Texts that are evaluated at once, over all members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GptTraining:
    """Training settings of GPTs.

    Parameters
    ----------
    steps
        Steps of AdamW; the rate rises over the first tenth and falls to zero along a cosine.
    batch_texts
        Texts of a step, each as long as the context.
    learning_rate
        The largest rate.
    weight_decay
        Of matrices and embeddings; gains of norms do not decay.
    dropout
        Share of the coordinates that each layer leaves out of what it adds, the same at all
        positions of a text (Gal and Ghahramani 2016).
    clip_norm
        Maximum norm of a member's gradient.
    bfloat16
        Whether products are rounded to bfloat16; weights and norms stay in float32.
    """

    steps: int
    batch_texts: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.1
    dropout: float = 0.1
    clip_norm: float = 1.0
    bfloat16: bool = False

    def __post_init__(self) -> None:
        if min(self.steps, self.batch_texts) < 1:
            message = f"{self.steps} steps of {self.batch_texts} texts: give at least one of each."
            raise InputError(message)
        if not (0 < self.learning_rate < math.inf and self.clip_norm > 0):
            message = (
                f"the learning rate is {self.learning_rate:g} and gradients are clipped to "
                f"{self.clip_norm:g}: both must be positive, and the first finite."
            )
            raise InputError(message)
        if not (0 <= self.dropout < 1 and self.weight_decay >= 0):
            message = (
                f"dropout is {self.dropout:g} and weight decay {self.weight_decay:g}: give a share "
                "below one and a number that is not negative."
            )
            raise InputError(message)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        rising = max(1, self.steps // 10)
        if step < rising:
            return self.learning_rate * (step + 1) / rising
        done = (step - rising) / max(1, self.steps - rising)
        return self.learning_rate * (1 + math.cos(math.pi * done)) / 2


def text_windows(tokens: NDArray[np.int64], context: int) -> NDArray[np.int64]:
    """Cut tokens into windows of one more than the context; neighbours share one token."""
    count = (len(tokens) - 1) // context
    if count < 1:
        message = f"{len(tokens)} tokens do not fill a context of {context}: give a longer text."
        raise InputError(message)
    starts = np.arange(count)[:, None] * context
    windows: NDArray[np.int64] = tokens[starts + np.arange(context + 1)]
    return windows


class GptTrainer(MemberSteps):
    """GPTs of one shape in training.

    Parameters
    ----------
    gpt
        Shape of the members.
    windows
        Training texts, as `text_windows` cuts them.
    seeds
        One non-negative seed per member, which alone determines its weights, the order of its
        texts and its dropout.
    training
        Training settings.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        File for the state, written every two minutes.
    resume
        Whether to continue from that file, if it exists.

    Raises
    ------
    InputError
        If the texts do not fill a step or contain other tokens, or the checkpoint is damaged or
        belongs to another training.
    """

    def __init__(
        self,
        gpt: Gpt,
        windows: NDArray[np.int64],
        *,
        seeds: Sequence[int],
        training: GptTraining,
        device: str = "cpu",
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> None:
        torch = load_torch()
        if len(windows) < training.batch_texts:
            message = (
                f"{len(windows)} texts do not fill a step of {training.batch_texts}: give more, or "
                "reduce batch_texts."
            )
            raise InputError(message)
        if windows.min() < 0 or windows.max() >= gpt.n_tokens:
            message = f"some tokens are not among the {gpt.n_tokens} of the vocabulary."
            raise InputError(message)
        parameters = gpt.initial(seeds)
        decaying = (name for name in parameters if not name.endswith("norm"))
        super().__init__(
            f"GPTs of width {gpt.width}",
            parameters,
            seeds=seeds,
            steps=training.steps,
            weight_decay=dict.fromkeys(decaying, training.weight_decay),
            betas=(0.9, 0.95),
            clip_norm=training.clip_norm,
            device=device,
        )
        self.gpt, self.training = gpt, training
        self.windows = torch.as_tensor(windows, device=self.device)
        self._orders = Orders(self.seeds, len(windows), None, self.device)
        self._order: tuple[int, Any] | None = None
        self._keys = [int(random_stream(seed, "dropout").integers(2**62)) for seed in self.seeds]
        self._dice = [torch.Generator(device=self.device) for _ in self.seeds]
        words = {
            "gpt": repr(gpt),
            "training": repr(training),
            "seeds": repr(self.seeds),
            "texts": fingerprint(windows),
        }
        self.keep_in(checkpoint, words, resume=resume)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return self.training.rate(step)

    def batch_losses(self, step: int) -> Any:
        """Return the mean negative log-likelihood of a token for each member."""
        n_texts = self.training.batch_texts
        epoch, part = divmod(step, len(self.windows) // n_texts)
        if self._order is None or self._order[0] != epoch:
            self._order = (epoch, self._orders.epoch(epoch))
        picked = self._order[1][:, part * n_texts : (part + 1) * n_texts]
        return self._losses(self.windows[picked], self._masks(step))

    def likelihood(self, windows: NDArray[np.int64]) -> Float:
        """Return the mean negative log-likelihood of the tokens of texts for each member."""
        torch = load_torch()
        total = torch.zeros(len(self.seeds), dtype=torch.float64, device=self.device)
        with torch.no_grad():
            for texts in self._parts(windows):
                total += self._losses(texts).double() * texts.shape[1]
        found: Float = host_array(total) / len(windows)
        return found

    def states(
        self, windows: NDArray[np.int64], layers: Sequence[int], positions: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return hidden states of texts: layers × members × (texts · positions) × width.

        Layer 0 is the embedding and the last one the normalised states that the head reads;
        negative numbers count from the end.
        """
        return self._states(self.parameters, windows, layers, positions)

    def untrained_states(
        self, windows: NDArray[np.int64], layers: Sequence[int], positions: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return what `states` would return before any step."""
        parameters = self.gpt.initial(self.seeds)
        placed = {name: values.to(self.device) for name, values in parameters.items()}
        return self._states(placed, windows, layers, positions)

    def _states(
        self,
        parameters: Parameters,
        windows: NDArray[np.int64],
        layers: Sequence[int],
        positions: Sequence[int],
    ) -> NDArray[np.float32]:
        torch = load_torch()
        count = self.gpt.depth + 1
        wanted = [layer % count for layer in layers]
        places = torch.as_tensor(list(positions), device=self.device)
        parts = []
        with torch.no_grad(), self._rounding():
            for texts in self._parts(windows):
                every = dict(enumerate(self.gpt.states(parameters, texts[..., :-1])))
                found = [every[layer][:, :, places].flatten(1, 2).float() for layer in wanted]
                parts.append(host_array(torch.stack(found)))
        return np.concatenate(parts, axis=2)

    def _parts(self, windows: NDArray[np.int64]) -> Iterator[Any]:
        torch = load_torch()
        length = max(1, _TEXTS_AT_ONCE // len(self.seeds))
        for start in range(0, len(windows), length):
            part = torch.as_tensor(windows[start : start + length], device=self.device)
            yield part.expand(len(self.seeds), *part.shape)

    def _losses(self, texts: Any, masks: Any = None) -> Any:
        torch = load_torch()
        with self._rounding():
            for states in self.gpt.states(self.parameters, texts[..., :-1], masks):
                last = states
            logits = self.gpt.logits(self.parameters, last).flatten(0, 2)
            goal = texts[..., 1:].flatten()
            each = torch.nn.functional.cross_entropy(logits, goal, reduction="none")
        return each.reshape(len(self.seeds), -1).mean(1)

    def _masks(self, step: int) -> Any:
        torch = load_torch()
        share = self.training.dropout
        if not share:
            return None
        shape = (1 + 2 * self.gpt.depth, self.training.batch_texts, 1, self.gpt.width)
        drawn = []
        # Dice thrown anew at each step need no state to resume, nor do members share them.
        for key, dice in zip(self._keys, self._dice, strict=True):
            dice.manual_seed(key + step)
            drawn.append(torch.rand(shape, generator=dice, device=self.device))
        return (torch.stack(drawn, dim=1) >= share).float() / (1 - share)

    def _rounding(self) -> Any:
        if not self.training.bfloat16:
            return nullcontext()
        return load_torch().autocast(self.device.type, dtype=load_torch().bfloat16)
