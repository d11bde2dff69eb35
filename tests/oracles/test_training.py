"""Trained ensembles against optima in closed form, torch's own optimiser and published figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from upto.datasets import read_image_set
from upto_studies.train import Ensemble, Network, Training, train_ensemble
from upto_studies.train.orders import Orders
from upto_studies.train.pairs import decoder_stretches, measure_pairs
from upto_studies.train.references import linear_autoencoder_error

torch = pytest.importorskip("torch")


@pytest.mark.slow
def test_linear_autoencoders_reach_pca_and_agree_up_to_a_rotation():
    digits = read_image_set("digits")
    rows, held_rows = (
        digits.read_floats(chosen).reshape(len(chosen), -1)
        for chosen in (digits.training_rows, digits.held_rows)
    )
    network = Network.autoencoder((64, 48, 32, 8), orthogonal=True, bias=False)
    training = Training(
        epochs=400, decay_epochs=300, batch_rows=512, learning_rate=5e-3, patience=50
    )
    ensemble = train_ensemble(network, rows, seeds=range(4), leaks=1.0, training=training)
    optimum = linear_autoencoder_error(rows, 8)
    assert ensemble.errors(rows) == pytest.approx([optimum] * 4, rel=1e-4)
    for pair in measure_pairs(ensemble, rows, held_rows, n_samples=500, n_directions=10, seed=0):
        assert pair.errors.relative < 1e-3
        assert pair.errors.held_relative < 1e-3
    assert ensemble.worst_defect.max() < 1e-5


def test_the_least_error_of_a_linear_autoencoder_is_what_pca_leaves(rng):
    rows = rng.normal(size=(100, 7)) + 2.0
    _, _, directions = np.linalg.svd(rows)
    kept = directions[:3].T @ directions[:3]
    left = ((rows - rows @ kept) ** 2).mean()
    assert linear_autoencoder_error(rows, 3) == pytest.approx(left, rel=1e-12)


@pytest.mark.slow
def test_one_orthogonal_layer_finds_the_rotation_of_procrustes(rng):
    rows = rng.normal(size=(300, 5))
    hidden, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    # The optimum over rotations only: a layer cannot change the sign of its determinant.
    start = Network(widths=(5, 5), orthogonal=True, bias=False).initial([0], "float64")
    if np.linalg.det(hidden) * np.linalg.det(start["0.weight"][0].numpy()) < 0:
        hidden[:, 0] *= -1
    targets = rows @ hidden + 0.1 * rng.normal(size=(300, 5))
    training = Training(
        epochs=600, batch_rows=300, learning_rate=0.05, decay_epochs=500, patience=600
    )
    network = Network(widths=(5, 5), orthogonal=True, bias=False)
    ensemble = train_ensemble(network, rows, targets, seeds=[0], training=training)
    expected, _ = orthogonal_procrustes(rows, targets)
    assert np.allclose(ensemble.parameters["0.weight"][0], expected, atol=1e-5)


@pytest.mark.slow
def test_free_layers_are_trained_as_by_torchs_own_adam(rng):
    rows, targets = rng.normal(size=(40, 4)), rng.normal(size=(40, 2))
    network = Network(widths=(4, 5, 2))
    training = Training(epochs=3, batch_rows=16, learning_rate=0.01, clip_norm=None)
    ensemble = train_ensemble(network, rows, targets, seeds=[0, 1], leaks=0.1, training=training)

    parameters = {
        name: values[[1]].clone().requires_grad_()
        for name, values in network.initial([0, 1], "float64").items()
    }
    optimiser = torch.optim.Adam(parameters.values(), lr=0.01, eps=1e-12)
    orders = Orders([1], 40, None, "cpu")
    for epoch in range(3):
        order = orders.epoch(epoch)[0]
        for start in range(0, 40, 16):
            batch = order[start : start + 16]
            made = network.run(
                parameters, torch.tensor([0.1]).double(), torch.as_tensor(rows)[batch][None]
            )
            loss = (made[0] - torch.as_tensor(targets)[batch]).square().sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    for name, values in parameters.items():
        assert torch.allclose(ensemble.parameters[name][1], values[0], atol=1e-10)


@pytest.mark.parametrize(
    ("leak", "exact", "estimate"),
    [(0.2, 4.03, 2.23), (0.4, 2.81, 1.94), (0.6, 1.93, 1.59), (0.8, 1.36, 1.26), (1.0, 1.0, 1.0)],
)
def test_random_decoders_stretch_as_an_independent_computation_found(leak, exact, estimate, rng):
    network = Network.autoencoder((784, 256, 64, 16), orthogonal=True, bias=False)
    ensemble = Ensemble(
        network=network,
        parameters=network.initial([0], "float64"),
        leaks=np.array([leak]),
        seeds=(0,),
        losses=np.empty((0, 1)),
        epochs=np.zeros(1, dtype=np.int64),
        worst_defect=np.zeros(1),
        stopped_by=("limit",),
    )
    codes, directions = rng.normal(size=(1, 200, 16)), rng.normal(size=(1, 200, 10, 16))
    found = decoder_stretches(ensemble, codes, directions=directions)
    assert found.exact.mean() == pytest.approx(exact, rel=0.03)
    assert found.estimate.mean() == pytest.approx(estimate, rel=0.03)
    assert found.exact.max() <= leak**-2 * (1 + 1e-9)
