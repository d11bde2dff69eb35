"""Layers of a transformer whose members share each product, as one batched product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence


class StackedLinear(nn.Module):
    """Affine layers, one per member, as one batched product.

    Parameters
    ----------
    generators
        Random numbers of each member, for its weights (Xavier, as in the published MAE).
    n_in, n_out
        Widths.
    """

    def __init__(self, generators: Sequence[torch.Generator], n_in: int, n_out: int) -> None:
        super().__init__()
        bound = math.sqrt(6 / (n_in + n_out))
        weights = [
            torch.rand((n_in, n_out), generator=each) * 2 * bound - bound for each in generators
        ]
        self.weight = nn.Parameter(torch.stack(weights))
        self.bias = nn.Parameter(torch.zeros(len(generators), 1, n_out))

    def forward(self, tokens: Any) -> Any:
        """Return members × rows × tokens × outputs."""
        n_members, n_rows, n_tokens, n_in = tokens.shape
        flat = tokens.reshape(n_members, n_rows * n_tokens, n_in)
        return torch.baddbmm(self.bias, flat, self.weight).view(n_members, n_rows, n_tokens, -1)


class StackedNorm(nn.Module):
    """Layer norms, one per member.

    Parameters
    ----------
    n_members, width
        Numbers of members and features.
    """

    def __init__(self, n_members: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_members, 1, 1, width))
        self.bias = nn.Parameter(torch.zeros(n_members, 1, 1, width))

    def forward(self, tokens: Any) -> Any:
        """Return normalised, scaled and shifted tokens."""
        return functional.layer_norm(tokens, tokens.shape[-1:]) * self.weight + self.bias


class StackedBlock(nn.Module):
    """Attention over all tokens and a perceptron, each after a norm and with a shortcut.

    Parameters
    ----------
    generators
        Random numbers of each member.
    width, n_heads
        Width, and attention heads.
    """

    def __init__(self, generators: Sequence[torch.Generator], width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm1 = StackedNorm(len(generators), width)
        self.queries_keys_values = StackedLinear(generators, width, 3 * width)
        self.projection = StackedLinear(generators, width, width)
        self.norm2 = StackedNorm(len(generators), width)
        self.rise = StackedLinear(generators, width, 4 * width)
        self.fall = StackedLinear(generators, 4 * width, width)

    def forward(self, tokens: Any) -> Any:
        """Return the tokens after the block."""
        tokens = tokens + self.projection(self._attended(self.norm1(tokens)))
        return tokens + self.fall(functional.gelu(self.rise(self.norm2(tokens))))

    def _attended(self, tokens: Any) -> Any:
        n_members, n_rows, n_tokens, width = tokens.shape
        split = self.queries_keys_values(tokens).view(
            n_members * n_rows, n_tokens, 3, self.n_heads, width // self.n_heads
        )
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(queries, keys, values)
        return found.transpose(1, 2).reshape(n_members, n_rows, n_tokens, width)
