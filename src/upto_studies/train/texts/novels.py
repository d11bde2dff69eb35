"""The texts of the language studies: eighteen English novels, or a drawn substitute."""

from __future__ import annotations

import lzma
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, random_stream
from upto_studies.held_out_data import data_folder, find_file
from upto_studies.train.texts.subwords import Subwords

if TYPE_CHECKING:
    from pathlib import Path

FILE = "english_novels_18.txt.xz"
HOW = (
    f"{FILE} joins 18 of the files of github.com/computationalstylistics/100_english_novels "
    "(public domain), each after a line <<<name>>>; any text in that form will do"
)
_TITLE = re.compile(r"^<<<.*>>>\n", flags=re.MULTILINE)
_HELD_OUT_SHARE = 0.1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tokens:
    """Tokens of texts; the last tenth of every text is held out.

    Parameters
    ----------
    vocabulary
        Learned from the training tokens' texts only.
    training, held_out
        Tokens of all texts, one after another.
    n_characters
        Length of all texts.
    """

    vocabulary: Subwords
    training: NDArray[np.int64]
    held_out: NDArray[np.int64]
    n_characters: int


def read_novels(data: Path | None) -> list[str]:
    """Read the novels from the user's folder.

    Raises
    ------
    InputError
        If the file is missing, damaged or not divided into texts.
    """
    folder = data_folder(data, HOW)
    path = find_file(folder, FILE)
    if path is None:
        message = f"{folder} does not contain {FILE}: {HOW}."
        raise InputError(message)
    try:
        whole = lzma.decompress(path.read_bytes()).decode("utf-8")
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        message = f"{path} is not UTF-8 text compressed by xz ({error}): {HOW}."
        raise InputError(message) from None
    texts = [each.lstrip("\ufeff") for each in _TITLE.split(whole) if each.strip()]
    if not _TITLE.search(whole):
        message = f"{path} has no line <<<name>>> before each text: {HOW}."
        raise InputError(message)
    return texts


def draw_texts(n_sentences: int, *, n_texts: int = 4, seed: int = 0) -> list[str]:
    """Draw a substitute for novels: sentences of a small grammar with topics.

    Nouns and verbs of a sentence come from one topic, and their endings agree, so that a model
    with memory is better than word pairs.
    """
    stream = random_stream(seed, "drawn texts")
    topics = [(_words(stream, 6), _words(stream, 4), ("a", "the", "one")) for _ in range(5)]
    texts = []
    for _ in range(n_texts):
        sentences = []
        for _ in range(n_sentences // n_texts):
            nouns, verbs, articles = topics[stream.integers(len(topics))]
            subject, thing = stream.choice(nouns, size=2)
            many = stream.random() < 0.5
            start = "Some" if many else str(stream.choice(articles)).capitalize()
            ending, own = ("s", "") if many else ("", "s")
            verb = stream.choice(verbs)
            end = f" near the {stream.choice(nouns)}" if stream.random() < 0.4 else ""
            sentences.append(f"{start} {subject}{ending} {verb}{own} the {thing}{end}.")
        texts.append("\n".join(sentences) + "\n")
    return texts


def split_tokens(texts: list[str], vocabulary_size: int) -> Tokens:
    """Hold out the end of every text and learn the vocabulary from the rest."""
    kept, held = [], []
    for text in texts:
        end = int(len(text) * (1 - _HELD_OUT_SHARE))
        kept.append(text[:end])
        held.append(text[end:])
    training = "".join(kept)
    vocabulary = Subwords.learn(training, vocabulary_size)
    return Tokens(
        vocabulary=vocabulary,
        training=vocabulary.encode(training),
        held_out=vocabulary.encode("".join(held)),
        n_characters=sum(map(len, texts)),
    )


def _words(stream: np.random.Generator, count: int) -> list[str]:
    consonants, vowels = list("bdfgklmnprtv"), list("aeiou")
    return [
        "".join(f"{stream.choice(consonants)}{stream.choice(vowels)}" for _ in range(2)) + "l"
        for _ in range(count)
    ]
