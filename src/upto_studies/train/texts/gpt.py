"""A GPT: a decoder-only transformer, several members of one shape side by side.

Every parameter has a first axis of members, so one product of batched matrices serves them all.
As in GPT-2 (Radford et al. 2019): layer norms before attention and the perceptron, one after the
last layer, learned positions, the head tied to the embedding. Unlike it, there are no biases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, random_stream
from upto.engines.device_rows import load_torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Parameters = dict[str, Any]

_SPREAD = 0.02
"""Standard deviation of new weights, as in GPT-2."""
_PARTS = ("attention", "perceptron")
_WIDER = 4
"""Width of the perceptron over that of the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpt:
    """Shape of a GPT.

    Parameters
    ----------
    n_tokens
        Size of the vocabulary.
    width
        Coordinates of a hidden state.
    depth
        Number of layers.
    n_heads
        Heads of attention, which share the width.
    context
        Most tokens it sees.

    Raises
    ------
    InputError
        If a number is not positive, or the heads do not divide the width.
    """

    n_tokens: int
    width: int
    depth: int
    n_heads: int
    context: int

    def __post_init__(self) -> None:
        if min(self.n_tokens, self.width, self.depth, self.n_heads, self.context) < 1:
            message = f"{self} needs positive numbers."
            raise InputError(message)
        if self.width % self.n_heads:
            message = (
                f"{self.n_heads} heads cannot share a width of {self.width}: choose a divisor."
            )
            raise InputError(message)

    @property
    def n_parameters(self) -> int:
        """Number of parameters of one member."""
        return sum(math.prod(shape) for shape, _ in self._shapes().values())

    def initial(self, seeds: Sequence[int]) -> Parameters:
        """Return new parameters, one member for each seed."""
        torch = load_torch()
        found = {}
        for name, (shape, spread) in self._shapes().items():
            members = [
                np.ones(shape, dtype=np.float32)
                if spread is None
                else random_stream(seed, "gpt", name).normal(0, spread, shape).astype(np.float32)
                for seed in seeds
            ]
            found[name] = torch.from_numpy(np.stack(members))
        return found

    def _shapes(self) -> dict[str, tuple[tuple[int, ...], float | None]]:
        """Return the shape of each parameter, and the spread of new ones; None for ones."""
        wide, layers = self.width, self.depth
        # Every layer adds to the states, so its products start smaller the more layers there are.
        added = _SPREAD / math.sqrt(2 * layers)
        return {
            "tokens": ((self.n_tokens, wide), _SPREAD),
            "positions": ((self.context, wide), _SPREAD),
            "attention.norm": ((layers, 1, wide), None),
            "attention.in": ((layers, wide, 3 * wide), _SPREAD),
            "attention.out": ((layers, wide, wide), added),
            "perceptron.norm": ((layers, 1, wide), None),
            "perceptron.in": ((layers, wide, _WIDER * wide), _SPREAD),
            "perceptron.out": ((layers, _WIDER * wide, wide), added),
            "norm": ((1, wide), None),
        }

    def states(self, parameters: Parameters, tokens: Any, masks: Any = None) -> Iterator[Any]:
        """Yield the states after the embedding and after each layer.

        The last ones are normalised: these are what the head reads.

        Parameters
        ----------
        parameters
            As `initial` returns them.
        tokens
            Members × texts × length.
        masks
            Factors of dropout, (1 + 2 layers) × members × texts × 1 × width; None for none.
        """
        torch = load_torch()
        n_members, _, length = tokens.shape
        offsets = torch.arange(n_members, device=tokens.device)[:, None, None] * self.n_tokens
        table = parameters["tokens"].flatten(0, 1)
        embedded = torch.nn.functional.embedding(tokens + offsets, table)
        states = embedded + parameters["positions"][:, None, :length]
        states = states if masks is None else states * masks[0]
        yield states
        names = [f"{part}.{own}" for part in _PARTS for own in ("norm", "in", "out")]
        # Taken apart at once: the gradient of one layer at a time would fill all layers.
        layers = zip(*(parameters[name].unbind(1) for name in names), strict=True)
        for number, (norm, enter, leave, other_norm, widen, narrow) in enumerate(layers):
            made = self._attention(_normal(states, norm), enter, leave)
            states = states + (made if masks is None else made * masks[2 * number + 1])
            hidden = torch.nn.functional.gelu(_product(_normal(states, other_norm), widen))
            made = _product(hidden, narrow)
            states = states + (made if masks is None else made * masks[2 * number + 2])
            if number + 1 < self.depth:
                yield states
        yield _normal(states, parameters["norm"])

    def logits(self, parameters: Parameters, states: Any) -> Any:
        """Return the scores of the next token from the last states."""
        return _product(states, parameters["tokens"].transpose(1, 2))

    def _attention(self, states: Any, enter: Any, leave: Any) -> Any:
        torch = load_torch()
        n_members, n_texts, length, width = states.shape
        shape = (n_members * n_texts, length, 3, self.n_heads, width // self.n_heads)
        query, key, value = _product(states, enter).reshape(shape).permute(2, 0, 3, 1, 4)
        found = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return _product(found.transpose(1, 2).reshape(states.shape), leave)


def _product(states: Any, weights: Any) -> Any:
    """Multiply the states of each member by its own weights."""
    n_members, n_texts, length, _ = states.shape
    found = load_torch().bmm(states.flatten(1, 2), weights)
    return found.reshape(n_members, n_texts, length, -1)


def _normal(states: Any, gain: Any) -> Any:
    torch = load_torch()
    return torch.nn.functional.layer_norm(states, states.shape[-1:]) * gain[:, None]
