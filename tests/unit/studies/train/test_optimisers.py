"""Steps: clipped member by member, tangent, and no longer than the learning rate says."""

from __future__ import annotations

import math

import pytest

from upto_studies.train.optimisers import Optimiser
from upto_studies.train.stiefel import orthonormal, orthonormality_defect, tangent_part

torch = pytest.importorskip("torch")

RATES = torch.full((3, 1, 1), 0.01, dtype=torch.float64)


def drawn(seed, shape=(3, 6, 4)):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def started(*, orthogonal, clip_norm=1.0):
    values = orthonormal(drawn(0)) if orthogonal else drawn(0)
    return Optimiser({"0.weight": values}, orthogonal=orthogonal, clip_norm=clip_norm)


def norms(values):
    return torch.linalg.vector_norm(values, dim=(1, 2))


@pytest.mark.parametrize("orthogonal", [True, False])
def test_each_members_gradient_is_clipped_by_its_own_norm(orthogonal):
    optimiser = started(orthogonal=orthogonal)
    gradient = drawn(1)
    if orthogonal:
        gradient = tangent_part(optimiser.parameters["0.weight"], gradient)
    gradient = gradient / norms(gradient)[:, None, None]
    sizes = torch.tensor([0.5, 1.0, 80.0], dtype=torch.float64)[:, None, None]
    optimiser.step({"0.weight": gradient * sizes}, RATES, 0.01, None)
    # The first momentum is a tenth of the gradient: short ones are left as they are.
    expected = torch.tensor([0.05, 0.1, 0.1], dtype=torch.float64)
    assert torch.allclose(norms(optimiser.state["0.weight.first"]), expected)


def test_the_norm_of_a_gradient_is_that_of_all_layers_together():
    parameters = {"0.weight": drawn(0), "1.weight": drawn(1)}
    optimiser = Optimiser(parameters, orthogonal=False, clip_norm=1.0)
    optimiser.step({"0.weight": drawn(2), "1.weight": drawn(3)}, RATES, 0.01, None)
    squares = [norms(optimiser.state[f"{layer}.weight.first"]) ** 2 for layer in (0, 1)]
    assert torch.allclose(torch.sqrt(sum(squares)), torch.full((3,), 0.1, dtype=torch.float64))


def test_gradient_and_momentum_are_tangent_where_the_step_begins():
    optimiser = started(orthogonal=True)
    for seed in range(1, 4):
        before = optimiser.parameters["0.weight"].clone()
        optimiser.step({"0.weight": drawn(seed)}, RATES, 0.01, None)
        momentum = optimiser.state["0.weight.first"]
        assert torch.allclose(tangent_part(before, momentum), momentum, atol=1e-13)
        assert not torch.allclose(
            tangent_part(optimiser.parameters["0.weight"], momentum), momentum, atol=1e-4
        )
        assert orthonormality_defect(optimiser.parameters["0.weight"]).max() < 1e-13


def test_the_learning_rate_is_the_root_mean_square_of_a_step_at_most():
    optimiser = started(orthogonal=True, clip_norm=None)
    rates = torch.tensor([0.01, 0.02, 0.0], dtype=torch.float64)[:, None, None]
    for _ in range(300):
        optimiser.step({"0.weight": 1e-3 * drawn(1)}, rates, 0.02, None)
    before = optimiser.parameters["0.weight"].clone()
    # After many small gradients the root of the second moment follows a large one slowly.
    optimiser.step({"0.weight": 1e3 * drawn(2)}, rates, 0.02, None)
    moved = norms(optimiser.parameters["0.weight"] - before) / math.sqrt(24)
    assert torch.allclose(moved, rates[:, 0, 0], rtol=0.01, atol=1e-12)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_members_that_do_not_move_keep_everything(orthogonal):
    optimiser = started(orthogonal=orthogonal)
    optimiser.step({"0.weight": drawn(1)}, RATES, 0.01, None)
    before = {name: values.clone() for name, values in optimiser.state.items()}
    weights = optimiser.parameters["0.weight"].clone()
    moving = torch.tensor([True, False, True])[:, None, None]
    optimiser.step({"0.weight": drawn(2)}, RATES, 0.01, moving)
    assert torch.equal(optimiser.parameters["0.weight"][1], weights[1])
    assert not torch.equal(optimiser.parameters["0.weight"][0], weights[0])
    for name, values in optimiser.state.items():
        assert torch.equal(values[1], before[name][1])
        assert not torch.equal(values[2], before[name][2])
