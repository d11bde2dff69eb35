"""The log-bilinear word-embedding model (Mnih and Teh 2012), many members side by side.

The words around a gap predict a vector, the sum of their embeddings times weights of their
positions. Its product with the embedding of a word, plus a bias, scores that word for the gap. The
model learns to tell the true word from words drawn by frequency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from upto.core import InputError, random_stream
from upto.engines.device_rows import host_array, load_torch
from upto_studies.train.checkpoints import fingerprint
from upto_studies.train.orders import Orders
from upto_studies.train.texts.member_steps import MemberSteps

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.core.array_types import Float

Loss = Literal["release", "nce"]
_SPREAD = 0.001
"""New embeddings are uniform up to this, as in the release of Roeder et al."""
_NOISE = 2**32
"""Added to seeds for the noise of a member, which is in another order than its gaps."""
_GAPS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTraining:
    """Shape and training settings of word-embedding models.

    Parameters
    ----------
    size
        Coordinates of an embedding.
    reach
        Words on either side of the gap; two make a window of five.
    n_noise
        Noise words for each gap.
    loss
        ``"nce"`` subtracts the logarithm of the expected number of noise words from every score
        and sums over noise words; ``"release"`` does neither and takes their mean.
    steps
        Steps of Adam; the rate falls to zero along a cosine.
    batch_gaps
        Gaps of a step.
    learning_rate
        The first rate.
    """

    size: int
    reach: int = 2
    n_noise: int = 25
    loss: Loss = "release"
    steps: int
    batch_gaps: int = 1024
    learning_rate: float = 3e-3

    def __post_init__(self) -> None:
        if min(self.size, self.reach, self.n_noise, self.steps, self.batch_gaps) < 1:
            message = f"{self} needs positive numbers."
            raise InputError(message)
        if not 0 < self.learning_rate < math.inf:
            message = f"the learning rate is {self.learning_rate:g}: give a positive number."
            raise InputError(message)

    def chance_loss(self) -> float:
        """Return the loss of the best model that does not see the words around the gap."""
        if self.loss == "release":
            return 2 * math.log(2)
        return math.log(1 + self.n_noise) + self.n_noise * math.log(1 + 1 / self.n_noise)

    def offsets(self) -> NDArray[np.int64]:
        """Return the positions of the words around a gap."""
        return np.array([each for each in range(-self.reach, self.reach + 1) if each])


def gap_positions(n_tokens: int, part: int | None, reach: int, passage: int) -> NDArray[np.int64]:
    """Return the gaps of a text, or of every other passage of it, without those near an end.

    Parameters
    ----------
    n_tokens
        Length of the text.
    part
        0 or 1 for the passages of even or odd number, None for all.
    reach
        Words on either side of a gap, which must be of the same passage.
    passage
        Tokens of a passage.
    """
    places = np.arange(n_tokens)
    within = places % passage
    whole = (within >= reach) & (within < passage - reach) & (places < n_tokens - reach)
    if part is not None:
        whole &= places // passage % 2 == part
    return np.flatnonzero(whole)


class WordTrainer(MemberSteps):
    """Word-embedding models in training.

    Parameters
    ----------
    tokens
        Training text.
    n_tokens
        Size of the vocabulary.
    gaps
        Positions in the text that each member learns from, see `gap_positions`. Members with fewer
        see theirs more often.
    seeds
        One non-negative seed per member.
    training
        Shape and training settings.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        File for the state, written every two minutes.
    resume
        Whether to continue from that file, if it exists.

    Raises
    ------
    InputError
        If there are fewer gaps than a step needs, or the checkpoint is damaged or belongs to
        another training.
    """

    def __init__(
        self,
        tokens: NDArray[np.int64],
        n_tokens: int,
        gaps: Sequence[NDArray[np.int64]],
        *,
        seeds: Sequence[int],
        training: WordTraining,
        device: str = "cpu",
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> None:
        torch = load_torch()
        counts = np.bincount(tokens, minlength=n_tokens)
        # A token that never occurs has the share of half an occurrence.
        shares = np.maximum(counts, 0.5) / len(tokens)
        super().__init__(
            f"word models of size {training.size}",
            _initial(n_tokens, seeds, training, shares),
            seeds=seeds,
            steps=training.steps,
            weight_decay={},
            betas=(0.9, 0.999),
            clip_norm=None,
            device=device,
        )
        needed = training.batch_gaps * training.n_noise
        listed = _of_one_length(gaps)
        if len(listed[0]) < needed:
            message = (
                f"{len(listed[0])} gaps do not give {training.batch_gaps} gaps {training.n_noise} "
                f"noise words each: give a longer text, or reduce batch_gaps."
            )
            raise InputError(message)
        self.training = training
        self.tokens = torch.as_tensor(tokens, device=self.device)
        self._offsets = torch.as_tensor(training.offsets(), device=self.device)
        expected = np.log(training.n_noise * shares).astype(np.float32)
        self._expected = torch.as_tensor(expected, device=self.device)
        self._orders = [
            _Stream(self.seeds, listed, self.device),
            _Stream([seed + _NOISE for seed in self.seeds], listed, self.device),
        ]
        words = {
            "training": repr(training),
            "seeds": repr(self.seeds),
            "text": fingerprint(tokens, *listed),
        }
        self.keep_in(checkpoint, words, resume=resume)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        done = step / self.training.steps
        return self.training.learning_rate * (1 + math.cos(math.pi * done)) / 2

    def batch_losses(self, step: int) -> Any:
        """Return the mean loss of a gap for each member."""
        count = self.training.batch_gaps
        gaps = self._orders[0].take(step, count)
        # Words at random places of the text are words drawn by frequency.
        noise = self.tokens[self._orders[1].take(step, count * self.training.n_noise)]
        noise = noise.reshape(len(self.seeds), count, self.training.n_noise)
        return self._losses(self.tokens, gaps, noise).mean(1)

    def held_out_loss(self, tokens: NDArray[np.int64], noise: NDArray[np.int64]) -> Float:
        """Return the mean loss of each member for the gaps of another text.

        Parameters
        ----------
        tokens
            The text.
        noise
            Noise words, one row for each gap.
        """
        torch = load_torch()
        text, others = (torch.as_tensor(each, device=self.device) for each in (tokens, noise))
        total = torch.zeros(len(self.seeds), dtype=torch.float64, device=self.device)
        gaps = torch.arange(len(noise), device=self.device) + self.training.reach
        with torch.no_grad():
            for start in range(0, len(noise), _GAPS_AT_ONCE):
                part = slice(start, start + _GAPS_AT_ONCE)
                each = self._losses(text, self._for_all(gaps[part]), self._for_all(others[part]))
                total += each.double().sum(1)
        found: Float = host_array(total) / len(noise)
        return found

    def predictions(
        self, tokens: NDArray[np.int64], gaps: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return what each member predicts for gaps of a text: members × gaps × size."""
        torch = load_torch()
        text, places = (torch.as_tensor(each, device=self.device) for each in (tokens, gaps))
        with torch.no_grad():
            return np.asarray(host_array(self._predicted(text, self._for_all(places))))

    def table(self, name: Literal["targets", "contexts"]) -> NDArray[np.float32]:
        """Return the embeddings of words as gaps or around gaps: members × words × size."""
        return np.asarray(host_array(self.parameters[name].detach()))

    def _for_all(self, values: Any) -> Any:
        return values.expand(len(self.seeds), *values.shape)

    def _predicted(self, text: Any, gaps: Any) -> Any:
        around = text[gaps[..., None] + self._offsets]
        embedded = _rows_of(self.parameters["contexts"], around)
        return (embedded * self.parameters["positions"][:, None]).sum(2)

    def _losses(self, text: Any, gaps: Any, noise: Any) -> Any:
        """Return the loss of every gap of every member."""
        torch = load_torch()
        words = torch.cat([text[gaps][..., None], noise], dim=2)
        embedded = _rows_of(self.parameters["targets"], words)
        bias = _rows_of(self.parameters["bias"], words)[..., 0]
        scores = (embedded * self._predicted(text, gaps)[:, :, None]).sum(3) + bias
        if self.training.loss == "nce":
            scores = scores - self._expected[words]
        softplus = torch.nn.functional.softplus
        wrong = softplus(scores[..., 1:])
        left = wrong.sum(2) if self.training.loss == "nce" else wrong.mean(2)
        return softplus(-scores[..., 0]) + left


