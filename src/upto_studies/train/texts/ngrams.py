"""Interpolated Kneser-Ney trigrams, the yardstick of language models (Chen and Goodman 1999).

The probability of a word is its count after its context less a discount; what all discounts leave
goes to the shorter context, where a word counts once for each context that it continues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError

if TYPE_CHECKING:
    from upto.core.array_types import Float

Codes = NDArray[np.int64]
ORDER = 3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Level:
    """Counts of one length of context: of contexts with a word, and of contexts."""

    discount: float
    grams: Codes
    counts: NDArray[np.int64]
    contexts: Codes
    totals: NDArray[np.int64]
    kinds: NDArray[np.int64]


class Trigrams:
    """A trigram model of tokens.

    Parameters
    ----------
    tokens
        Training tokens.
    n_tokens
        Size of the vocabulary.

    Raises
    ------
    InputError
        If there are fewer than three tokens, or a token is not in the vocabulary.
    """

    def __init__(self, tokens: NDArray[np.int64], n_tokens: int) -> None:
        if len(tokens) < ORDER:
            message = f"{len(tokens)} tokens contain no trigram: give at least {ORDER}."
            raise InputError(message)
        if tokens.min() < 0 or tokens.max() >= n_tokens:
            message = f"some tokens are not among the {n_tokens} of the vocabulary."
            raise InputError(message)
        self.n_tokens = n_tokens
        grams, counts = np.unique(self._codes(tokens, ORDER), return_counts=True)
        levels = [self._level(grams, counts.astype(np.int64))]
        for length in range(ORDER - 1, 0, -1):
            # The same gram after another first word counts once more.
            grams, counts = np.unique(grams % n_tokens**length, return_counts=True)
            levels.append(self._level(grams, counts.astype(np.int64)))
        self._levels = levels[::-1]

    def probabilities(self, tokens: NDArray[np.int64]) -> Float:
        """Return the probability of every token from the third on, given the two before it."""
        return self._interpolated(
            {length: self._codes(tokens, length)[ORDER - length :] for length in (1, 2, 3)}
        )

    def after(self, first: int, second: int) -> Float:
        """Return the probabilities of all tokens after two given ones."""
        every = np.arange(self.n_tokens)
        return self._interpolated(
            {
                1: every,
                2: second * self.n_tokens + every,
                3: (first * self.n_tokens + second) * self.n_tokens + every,
            }
        )

    def _interpolated(self, codes: dict[int, Codes]) -> Float:
        found: Float = np.full(len(codes[1]), 1.0 / self.n_tokens)
        for length, level in enumerate(self._levels, start=1):
            count = _looked_up(level.grams, level.counts, codes[length])
            context = codes[length] // self.n_tokens
            total = _looked_up(level.contexts, level.totals, context)
            kinds = _looked_up(level.contexts, level.kinds, context)
            seen = total > 0
            # A word counted less often than the discount takes has no count at all.
            taken = np.maximum(count - level.discount, 0.0) + level.discount * kinds * found
            found = np.where(seen, taken / np.maximum(total, 1), found)
        return found

    def _level(self, grams: Codes, counts: NDArray[np.int64]) -> _Level:
        contexts, first = np.unique(grams // self.n_tokens, return_index=True)
        once, twice = int((counts == 1).sum()), int((counts == 2).sum())
        return _Level(
            # Ney's estimate; without rare words there is nothing to judge the discount by.
            discount=once / (once + 2 * twice) if once and twice else 0.5,
            grams=grams,
            counts=counts,
            contexts=contexts,
            totals=np.add.reduceat(counts, first),
            kinds=np.diff(np.append(first, len(grams))),
        )

    def _codes(self, tokens: NDArray[np.int64], length: int) -> Codes:
        codes = np.zeros(len(tokens) - length + 1, dtype=np.int64)
        for place in range(length):
            codes = codes * self.n_tokens + tokens[place : len(tokens) - length + 1 + place]
        return codes


def _looked_up(keys: Codes, values: NDArray[np.int64], wanted: Codes) -> NDArray[np.int64]:
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, values[place], 0)
