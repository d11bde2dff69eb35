"""Optimiser of stacked members: momentum on the manifold of orthogonal layers, Adam elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from upto.engines.device_rows import load_torch
from upto_studies.train.stiefel import (
    LONGEST_STEP,
    nearest_orthonormal,
    retraction_steps,
    tangent_part,
)

if TYPE_CHECKING:
    from upto_studies.train.networks import Parameters

_KEEP_FIRST, _KEEP_SECOND = 0.9, 0.999
_TINY = 1e-12


class Optimiser:
    """Optimiser with a gradient and learning rate per member.

    For an orthogonal layer, gradient and momentum are tangent to the manifold, one second moment is
    kept for the whole matrix, which makes it rotation-invariant, and the layer is retracted to the
    nearest orthonormal matrix. Entrywise scaling, as in Adam, moves the direction out of the
    tangent space: with a projection after each step it does not converge.

    Parameters
    ----------
    parameters
        Parameters, updated in place.
    orthogonal
        Whether weights are orthogonal.
    clip_norm
        Maximum norm of a member's gradient; None for no clipping.
    """

    def __init__(
        self, parameters: Parameters, *, orthogonal: bool, clip_norm: float | None
    ) -> None:
        torch = load_torch()
        self.parameters = parameters
        self.orthogonal = orthogonal
        self.clip_norm = clip_norm
        self.state: dict[str, Any] = {}
        for name, values in parameters.items():
            self.state[f"{name}.first"] = torch.zeros_like(values)
            size = (len(values), 1, 1) if self._is_orthogonal(name) else values.shape
            self.state[f"{name}.second"] = torch.zeros(
                size, dtype=values.dtype, device=values.device
            )
        (any_values, *_) = parameters.values()
        self.state["steps"] = torch.zeros(
            (len(any_values), 1, 1), dtype=any_values.dtype, device=any_values.device
        )

    def step(
        self, gradients: Parameters, rates: Any, largest_rate: float, moving: Any | None
    ) -> None:
        """Take one step.

        Parameters
        ----------
        gradients
            Gradient of each parameter.
        rates, largest_rate
            Learning rate of each member (members × 1 × 1), and the largest of them.
        moving
            Mask of the members to update (members × 1 × 1); None for all.
        """
        torch = load_torch()
        gradients = {
            name: tangent_part(self.parameters[name], each) if self._is_orthogonal(name) else each
            for name, each in gradients.items()
        }
        squares = {name: _squared_norm(each) for name, each in gradients.items()}
        clip = torch.ones_like(rates)
        if self.clip_norm is not None:
            clip = (self.clip_norm / (torch.sqrt(sum(squares.values())) + _TINY)).clamp(max=1.0)
        steps = self.state["steps"]
        self._set(steps, steps + 1, moving)
        unbias_first = 1 - _KEEP_FIRST**steps
        unbias_second = 1 - _KEEP_SECOND**steps
        for name, gradient in gradients.items():
            values = self.parameters[name]
            first, second = self.state[f"{name}.first"], self.state[f"{name}.second"]
            new_first = torch.addcmul(_KEEP_FIRST * first, gradient, (1 - _KEEP_FIRST) * clip)
            if self._is_orthogonal(name):
                new_first = tangent_part(values, new_first)
                square = squares[name] * clip**2 / values[0].numel()
            else:
                square = (gradient * clip).square()
            new_second = _KEEP_SECOND * second + (1 - _KEEP_SECOND) * square
            self._set(first, new_first, moving)
            self._set(second, new_second, moving)
            scale = rates / (unbias_first * (torch.sqrt(new_second / unbias_second) + _TINY))
            if self._is_orthogonal(name):
                moved = _moved_on_manifold(values, new_first, scale, rates, largest_rate)
            else:
                moved = values - new_first * scale
            self._set(values, moved, moving)

    def select(self, keep: Any) -> Parameters:
        """Keep only some members, and return their parameters."""
        self.parameters = {name: values[keep] for name, values in self.parameters.items()}
        self.state = {name: values[keep] for name, values in self.state.items()}
        return self.parameters

    def _is_orthogonal(self, name: str) -> bool:
        return self.orthogonal and name.endswith(".weight")

    @staticmethod
    def _set(old: Any, new: Any, moving: Any | None) -> None:
        old.copy_(new if moving is None else load_torch().where(moving, new, old))


def _moved_on_manifold(
    values: Any, direction: Any, scale: Any, rates: Any, largest_rate: float
) -> Any:
    torch = load_torch()
    # The learning rate bounds the root mean square of a step's entries, so the host can bound the
    # distance from the manifold without synchronising with the device.
    root_size = math.sqrt(values[0].numel())
    longest = min(LONGEST_STEP, largest_rate * root_size)
    allowed = (rates * root_size).clamp(max=longest)
    length = scale * torch.sqrt(_squared_norm(direction))
    scale = scale * (allowed / (length + _TINY)).clamp(max=1.0)
    moved = torch.addcmul(values, direction, -scale)
    return nearest_orthonormal(moved, retraction_steps(longest, values.dtype))


def _squared_norm(values: Any) -> Any:
    return load_torch().linalg.vector_norm(values, dim=(1, 2), keepdim=True) ** 2
