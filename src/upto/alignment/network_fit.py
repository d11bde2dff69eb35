"""Train the small network of `NetworkAligner` by torch: AdamW, and early stopping.

Rows are standardised by the caller. Random numbers come from a generator of its own, and torch has
one thread during the training: small products gain little from more, and the number of cores of a
machine does not change the result.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core.array_types import Float
from upto.engines.device import chosen_device
from upto.engines.device_rows import host_array, load_torch

if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_ROWS = 128
LEARNING_RATE, WEIGHT_DECAY = 2e-3, 0.3
BENDS = 0.5
"""Standard deviation of the first biases, which spread the bends of the hidden units."""
PATIENCE = 500
"""Steps without a smaller validation error after which the training ends: the error often rises
before it falls."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Network:
    """Weights of the best epoch, its number, and its mean squared validation error."""

    hidden_weights: Float
    hidden_bias: Float
    output_weights: Float
    output_bias: Float
    n_epochs: int
    error: float


def train_network(
    rows: tuple[Float, Float],
    validation: tuple[Float, Float],
    *,
    n_hidden: int,
    n_epochs: int,
    device: str | None,
    seed: int,
) -> Network:
    """Train a network with one hidden layer, whose output is zero before the first step.

    Parameters
    ----------
    rows, validation
        Inputs and wanted outputs, to fit and to judge every epoch.
    n_hidden, n_epochs
        Width of the hidden layer, and the largest number of epochs.
    device
        Device of torch; by default the GPU if there is one.
    seed
        Seed of the weights and of the order of rows.
    """
    torch = load_torch()
    with one_torch_thread():
        return _trained(torch, rows, validation, n_hidden, n_epochs, device, seed)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Give torch one thread, and restore their number on exit."""
    torch = load_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _trained(
    torch: Any,
    rows: tuple[Float, Float],
    validation: tuple[Float, Float],
    n_hidden: int,
    n_epochs: int,
    device: str | None,
    seed: int,
) -> Network:
    place = chosen_device(device)
    draws = torch.Generator().manual_seed(seed)
    inputs, outputs, new_inputs, new_outputs = (
        torch.as_tensor(np.asarray(each, dtype=np.float32)).to(place)
        for each in (*rows, *validation)
    )
    width, n_out = inputs.shape[1], outputs.shape[1]
    weights = [
        torch.randn(width, n_hidden, generator=draws) / width**0.5,
        torch.randn(n_hidden, generator=draws) * BENDS,
        torch.zeros(n_hidden, n_out),
        torch.zeros(n_out),
    ]
    weights = [each.to(place).requires_grad_() for each in weights]
    steps = -(-len(inputs) // BATCH_ROWS)
    optimizer = torch.optim.AdamW(weights, lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    best, kept, at = float(new_outputs.square().mean()), _copies(weights), 0
    for epoch in range(1, n_epochs + 1):
        order = torch.randperm(len(inputs), generator=draws).to(place)
        for part in order.tensor_split(steps):
            error = (_output(weights, inputs[part]) - outputs[part]).square().mean()
            optimizer.zero_grad()
            error.backward()
            optimizer.step()
        with torch.no_grad():
            error = float((_output(weights, new_inputs) - new_outputs).square().mean())
        if error < best:
            best, kept, at = error, _copies(weights), epoch
        elif (epoch - at) * steps >= PATIENCE:
            break
    arrays = [host_array(each).astype(np.float64) for each in kept]
    return Network(
        hidden_weights=arrays[0],
        hidden_bias=arrays[1],
        output_weights=arrays[2],
        output_bias=arrays[3],
        n_epochs=at,
        error=best,
    )


def _output(weights: list[Any], rows: Any) -> Any:
    gelu = load_torch().nn.functional.gelu
    hidden = gelu(rows @ weights[0] + weights[1], approximate="tanh")
    return hidden @ weights[2] + weights[3]


def _copies(weights: list[Any]) -> list[Any]:
    return [each.detach().clone() for each in weights]
