"""Stacks of networks: what they compute and where they start."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.train import Network

torch = pytest.importorskip("torch")

LEAKS = torch.tensor([0.1, 0.5, 1.0], dtype=torch.float64)[:, None, None]
networks = pytest.mark.parametrize(
    "network",
    [
        Network(widths=(5, 7, 3)),
        Network.autoencoder((6, 4, 2)),
        Network.autoencoder((6, 4, 2), orthogonal=True, bias=False),
    ],
    ids=["regression", "autoencoder", "orthogonal"],
)


def started(network):
    parameters = network.initial([0, 1, 2], "float64")
    generator = torch.Generator().manual_seed(0)
    for name, values in parameters.items():
        if name.endswith("bias"):
            values.copy_(torch.randn(values.shape, generator=generator, dtype=values.dtype))
    return parameters


def module(network, parameters, member, first=0, last=None):
    """Build the same member of torch's own layers."""
    layers = []
    for layer in range(first, network.n_layers if last is None else last):
        weight = parameters[f"{layer}.weight"][member]
        linear = torch.nn.Linear(*weight.shape, bias=network.bias, dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(weight.T)
            if network.bias:
                linear.bias.copy_(parameters[f"{layer}.bias"][member, 0])
        layers.append(linear)
        if network.is_rectified(layer):
            layers.append(torch.nn.LeakyReLU(float(LEAKS[member])))
    return torch.nn.Sequential(*layers)


@networks
def test_each_member_computes_what_torch_computes_of_it(network):
    parameters = started(network)
    rows = torch.randn(3, 11, network.widths[0], dtype=torch.float64)
    made = network.run(parameters, LEAKS, rows)
    for member in range(3):
        expected = module(network, parameters, member)(rows[member])
        assert torch.allclose(made[member], expected, atol=1e-12)


@pytest.mark.slow
@networks
def test_the_jacobian_in_closed_form_is_that_of_autograd(network):
    parameters = started(network)
    first = network.code or 0
    rows = torch.randn(3, 4, network.widths[first], dtype=torch.float64)
    found = network.jacobians(parameters, LEAKS, rows, first=first, last=network.n_layers)
    for member in range(3):
        decoder = module(network, parameters, member, first)
        expected = torch.vmap(torch.func.jacrev(decoder))(rows[member])
        assert torch.allclose(found[member], expected.mT, atol=1e-12)


def test_no_rectifier_follows_the_code_or_the_output():
    network = Network.autoencoder((8, 6, 4, 2))
    assert [network.is_rectified(layer) for layer in range(6)] == [
        True, True, False, True, True, False,
    ]  # fmt: skip


@networks
def test_where_a_member_starts_does_not_depend_on_the_others(network):
    together, alone = network.initial([5, 6]), network.initial([6])
    for name, values in alone.items():
        assert torch.allclose(together[name][1], values[0], atol=1e-6)


def test_orthogonal_layers_start_orthogonal():
    network = Network.autoencoder((9, 5, 2), orthogonal=True, bias=False)
    for weight in network.initial([0], "float64").values():
        tall = weight[0] if weight.shape[1] > weight.shape[2] else weight[0].T
        assert np.allclose(tall.T @ tall, np.eye(tall.shape[1]), atol=1e-12)


@pytest.mark.parametrize(
    ("widths", "code", "words"),
    [
        ((3,), None, "two or more positive widths"),
        ((3, 0), None, "positive"),
        ((3, 2, 3), 2, "from 1 to 1"),
    ],
)
def test_networks_that_cannot_be_are_refused(widths, code, words):
    with pytest.raises(InputError, match=words):
        Network(widths=widths, code=code)
