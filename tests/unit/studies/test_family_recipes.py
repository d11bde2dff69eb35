"""How the families ANI-1x and UniRep are computed, against the definitions."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from checks import ani1x_states, unirep_states


def weights(width: int, n_layers: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    found = {"embedding": rng.normal(size=(26, 10))}
    for layer in range(n_layers):
        n_inputs = width if layer else 10
        shapes = {"wmx": (n_inputs, width), "wmh": (width, width)}
        shapes |= {"wx": (n_inputs, 4 * width), "wh": (width, 4 * width)}
        shapes |= {"gmx": (width,), "gmh": (width,), "gx": (4 * width,), "gh": (4 * width,)}
        shapes["b"] = (4 * width,)
        for name, shape in shapes.items():
            found[f"mlstm.{layer}.{name}"] = rng.normal(size=shape)
    return found | {"dense.w": rng.normal(size=(width, 25)), "dense.b": rng.normal(size=25)}


def unit(matrix: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return matrix / np.sqrt((matrix**2).sum(axis=0)) * lengths


def naive(own: dict[str, np.ndarray], tokens: list[int], n_layers: int) -> np.ndarray:
    """Return the states of one sequence, unit by unit as the paper writes them."""
    inputs = [own["embedding"][token] for token in tokens]
    for layer in range(n_layers):
        w = {name[8:]: each for name, each in own.items() if name.startswith(f"mlstm.{layer}.")}
        width = len(w["wmh"])
        h = c = np.zeros(width)
        outputs = []
        for x in inputs:
            m = (x @ unit(w["wmx"], w["gmx"])) * (h @ unit(w["wmh"], w["gmh"]))
            z = x @ unit(w["wx"], w["gx"]) + m @ unit(w["wh"], w["gh"]) + w["b"]
            i, f, o = (1 / (1 + np.exp(-z[k * width : (k + 1) * width])) for k in range(3))
            c = f * c + i * np.tanh(z[3 * width :])
            h = o * np.tanh(c)
            outputs.append(h)
        inputs = outputs
    return np.array(inputs)


def test_states_of_proteins_are_those_of_a_multiplicative_lstm(rng):
    own = weights(5, 2, rng)
    tokens = rng.integers(1, 24, size=(3, 7))
    states = unirep_states.hidden_states(own, tokens)
    assert states.shape == (3, 7, 5)
    for sequence, found in zip(tokens, states, strict=True):
        np.testing.assert_allclose(found, naive(own, list(sequence), 2), rtol=1e-5, atol=1e-7)


def test_the_likelihood_is_that_of_the_next_residue(rng):
    own = weights(5, 1, rng)
    states, tokens = rng.normal(size=(2, 4, 5)), rng.integers(1, 26, size=(2, 4))
    found = unirep_states.surprise(own, states, tokens)
    scores = np.exp(states[1, 2] @ own["dense.w"] + own["dense.b"])
    assert np.exp(-found[1, 2]) == pytest.approx(scores[tokens[1, 2] - 1] / scores.sum())


def test_proteins_are_long_enough_and_begin_with_a_start(tmp_path):
    long = "MKV" * 60
    path = tmp_path / "some.fasta.gz"
    with gzip.open(path, "wt") as file:
        file.write(f">one\n{long[:90]}\n{long[90:]}\n>short\nMKV\n>odd\n{'J' * 200}\n")
    (tokens,) = unirep_states.read_proteins(path)
    assert tokens[:4].tolist() == [24, 1, 4, 16]
    assert len(tokens) == max(unirep_states.POSITIONS) + 2


def test_states_of_atoms_are_those_before_the_energy():
    layers = [lambda x: 2 * x, np.tanh, lambda x: x.sum(axis=1)]
    rows = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(ani1x_states.last_hidden(layers, rows), np.tanh(2 * rows))
