"""Descriptions of fully connected networks, and batched evaluation of many of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from upto.core import InputError, random_stream
from upto.engines.device_rows import load_torch
from upto_studies.train.stiefel import orthonormal

if TYPE_CHECKING:
    from collections.abc import Sequence

Parameters = dict[str, Any]
"""Tensors by name, ``"0.weight"`` (members × inputs × outputs) and ``"0.bias"``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A chain of linear layers with leaky rectifiers between them.

    Parameters
    ----------
    widths
        Number of inputs, then number of outputs of each layer.
    code
        Layer whose output is the code of an autoencoder, counted from 1; no rectifier follows it.
        None if there is no code.
    orthogonal
        Whether every layer has orthonormal columns, or rows if it widens.
    bias
        Whether layers have a bias.

    Examples
    --------
    >>> Network.autoencoder((784, 256, 64, 16), orthogonal=True, bias=False).widths
    (784, 256, 64, 16, 64, 256, 784)
    """

    widths: tuple[int, ...]
    code: int | None = None
    orthogonal: bool = False
    bias: bool = True

    def __post_init__(self) -> None:
        if len(self.widths) < 2 or min(self.widths) < 1:
            message = f"a network needs two or more positive widths, not {list(self.widths)}."
            raise InputError(message)
        if self.code is not None and not 1 <= self.code < self.n_layers:
            message = (
                f"the code cannot follow layer {self.code} of {self.n_layers}: choose one from 1 "
                f"to {self.n_layers - 1}."
            )
            raise InputError(message)

    @classmethod
    def autoencoder(
        cls, widths: Sequence[int], *, orthogonal: bool = False, bias: bool = True
    ) -> Self:
        """Return an encoder of these widths followed by its mirror image."""
        encoder = tuple(widths)
        mirrored = encoder + encoder[-2::-1]
        return cls(widths=mirrored, code=len(encoder) - 1, orthogonal=orthogonal, bias=bias)

    @property
    def n_layers(self) -> int:
        """Number of linear layers."""
        return len(self.widths) - 1

    def is_rectified(self, layer: int) -> bool:
        """Return whether a rectifier follows a layer, counted from 0: not after code or last."""
        return layer + 1 not in (self.code, self.n_layers)

    def initial(self, seeds: Sequence[int], dtype: str = "float32") -> Parameters:
        """Draw the initial parameters of one member per seed, on the CPU.

        Orthogonal layers are uniform; others are normal, scaled to preserve variance through a
        rectifier.
        """
        torch = load_torch()
        parameters: Parameters = {}
        for layer, (n_in, n_out) in enumerate(pairwise(self.widths)):
            drawn = np.stack(
                [
                    random_stream(seed, "weights", str(layer)).standard_normal((n_in, n_out))
                    for seed in seeds
                ]
            )
            weights = torch.from_numpy(drawn)
            gain = 2.0 if self.is_rectified(layer) else 1.0
            weights = orthonormal(weights) if self.orthogonal else weights * math.sqrt(gain / n_in)
            kind = getattr(torch, dtype)
            parameters[f"{layer}.weight"] = weights.to(kind).contiguous()
            if self.bias:
                parameters[f"{layer}.bias"] = torch.zeros((len(seeds), 1, n_out), dtype=kind)
        return parameters

    def shapes(self, n_members: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of each parameter by name."""
        shapes: dict[str, tuple[int, ...]] = {}
        for layer, (n_in, n_out) in enumerate(pairwise(self.widths)):
            shapes[f"{layer}.weight"] = (n_members, n_in, n_out)
            if self.bias:
                shapes[f"{layer}.bias"] = (n_members, 1, n_out)
        return shapes

    def module(
        self, parameters: Parameters, member: int, leak: float, *, first: int, last: int
    ) -> Any:
        """Return layers `first` to `last`, exclusive, of one member as a torch module."""
        torch = load_torch()
        layers: list[Any] = []
        for layer in range(first, last):
            n_in, n_out = self.widths[layer : layer + 2]
            # The meta device avoids drawing values that are replaced at once.
            linear = torch.nn.Linear(n_in, n_out, bias=self.bias, device="meta")
            weight = parameters[f"{layer}.weight"][member].detach()
            linear.weight = torch.nn.Parameter(
                weight.mT.clone(memory_format=torch.contiguous_format)
            )
            if self.bias:
                bias = parameters[f"{layer}.bias"][member, 0].detach()
                linear.bias = torch.nn.Parameter(bias.clone())
            layers.append(linear)
            if self.is_rectified(layer):
                layers.append(torch.nn.LeakyReLU(leak))
        return torch.nn.Sequential(*layers).eval()

    def run(
        self,
        parameters: Parameters,
        leaks: Any,
        rows: Any,
        *,
        first: int = 0,
        last: int | None = None,
    ) -> Any:
        """Apply layers `first` to `last`, exclusive, to rows (members × rows × values)."""
        torch = load_torch()
        for layer in range(first, self.n_layers if last is None else last):
            weight = parameters[f"{layer}.weight"]
            if self.bias:
                rows = torch.baddbmm(parameters[f"{layer}.bias"], rows, weight)
            else:
                rows = torch.bmm(rows, weight)
            if self.is_rectified(layer):
                # Members take the place of channels, each with its own slope.
                rows = torch.nn.functional.prelu(rows[None], leaks.reshape(-1))[0]
        return rows

    def jacobians(
        self, parameters: Parameters, leaks: Any, rows: Any, *, first: int, last: int
    ) -> Any:
        """Return the transposed Jacobian of layers `first` to `last` at rows, in closed form.

        It is the product of the weights and the slopes of the rectifiers between them: members ×
        rows × inputs × outputs.
        """
        torch = load_torch()
        n_members, n_rows, n_in = rows.shape
        weight = parameters[f"{first}.weight"]
        product = weight[:, None].expand(n_members, n_rows, n_in, weight.shape[2])
        for layer in range(first, last):
            if layer > first:
                # One product per member: rows and inputs of the Jacobian are flattened together.
                flat = product.reshape(n_members, n_rows * n_in, -1)
                flat = torch.bmm(flat, parameters[f"{layer}.weight"])
                product = flat.reshape(n_members, n_rows, n_in, -1)
            rows = torch.bmm(rows, parameters[f"{layer}.weight"])
            if self.bias:
                rows = rows + parameters[f"{layer}.bias"]
            if self.is_rectified(layer):
                slopes = torch.where(rows > 0, torch.ones_like(leaks), leaks)
                rows, product = rows * slopes, product * slopes[:, :, None, :]
        return product
