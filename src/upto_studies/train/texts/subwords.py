"""Byte-pair subwords: learn a vocabulary from text, split text into tokens and join them again.

Pairs are merged within words only (Sennrich et al. 2016), so both steps work on the distinct words
of a text, of which there are few.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from upto.core import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Pair = tuple[int, int]

_WORD = re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\w\s]+|\s+|_+")
"""Letters, digits or marks, with the space before them; every character belongs to one word."""
N_BYTES = 256
"""The first tokens are the single bytes, so that any text can be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subwords:
    """A vocabulary of byte-pair subwords.

    Parameters
    ----------
    merges
        Pairs of tokens in the order they were learned; merge k makes token 256 + k.
    """

    merges: tuple[tuple[int, int], ...]

    def __len__(self) -> int:
        return N_BYTES + len(self.merges)

    @classmethod
    def learn(cls, text: str, size: int) -> Subwords:
        """Learn a vocabulary of at most `size` tokens; equally frequent pairs in numerical order.

        Raises
        ------
        InputError
            If there is no room for the single bytes.

        Examples
        --------
        >>> found = Subwords.learn("low lower lowest", 258)
        >>> found.texts()[256:]
        ['lo', 'low']
        """
        if size < N_BYTES:
            message = f"a vocabulary of {size} tokens lacks single bytes: give at least {N_BYTES}."
            raise InputError(message)
        counts = Counter(_WORD.findall(text))
        words = [list(word.encode()) for word in counts]
        return cls(merges=tuple(_merges(words, list(counts.values()), size - N_BYTES)))

    def encode(self, text: str) -> NDArray[np.int64]:
        """Split a text into tokens."""
        ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        numbers: dict[str, int] = {}
        order = [numbers.setdefault(word, len(numbers)) for word in _WORD.findall(text)]
        if not order:
            return np.empty(0, dtype=np.int64)
        parts = [_split(list(word.encode()), ranks) for word in numbers]
        lengths = np.array([len(part) for part in parts])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        flat = np.array([token for part in parts for token in part], dtype=np.int64)
        chosen = np.array(order)
        # Position of every token of the text in the tokens of its distinct words.
        taken = lengths[chosen]
        first = np.repeat(starts[chosen] - np.concatenate([[0], np.cumsum(taken)[:-1]]), taken)
        tokens: NDArray[np.int64] = flat[first + np.arange(taken.sum())]
        return tokens

    def decode(self, tokens: Iterable[int]) -> str:
        """Join tokens; bytes that are no text become replacement characters."""
        known = self._bytes()
        return b"".join(known[token] for token in tokens).decode(errors="replace")

    def texts(self) -> list[str]:
        """Return the text of every token."""
        return [each.decode(errors="replace") for each in self._bytes()]

    def _bytes(self) -> list[bytes]:
        known = [bytes([value]) for value in range(N_BYTES)]
        for first, second in self.merges:
            known.append(known[first] + known[second])
        return known


def _merges(words: list[list[int]], counts: list[int], n_merges: int) -> Iterator[Pair]:
    """Yield the most frequent pair, merge it everywhere, and repeat."""
    frequencies: Counter[Pair] = Counter()
    holders: dict[Pair, set[int]] = defaultdict(set)
    for number, word in enumerate(words):
        for pair in pairwise(word):
            frequencies[pair] += counts[number]
            holders[pair].add(number)
    heap = [(-count, pair) for pair, count in frequencies.items()]
    heapify(heap)
    made = 0
    while heap and made < n_merges:
        less, pair = heappop(heap)
        if frequencies[pair] != -less:
            if frequencies[pair] > 0:
                heappush(heap, (-frequencies[pair], pair))
            continue
        yield pair
        changed: set[Pair] = set()
        for number in holders.pop(pair):
            before = words[number]
            after = _merged(before, pair, N_BYTES + made)
            for each in pairwise(before):
                frequencies[each] -= counts[number]
                changed.add(each)
            for each in pairwise(after):
                frequencies[each] += counts[number]
                holders[each].add(number)
                changed.add(each)
            words[number] = after
        for each in changed:
            if frequencies[each] > 0:
                heappush(heap, (-frequencies[each], each))
        made += 1


def _merged(word: list[int], pair: Pair, token: int) -> list[int]:
    found: list[int] = []
    place = 0
    while place < len(word):
        if place + 1 < len(word) and (word[place], word[place + 1]) == pair:
            found.append(token)
            place += 2
        else:
            found.append(word[place])
            place += 1
    return found


def _split(word: list[int], ranks: dict[Pair, int]) -> list[int]:
    """Apply the merges to one word, the earliest first."""
    while len(word) > 1:
        best = min(pairwise(word), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        word = _merged(word, best, N_BYTES + ranks[best])
    return word
