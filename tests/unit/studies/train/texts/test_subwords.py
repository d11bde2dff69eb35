"""Subwords are learned from the most frequent pairs, and lose no text."""

from __future__ import annotations

import lzma
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.train.texts.novels import draw_texts, read_novels, split_tokens
from upto_studies.train.texts.subwords import Subwords

TEXT = "".join(draw_texts(120, seed=3))


def merges_by_counting(text: str, n_merges: int) -> list[tuple[int, int]]:
    """Count all pairs anew before every merge."""
    words = [list(word.encode()) for word in re.findall(r" ?[a-zA-Z]+| ?[.]|\n", text)]
    found = []
    for number in range(n_merges):
        counts = Counter(pair for word in words for pair in pairwise(word))
        pair = min(counts, key=lambda each: (-counts[each], each))
        found.append(pair)
        for word in words:
            place = 0
            while place + 1 < len(word):
                if (word[place], word[place + 1]) == pair:
                    word[place : place + 2] = [256 + number]
                place += 1
    return found


def test_merges_are_those_of_counting_anew():
    found = Subwords.learn(TEXT, 256 + 40)
    assert list(found.merges) == merges_by_counting(TEXT, 40)


@pytest.mark.parametrize("text", [TEXT, "naïve — “coöperate”_1859\n\n\tend ", "", "数 字"])
def test_no_text_is_lost(text):
    vocabulary = Subwords.learn(TEXT, 300)
    tokens = vocabulary.encode(text)
    assert vocabulary.decode(tokens) == text
    assert tokens.dtype == np.int64


def test_frequent_words_become_one_token():
    vocabulary = Subwords.learn("the cat and the dog and the cow " * 5, 280)
    assert " the" in vocabulary.texts()
    assert len(vocabulary.encode(" the")) == 1


def test_a_vocabulary_without_bytes_is_refused():
    with pytest.raises(InputError, match="100 tokens lacks single bytes"):
        Subwords.learn(TEXT, 100)


def test_the_end_of_every_text_is_held_out():
    tokens = split_tokens(["a" * 100, "b" * 100], 256)
    assert tokens.vocabulary.decode(tokens.held_out) == "a" * 10 + "b" * 10
    assert tokens.vocabulary.decode(tokens.training) == "a" * 90 + "b" * 90


def test_missing_damaged_and_undivided_novels_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"does not contain english_novels_18.txt.xz"):
        read_novels(tmp_path)
    path = tmp_path / "english_novels_18.txt.xz"
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match="not UTF-8 text compressed by xz"):
        read_novels(tmp_path)
    path.write_bytes(lzma.compress(b"one text without a name"))
    with pytest.raises(InputError, match="no line <<<name>>>"):
        read_novels(tmp_path)
    path.write_bytes(lzma.compress(b"<<<first>>>\none\n<<<second>>>\ntwo\n"))
    assert read_novels(tmp_path) == ["one\n", "two\n"]
