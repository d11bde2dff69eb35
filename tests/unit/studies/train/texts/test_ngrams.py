"""Trigram probabilities are those of the definition, and sum to one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.train.texts.ngrams import Trigrams

N_TOKENS = 7


def drawn(count: int = 300) -> np.ndarray:
    stream = np.random.default_rng(0)
    return np.minimum(stream.geometric(0.4, size=count) - 1, N_TOKENS - 1)


def probability(tokens: list[int], context: tuple[int, ...], word: int) -> float:
    """Interpolate discounted counts by the definition, one word at a time."""

    def counts(length: int) -> Counter[tuple[int, ...]]:
        grams = Counter(zip(*(tokens[start:] for start in range(3)), strict=False))
        for _ in range(3 - length):
            grams = Counter(gram[1:] for gram in grams)
        return grams

    def level(length: int) -> float:
        if length == 0:
            return 1 / N_TOKENS
        own = counts(length)
        before = context[len(context) - length + 1 :]
        after = {gram[-1]: count for gram, count in own.items() if gram[:-1] == before}
        if not after:
            return level(length - 1)
        once, twice = (sum(count == k for count in own.values()) for k in (1, 2))
        discount = once / (once + 2 * twice) if once and twice else 0.5
        kept = max(after.get(word, 0) - discount, 0.0)
        return (kept + discount * len(after) * level(length - 1)) / sum(after.values())

    return level(3)


def test_probabilities_are_those_of_the_definition():
    tokens = drawn()
    model = Trigrams(tokens, N_TOKENS)
    other = np.random.default_rng(1).integers(N_TOKENS, size=40)
    expected = [
        probability(tokens.tolist(), (a, b), c)
        for a, b, c in zip(other, other[1:], other[2:], strict=False)
    ]
    np.testing.assert_allclose(model.probabilities(other), expected, rtol=1e-12)


def test_probabilities_after_any_context_sum_to_one():
    model = Trigrams(drawn(), N_TOKENS)
    sums = [model.after(a, b).sum() for a in range(N_TOKENS) for b in range(N_TOKENS)]
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)


def test_a_text_without_trigrams_or_with_other_tokens_is_refused():
    with pytest.raises(InputError, match="2 tokens contain no trigram"):
        Trigrams(np.array([0, 1]), 3)
    with pytest.raises(InputError, match="not among the 3"):
        Trigrams(np.array([0, 1, 5]), 3)