class _Stream:
    """Positions of each member in a random order, anew when all were taken."""

    def __init__(self, seeds: Sequence[int], gaps: list[NDArray[np.int64]], device: Any) -> None:
        self._orders = Orders(seeds, len(gaps[0]), gaps, device)
        self._length = len(gaps[0])
        self._order: tuple[int, Any] | None = None

    def take(self, step: int, count: int) -> Any:
        """Return the positions of a step."""
        epoch, part = divmod(step, self._length // count)
        if self._order is None or self._order[0] != epoch:
            self._order = (epoch, self._orders.epoch(epoch))
        return self._order[1][:, part * count : (part + 1) * count]


def _of_one_length(gaps: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Repeat shorter lists of gaps, so that members side by side need equally many steps."""
    most = max(map(len, gaps))
    return [np.resize(each, most) for each in gaps]


def _rows_of(table: Any, words: Any) -> Any:
    """Return the rows of each member's own table."""
    torch = load_torch()
    n_members, n_words, size = table.shape
    first = torch.arange(n_members, device=words.device) * n_words
    first = first.reshape(-1, *[1] * (words.ndim - 1))
    return torch.nn.functional.embedding(words + first, table.reshape(-1, size))


def _initial(
    n_tokens: int, seeds: Sequence[int], training: WordTraining, shares: Float
) -> dict[str, Any]:
    torch = load_torch()
    shape = (n_tokens, training.size)
    tables = {
        name: np.stack(
            [random_stream(seed, "words", name).uniform(-_SPREAD, _SPREAD, shape) for seed in seeds]
        )
        for name in ("targets", "contexts")
    }
    # Where a model without context ends.
    bias = np.log(shares) if training.loss == "nce" else np.zeros(n_tokens)
    tables["bias"] = np.repeat(bias[None, :, None], len(seeds), axis=0)
    tables["positions"] = np.ones((len(seeds), 2 * training.reach, training.size))
    return {name: torch.as_tensor(each.astype(np.float32)) for name, each in tables.items()}
